package app_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// Whatever a model sends instead of an answer, each chat is told honestly, once,
// and goes on afterwards.
func TestModelAnswersGarbage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.models = fmt.Sprintf("[{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted, timeout: 2s}]", w.model.OpenAI())
	garbage := []modelserver.Answer{
		{Status: http.StatusOK, Body: "<!DOCTYPE html><html><body>Please log in to the hotel's network</body></html>"},
		{Status: http.StatusBadGateway, Body: "<html><body><h1>502 Bad Gateway</h1></body></html>"},
		{Status: http.StatusOK, Body: "data: {\"choices\":[{\"delta\":{\"content\":\"half\n\n"},
		{Status: http.StatusOK, Body: `{"choices": "none"}`},
		{Text: "The beginning of", Fault: modelserver.Cut},
		{Text: "The beginning of", Fault: modelserver.Short},
		{}, // empty
		{Text: strings.Repeat("endless ", 5000), Pieces: modelserver.Pieces{N: 40000, Pause: time.Millisecond}},
		{Calls: []modelserver.Call{{Name: "no_such_tool", Args: `{"a":`}}},
	}
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		var i int
		if _, err := fmt.Sscanf(r.LastUser(), "garbage %d", &i); err != nil {
			return modelserver.Echo(r)
		}
		if len(r.Results()) > 0 {
			return modelserver.Answer{Text: "that tool did not work"}
		}
		return garbage[i]
	})
	b := w.start("bot")
	b.ready()
	for i := range garbage {
		chat := int64(3000 + i)
		w.tg.AddPerson(telegram.Person{ID: chat, Name: fmt.Sprint("p", i)})
		w.tg.Say(telegram.Said{From: chat, Text: fmt.Sprintf("garbage %d", i)})
	}
	for i := range garbage {
		w.wait(int64(3000+i), fmt.Sprintf("garbage %d told", i), func(m []telegram.Message) bool { return len(m) == 1 })
	}
	for i := range garbage {
		w.tg.Say(telegram.Said{From: int64(3000 + i), Text: "again"})
	}
	for i := range garbage {
		msgs := w.wait(int64(3000+i), "the chat goes on", func(m []telegram.Message) bool { return count(m, "echo: again") == 1 })
		if len(msgs) != 2 || msgs[0].Text == "" || strings.Contains(msgs[0].Text, "<h") || strings.Contains(msgs[0].Text, "sk-test") {
			t.Errorf("garbage %d: the chat shows %.300q", i, texts(msgs))
		}
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// serveAt serves the model under an address that was closed until now.
func (w *world) serveAt(addr string) {
	w.t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	srv := &http.Server{Handler: w.model.Handler(), ReadHeaderTimeout: deadline}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	w.t.Cleanup(func() {
		_ = srv.Close()
		if err := receive(w.t, done, "end of the model's server"); !errors.Is(err, http.ErrServerClosed) {
			w.t.Error(err)
		}
	})
}

// No model can be reached: the chat is told which and why, keeps the message,
// and goes on as soon as one of them is back.
func TestAllModelsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	addr := freeAddr(t)
	w.models = fmt.Sprintf(`[{name: main, provider: openai, base_url: "http://%s/v1", api_key: sk-test, model: scripted},
  {name: spare, provider: anthropic, base_url: %s, api_key: sk-other, model: scripted}]`, addr, w.model.URL())
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if r.API == modelserver.Anthropic {
			return modelserver.Answer{Status: http.StatusServiceUnavailable}
		}
		return modelserver.Echo(r)
	})
	b := w.start("bot")
	b.ready()
	w.say("is anybody there?")
	msgs := w.wait(owner, "told", func(m []telegram.Message) bool { return len(m) == 1 })
	for _, want := range []string{"no model can answer", "main", "spare", "503"} {
		if !strings.Contains(msgs[0].Text, want) {
			t.Errorf("%q lacks %q", msgs[0].Text, want)
		}
	}
	w.say("/status")
	w.wait(owner, "status", func(m []telegram.Message) bool { return len(m) == 2 })
	w.serveAt(addr)
	w.say("again")
	w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "echo: again") == 1 })
	reqs := w.model.Requests()
	if got := said(reqs[len(reqs)-1]); got != "is anybody there?|again" {
		t.Errorf("the model knows of %q", got)
	}
}

// A model that is down for a moment, or one of two for long, is not noticed.
func TestModelDownAtFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.models = fmt.Sprintf(`[{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted},
  {name: spare, provider: anthropic, base_url: %s, api_key: sk-other, model: scripted}]`, w.model.OpenAI(), w.model.URL())
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if r.API == modelserver.OpenAI && (r.N == 1 || strings.Contains(r.LastUser(), "spare")) {
			return modelserver.Answer{Status: http.StatusServiceUnavailable}
		}
		a := modelserver.Echo(r)
		a.Text += " by " + r.API
		return a
	})
	b := w.start("bot")
	b.ready()
	w.say("one")
	w.wait(owner, "first answer", func(m []telegram.Message) bool { return len(m) == 1 })
	w.say("use the spare")
	msgs := w.wait(owner, "second answer", func(m []telegram.Message) bool { return len(m) == 2 })
	if got := texts(msgs); got != "echo: one by openai|echo: use the spare by anthropic" {
		t.Errorf("the chat shows %q", got)
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// A message of any size is answered or refused with a reason; the conversation
// goes on. Bytes that are no UTF-8 become readable.
func TestHugeAndBrokenTextOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		text := r.LastUser()
		return modelserver.Answer{Text: fmt.Sprintf("%d bytes, ends in %s", len(text), text[max(0, len(text)-4):])}
	})
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	p := b.page(filepath.Dir(path), "huge")
	const most = 256 << 10
	p.ask(strings.Repeat("x", most-4)+"last", fmt.Sprintf("%d bytes, ends in last", most))
	for _, size := range []int{most + 1, 10 << 20} {
		if status, body := p.say(strings.Repeat("x", size)); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "error") {
			t.Errorf("%d bytes: %d %s, want 413 with a reason", size, status, body)
		}
	}
	for _, body := range []string{"", "{", `{"id":"a","text":""}`, `{"id":"../x","text":"hi"}`, `[]`, "\xff\xfe"} {
		if status, answer := p.post("/messages", []byte(body)); status != http.StatusBadRequest {
			t.Errorf("body %q: %d %s, want 400", body, status, answer)
		}
	}
	if status, body := p.post("/messages", []byte("{\"id\":\"utf\",\"text\":\"bad \xff\xfe end.\"}")); status != http.StatusOK {
		t.Errorf("a text with bad bytes: %d %s", status, body)
	}
	p.wait("bad bytes answered", func(m shown) bool { return strings.Contains(m.Text, "ends in end.") })
	p.ask("的的的的", "12 bytes, ends in ")
	clean(t, b.signal(syscall.SIGTERM))
}
