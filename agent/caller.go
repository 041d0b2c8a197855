package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"magpie/tools"
)

// caller is the turn as one of its tool calls needs it.
type caller struct {
	turn *turn
	id   string
	tool string

	mu  sync.Mutex
	err error // the journal could not be written
}

var _ tools.Caller = (*caller)(nil)

// Begin writes the intent: from here on it is not known, after a crash, whether
// the call took effect. What is only being asked about can be asked again.
func (c *caller) Begin(ctx context.Context) error {
	err := c.turn.loop.journal.add(ctx, entry{Kind: kindIntent, Call: c.id})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	return err
}

func (c *caller) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// parker is a Mailbox that can give its turn slot to another chat for a while.
type parker interface {
	// Park gives the slot back; unpark waits for one again.
	Park() (unpark func(ctx context.Context) error)
}

// Ask lets other chats have the turn's place while a person is asked, and shows
// that the turn waits for one.
func (c *caller) Ask(ctx context.Context, fn func(context.Context) error) error {
	t := c.turn
	t.h.mu.Lock()
	t.doing.asks = append(t.doing.asks, c.tool)
	t.h.mu.Unlock()
	defer func() {
		t.h.mu.Lock()
		defer t.h.mu.Unlock()
		i := slices.Index(t.doing.asks, c.tool)
		t.doing.asks = slices.Delete(t.doing.asks, i, i+1)
	}()
	return t.h.aside(ctx, fn)
}

// Wait lets other chats have the turn's place while something else is waited
// for.
func (c *caller) Wait(ctx context.Context, fn func(context.Context) error) error {
	return c.turn.h.aside(ctx, fn)
}

// aside calls fn, which waits for somebody else, without a turn slot.
func (h *hold) aside(ctx context.Context, fn func(context.Context) error) error {
	p, ok := h.mb.(parker)
	if !ok {
		return fn(ctx)
	}
	unpark := p.Park()
	err := fn(ctx)
	if back := unpark(ctx); back != nil && err == nil {
		err = fmt.Errorf("go on after waiting: %w", back)
	}
	return err
}
