package termchat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/channels"
	"magpie/channels/web"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/internal/termchat"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const patience = time.Minute

// bot is a web chat with a scripted agent behind a check of the token.
type bot struct {
	*httptest.Server
	web *web.Web

	mu      sync.Mutex
	taken   []chat.Inbound
	refuse  int // how many messages are refused before the first is taken
	answers sync.WaitGroup
}

func newBot(t *testing.T, answer func(*bot, chat.Inbound)) *bot {
	t.Helper()
	ch, err := web.New("web", nil, channels.Deps{Table: &kv.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bot{web: ch.(*web.Web)}
	handler := b.web.Handler()
	b.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-token" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(rw, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() {
		err := b.web.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.refuse > 0 {
				b.refuse--
				return errors.New("the store is full")
			}
			b.taken = append(b.taken, in)
			b.answers.Go(func() { answer(b, in) })
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		run.Wait()
		b.answers.Wait()
		b.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return b
}

func (b *bot) say(in chat.Inbound, text string, change ...func(*chat.Outbound)) {
	msg := chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: "out:" + in.ID, Addr: in.Addr}, Text: text, Final: true, Turn: "t" + in.ID}
	for _, c := range change {
		c(&msg)
	}
	if _, err := b.web.Send(context.Background(), msg); err != nil {
		panic(err) // a test's own bot cannot fail
	}
}

func (b *bot) inbound() []chat.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]chat.Inbound{}, b.taken...)
}

func echo(b *bot, in chat.Inbound) { b.say(in, "you said: "+in.Text) }

// chatWith runs the client on a text as its input and returns what it printed.
func chatWith(t *testing.T, b *bot, in io.Reader, change ...func(*termchat.Options)) (string, error) {
	t.Helper()
	var out bytes.Buffer
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	o := termchat.Options{BaseURL: b.URL + "/", Token: "the-token", In: in, Out: &out, SaveDir: t.TempDir(), Wait: patience, HTTP: client}
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := termchat.Run(ctx, o)
	return out.String(), err
}

