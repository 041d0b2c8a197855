package feishu

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
)

// hooked is a world with a bot in webhook mode behind a real server.
func hooked(t *testing.T, o fake.Options, change ...func(*Config)) (*world, *Feishu, string) {
	t.Helper()
	o.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	w := newWorld(t, o)
	f := w.channel(t, channels.Deps{}, append([]func(*Config){func(c *Config) {
		c.Mode, c.EncryptKey, c.VerificationToken = modeWebhook, chat.Secret(o.EncryptKey), chat.Secret(o.VerificationToken)
	}}, change...)...)
	front := httptest.NewServer(f.Hook())
	t.Cleanup(front.Close)
	return w, f, front.URL
}

func sealed() fake.Options {
	return fake.Options{EncryptKey: encryptKey, VerificationToken: verifyToken}
}

func TestWebhook(t *testing.T) {
	for _, o := range []fake.Options{sealed(), {EncryptKey: encryptKey}, {VerificationToken: verifyToken}} {
		w, f, url := hooked(t, o)
		challenge := fmt.Sprintf(`{"challenge":"c-%d","token":%q,"type":"url_verification"}`, 7, o.VerificationToken)
		if code, _, err := w.CallHook(channeltest.Bounded(t), url, []byte(challenge)); err != nil || code != http.StatusServiceUnavailable {
			t.Errorf("before Run: %d %v", code, err)
		}
		r := start(t, f)
		opened(t, f)
		w.SetHook(url)
		for i := range 5 {
			w.Say(fake.Said{From: ann, Text: fmt.Sprint("message ", i)})
		}
		for i := range 5 {
			if in := r.Next(t); in.Text != fmt.Sprint("message ", i) {
				t.Errorf("got %q", in.Text)
			}
		}
		if code, body, err := w.CallHook(channeltest.Bounded(t), url, []byte(challenge)); err != nil || code != 200 || strings.TrimSpace(body) != `{"challenge":"c-7"}` {
			t.Errorf("the test of the address: %d %s %v", code, body, err)
		}
		msg := outbound(at(ann), "1", "ok?")
		msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
		ref := mustSend(t, f, msg)
		if _, err := w.Press(ann, ref.ID, "y"); err != nil {
			t.Fatal(err)
		}
		if in := r.Next(t); in.Press == nil || in.Press.Data != "y" || !in.Direct {
			t.Errorf("got %+v", in)
		}
		channeltest.Eventually(t, "all are acknowledged", func() bool { n, lost := w.Pending(); return n == 0 && lost == 0 })
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		if code, _, err := w.CallHook(channeltest.Bounded(t), url, []byte(challenge)); err != nil || code != http.StatusServiceUnavailable {
			t.Errorf("after Run: %d %v", code, err)
		}
	}
}

// The whole suite once more, with the webhook in the connection's place.
func TestWebhookConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Harness {
		o := sealed()
		o.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		w := newWorld(t, o)
		var bot atomic.Pointer[Feishu]
		front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { bot.Load().Hook().ServeHTTP(rw, r) }))
		t.Cleanup(front.Close)
		h := w.harness(t)
		h.Secrets = append(h.Secrets, encryptKey, verifyToken)
		h.New = func(t *testing.T, d channels.Deps) channels.Channel {
			f := w.channel(t, d, func(c *Config) {
				c.Mode, c.EncryptKey, c.VerificationToken = modeWebhook, encryptKey, verifyToken
			})
			bot.Store(f)
			w.SetHook(front.URL)
			return f
		}
		h.Cut = func(*testing.T) { w.Fail(fake.Fault{Op: "info", Status: 502, Page: true}) }
		return h
	})
}

