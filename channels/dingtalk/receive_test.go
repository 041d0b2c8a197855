package dingtalk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// DingTalk never pushes a message again, so one that the sink refuses is held
// and acknowledged only when it is stored; the chat's later ones wait for it,
// other chats do not.
func TestHeldUntilStored(t *testing.T) {
	w := newWorld(t, nil)
	open := make(chan struct{})
	r := w.start(t, nil, func(in chat.Inbound) error {
		select {
		case <-open:
			return nil
		default:
		}
		if in.Addr.Chat == ann().Chat() {
			return errors.New("store is full")
		}
		return nil
	})
	var frames []string
	for i := range 3 {
		_, f := w.Say(fake.Said{Chat: ann().Chat(), Text: fmt.Sprint("held ", i)})
		frames = append(frames, f)
	}
	_, other := w.Say(fake.Said{Chat: bob().Chat(), Text: "other"})
	if in := r.Next(t); in.Text != "other" {
		t.Fatalf("got %q", in.Text)
	}
	channeltest.Eventually(t, "the stored message is acknowledged", func() bool { a, ok := w.Ack(other); return ok && a.Code == 200 })
	for _, f := range frames {
		if a, ok := w.Ack(f); ok {
			t.Errorf("acknowledged before it was stored: %+v", a)
		}
	}
	close(open)
	for i := range 3 {
		if in := r.Next(t); in.Text != fmt.Sprint("held ", i) {
			t.Errorf("message %d is %q", i, in.Text)
		}
	}
	for _, f := range frames {
		channeltest.Eventually(t, "the held message is acknowledged", func() bool { a, ok := w.Ack(f); return ok && a.Code == 200 && a.Data == `{"response":{}}` })
	}
}