func TestPlain(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"one line":            {"hello\n", "you said: hello\n"},
		"no line break":       {"hello", "you said: hello\n"},
		"Chinese":             {"你好,世界\n", "you said: 你好,世界\n"},
		"in order":            {"one\ntwo\nthree\n", "you said: one\nyou said: two\nyou said: three\n"},
		"empty lines":         {"\n  \nhello\n\n", "you said: hello\n"},
		"a line that goes on": {"one\\\ntwo\n", "you said: one\ntwo\n"},
		"nothing":             {"", ""},
		"quit":                {"one\n/quit\ntwo\n", "you said: one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chatWith(t, newBot(t, echo), strings.NewReader(c.in))
			if err != nil || got != c.want {
				t.Errorf("printed %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// One message has any lines, also those that would mean something in a pipe.
func TestOneMessage(t *testing.T) {
	for _, text := range []string{"one", "one\ntwo", "a\n\n/quit\n你好", "C:\\dir\nx"} {
		b := newBot(t, echo)
		got, err := chatWith(t, b, termchat.Message(text))
		if in := b.inbound(); err != nil || got != "you said: "+text+"\n" || len(in) != 1 || in[0].Text != text {
			t.Errorf("%q: printed %q (%v), %d came in", text, got, err, len(in))
		}
	}
}

func TestPlainLongText(t *testing.T) {
	text := strings.Repeat("好", 80_000) // 240 000 bytes
	got, err := chatWith(t, newBot(t, echo), strings.NewReader(text+"\n"))
	if want := "you said: " + text + "\n"; err != nil || got != want {
		t.Errorf("%d bytes came back (%v), want %d", len(got), err, len(want))
	}
	if _, err := chatWith(t, newBot(t, echo), strings.NewReader(strings.Repeat("a", 256<<10+1)+"\n")); err == nil {
		t.Error("a text over the limit was taken")
	}
}

func TestPlainAnswerOfACommand(t *testing.T) { // not the final message of a turn
	b := newBot(t, func(b *bot, in chat.Inbound) {
		b.say(in, "help is here", func(o *chat.Outbound) { o.Final, o.Turn = false, "" })
	})
	if got, err := chatWith(t, b, strings.NewReader("/help\n")); err != nil || got != "help is here\n" {
		t.Errorf("printed %q, %v", got, err)
	}
}

func TestPlainMessageDuringATurn(t *testing.T) {
	b := newBot(t, func(b *bot, in chat.Inbound) {
		turn := "t" + in.ID
		b.web.Event(chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: turn})
		b.say(in, "first", func(o *chat.Outbound) { o.Final, o.ID = false, o.ID+":1" })
		b.web.Event(chat.Event{Kind: chat.TurnDelta, Addr: in.Addr, Turn: turn, Text: "sec"})
		b.say(in, "second")
		b.web.Event(chat.Event{Kind: chat.TurnEnded, Addr: in.Addr, Turn: turn})
	})
	if got, err := chatWith(t, b, strings.NewReader("go\n")); err != nil || got != "first\nsecond\n" {
		t.Errorf("printed %q, %v", got, err)
	}
}

func TestPlainRetries(t *testing.T) {
	b := newBot(t, echo)
	b.refuse = 2
	if got, err := chatWith(t, b, strings.NewReader("hello\n")); err != nil || got != "you said: hello\n" {
		t.Errorf("printed %q, %v", got, err)
	}
	if n := len(b.inbound()); n != 1 {
		t.Errorf("%d messages came in, want 1", n)
	}
}

func TestButtonsAreNumbers(t *testing.T) {
	b := newBot(t, func(b *bot, in chat.Inbound) {
		if in.Press != nil {
			b.say(in, "pressed "+in.Press.Data)
			_ = b.web.AnswerPress(context.Background(), in.Addr, chat.Answer{Press: in.Press.ID, Message: in.Press.Message})
			return
		}
		b.say(in, "Shall I?", func(o *chat.Outbound) {
			o.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}, {{Label: "不要", Data: "n"}}}
		})
	})
	got, err := chatWith(t, b, strings.NewReader("do it\n2\n"))
	if want := "Shall I?\n  1) Yes\n  2) 不要\npressed n\n"; err != nil || got != want {
		t.Errorf("printed %q (%v), want %q", got, err, want)
	}
}

// A notice is shown to who pressed, once.
func TestNoticeOfAPress(t *testing.T) {
	b := newBot(t, func(b *bot, in chat.Inbound) {
		if in.Press != nil {
			_ = b.web.AnswerPress(context.Background(), in.Addr, chat.Answer{Press: in.Press.ID, Notice: "Done: milk.", Message: in.Press.Message})
			return
		}
		b.say(in, "milk?", func(o *chat.Outbound) {
			o.Buttons = [][]chat.Button{{{Label: "Done", Data: "y"}}}
		})
	})
	got, err := chatWith(t, b, strings.NewReader("do it\n1\n"), func(o *termchat.Options) { o.Wait = 2 * time.Second })
	if want := "milk?\n  1) Done\nDone: milk.\n"; got != want {
		t.Errorf("printed %q (%v), want %q", got, err, want)
	}
}

func TestFilesAreSaved(t *testing.T) {
	data := []byte("the report")
	b := newBot(t, func(b *bot, in chat.Inbound) {
		up := channels.Upload{
			Attachment: chat.Attachment{Kind: chat.File, Name: "../../报告.txt"},
			Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		}
		msg := chat.Outbound{Meta: chat.Meta{ID: "out", Addr: in.Addr}, Text: "here", Final: true}
		if _, err := b.web.SendMedia(context.Background(), msg, []channels.Upload{up}); err != nil {
			panic(err)
		}
	})
	dir := t.TempDir()
	got, err := chatWith(t, b, strings.NewReader("report\n"), func(o *termchat.Options) { o.SaveDir = filepath.Join(dir, "in") })
	if err != nil || !strings.HasPrefix(got, "here\n[报告.txt: "+dir) {
		t.Fatalf("printed %q, %v", got, err)
	}
	path := strings.TrimSuffix(strings.TrimPrefix(got, "here\n[报告.txt: "), "]\n")
	if saved, err := os.ReadFile(path); err != nil || !bytes.Equal(saved, data) || filepath.Dir(path) != filepath.Join(dir, "in") {
		t.Errorf("%s holds %q, %v", path, saved, err)
	}
}

func TestControlCharactersAreDropped(t *testing.T) {
	b := newBot(t, func(b *bot, in chat.Inbound) { b.say(in, "a\x1b]0;evil\x07b\u009bc\ttab\r\nline") })
	if got, err := chatWith(t, b, strings.NewReader("x\n")); err != nil || got != "a]0;evilbc\ttab\nline\n" {
		t.Errorf("printed %q, %v", got, err)
	}
}

func TestOldMessagesAreNotPrinted(t *testing.T) {
	b := newBot(t, echo)
	b.say(chat.Inbound{Meta: chat.Meta{ID: "old", Addr: chat.Address{Channel: "web", Chat: "terminal"}}}, "from before")
	if got, err := chatWith(t, b, strings.NewReader("new\n")); err != nil || got != "you said: new\n" {
		t.Errorf("printed %q, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	b := newBot(t, func(*bot, chat.Inbound) {})
	t.Run("wrong token", func(t *testing.T) {
		_, err := chatWith(t, b, strings.NewReader("x\n"), func(o *termchat.Options) { o.Token = "guess-me" })
		if !errors.Is(err, termchat.ErrUnauthorized) || strings.Contains(fmt.Sprint(err), "guess-me") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		if _, err := chatWith(t, b, strings.NewReader("x\n"), func(o *termchat.Options) { o.BaseURL = "http://127.0.0.1:1" }); err == nil {
			t.Error("no error")
		}
	})
	t.Run("no answer", func(t *testing.T) {
		if _, err := chatWith(t, b, strings.NewReader("x\n"), func(o *termchat.Options) { o.Wait = 50 * time.Millisecond }); err == nil {
			t.Error("no error")
		}
	})
	t.Run("bad conversation", func(t *testing.T) {
		if _, err := chatWith(t, b, strings.NewReader("x\n"), func(o *termchat.Options) { o.Chat = "a b" }); err == nil {
			t.Error("no error")
		}
	})
}

func TestCancel(t *testing.T) {
	b := newBot(t, func(*bot, chat.Inbound) {})
	in, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	done := make(chan error, 1)
	go func() {
		done <- termchat.Run(ctx, termchat.Options{BaseURL: b.URL, Token: "the-token", In: in, Out: io.Discard, HTTP: client})
	}()
	if _, err := io.WriteString(w, "hello\n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("got %v, want nil", err)
		}
	case <-time.After(patience):
		t.Fatal("Run did not return")
	}
}
