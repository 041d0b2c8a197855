package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"magpie/agent/settings"
	"magpie/chat"
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
	defer t.heed(ctx)()
	return t.h.aside(ctx, fn)
}

// heed takes messages in while a person is asked, and has each person who writes
// told what is waited for. The function returned ends it.
func (t *turn) heed(ctx context.Context) (stop func()) {
	if t.env.kit.Waiting == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	arrived := t.h.mb.Arrived()
	if t.watched() {
		arrived = nil // watch takes them in
	}
	go func() {
		defer close(done)
		told := t.seq
		for {
			if err := t.h.pull(ctx); err != nil || ctx.Err() != nil {
				return // the next Take says it again
			}
			told = t.sayWaiting(ctx, told)
			select {
			case <-ctx.Done():
				return
			case <-arrived:
			case <-t.h.came:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// sayWaiting answers the messages of people that have come after that one.
func (t *turn) sayWaiting(ctx context.Context, after uint64) uint64 {
	t.h.mu.Lock()
	pending := slices.Clone(t.h.pending)
	t.h.mu.Unlock()
	for i := range pending {
		d := &pending[i]
		if d.Seq <= after || d.Origin != chat.FromPerson || t.belongs(d) {
			continue
		}
		after = d.Seq
		set, err := t.h.a.ports.Settings.Load(ctx, t.h.key)
		if err == nil {
			lang := settings.LangAfter(set, d.From, d.Text, func() string { return t.h.said(ctx) })
			err = t.tellWaiting(ctx, d, lang)
		}
		if err != nil && ctx.Err() == nil {
			t.h.a.opt.Log.Warn("somebody was not told that an approval is waited for", "session", t.h.key, "trace", d.Trace, "err", err)
		}
	}
	return after
}

func (t *turn) tellWaiting(ctx context.Context, d *chat.Delivery, lang string) error {
	text, err := t.env.kit.Waiting(ctx, d.Addr, lang)
	if err != nil || text == "" {
		return err
	}
	out := chat.Outbound{Text: text, Meta: chat.Meta{ID: fmt.Sprintf("out:%s:%d:waits", t.h.key, d.Seq)}}
	if !d.Direct {
		out.ReplyTo = d.MessageID
	}
	t.h.address(&out, d.Inbound, d.Seq)
	return t.h.a.ports.Publish(ctx, out)
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
