package feishu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
)

func framed(id string, seq, sum int, payload string) *frame {
	return &frame{method: frameData, payload: []byte(payload), headers: []header{
		{headerMessageID, id}, {headerSeq, strconv.Itoa(seq)}, {headerSum, strconv.Itoa(sum)},
	}}
}

// What arrives is complete: name, quote, thread, and the order of the frames.
func TestReceive(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r := start(t, w.channel(t, channels.Deps{}))
	w.Split(100) // every event in many frames
	ref, err := r.Send(channeltest.Bounded(t), outbound(at(crowd), "1", "**hello**"))
	if err != nil {
		t.Fatal(err)
	}
	w.Say(fake.Said{From: ann, Text: "问题"})
	if in := r.Next(t); in.Text != "问题" || in.From.Name != "Ann" || in.From.ID != ann || !in.Direct {
		t.Errorf("got %+v", in)
	}
	w.Say(fake.Said{From: bob, Chat: crowd, Text: "what do you mean?", ReplyTo: ref.ID})
	in := r.Next(t)
	if q := in.ReplyTo; q == nil || !q.Mine || q.ID != ref.ID || !strings.Contains(q.Text, "hello") || !in.Mentioned || in.Direct {
		t.Errorf("a reply to the bot: %+v, quote %+v", in, in.ReplyTo)
	}
	first := w.Say(fake.Said{From: ann, Chat: crowd, Text: "the question"})
	r.Next(t)
	w.Say(fake.Said{From: bob, Chat: crowd, Text: "in a thread", ReplyTo: first, InThread: true})
	if in = r.Next(t); in.Addr.Thread != first || in.ReplyTo != nil || in.Mentioned {
		t.Errorf("in a thread: %+v", in)
	}
	w.Say(fake.Said{From: bob, Chat: crowd, Text: "see", ReplyTo: first, Files: []fake.File{{Kind: "image", Data: dot()}, {Kind: "image", Data: dot()}}})
	if in = r.Next(t); len(in.Attachments) != 2 || in.Text != "see" || in.ReplyTo.From != "Ann" || in.ReplyTo.Text != "the question" {
		t.Errorf("pictures in a text: %+v, quote %+v", in, in.ReplyTo)
	}
	if pending, lost := w.Pending(); pending != 0 || lost != 0 {
		channeltest.Eventually(t, "everything is acknowledged", func() bool { n, _ := w.Pending(); return n == 0 })
	}
}

// Without permission to read contacts and messages everything still arrives,
// and the contacts are asked once.
func TestReceiveWithoutPermissions(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.Deny("/open-apis/contact")
	w.Fail(fake.Fault{Op: "get", Code: 230027, Msg: "Lack of necessary permissions."})
	r := start(t, w.channel(t, channels.Deps{}))
	first := w.Say(fake.Said{From: ann, Text: "one"})
	r.Next(t)
	w.Say(fake.Said{From: ann, Text: "two", ReplyTo: first})
	if in := r.Next(t); in.From.Name != "" || in.ReplyTo == nil || in.ReplyTo.ID != first || !strings.Contains(in.ReplyTo.Text, "could not be read") {
		t.Errorf("got %+v, quote %+v", in, in.ReplyTo)
	}
	if n := w.Calls("user"); n != 1 {
		t.Errorf("the contacts were asked %d times", n)
	}
}

// A lookup without an answer holds a message back for pace.lookup only.
func TestSlowLookup(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.Fail(fake.Fault{Op: "user"})
	f := w.channel(t, channels.Deps{})
	f.pace.lookup = 30 * time.Millisecond
	r := start(t, f)
	w.Say(fake.Said{From: ann, Text: "quick"})
	if in := r.Next(t); in.Text != "quick" || in.From.Name != "" {
		t.Errorf("got %+v", in)
	}
}

