package channels

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Backoff is a growing pause with jitter between attempts. One goroutine uses
// it.
type Backoff struct{ first, most, next time.Duration }

// NewBackoff returns a Backoff that begins with about first, and doubles up to
// most.
func NewBackoff(first, most time.Duration) *Backoff {
	return &Backoff{first: first, most: most, next: first}
}

// Reset begins again with the shortest pause.
func (b *Backoff) Reset() { b.next = b.first }

// Soon makes the next pause no longer than d.
func (b *Backoff) Soon(d time.Duration) { b.next = min(b.next, d) }

// Pause waits, longer each time, at least as long as the platform asked for in
// err, and no longer than ctx.
func (b *Backoff) Pause(ctx context.Context, err error) {
	var ce *Error
	if errors.As(err, &ce) {
		b.PauseAtLeast(ctx, ce.RetryAfter)
		return
	}
	b.PauseAtLeast(ctx, 0)
}

// PauseAtLeast is Pause with the least that it waits.
func (b *Backoff) PauseAtLeast(ctx context.Context, least time.Duration) {
	wait := max(b.next/2+rand.N(b.next/2+1), least)
	b.next = min(2*b.next, b.most)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
