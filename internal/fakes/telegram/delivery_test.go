package telegram_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	fake "magpie/internal/fakes/telegram"
)

// A webhook gets updates one by one, again until it answers 200, with the
// secret; meanwhile getUpdates is refused.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var got []string
	refuse := true
	all := make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("X-Telegram-Bot-Api-Secret-Token") != "s3cret" || refuse {
			refuse = false
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		got = append(got, string(body))
		if len(got) == 3 {
			close(all)
		}
	}))
	defer hook.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	s, b := newBot(t, &fake.Options{HTTPHook: true, Retry: time.Millisecond, Client: client})
	if r := b.call("setWebhook", "url", hook.URL, "secret_token", "s3cret"); !r.OK {
		t.Fatalf("%+v", r)
	}
	for i := range 3 {
		s.Say(fake.Said{From: person, Text: fmt.Sprintf("text %d", i)})
	}
	select {
	case <-all:
	case <-time.After(time.Minute):
		t.Fatalf("the webhook got %q", got)
	}
	for i, body := range got {
		if !strings.Contains(body, fmt.Sprintf("text %d", i)) {
			t.Errorf("call %d: %s", i, body)
		}
	}
	if r := b.call("getUpdates"); r.Code != 409 || !strings.Contains(r.Text, "webhook is active") {
		t.Errorf("getUpdates beside a webhook: %+v", r)
	}
	if r := b.call("getWebhookInfo"); !strings.Contains(string(r.Result), "503") {
		t.Errorf("getWebhookInfo: %s", r.Result)
	}
	b.call("deleteWebhook")
	if r := b.call("getUpdates"); !r.OK {
		t.Errorf("getUpdates after deleteWebhook: %+v", r)
	}
}

// Files up to the limits go and come; one byte more does not.
func TestFileLimits(t *testing.T) {
	s, b := newBot(t, nil)
	send := func(method, field string, size int) reply {
		var body bytes.Buffer
		m := multipart.NewWriter(&body)
		_ = m.WriteField("chat_id", "11") // a Buffer takes everything
		part, err := m.CreateFormFile(field, "f.bin")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(make([]byte, size))
		_ = m.Close()
		r, err := b.ask(context.Background(), method, m.FormDataContentType(), body.String())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const mega = 1 << 20
	if r := send("sendDocument", "document", 50*mega); !r.OK {
		t.Errorf("50 MB: %+v", r)
	}
	if r := send("sendDocument", "document", 50*mega+1); r.Code != 413 {
		t.Errorf("50 MB and a byte: %+v", r)
	}
	if r := send("sendPhoto", "photo", 10*mega+1); !strings.Contains(r.Text, "too big for a photo") {
		t.Errorf("10 MB and a byte: %+v", r)
	}
	if r := send("sendPhoto", "photo", 100); !strings.Contains(r.Text, "IMAGE_PROCESS_FAILED") {
		t.Errorf("no picture: %+v", r)
	}
	if n := len(s.Messages(person)); n != 1 {
		t.Errorf("the chat shows %d messages", n)
	}
}

// A server that forgets tells its hook and keeps nothing.
func TestForget(t *testing.T) {
	var told []fake.Message
	s, b := newBot(t, &fake.Options{Forget: true, OnMessage: func(m fake.Message) { told = append(told, m) }})
	b.call("sendMessage", "chat_id", "11", "text", "one")
	b.call("editMessageText", "chat_id", "11", "message_id", "1", "text", "two")
	if len(told) != 2 || told[0].Text != "one" || told[1].Text != "two" {
		t.Errorf("told %+v", told)
	}
	if len(s.Messages(person)) != 0 || len(s.Requests("sendMessage")) != 0 || s.Calls("sendMessage") != 1 {
		t.Error("something is kept")
	}
}
