package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"magpie/internal/app"
	"magpie/internal/fakes/telegram"
)

// outage stands before Telegram and does not let messages through while it
// lasts.
type outage struct {
	inner http.Handler
	lasts atomic.Bool
	tries atomic.Int64
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.lasts.Load() && strings.HasSuffix(r.URL.Path, "/sendMessage") {
		o.tries.Add(1)
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	}
	o.inner.ServeHTTP(w, r)
}

// A failure of the platform that outlasts the dispatcher's patience makes a dead
// letter, which people are shown; sent on its way again, it arrives once.
func TestOutageLongerThanThePatience(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	out := &outage{inner: w.sent}
	srv := httptest.NewServer(out)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	w.api = srv.URL
	out.lasts.Store(true)
	// The first pauses are up to 1, 2 and 4 s: so it is tried again at least
	// once, however slow the machine is.
	b, path := w.runInside(app.Options{}.WithPatience(12 * time.Second))
	w.say("hello")
	b.until("a dead letter", func() bool {
		_, body := b.get("/metrics")
		return metric(t, body, `magpie_dead_letters{queue="out"}`) == 1
	}, func() string { return fmt.Sprint(out.tries.Load(), " tries") })
	if n := out.tries.Load(); n < 2 {
		t.Errorf("the message was tried %d times", n)
	}
	all := inJSON[[]letter](w, path, "dlq", "list")
	if len(all) != 1 {
		t.Fatalf("dead letters %+v", all)
	}
	l := all[0]
	if l.Way != "out" || l.Chat != "telegram/1001" || !strings.Contains(l.Reason, "HTTP status 502") {
		t.Errorf("dead letter %+v", l)
	}
	w.command(path, 0, "HTTP status 502", "dlq", "list")
	if got := inJSON[way](w, path, "trace", l.ID); !strings.Contains(got.detail("not sent"), "502") {
		t.Errorf("its way is %+v", got)
	}
	out.lasts.Store(false)
	for range 2 { // twice is the same as once
		w.command(path, 0, "resubmitted: ", "dlq", "resubmit", "--all")
	}
	w.wait(owner, "the answer", func(m []telegram.Message) bool { return count(m, "echo: hello") == 1 })
	w.say("and now?")
	msgs := w.wait(owner, "the next answer", func(m []telegram.Message) bool { return count(m, "echo: and now?") == 1 })
	if count(msgs, "echo: hello") != 1 {
		t.Errorf("the chat shows %q", texts(msgs))
	}
	w.command(path, 0, "no dead letters", "dlq", "list")
}