// What was received when Run ends gets a last try.
func TestLastTry(t *testing.T) {
	w := newWorld(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var stored []string
	status := channels.NewStatus(nil)
	ch := w.channel(t, channels.Deps{Status: status})
	done := make(chan error, 1)
	tried := make(chan struct{}, 100)
	go func() {
		done <- ch.Run(ctx, func(c context.Context, in chat.Inbound) error {
			select {
			case tried <- struct{}{}:
			default:
			}
			if ctx.Err() == nil || c.Err() != nil {
				return errors.New("not yet")
			}
			mu.Lock()
			defer mu.Unlock()
			stored = append(stored, in.Text)
			return nil
		})
	}()
	channeltest.Eventually(t, "the channel connects", func() bool { return status.State().Connected })
	w.Say(fake.Said{Chat: ann().Chat(), Text: "one"})
	w.Say(fake.Said{Chat: ann().Chat(), Text: "two"})
	<-tried
	channeltest.Eventually(t, "both are taken in", func() bool { return w.Calls(fake.OpOpen) == 1 && len(tried) > 3 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(stored) == 0 || stored[0] != "one" {
		t.Errorf("stored %q", stored)
	}
}

// A gateway that wants a connection to go loses nothing: the next connection
// is there before the old one ends.
func TestHandover(t *testing.T) {
	w := newWorld(t, &fake.Options{Grace: 30 * time.Millisecond})
	r := w.start(t, nil, nil)
	for round := range 3 {
		w.Disconnect()
		channeltest.Eventually(t, "a second connection", func() bool { return w.Calls(fake.OpOpen) == round+2 && w.Connections() >= 1 })
		channeltest.Eventually(t, "the new connection takes messages", func() bool {
			return w.Push(w.Frame(fake.TopicRobot, "probe", `{}`))
		})
		w.Say(fake.Said{Chat: ann().Chat(), Text: fmt.Sprint("round ", round)})
		if in := r.Next(t); in.Text != fmt.Sprint("round ", round) {
			t.Fatalf("got %q", in.Text)
		}
		channeltest.Eventually(t, "the old connection ends", func() bool { return w.Connections() == 1 })
	}
	if st := r.status.State(); st.LastError != "" || st.Reconnects != 0 {
		t.Errorf("a handover is no failure: %+v", st)
	}
}

// While no successor can be had the old connection is still read.
func TestHandoverWithoutSuccessor(t *testing.T) {
	w := newWorld(t, &fake.Options{Grace: time.Minute})
	r := w.start(t, nil, nil)
	w.Fail(fake.Fault{Op: fake.OpOpen, Status: 503, Page: true, Times: 3})
	w.Disconnect()
	channeltest.Eventually(t, "a successor after the failures", func() bool { return w.Connections() == 2 || w.Calls(fake.OpOpen) == 5 })
	if st := r.status.State(); st.LastError != "" {
		t.Errorf("the old connection stood all the time: %+v", st)
	}
}

// A connection that is open but dead is replaced: by the probe that nobody
// answers, and by silence.
func TestZombie(t *testing.T) {
	for name, change := range map[string]func(*pace){
		"no answer to a probe": func(p *pace) { p.ping, p.pong = 10*time.Millisecond, 20*time.Millisecond },
		"silence":              func(p *pace) { p.ping, p.silent = 10*time.Millisecond, 40*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			change(&w.pace)
			r := w.start(t, nil, nil)
			if name != "silence" {
				w.Zombie(true)
			}
			channeltest.Eventually(t, "another connection is opened", func() bool { return w.Calls(fake.OpOpen) > 1 })
			w.Zombie(false)
			channeltest.Eventually(t, "the connection lives", func() bool { return r.status.State().Connected && w.Push(w.Frame(fake.TopicRobot, "probe", `{}`)) })
			// What is said while the old connection goes is lost, as on the platform.
			channeltest.Eventually(t, "messages come again", func() bool {
				w.Say(fake.Said{Chat: ann().Chat(), Text: "back"})
				return len(r.In) > 0
			})
			if in := r.Next(t); in.Text != "back" {
				t.Errorf("got %q", in.Text)
			}
		})
	}
}

// Pings of the gateway are answered with their data; one that is not answered
// makes the fake cut the connection.
func TestPing(t *testing.T) {
	w := newWorld(t, &fake.Options{Ping: 5 * time.Millisecond})
	r := w.start(t, nil, nil)
	channeltest.Eventually(t, "pings are answered", func() bool { return len(w.Acked()) >= 5 })
	for _, id := range w.Acked() {
		if a, _ := w.Ack(id); a.Code != 200 || a.Data != `{"opaque":"`+id+`"}` {
			t.Errorf("answer %+v to ping %s", a, id)
		}
	}
	if st := r.status.State(); st.LastError != "" {
		t.Errorf("status %+v", st)
	}
}

func TestStrangeFrames(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	for _, raw := range []string{
		`{`, `null`, `{}`, `[]`, `{"type":"CALLBACK","headers":{"topic":5}}`, `{"type":"SYSTEM","headers":{"topic":"news"}}`,
		`{"type":"CALLBACK","headers":{"topic":"` + fake.TopicRobot + `","messageId":"bad1"},"data":"{"}`,
		`{"type":"CALLBACK","headers":{"topic":"` + fake.TopicCard + `","messageId":"bad2"},"data":"{}"}`,
		`{"type":"EVENT","headers":{"topic":"*","messageId":"event1"},"data":"{}"}`,
	} {
		if !w.Push([]byte(raw)) {
			t.Fatal("no connection")
		}
	}
	w.Say(fake.Said{Chat: ann().Chat(), Text: "after all that"})
	if in := r.Next(t); in.Text != "after all that" {
		t.Errorf("got %q", in.Text)
	}
	channeltest.Eventually(t, "an event that nobody wants is refused", func() bool { a, ok := w.Ack("event1"); return ok && a.Code == 404 })
	channeltest.Eventually(t, "what cannot be read is acknowledged", func() bool { a, ok := w.Ack("bad1"); return ok && a.Code == 200 })
	if n := r.Skipped(); n != 7 {
		t.Errorf("%d pushes skipped, want 7", n)
	}
	if w.Calls(fake.OpOpen) != 1 {
		t.Error("a strange frame cost the connection")
	}
}

// Trouble at the start is waited out; credentials that are refused are not.
func TestStart(t *testing.T) {
	t.Run("trouble", func(t *testing.T) {
		w := newWorld(t, nil)
		w.Fail(fake.Fault{Op: fake.OpOpen, Status: 502, Page: true, Times: 2})
		w.Fail(fake.Fault{Op: fake.OpOpen, Drop: true})
		w.Fail(fake.Fault{Op: fake.OpOpen, Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForApi"})
		w.start(t, nil, nil)
		if n := w.Calls(fake.OpOpen); n != 5 {
			t.Errorf("%d attempts, want 5", n)
		}
	})
	for name, f := range map[string]fake.Fault{
		"client_id":        {Op: fake.OpOpen, Code: "invalidClientIdOrSecret", Message: "无效的clientId或者clientSecret"},
		"outgoing IP list": {Op: fake.OpOpen, Status: 403, Code: "Forbidden.AccessDenied.IpNotInWhiteList"},
		"published":        {Op: fake.OpOpen, Status: 401, Code: "unauthorized.client"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.Fail(f)
			status := channels.NewStatus(nil)
			err := w.channel(t, channels.Deps{Status: status}).Run(channeltest.Bounded(t), func(context.Context, chat.Inbound) error { return nil })
			if channels.KindOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), name) {
				t.Errorf("Run returned %v, which does not say %q", err, name)
			}
			if !status.State().Stopped {
				t.Errorf("status %+v", status.State())
			}
		})
	}
}

// An endpoint is followed over TLS only, unless the API itself is plain.
func TestEndpoint(t *testing.T) {
	answer := `{"endpoint":"ws://169.254.169.254/connect","ticket":"t"}`
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
	defer web.Close()
	cfg := Config{ClientID: "c", ClientSecret: "s", APIBase: web.URL}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	dt := newDingTalk(instance, cfg, channels.Deps{HTTP: web.Client()}, quick())
	for _, a := range []string{answer, `{"endpoint":"https://x/","ticket":"t"}`, `{"endpoint":"wss://x/"}`, `{"endpoint":":","ticket":"t"}`, `[]`, ``} {
		answer = a
		if at, err := dt.ticket(channeltest.Bounded(t)); err == nil {
			t.Errorf("%s: accepted as %s", a, at)
		}
	}
	answer = `{"endpoint":"wss://wss-open-connection.dingtalk.com:443/connect","ticket":"a b&c"}`
	at, err := dt.ticket(channeltest.Bounded(t))
	if err != nil || at != "wss://wss-open-connection.dingtalk.com:443/connect?ticket=a+b%26c" {
		t.Errorf("got %s, %v", at, err)
	}
}

// The same push has the same id after a restart; a webhook learned before it
// is used after it.
func TestRestart(t *testing.T) {
	w := newWorld(t, nil)
	var table kv.Memory
	first := w.start(t, &table, nil)
	id, _ := w.Say(fake.Said{Chat: ann().Chat(), Text: "你好"})
	before := first.Next(t)
	channeltest.Eventually(t, "the session is stored", func() bool {
		_, err := table.Get(context.Background(), sessionPrefix+ann().Chat())
		return err == nil
	})
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := w.start(t, &table, nil)
	w.Say(fake.Said{Chat: ann().Chat(), Text: "你好", Fields: map[string]any{"msgId": id}})
	if after := second.Next(t); after.ID != before.ID {
		t.Errorf("id %q before, %q after", before.ID, after.ID)
	}
	third := w.channel(t, channels.Deps{Table: &table})
	if _, err := third.Send(channeltest.Bounded(t), outbound(ann().Chat(), "by the webhook")); err != nil {
		t.Fatal(err)
	}
	if m := w.Messages(ann().Chat()); len(m) != 1 || m[0].Via != fake.OpWebhook {
		t.Errorf("the chat shows %+v", m)
	}
}

// A thousand messages of sixteen chats arrive in order over cuts and
// handovers: those that had a connection.
func TestManyInOrder(t *testing.T) {
	w := newWorld(t, &fake.Options{Grace: 20 * time.Millisecond})
	for i := range 16 {
		w.AddPerson(fake.Person{StaffID: fmt.Sprintf("many%02d", i), Name: fmt.Sprint("P", i)})
	}
	var mu sync.Mutex
	n := 0
	r := w.start(t, nil, func(chat.Inbound) error {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%17 == 0 {
			return errors.New("now and then")
		}
		return nil
	})
	for i := range 64 {
		for p := range 16 {
			w.Say(fake.Said{Chat: fmt.Sprintf("user:many%02d", p), Text: fmt.Sprint(i)})
		}
	}
	want := 64*16 - w.Lost()
	if want != 64*16 {
		t.Fatalf("%d were lost without any break", w.Lost())
	}
	last := map[string]int{}
	for range want {
		in := r.Next(t)
		var i int
		_, _ = fmt.Sscan(in.Text, &i)
		if i != last[in.Addr.Chat] {
			t.Fatalf("%s: message %d when %d was due", in.Addr, i, last[in.Addr.Chat])
		}
		last[in.Addr.Chat] = i + 1
	}
}

// Nothing secret is logged, whatever goes wrong.
func TestNoSecrets(t *testing.T) {
	w := newWorld(t, nil)
	var mu sync.Mutex
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return buf.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	status := channels.NewStatus(nil)
	ch := w.channel(t, channels.Deps{Log: log, Status: status})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	in := make(chan chat.Inbound, 10)
	go func() {
		done <- ch.Run(ctx, func(_ context.Context, i chat.Inbound) error { in <- i; return nil })
	}()
	channeltest.Eventually(t, "the channel connects", func() bool { return status.State().Connected })
	w.Say(fake.Said{Chat: ann().Chat(), Text: "private words"})
	<-in
	var errs []error
	for _, f := range []fake.Fault{{Drop: true}, {Status: 500, Page: true}, {Errcode: 300001, Message: "session 不存在"}, {Op: fake.OpToken, Drop: true}} {
		w.Expire()
		w.Fail(f)
		_, err := ch.Send(channeltest.Bounded(t), outbound(ann().Chat(), "private words"))
		errs = append(errs, err)
	}
	w.Cut()
	cancel()
	<-done
	mu.Lock()
	defer mu.Unlock()
	_, secret := w.Credentials()
	text := buf.String() + fmt.Sprint(errs) + status.State().LastError
	for _, s := range []string{secret, "fakesession", "fakeaccesstoken", "faketicket", "private words"} {
		if strings.Contains(text, s) {
			t.Errorf("%q is seen in\n%s", s, text)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