// The same event, hours later and after a restart, has the same id.
func TestRedelivery(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r := start(t, w.channel(t, channels.Deps{}))
	id := w.Say(fake.Said{From: ann, Text: "once"})
	one := r.Next(t)
	w.Again(id)
	if two := r.Next(t); two.ID != one.ID || two.ID != "feishu:feishu:"+id {
		t.Errorf("ids %q and %q", one.ID, two.ID)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	w.Again(id)
	again := start(t, w.channel(t, channels.Deps{Now: func() time.Time { return time.Now().Add(6 * time.Hour) }}))
	if three := again.Next(t); three.ID != one.ID || !three.At.Equal(one.At) {
		t.Errorf("after the restart %+v", three.Meta)
	}
}

// An event is answered with 200 only when it is stored: one that takes too
// long is answered with 500, comes again, and both times in its place.
func TestLateStore(t *testing.T) {
	w := newWorld(t, fake.Options{Repush: []time.Duration{5 * time.Millisecond, time.Hour}})
	f := w.channel(t, channels.Deps{})
	f.pace.answer = 20 * time.Millisecond
	release, inside := make(chan struct{}), make(chan string, 10)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- f.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			inside <- in.Text
			<-release
			return nil
		})
	}()
	w.Say(fake.Said{From: ann, Text: "slow"})
	<-inside
	w.Say(fake.Said{From: bob, Text: "another chat"})
	if got := <-inside; got != "another chat" {
		t.Errorf("a slow chat holds up another: %q", got)
	}
	// Both were answered with 500 and wait for their second time.
	channeltest.Eventually(t, "the platform gives up waiting twice", func() bool { return w.Pushed() >= 4 })
	close(release)
	for range 2 {
		<-inside
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A line that is full takes no more, and says so.
func TestFullLine(t *testing.T) {
	f := offline(t)
	in := newIntake(f, func(ctx context.Context, _ chat.Inbound) error { <-ctx.Done(); return ctx.Err() })
	f.pace.lookup = time.Nanosecond
	ctx, cancel := context.WithCancel(context.Background())
	in.open(ctx)
	message := func() event {
		return event{in: &chat.Inbound{Meta: chat.Meta{Addr: at(ann)}, From: chat.Sender{Bot: true}}}
	}
	var all []<-chan error
	for range maxLine {
		all = append(all, in.take(message()))
	}
	if err := <-in.take(message()); !errors.Is(err, errLine) {
		t.Errorf("one too many: %v", err)
	}
	cancel()
	in.wait()
	for _, done := range all {
		if err := <-done; err == nil {
			t.Fatal("an event that was not stored was acknowledged")
		}
	}
}

// Events that cannot be read do not hold up the others.
func TestUnreadableEvents(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r := start(t, w.channel(t, channels.Deps{}))
	for _, raw := range []string{"", "{", "[]", `{"header":{"event_type":"im.message.receive_v1"},"event":{"message":7}}`, `{"header":{"event_type":"card.action.trigger"},"event":[]}`, strings.Repeat("x", 1<<20)} {
		w.Raw(raw)
	}
	w.Event("im.chat.updated_v1", map[string]any{"chat_id": crowd})
	w.Say(fake.Said{From: ann, Text: "readable"})
	if in := r.Next(t); in.Text != "readable" {
		t.Errorf("got %+v", in)
	}
	channeltest.Eventually(t, "all are acknowledged", func() bool { n, _ := w.Pending(); return n == 0 })
}

// A connection that is dead without being closed is noticed and replaced.
func TestZombie(t *testing.T) {
	w := newWorld(t, fake.Options{})
	status := channels.NewStatus(nil)
	f := w.channel(t, channels.Deps{Status: status})
	f.pace.pong = 100 * time.Millisecond
	r := start(t, f)
	channeltest.Eventually(t, "a ping is answered", func() bool { _, _, pings := w.Lines(); return pings > 1 })
	w.Silence(true)
	w.Say(fake.Said{From: ann, Text: "during the silence"})
	channeltest.Eventually(t, "the status tells", func() bool { return strings.Contains(status.State().LastError, "no answer to a ping") })
	w.Silence(false)
	if in := r.Next(t); in.Text != "during the silence" {
		t.Errorf("got %+v", in)
	}
	if _, ever, _ := w.Lines(); ever < 2 {
		t.Errorf("%d connections", ever)
	}
	channeltest.Eventually(t, "connected", func() bool { return status.State().Connected })
}

// Order and completeness over connections that break all the time.
func TestBreaks(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	var mu sync.Mutex
	seen := map[string]int{}
	all := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	const each = 60
	go func() {
		done <- f.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			mu.Lock()
			defer mu.Unlock()
			if seen[in.Text]++; len(seen) == each && seen[in.Text] == 1 {
				close(all)
			}
			return nil
		})
	}()
	for i := range each {
		w.Say(fake.Said{From: ann, Text: fmt.Sprint("message ", i)})
		if i%7 == 0 {
			w.CutLines()
		}
	}
	select {
	case <-all:
	case <-channeltest.Bounded(t).Done():
		t.Errorf("%d of %d arrived", len(seen), each)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// How the platform refuses a connection decides what becomes of Run.
func TestRefusedConnection(t *testing.T) {
	for _, c := range []struct {
		fault fake.Fault
		kind  channels.Kind
		says  string
	}{
		{fake.Fault{Op: "endpoint", Code: 514, Msg: "auth failed"}, channels.Unauthorized, "app_secret is wrong"},
		{fake.Fault{Op: "endpoint", Code: 403, Msg: "forbidden"}, channels.Rejected, "Events & Callbacks"},
		{fake.Fault{Op: "handshake", Code: 403, Msg: "forbidden"}, channels.Rejected, "Events & Callbacks"},
		{fake.Fault{Op: "info", Code: 11205, Msg: "app do not have bot"}, channels.Rejected, "bot ability"},
		{fake.Fault{Op: "token", Code: 10014, Msg: "app secret invalid"}, channels.Unauthorized, "10014"},
		{fake.Fault{Op: "info", Code: 99991662, Msg: "app not in use"}, channels.Unauthorized, "not in use"},
	} {
		w := newWorld(t, fake.Options{})
		w.Fail(c.fault)
		status := channels.NewStatus(nil)
		err := w.channel(t, channels.Deps{Status: status}).Run(channeltest.Bounded(t), nil)
		if channels.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.says) || !status.State().Stopped {
			t.Errorf("%+v: %v, status %+v", c.fault, err, status.State())
		}
	}
	for _, f := range []fake.Fault{
		{Op: "endpoint", Code: 1, Msg: "system busy", Times: 2},
		{Op: "endpoint", Code: 1000040343, Msg: "internal error"},
		{Op: "endpoint", Code: 1000040350, Msg: "exceed conn limit"},
		{Op: "handshake", Code: 514, Msg: "ticket is invalid"},
		{Op: "handshake", Status: 403, Page: true}, // of a proxy
		{Op: "handshake", Status: 502, Page: true},
		{Op: "endpoint", Status: 403, Page: true},
		{Op: "info", Status: 502, Page: true},
		{Op: "token", Drop: true},
	} {
		w := newWorld(t, fake.Options{})
		w.Fail(f)
		r := start(t, w.channel(t, channels.Deps{}))
		w.Say(fake.Said{From: ann, Text: "after the trouble"})
		if in := r.Next(t); in.Text != "after the trouble" {
			t.Errorf("%+v: got %+v", f, in)
		}
	}
}

