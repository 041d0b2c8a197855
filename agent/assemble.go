package agent

import (
	"context"
	"slices"
	"time"

	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/chat"
)

// settleBound limits how long debouncing may hold a turn back, in multiples of
// the debounce time: somebody who never stops typing gets an answer too.
const settleBound = 5

// assemble finds the messages that begin the turn. A turn that is resumed
// begins with those that it began with before.
func (t *turn) assemble(ctx context.Context) error {
	if len(t.loop.past.replies) > 0 {
		t.join(t.among(t.loop.past.replies[0].Inputs))
		return nil
	}
	if t.debounced() {
		if err := t.settle(ctx, t.env.kit.Debounce); err != nil {
			return err
		}
	}
	t.join(t.joins)
	return nil
}

func (t *turn) debounced() bool {
	return t.env.kit.Debounce > 0 && t.first().Origin == chat.FromPerson
}

// joins reports whether a waiting message belongs to a turn that has not asked
// the model yet.
func (t *turn) joins(d *chat.Delivery) bool {
	return t.belongs(d) || (t.env.kit.Busy != Queue || t.debounced()) && t.samePerson(d)
}

// settle waits until no message has come for d.
func (t *turn) settle(ctx context.Context, d time.Duration) error {
	bound := time.NewTimer(settleBound * d)
	defer bound.Stop()
	quiet := time.NewTimer(d)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-bound.C:
			return nil
		case <-quiet.C:
			return nil
		case <-t.h.mb.Arrived():
			if err := t.h.pull(ctx); err != nil {
				return err
			}
			quiet.Reset(d)
		}
	}
}

// join moves waiting messages into the turn, the oldest first, as long as ok
// says so, and returns them. What a turn answers is always the oldest of the
// mailbox, so a message never overtakes another.
func (t *turn) join(ok func(*chat.Delivery) bool) []chat.Delivery {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	from := len(t.inputs)
	for len(t.h.pending) > 0 && ok(&t.h.pending[0]) {
		t.inputs = append(t.inputs, t.h.pending[0])
		t.h.pending = t.h.pending[1:]
	}
	return t.inputs[from:]
}

func (t *turn) among(seqs []uint64) func(*chat.Delivery) bool {
	return func(d *chat.Delivery) bool { return slices.Contains(seqs, d.Seq) }
}

// belongs reports whether d is part of the turn whatever the busy mode: the
// same message once more, or a correction of one.
func (t *turn) belongs(d *chat.Delivery) bool {
	for i := range t.inputs {
		if in := &t.inputs[i]; in.ID == d.ID || corrects(d, in) {
			return true
		}
	}
	return false
}

func corrects(d, in *chat.Delivery) bool {
	return d.Edited && d.MessageID != "" && d.MessageID == in.MessageID && d.From.ID == in.From.ID
}

// samePerson reports whether d comes from the person who began the turn. Only
// then may it change the turn: it runs with that person's rights.
func (t *turn) samePerson(d *chat.Delivery) bool {
	first := t.first()
	return d.Origin == chat.FromPerson && first.Origin == chat.FromPerson && d.From.ID == first.From.ID
}

// greet adds the messages that begin the turn to the conversation.
func (t *turn) greet(ctx context.Context, sess *session.Session) {
	if len(t.said) > 0 {
		return
	}
	if note := t.gap(sess.LastAt()); note != "" {
		t.say(llm.Message{Role: llm.User, Text: note})
	}
	for _, d := range fold(t.inputs) {
		if !sess.Knows(d.ID) {
			t.said = append(t.said, t.item(ctx, d))
		}
	}
}

// fold leaves out doubles and puts corrections in the place of what they
// correct.
func fold(inputs []chat.Delivery) []chat.Delivery {
	var out []chat.Delivery
	for _, d := range inputs {
		if slices.ContainsFunc(out, func(o chat.Delivery) bool { return o.ID == d.ID }) {
			continue
		}
		i := slices.IndexFunc(out, func(o chat.Delivery) bool { return corrects(&d, &o) })
		if i < 0 {
			out = append(out, d)
			continue
		}
		if len(d.Attachments) == 0 {
			d.Attachments = out[i].Attachments
		}
		d.Room = slices.Concat(out[i].Room, d.Room)
		if d.ReplyTo == nil {
			d.ReplyTo = out[i].ReplyTo
		}
		d.Forwarded = d.Forwarded || out[i].Forwarded
		d.Edited = false // the model has not seen what it was before
		out[i] = d
	}
	return out
}

// steer lets messages that have come since join the turn, before the next
// model call.
func (t *turn) steer(ctx context.Context) {
	if err := t.h.pull(ctx); err != nil {
		// The messages stay where they are; if the mailbox is broken the commit
		// will say so.
		t.h.a.opt.Log.Debug("no look for new messages", "session", t.h.key, "trace", t.first().Trace, "err", err)
	}
	known := t.inputs
	var joined []chat.Delivery
	switch {
	case len(t.loop.past.replies) > 0:
		joined = t.join(t.among(t.loop.past.replies[0].Inputs))
	case ctx.Err() == nil:
		joined = t.join(func(d *chat.Delivery) bool {
			return t.belongs(d) || t.env.kit.Busy == Steer && t.samePerson(d)
		})
	}
	t.await(ctx, joined)
	for _, d := range fold(joined) {
		if slices.ContainsFunc(known, func(in chat.Delivery) bool { return in.ID == d.ID }) {
			continue
		}
		t.said = append(t.said, t.item(ctx, d))
		t.loop.answered = false
	}
}

// watched says whether a new message of its person ends the turn.
func (t *turn) watched() bool {
	return t.env.kit.Busy == Interrupt && t.first().Origin == chat.FromPerson
}

// watch cancels the turn when the person who began it says something new. The
// function returned ends the watch.
func (t *turn) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !t.interrupted() {
			select {
			case <-ctx.Done():
				return
			case <-t.h.mb.Arrived():
			}
			if err := t.h.pull(ctx); err != nil {
				return // the next Take says it again
			}
		}
		t.cancel(&cutOff{quiet: true})
	}()
	return func() { cancel(); <-done }
}

func (t *turn) interrupted() bool {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	if len(t.h.pending) == 0 {
		return false
	}
	d := &t.h.pending[0]
	return t.samePerson(d) && !slices.ContainsFunc(t.inputs, func(in chat.Delivery) bool { return in.ID == d.ID })
}
