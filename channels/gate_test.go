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
		g.Open(run, "intake")
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
			g.Shut()
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