// The address of the connection holds a ticket and an access key: no secrets
// for a log, whatever goes wrong.
func TestNoSecretsOfTheConnection(t *testing.T) {
	var log channeltest.Log
	w := newWorld(t, fake.Options{})
	w.Fail(fake.Fault{Op: "handshake", Code: 514, Msg: "ticket is invalid"})
	d := channels.Deps{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), HTTP: &http.Client{Transport: &flaky{fails: 3}}}
	r := start(t, w.channel(t, d))
	w.Say(fake.Said{From: ann, Text: "x"})
	r.Next(t)
	w.CutLines()
	w.Say(fake.Said{From: ann, Text: "y"})
	r.Next(t)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"ticket=", "access_key", w.Secret(), "t-g1FAKE"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q stands in the log:\n%s", secret, log.String())
		}
	}
}

// flaky fails the first dials of connections in net/http's way, with the URL.
type flaky struct {
	mu    sync.Mutex
	fails int
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	bad := strings.HasPrefix(r.URL.Path, "/ws/") && f.fails > 0
	if bad {
		f.fails--
	}
	f.mu.Unlock()
	if bad {
		return nil, errors.New("no route to host")
	}
	tr := &http.Transport{DisableKeepAlives: true}
	return tr.RoundTrip(r)
}

// An orderly stop is said with a close frame, so that the platform does not go
// on pushing to a connection that is gone.
func TestFarewell(t *testing.T) {
	w := newWorld(t, fake.Options{})
	for i := range 3 {
		r := start(t, w.channel(t, channels.Deps{}))
		channeltest.Eventually(t, "a connection", func() bool { now, _, _ := w.Lines(); return now == 1 })
		w.Say(fake.Said{From: ann, Text: "hello"})
		r.Next(t)
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		channeltest.Eventually(t, "the close frame", func() bool { return w.Closed() == i+1 })
		channeltest.Eventually(t, "no connection", func() bool { now, _, _ := w.Lines(); return now == 0 })
	}
}
