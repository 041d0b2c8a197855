package telegram

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
)

const hookSecret = "right-secret"

// hooked is a world with a bot in webhook mode behind a real server.
func hooked(t *testing.T, d channels.Deps) (*world, *Telegram, *httptest.Server) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	w := newWorld(t, &fake.Options{HTTPHook: true, Retry: 5 * time.Millisecond, Client: client})
	var tg *Telegram
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	tg = w.channel(t, d, func(c *Config) {
		c.Mode, c.WebhookSecret, c.PublicURL = modeWebhook, hookSecret, front.URL+"/"
	})
	mux.Handle("/hooks/"+instance, tg.Hook())
	return w, tg, front
}

func post(t *testing.T, url, secret, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(channeltest.Bounded(t), http.MethodPost, url+"/hooks/"+instance, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(secretHeader, secret)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

const hello = `{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":11,"type":"private"},"from":{"id":11,"first_name":"Ann"},"text":"hello"}}`

func TestWebhook(t *testing.T) {
	w, tg, front := hooked(t, channels.Deps{})
	if code := post(t, front.URL, hookSecret, hello); code != http.StatusServiceUnavailable {
		t.Errorf("before Run: %d", code)
	}
	r := start(t, tg)
	w.Say(fake.Said{From: ann, Text: "one"})
	w.Say(fake.Said{From: ann, Text: "album", Files: pictures(3)})
	w.Push(`{"message":7}`)
	w.Say(fake.Said{From: ann, Text: "two"})
	for _, want := range []string{"one", "album", "two"} {
		if in := r.Next(t); in.Text != want || (want == "album" && len(in.Attachments) != 3) {
			t.Errorf("got %+v, want %q", in, want)
		}
	}
	for secret, want := range map[string]int{"": 401, "wrong": 401, hookSecret + "x": 401, hookSecret: 200} {
		if code := post(t, front.URL, secret, hello); code != want {
			t.Errorf("secret %q: %d, want %d", secret, code, want)
		}
	}
	if in := r.Next(t); in.Text != "hello" || in.ID != "telegram:telegram:11:1" {
		t.Errorf("got %+v", in)
	}
	if code := post(t, front.URL, hookSecret, strings.Repeat("x", maxUpdate+1)); code != 200 {
		t.Errorf("an endless update: %d, and Telegram would repeat it for ever", code)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if code := post(t, front.URL, hookSecret, hello); code != http.StatusServiceUnavailable {
		t.Errorf("after Run: %d", code)
	}
	if w.Calls("getUpdates") != 0 || tg.Skipped() != 2 {
		t.Errorf("polled %d times, skipped %d", w.Calls("getUpdates"), tg.Skipped())
	}
}

// What the sink refuses is answered with 503 and comes again.
func TestWebhookRefused(t *testing.T) {
	w, tg, _ := hooked(t, channels.Deps{})
	var mu sync.Mutex
	var tries []string
	twice := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- tg.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			mu.Lock()
			defer mu.Unlock()
			if tries = append(tries, in.ID); len(tries) < 3 {
				return errors.New("full")
			}
			close(twice)
			return nil
		})
	}()
	w.Say(fake.Said{From: ann, Text: "again and again"})
	select {
	case <-twice:
	case <-time.After(time.Minute):
		t.Errorf("tries: %q", tries)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if tries[0] != tries[2] {
		t.Errorf("ids %q", tries)
	}
}

// The end of Run ends a call that the sink keeps, and is not held up by it.
func TestWebhookEnds(t *testing.T) {
	w, tg, _ := hooked(t, channels.Deps{})
	inside := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- tg.Run(ctx, func(ctx context.Context, _ chat.Inbound) error {
			select {
			case inside <- struct{}{}:
			default: // it comes again until nobody is let in any more
			}
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	w.Say(fake.Said{From: ann, Text: "stuck"})
	<-inside
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("Run did not end")
	}
	if w.Pending() != 1 {
		t.Error("the update was acknowledged")
	}
}

// A webhook that somebody removed is set again; an address that Telegram
// refuses ends Run.
func TestWebhookIsKept(t *testing.T) {
	w, tg, _ := hooked(t, channels.Deps{})
	r := start(t, tg)
	w.Say(fake.Said{From: ann, Text: "one"})
	one := r.Next(t)
	if _, err := tg.api.call(channeltest.Bounded(t), "deleteWebhook", nil); err != nil {
		t.Fatal(err)
	}
	w.Say(fake.Said{From: ann, Text: "two"})
	in := r.Next(t)
	if in.ID == one.ID { // the webhook went before its 200 was read: Telegram brings the update again
		in = r.Next(t)
	}
	if in.Text != "two" {
		t.Errorf("got %q", in.Text)
	}
	plain := newWorld(t, nil) // takes https only
	bad := plain.channel(t, channels.Deps{}, func(c *Config) {
		c.Mode, c.WebhookSecret, c.PublicURL = modeWebhook, hookSecret, "http://bot.invalid"
	})
	err := bad.Run(channeltest.Bounded(t), func(context.Context, chat.Inbound) error { return nil })
	if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "HTTPS") {
		t.Errorf("Run returned %v", err)
	}
}

func TestNoHookWhenPolling(t *testing.T) {
	tg := offline()
	tg.cfg.Mode = modePoll
	w := httptest.NewRecorder()
	tg.Hook().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/hooks/telegram", strings.NewReader(hello)))
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d", w.Code)
	}
}