// Who is not the platform gets 401 and nothing comes in.
func TestForgedCalls(t *testing.T) {
	w, f, url := hooked(t, sealed())
	r := start(t, f)
	opened(t, f)
	event := func(token string) string {
		return `{"schema":"2.0","header":{"event_id":"e","event_type":"im.message.receive_v1","token":"` + token + `"},"event":{"sender":{"sender_id":{"open_id":"ou_x"},"sender_type":"user"},"message":{"message_id":"om_x","chat_id":"oc_x","chat_type":"p2p","message_type":"text","content":"{\"text\":\"forged\"}"}}}`
	}
	seal := func(plain, key string) string { return `{"encrypt":"` + fake.Seal([]byte(plain), key) + `"}` }
	sign := func(body, key string, at time.Time) map[string]string {
		stamp := strconv.FormatInt(at.Unix(), 10)
		return map[string]string{"X-Lark-Request-Timestamp": stamp, "X-Lark-Request-Nonce": "n", "X-Lark-Signature": larkevent.Signature(stamp, "n", key, body)}
	}
	good := seal(event(verifyToken), encryptKey)
	guise := seal(strings.Replace(event(verifyToken), `{"schema"`, `{"challenge":"c","schema"`, 1), encryptKey)
	now := time.Now()
	for _, c := range []struct {
		name, body string
		header     map[string]string
		want       int
	}{
		{"good", good, sign(good, encryptKey, now), 200},
		{"good with a challenge in it", guise, sign(guise, encryptKey, now), 200},
		{"no signature", good, nil, 401},
		{"signed with another key", good, sign(good, "other", now), 401},
		{"signed for another body", good, sign(good+" ", encryptKey, now), 401},
		{"old", good, sign(good, encryptKey, now.Add(-hookWindow-time.Minute)), 401},
		{"from the future", good, sign(good, encryptKey, now.Add(hookWindow+time.Minute)), 401},
		{"not encrypted", event(verifyToken), sign(event(verifyToken), encryptKey, now), 401},
		{"encrypted with another key", seal(event(verifyToken), "other"), sign(seal(event(verifyToken), "other"), encryptKey, now), 401},
		{"wrong token", seal(event("x"), encryptKey), sign(seal(event("x"), encryptKey), encryptKey, now), 401},
		{"no JSON", "hello", sign("hello", encryptKey, now), 401},
		{"short cipher", `{"encrypt":"AAAA"}`, sign(`{"encrypt":"AAAA"}`, encryptKey, now), 401},
		{"an event in the guise of the test", guise, nil, 401},
		{"the test with a wrong token", seal(`{"challenge":"c","type":"url_verification","token":"x"}`, encryptKey), nil, 401},
		{"too long", strings.Repeat("x", maxEvent+1), nil, 413},
	} {
		req, err := http.NewRequestWithContext(channeltest.Bounded(t), http.MethodPost, url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range c.header {
			req.Header.Set(k, v)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, resp.StatusCode, c.want)
		}
	}
	for range 2 {
		if in := r.Next(t); in.Text != "forged" {
			t.Errorf("came in: %+v", in)
		}
	}
	if len(r.In) != 0 {
		t.Errorf("%d more came in", len(r.In))
	}
	if _, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), outbound(at(ann), "1", "x")); err != nil {
		t.Error(err)
	}
	resp := httptest.NewRecorder()
	f.Hook().ServeHTTP(resp, httptest.NewRequest(http.MethodGet, "/", nil))
	if resp.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", resp.Code)
	}
	resp = httptest.NewRecorder()
	w.channel(t, channels.Deps{}).Hook().ServeHTTP(resp, httptest.NewRequest(http.MethodPost, "/", nil))
	if resp.Code != http.StatusNotFound {
		t.Errorf("in mode ws: %d", resp.Code)
	}
}

// opened waits until Run takes calls.
func opened(t *testing.T, f *Feishu) {
	t.Helper()
	channeltest.Eventually(t, "the hook is open", func() bool {
		_, _, leave, open := f.hook.Enter(t.Context())
		if open {
			leave()
		}
		return open
	})
}

// What is not stored in time gets 503 and comes again; the end of Run is not
// held up by a sink that hangs.
func TestWebhookRefused(t *testing.T) {
	w, f, url := hooked(t, sealed())
	f.pace.answer = 20 * time.Millisecond
	inside := make(chan string, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- f.Run(ctx, func(ctx context.Context, in chat.Inbound) error {
			inside <- in.ID
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	w.SetHook(url)
	id := w.Say(fake.Said{From: ann, Text: "stuck"})
	if got := <-inside; got != "feishu:feishu:"+id {
		t.Errorf("got %q", got)
	}
	channeltest.Eventually(t, "the platform calls again", func() bool { return w.Pushed() >= 3 })
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-channeltest.Bounded(t).Done():
		t.Error("Run did not end")
	}
	if n, _ := w.Pending(); n != 1 {
		t.Error("the event was acknowledged")
	}
}
