package channeltest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// Receiver runs a channel in the background, for tests of one platform, and
// collects what comes in.
type Receiver struct {
	In    chan chat.Inbound
	end   context.CancelFunc
	ended func() error
}

// Receive runs a channel until the end of the test. judge decides about each
// message; nil takes all.
func Receive(t *testing.T, ch channels.Channel, judge func(chat.Inbound) error) *Receiver {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &Receiver{In: make(chan chat.Inbound, 20000), end: cancel}
	done := make(chan error, 1)
	go func() {
		done <- ch.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			if judge != nil {
				if err := judge(in); err != nil {
					return err
				}
			}
			r.In <- in
			return nil
		})
	}()
	r.ended = sync.OnceValue(func() error {
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			t.Error("Run did not return")
			return nil
		}
	})
	t.Cleanup(func() { _ = r.Stop() })
	return r
}

// Stop ends Run and returns its error; again, the same.
func (r *Receiver) Stop() error {
	r.end()
	return r.ended()
}

// Ended waits until Run gives up by itself, and returns its error.
func (r *Receiver) Ended() error { return r.ended() }

// Next waits for the next message.
func (r *Receiver) Next(t *testing.T) chat.Inbound {
	t.Helper()
	select {
	case in := <-r.In:
		return in
	case <-time.After(patience):
		t.Fatal("nothing came in")
		return chat.Inbound{}
	}
}

// Eventually waits for a state that announces itself by nothing.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	if !becomes(is) {
		t.Fatalf("never: %s", what)
	}
}

// becomes looks until is holds, and no longer than patience.
func becomes(is func() bool) bool {
	tick := time.NewTicker(look)
	defer tick.Stop()
	late := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
	return true
}

// Bounded is a context for one call: a test does not wait for ever.
func Bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("the test waits no longer"))
	t.Cleanup(cancel)
	return ctx
}
