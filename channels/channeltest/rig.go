package channeltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// patience bounds every wait of the suite.
	patience = 3 * time.Minute
	// look is the pause between two looks at a state that has no event.
	look = 2 * time.Millisecond
)

// rig is one rule's platform, with everything that was logged and returned.
type rig struct {
	t      *testing.T
	h      Harness
	log    Log
	errs   []error
	table  kv.Memory
	status *channels.Status
}

func newRig(t *testing.T, h Harness) *rig {
	t.Helper()
	if h.New == nil || h.Say == nil || h.Shown == nil || len(h.Direct) < 3 {
		t.Fatal("harness: New, Say, Shown and three Direct chats are required")
	}
	return &rig{t: t, h: h, status: channels.NewStatus(nil)}
}

// channel makes the channel under test.
func (r *rig) channel() channels.Channel {
	r.t.Helper()
	return r.h.New(r.t, channels.Deps{
		Table:  &r.table,
		Log:    slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Status: r.status,
	})
}

// need skips the rule when the platform or the channel has no such thing.
func (r *rig) need(has bool, what string) {
	r.t.Helper()
	if !has {
		r.t.Skip("not offered: " + what)
	}
}

// runner is a channel whose Run is running.
type runner struct {
	channels.Channel
	r      *rig
	inbox  *inbox
	cancel context.CancelFunc
	done   chan error
	once   sync.Once
	err    error
}

// start runs the channel with a sink that takes everything.
func (r *rig) start() *runner { return r.startWith(nil) }

// startWith runs the channel; judge decides about each message (nil takes it).
func (r *rig) startWith(judge func(chat.Inbound) error) *runner {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	run := &runner{
		Channel: r.channel(), r: r, cancel: cancel, done: make(chan error, 1),
		inbox: &inbox{judge: judge, changed: make(chan struct{})},
	}
	go func() { run.done <- run.Run(ctx, run.inbox.take) }()
	r.t.Cleanup(func() { _ = run.stop() })
	r.eventually("the channel connects", func() bool { return r.status.State().Connected })
	return run
}

// stop ends Run and returns what it returned.
func (run *runner) stop() error {
	run.once.Do(func() {
		run.cancel()
		run.err = run.wait()
	})
	return run.err
}

// wait waits for Run to return by itself.
func (run *runner) wait() error {
	select {
	case err := <-run.done:
		run.r.note(err)
		return err
	case <-time.After(patience):
		return errors.New("run did not return")
	}
}

// send sends text to a, which must succeed.
func (run *runner) send(a chat.Address, text string) chat.MessageRef {
	run.r.t.Helper()
	ref, err := run.trySend(outbound(a, text))
	if err != nil {
		run.r.t.Fatalf("send %q: %v", cut(text), err)
	}
	return ref
}

func (run *runner) trySend(msg chat.Outbound) (chat.MessageRef, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ref, err := run.Send(ctx, msg)
	run.r.note(err)
	return ref, err
}

// inbox is a Sink that remembers.
type inbox struct {
	judge func(chat.Inbound) error

	mu       sync.Mutex
	tried    []chat.Inbound // every call, in order
	taken    []chat.Inbound // the calls that were answered with nil
	inflight map[chat.Address]bool
	overlap  bool
	changed  chan struct{}
}

func (b *inbox) take(_ context.Context, in chat.Inbound) error {
	b.enter(in)
	var err error
	if b.judge != nil {
		err = b.judge(in)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inflight[in.Addr] = false
	if err == nil {
		b.taken = append(b.taken, in)
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return err
}

func (b *inbox) enter(in chat.Inbound) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inflight == nil {
		b.inflight = map[chat.Address]bool{}
	}
	b.overlap = b.overlap || b.inflight[in.Addr]
	b.inflight[in.Addr] = true
	b.tried = append(b.tried, in)
}

// await returns what was taken once there are n messages.
func (run *runner) await(n int) []chat.Inbound {
	run.r.t.Helper()
	b, late := run.inbox, time.After(patience)
	for {
		b.mu.Lock()
		taken, changed, overlap := append([]chat.Inbound{}, b.taken...), b.changed, b.overlap
		b.mu.Unlock()
		if overlap {
			run.r.t.Fatal("the sink was called for a chat while a call for it was running")
		}
		if len(taken) >= n {
			return taken
		}
		select {
		case <-changed:
		case <-late:
			run.r.t.Fatalf("%d of %d messages arrived; status %+v\nlog:\n%s", len(taken), n, run.r.status.State(), run.r.log.String())
		}
	}
}

// eventually waits for a state that announces itself by nothing.
func (r *rig) eventually(what string, is func() bool) {
	r.t.Helper()
	if !becomes(is) {
		r.t.Fatalf("never: %s; status %+v\nlog:\n%s", what, r.status.State(), r.log.String())
	}
}

// note keeps an error for the search for secrets.
func (r *rig) note(err error) {
	if err != nil {
		r.log.mu.Lock()
		defer r.log.mu.Unlock()
		r.errs = append(r.errs, err)
	}
}

// noSecrets is the rule behind all others.
func (r *rig) noSecrets() {
	r.t.Helper()
	log := r.log.String()
	for _, secret := range r.h.Secrets {
		if strings.Contains(log, secret) {
			r.t.Errorf("a secret stands in the log:\n%s", log)
		}
		for _, err := range r.errs {
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
				r.t.Errorf("a secret stands in an error: %v", err)
			}
		}
		if strings.Contains(r.status.State().LastError, secret) {
			r.t.Errorf("a secret stands in the status: %v", r.status.State())
		}
	}
}

func outbound(a chat.Address, text string) chat.Outbound {
	return chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: "out:" + string(a.Session()) + ":" + cut(text), At: time.Now(), Addr: a},
		Text: text,
	}
}

func cut(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40])
	}
	return s
}
