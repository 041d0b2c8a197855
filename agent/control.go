package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/agent/command"
	"magpie/agent/session"
	"magpie/chat"
)

// controlWait bounds the handling of one control message: the end of a stopped
// turn, some writes and nothing that asks a model.
const controlWait = 60 * time.Second

// countWait bounds the counting of waiting messages for a status.
const countWait = 200 * time.Millisecond

// control answers one control message. A command that fails is logged and
// told; the error returned is one of the mailbox, or the end of ctx.
func (h *hold) control(ctx context.Context, d chat.Delivery) error {
	out, ok := h.command(ctx, d)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	if ok {
		h.address(&out, d.Inbound, d.Seq)
		if err := h.a.ports.Publish(ctx, out); err != nil {
			h.a.opt.Log.Error("answer of a command is lost", "session", h.key, "trace", d.Trace, "err", err)
		}
	}
	if err := h.mb.Done(ctx, d); err != nil {
		return fmt.Errorf("finish control message %s: %w", d.ID, err)
	}
	return nil
}

// command carries a command out and returns what is to be sent.
func (h *hold) command(ctx context.Context, d chat.Delivery) (out chat.Outbound, ok bool) {
	if h.a.ports.Commands == nil {
		return out, false
	}
	ctx, cancel := context.WithTimeout(ctx, controlWait)
	defer cancel()
	err := guarded(func() (err error) {
		out, ok, err = h.a.ports.Commands.Handle(ctx, d, &held{h: h, d: d})
		return err
	})
	if err != nil {
		h.a.opt.Log.Error("command failed", "session", h.key, "trace", d.Trace, "err", err)
		return chat.Outbound{Text: words(langOf(&d)).commandFailed()}, true
	}
	return out, ok
}

// address fills in what out does not say: it answers in, which is at seq.
func (h *hold) address(out *chat.Outbound, in chat.Inbound, seq uint64) {
	if out.ID == "" {
		out.ID = fmt.Sprintf("out:%s:%d:0", h.key, seq)
	}
	if out.Addr == (chat.Address{}) {
		out.Addr = in.Addr
	}
	if out.Trace == "" {
		out.Trace = in.Trace
	}
	if out.At.IsZero() {
		out.At = h.a.opt.Now()
	}
	out.V = chat.Version
}

// held is the chat as the command d sees it.
type held struct {
	h *hold
	d chat.Delivery
}

var _ command.Chat = (*held)(nil)

// Stop implements command.Chat. It returns once the turn has left its legal
// history behind. A turn made of messages later than the command goes on.
func (c *held) Stop(ctx context.Context) (bool, error) { return c.stop(ctx, false) }

func (c *held) stop(ctx context.Context, reset bool) (bool, error) {
	h := c.h
	h.mu.Lock()
	t := h.now
	switch {
	case reset:
		h.reset = make(chan struct{})
	case t == nil:
		h.stopped = max(h.stopped, c.d.Seq)
	}
	h.mu.Unlock()
	if t == nil || t.seq > c.d.Seq {
		return false, nil
	}
	t.cancel(&cutOff{seq: c.d.Seq, quiet: true})
	select {
	case <-t.done:
		return true, nil
	case <-ctx.Done():
		return true, fmt.Errorf("stop turn %s: %w", t.id, context.Cause(ctx))
	}
}

// Reset implements command.Chat.
func (c *held) Reset(ctx context.Context) error {
	h := c.h
	_, err := c.stop(ctx, true)
	defer func() {
		h.mu.Lock()
		close(h.reset)
		h.reset = nil
		h.mu.Unlock()
	}()
	if err != nil {
		return err
	}
	if err := h.forbid(ctx); err != nil {
		return err
	}
	item := session.Item{At: h.a.opt.Now(), Reset: true}
	raw, err := session.Encode(item)
	if err != nil {
		return err
	}
	r := chat.Record{V: chat.Version, Turn: fmt.Sprintf("%s:%d", h.key, c.d.Seq), Trace: c.d.Trace, Addr: c.d.Addr, At: item.At}
	r.Items = append(r.Items, raw)
	if err := h.commit(ctx, r, []session.Item{item}); err != nil {
		return err
	}
	// The mark alone is enough; the point only makes later loads shorter.
	if err := h.a.sessions.Forget(ctx, h.sess.Load()); err != nil {
		h.a.opt.Log.Warn("the place of a new conversation was not stored", "session", h.key, "trace", c.d.Trace, "err", err)
	}
	return nil
}

// Status implements command.Chat.
func (c *held) Status(ctx context.Context) command.Status {
	h := c.h
	var st command.Status
	h.mu.Lock()
	running := h.now
	h.mu.Unlock()
	if running != nil { // then a Take does not block, so the count can be exact
		short, cancel := context.WithTimeout(ctx, countWait)
		defer cancel()
		if err := h.pull(short); err != nil {
			h.a.opt.Log.Warn("waiting messages were not counted", "session", h.key, "trace", c.d.Trace, "err", err)
		}
	}
	if s, err := h.session(ctx); err == nil {
		st.Messages, st.Tokens = s.Size()
		st.Why = &command.Why{Sources: s.Sources(-1), Summarised: s.Summarised()}
	}
	set, err := h.a.ports.Settings.Load(ctx, h.key)
	if err == nil {
		st.Model = set.Model
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	st.Queued = len(h.pending)
	if h.model != "" {
		st.Model = h.model
	}
	if t := h.now; t != nil {
		st.Running, st.Since, st.Tool = true, t.began, t.doing.tool
		if st.Why != nil {
			st.Why.Sources = chat.JoinSources(st.Why.Sources, t.doing.sources)
		}
		st.Asks = slices.Compact(slices.Sorted(slices.Values(t.doing.asks)))
	}
	return st
}

// Said implements command.Chat.
func (c *held) Said(ctx context.Context) string { return c.h.said(ctx) }

// Say implements command.Chat.
func (c *held) Say(ctx context.Context, in chat.Inbound) error {
	if c.h.a.ports.Say == nil {
		return errors.New("this process cannot put messages into a mailbox")
	}
	return c.h.a.ports.Say(ctx, in)
}
