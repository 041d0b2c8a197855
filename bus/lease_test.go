package bus_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
	"magpie/internal/kv"
)

// A renewal whose acknowledgement got lost stands in the way of the next one.
// It is our own, so the lease is kept; one of somebody else ends it.
func TestRenewalWhoseAcknowledgementGotLost(t *testing.T) {
	for name, own := range map[string]bool{"our own": true, "somebody else's": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.Open(t, bus.Options{URL: bustest.External(t), Lease: time.Minute})
			l, held, err := b.Acquire(testContext(t), "chat")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Release()
			before := l.Until()
			if err := l.Ghost(testContext(t), own); err != nil {
				t.Fatal(err)
			}
			// The first renewal is due after 6.7 s.
			until(t, "renewed or ended", func() bool { return l.Until() > before || held.Err() != nil })
			if own && held.Err() != nil {
				t.Errorf("the lease is lost: %v", context.Cause(held))
			}
			if !own && (l.Until() > before || !errors.Is(context.Cause(held), bus.ErrLost)) {
				t.Errorf("the lease is kept although somebody else wrote it (%v)", context.Cause(held))
			}
		})
	}
}

// A lease that this process has left behind, since its acknowledgement got lost,
// is taken up at once; one of another process has to run out.
func TestLeaseLeftBehind(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{URL: bustest.External(t), Lease: time.Minute})
	for name, own := range map[string]bool{"ours": true, "theirs": false} {
		if err := b.LeaveBehind(testContext(t), name, own); err != nil {
			t.Fatal(err)
		}
	}
	l, held, err := b.Acquire(testContext(t), "ours")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Acquire(testContext(t), "ours"); !errors.Is(err, bus.ErrHeld) {
		t.Errorf("what is held here is taken again: %v", err)
	}
	l.Release()
	if held.Err() == nil {
		t.Error("the context goes on after the release")
	}
	if _, _, err := b.Acquire(testContext(t), "theirs"); !errors.Is(err, bus.ErrHeld) {
		t.Errorf("taken from another process: %v", err)
	}
}

// A process that was paused beyond its lease sends nothing of what came to it
// meanwhile, however soon it is told that the lease is lost.
func TestPausedDispatcherSendsNothing(t *testing.T) {
	t.Parallel()
	url := bustest.External(t)
	b := dial(t, url)
	p := start(t, "deliver", url, "")
	queue(t, b, outbound("c", "0", 0))
	for _, want := range []string{"holds true", "sent 0"} {
		if line := receive(t, p.lines); line != want {
			t.Fatalf("child says %q, want %q", line, want)
		}
	}
	until(t, "acknowledged", func() bool { n, err := b.Waiting(testContext(t), true); return err == nil && n == 0 })
	p.pause(t)
	got := make(chan string, 100)
	for n := range 50 {
		queue(t, b, outbound("c", fmt.Sprint(n), n+1))
	}
	dispatch(t, b, "c", func(_ context.Context, out chat.Outbound) error {
		got <- out.Text
		return nil
	})
	for range 50 {
		receive(t, got)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if line := receive(t, p.lines); line != "holds false" {
		t.Errorf("child says %q, want that it holds the channel no more", line)
	}
	if n := len(got); n != 0 {
		t.Errorf("%d deliveries too many", n)
	}
}

// A watch whose request was on its way to a leader that died is asked for
// again, and goes on when the request is over.
func TestWatchIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{URL: bustest.External(t)})
	table := b.Table("turn")
	bus.FirstWatchUnanswered(table)
	keys := make(chan string, 10)
	background(t, func(ctx context.Context) error {
		return table.Watch(ctx, "", func(e kv.Entry) error {
			keys <- e.Key
			return nil
		})
	})
	if key := receive(t, keys); key != "" {
		t.Fatalf("first %q, want the mark after what there is", key)
	}
	// Longer than a request may take.
	for _, key := range []string{"a", "b", "c"} {
		if _, err := table.Create(testContext(t), key, []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, keys); got != key {
			t.Errorf("watched %q, want %q", got, key)
		}
		select {
		case got := <-keys:
			t.Errorf("watched %q too", got)
		case <-time.After(700 * time.Millisecond):
		}
	}
}
