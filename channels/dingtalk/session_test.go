package dingtalk

import (
	"context"
	"fmt"
	"testing"
	"time"

	"magpie/channels"
)

// A session survives in the table only as long as it is good, and an entry
// that cannot be read is as none.
func TestSessionTable(t *testing.T) {
	w := newWorld(t, nil)
	ch := base(robotOf(t, w, channels.Deps{}))
	ctx := context.Background()
	for _, value := range []string{`{`, `{"url":"https://evil.example","until":"2099-01-01T00:00:00Z"}`, `null`} {
		if _, err := ch.deps.Table.Update(ctx, sessionPrefix+bob().Chat(), []byte(value), 0, 0); err != nil {
			t.Fatal(err)
		}
		clear(ch.sessions.known)
		if s, ok, err := ch.sessions.get(ctx, bob().Chat()); ok || err != nil || s.URL != "" {
			t.Errorf("%s: %+v, %v, %v", value, s, ok, err)
		}
	}
	ch.sessions.hold(ann().Chat(), session{URL: w.url + "/x", Until: time.Now().Add(-time.Minute)})
	if err := ch.sessions.store(ctx, ann().Chat()); err != nil {
		t.Error(err)
	}
	if _, err := ch.deps.Table.Get(ctx, sessionPrefix+ann().Chat()); err == nil {
		t.Error("a webhook that is over was stored")
	}
	many := session{}
	for i := range 2 * mostHeard {
		many.Heard = []heard{{ID: fmt.Sprint(i), Staff: "s"}}
		ch.sessions.hold(crowd().Chat(), many)
	}
	got := ch.sessions.known[crowd().Chat()]
	if len(got.Heard) != mostHeard || got.sender(fmt.Sprint(2*mostHeard-1)) != "s" || got.sender("0") != "" || got.sender("") != "" {
		t.Errorf("remembers %d senders", len(got.Heard))
	}
}
