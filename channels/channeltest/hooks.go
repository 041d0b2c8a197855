package channeltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

// Hooks is a channel in webhook mode, on its fake platform.
type Hooks struct {
	New func(t *testing.T, d channels.Deps, url string) channels.Channel
	// Calls has the platform call there from now on. New was called before.
	Calls func(t *testing.T, url string)
	Say   func(a chat.Address, text string)
	Chats []chat.Address
}

// AnyProcess is the rule of channels that take calls: each of two processes
// takes them, whichever runs the channel, also when nobody does, and when the
// one that did is gone. Every message is taken once, and all calls are answered
// with 200 as long as both are there.
func AnyProcess(t *testing.T, h Hooks) {
	t.Helper()
	shared := &taken{by: map[string]chat.Inbound{}, changed: make(chan struct{}, 1)}
	front := &turns{}
	web := httptest.NewServer(front)
	t.Cleanup(web.Close)
	var table kv.Memory
	start := func() *process {
		ch := h.New(t, channels.Deps{Table: &table, Log: slog.New(slog.DiscardHandler)}, web.URL)
		p := &process{ch: ch, hook: ch.(channels.Hooker).Hook()}
		front.add(p)
		return p
	}
	said := 0
	say := func(n int) {
		for range n {
			for _, a := range h.Chats {
				said++
				h.Say(a, fmt.Sprint("message ", said))
			}
		}
	}
	one, other := start(), start()
	front.only(other)
	one.refuses(t, "before anything runs")
	other.begin(t, shared, false)
	h.Calls(t, web.URL)
	say(1)
	shared.await(t, said)
	one.begin(t, shared, true)
	front.only(one)
	say(1)
	shared.await(t, said)
	front.only(nil)
	say(12)
	shared.await(t, said)
	if codes := front.refused(); len(codes) > 0 {
		t.Errorf("with two processes there, calls were answered with %v", codes)
	}
	say(4)
	one.end(t)
	say(4)
	shared.await(t, said)
	one.refuses(t, "after the end")
	shared.whole(t, said)
}

// process is one process of a channel.
type process struct {
	ch   channels.Channel
	hook http.Handler
	stop context.CancelFunc
	all  []chan error
}

// refuses: nobody is there who could store anything.
func (p *process) refuses(t *testing.T, when string) {
	t.Helper()
	w := httptest.NewRecorder()
	p.hook.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code < 400 {
		t.Errorf("%s a call is answered with %d", when, w.Code)
	}
}

// begin takes calls, and runs the channel if it is to.
func (p *process) begin(t *testing.T, into *taken, run bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	works := []func(context.Context, channels.Sink) error{p.ch.(channels.Hooker).Receive}
	if run {
		works = append(works, p.ch.Run)
	}
	for _, work := range works {
		done := make(chan error, 1)
		p.all = append(p.all, done)
		go func() { done <- work(ctx, into.take) }()
	}
	t.Cleanup(func() { p.end(t) })
}

func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	for _, done := range p.all {
		if err := <-done; err != nil {
			t.Errorf("ended with %v", err)
		}
	}
	p.all = nil
}

// turns gives calls to the processes in turn, as a proxy does.
type turns struct {
	mu   sync.Mutex
	all  []*process
	one  *process // takes all; nil = in turn
	next int
	bad  []int // answers other than 200
}

func (f *turns) add(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, p)
}

// only sends all calls to one process, nil to all of them, and forgets what was
// refused.
func (f *turns) only(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.one, f.bad = p, nil
}

func (f *turns) refused() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bad)
}

// ServeHTTP implements http.Handler.
func (f *turns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	p := f.one
	if p == nil {
		p = f.all[f.next%len(f.all)]
		f.next++
	}
	f.mu.Unlock()
	seen := &answered{ResponseWriter: w, code: http.StatusOK}
	p.hook.ServeHTTP(seen, r)
	if seen.code != http.StatusOK && r.Context().Err() == nil { // a caller that hung up hears no answer; it calls again
		f.mu.Lock()
		defer f.mu.Unlock()
		f.bad = append(f.bad, seen.code)
	}
}

// answered notes how a call was answered.
type answered struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// taken is a mailbox that two processes share: of one id it keeps the first.
type taken struct {
	mu      sync.Mutex
	by      map[string]chat.Inbound
	wrong   error
	changed chan struct{}
}

func (k *taken) take(_ context.Context, in chat.Inbound) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	old, again := k.by[in.ID]
	if again && (old.Text != in.Text || !cmp.Equal(old.Attachments, in.Attachments)) {
		k.wrong = errors.Join(k.wrong, fmt.Errorf("%q came as %q with %d files and as %q with %d", in.ID, old.Text, len(old.Attachments), in.Text, len(in.Attachments)))
	}
	if !again {
		k.by[in.ID] = in
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
	return nil
}

func (k *taken) await(t *testing.T, n int) {
	t.Helper()
	late := Bounded(t)
	for {
		k.mu.Lock()
		got := len(k.by)
		k.mu.Unlock()
		if got >= n {
			return
		}
		select {
		case <-k.changed:
		case <-late.Done():
			t.Fatalf("%d of %d messages were stored", got, n)
		}
	}
}

// whole: every message is there, once.
func (k *taken) whole(t *testing.T, n int) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	texts := map[string]int{}
	for _, in := range k.by {
		texts[in.Text]++
	}
	for i := range n {
		if text := fmt.Sprint("message ", i+1); texts[text] != 1 {
			t.Errorf("%q was stored %d times", text, texts[text])
		}
	}
	if len(k.by) != n || k.wrong != nil {
		t.Errorf("%d messages were stored, want %d; %v", len(k.by), n, k.wrong)
	}
}
