package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/feishu"
)

// blink stands before a platform whose gateway fails from the first message
// of the bot on, for a while.
type blink struct {
	inner http.Handler
	// lost: messages arrive, and their connections are cut; else they do not,
	// and the gateway says 504.
	lost bool
	// least is how many calls fail, also when they come late.
	least int

	mu    sync.Mutex
	since time.Time
	calls int // that failed
}

// blinkFor is as long as a gateway takes to start anew. The only repeat where
// none is recognised comes 5 s after the first call at the soonest.
const blinkFor = 2 * time.Second

func (b *blink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !puts(r) || !b.fails() {
		b.inner.ServeHTTP(w, r)
		return
	}
	if b.lost {
		b.inner.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "gateway time-out", http.StatusGatewayTimeout)
}

func (b *blink) fails() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		b.since = time.Now()
	}
	if time.Since(b.since) >= blinkFor && b.calls >= b.least {
		return false
	}
	b.calls++
	return true
}

func (b *blink) failed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

// puts tells the calls that put a message into a chat.
func puts(r *http.Request) bool {
	for _, end := range []string{"/sendMessage", "/messages", "/reply", "/robot/sendBySession"} {
		if strings.HasSuffix(r.URL.Path, end) {
			return r.Method == http.MethodPost
		}
	}
	return false
}

// TestFiveBlink: a gateway that fails for two seconds costs no answer, and
// doubles none where the platform recognises a repeat.
func TestFiveBlink(t *testing.T) {
	for name, lost := range map[string]bool{"connections cut": true, "504": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFive(t, fiveOptions{})
			gates := map[side]*blink{}
			f.each(func(p side) {
				gates[p] = &blink{inner: f.taps[p.name()].inner, lost: lost, least: 2}
				if p.name() == "telegram" || p.name() == "dingtalk" {
					gates[p].least = 1 // there is but one repeat
				}
				f.taps[p.name()].inner = gates[p]
			})
			b := f.start()
			chats := map[side]string{}
			f.each(func(p side) {
				chats[p] = p.join(0)
				p.say(chats[p], "one")
			})
			f.each(func(p side) {
				f.wait(p, chats[p], "the answer", has("echo: one"))
				p.say(chats[p], "two") // in order: what becomes of the first is known by then
			})
			f.each(func(p side) {
				shown := f.wait(p, chats[p], "the next answer", has("echo: two"))
				want := 1
				if lost && (p.name() == "telegram" || p.name() == "dingtalk") {
					want = 2
				}
				if n := holding(shown, "echo: one"); n != want {
					t.Errorf("%s shows the answer %d times, want %d: %q", p.name(), n, want, shown)
				}
				if n := gates[p].failed(); n < gates[p].least {
					t.Errorf("%s: %d calls failed, want at least %d", p.name(), n, gates[p].least)
				}
			})
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}

// TestFiveDraftInDoubt: the answers to the first calls that would show a reply
// are lost, while it is written or until after its end: it stands there once,
// whole, and nothing says that it is still being written.
func TestFiveDraftInDoubt(t *testing.T) {
	for name, times := range map[string]int{"once": 1, "until after the end": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFive(t, fiveOptions{})
			f.only = []string{"discord", "feishu"}
			f.common = "stream: true"
			f.model.Reply(streamed(poem))
			b := f.start()
			f.fs.Fail(feishu.Fault{After: true, Drop: true, Times: times})
			f.dc.Fail(discord.Fault{Route: "create message", After: true, Drop: true, Times: times})
			chats := map[side]string{}
			f.each(func(p side) {
				chats[p] = p.join(0)
				p.say(chats[p], "a poem, please")
			})
			f.each(func(p side) { f.wait(p, chats[p], "the whole text", has(poem)) })
			f.model.Reply(nil)
			f.each(func(p side) { p.say(chats[p], "end") })
			f.each(func(p side) {
				shown := f.wait(p, chats[p], "end", has("echo: end"))
				if len(shown) != 2 || shown[0].text != poem {
					t.Errorf("%s shows %q", p.name(), shown)
				}
			})
			for _, m := range f.fs.Messages(chats[f.fs]) {
				if m.Streaming {
					t.Errorf("feishu still says that %q is being written", m.Text)
				}
			}
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}
