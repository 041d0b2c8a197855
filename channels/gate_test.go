package channels_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"magpie/channels"
)

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g channels.Gate[string]
		if _, _, _, ok := g.Enter(t.Context()); ok {
			t.Error("a gate that was never opened lets in")
		}
		run, end := context.WithCancel(t.Context())
		shutRun := g.Open(run, "intake")
		in, ctx, leave, ok := g.Enter(t.Context())
		if !ok || in != "intake" || ctx.Err() != nil {
			t.Fatalf("got %q, %v, %v", in, ctx.Err(), ok)
		}
		end()
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("the end of Run does not end the call")
		}
		shut := make(chan struct{})
		go func() {
			shutRun()
			close(shut)
		}()
		synctest.Wait()
		select {
		case <-shut:
			t.Error("the gate shuts while a call is inside")
		default:
		}
		if _, _, _, ok := g.Enter(t.Context()); ok {
			t.Error("a gate that shuts lets in")
		}
		leave()
		<-shut
	})
}

// A gate that is open for two reasons lets in for the one that is left, and
// never shuts in between.
func TestGateOpenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g channels.Gate[string]
		enter := func() string {
			in, _, leave, ok := g.Enter(t.Context())
			if !ok {
				return "shut"
			}
			leave()
			return in
		}
		shutFirst := g.Open(t.Context(), "receive")
		run, end := context.WithCancel(t.Context())
		_, ctx, leave, _ := g.Enter(t.Context())
		shutRun := g.Open(run, "run")
		if got := enter(); got != "run" {
			t.Errorf("let in for %q", got)
		}
		end()
		if got := enter(); got != "receive" {
			t.Errorf("after the end of Run let in for %q", got)
		}
		shutRun() // does not wait for calls of others
		if got := enter(); got != "receive" || ctx.Err() != nil {
			t.Errorf("after Run let in for %q; an older call: %v", got, ctx.Err())
		}
		leave()
		shutFirst()
		if got := enter(); got != "shut" {
			t.Errorf("after all let in for %q", got)
		}
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := channels.NewBackoff(time.Second, 5*time.Second)
		paused := func(err error) time.Duration {
			began := time.Now()
			b.Pause(t.Context(), err)
			return time.Since(began)
		}
		between := func(what string, d, least, most time.Duration) {
			if d < least || d > most {
				t.Errorf("%s: paused %s, want %s to %s", what, d, least, most)
			}
		}
		for _, next := range []time.Duration{1, 2, 4, 5, 5} {
			between("growing", paused(nil), next*time.Second/2, next*time.Second)
		}
		between("asked for", paused(&channels.Error{RetryAfter: time.Minute, Err: errors.New("x")}), time.Minute, time.Minute)
		b.Soon(2 * time.Second)
		between("soon", paused(nil), time.Second, 2*time.Second)
		b.Reset()
		between("reset", paused(nil), time.Second/2, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		b.PauseAtLeast(ctx, time.Hour)
		between("cancelled", time.Since(began), 0, time.Millisecond)
	})
}
