package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

// An answer is in its chat within a second of its coming, whatever the platform
// makes of edits: when the streamed message cannot be completed in
// finalPatience, it is taken away and the answer is sent by itself. Platforms
// limit edits where they do not limit messages, and for minutes.
const (
	finalPatience  = 500 * time.Millisecond // from the answer's coming to the end of the last edit
	finalPause     = 150 * time.Millisecond // between two tries of it
	removePatience = 200 * time.Millisecond // then, for taking the message away
	mostUsual      = 3 * time.Second        // what a slow platform is granted beyond these
	removals       = 256                    // messages that wait to be taken away
)

var errNotThere = errors.New("the streamed message was not sent")

// grace is patience with a platform that takes its time for each call.
func (b *draft) grace(patience time.Duration) time.Duration {
	return patience + min(time.Duration(b.tempo.usual.Load()), mostUsual)
}

// settle turns the draft into the first step of the job, or takes it away when
// that step is no text or the message cannot be edited now.
func (b *draft) settle(ctx context.Context, j *job) error {
	if b == nil || j.progress.Done > 0 {
		return nil
	}
	if len(j.steps) == 0 || len(j.steps[0].files) > 0 {
		j.draft = nil
		b.remove(ctx, b.grace(finalPatience))
		return nil
	}
	if err := b.become(ctx, j.message(0, j.steps[0])); err != nil {
		if ctx.Err() != nil || channels.KindOf(err) == channels.Unauthorized {
			return err
		}
		b.d.opt.Log.InfoContext(ctx, "streamed reply cannot be completed, the answer goes by itself",
			"channel", b.d.ch.Name(), "trace", b.trace, "err", err)
		j.draft = nil
		b.remove(ctx, b.grace(removePatience))
		return nil
	}
	j.progress = progress{Done: 1, Refs: []chat.MessageRef{b.ref}}
	if len(j.steps) == 1 {
		return nil
	}
	if err := j.keep(ctx); err != nil {
		return fmt.Errorf("note the draft as sent: %w", err)
	}
	return nil
}

// become makes the draft's message the answer, by its last edit. Its time is
// short, and what fails for the moment is tried again within it.
func (b *draft) become(ctx context.Context, msg chat.Outbound) error {
	if b.ref.ID != "" && b.known && b.shown == msg.Text && len(msg.Buttons) == 0 && !b.d.limits.Seal {
		return nil
	}
	if err := b.d.gov.wait(ctx, b.addr); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(b.grace(finalPatience)-b.tempo.spent, removePatience))
	defer cancel()
	for {
		wait := b.d.gov.resting(b.addr)
		var err error
		if wait == 0 {
			if err = b.last(ctx, msg); err == nil {
				b.d.gov.worked()
				return nil
			}
			if !b.passes(err) {
				return err
			}
			wait = max(finalPause, b.d.gov.resting(b.addr))
		}
		if end, _ := ctx.Deadline(); time.Until(end) <= wait {
			return fmt.Errorf("not within %v: %w", b.grace(finalPatience), errors.Join(err, errResting))
		}
		if over := sleep(ctx, wait); over != nil {
			return errors.Join(err, over)
		}
	}
}

var errResting = errors.New("the platform takes no edits for now")

// last makes the last edit. A draft that may have been sent is asked for by a
// repeat.
func (b *draft) last(ctx context.Context, msg chat.Outbound) error {
	if b.ref.ID == "" {
		if !b.doubtful() {
			return errNotThere
		}
		if _, err := b.open(ctx, msg.Text); err != nil {
			return repeatable(err)
		}
	}
	return b.edit(ctx, msg)
}

// passes reports whether a call that failed may work in a moment, and learns
// from it.
func (b *draft) passes(err error) bool {
	switch channels.KindOf(err) {
	case channels.RateLimited:
		b.d.opt.Count("rate_limited")
		b.d.gov.rest(b.addr, err)
		return true
	case channels.Temporary:
		b.d.opt.Count("retry")
		return !errors.Is(err, errNotThere)
	}
	return false
}

// repeatable makes an ambiguous failure an ordinary one, for calls that may be
// made twice without anybody seeing it.
func repeatable(err error) error {
	if err != nil && channels.KindOf(err) == channels.Ambiguous {
		return &channels.Error{Op: "repeat", Kind: channels.Temporary, Err: err}
	}
	return err
}

// remove takes the draft's message away. What cannot be done within patience is
// left to Run.
func (b *draft) remove(ctx context.Context, patience time.Duration) {
	b.table.left.Store(true)
	quick, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.erase(quick); err != nil {
		b.d.opt.Log.InfoContext(ctx, "a streamed message is taken away later", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
		b.leave(ctx)
	}
}

// leave hands the message to Run, to be taken away when it can be; b is empty
// then. The table of drafts knows of it in case the program ends before.
func (b *draft) leave(ctx context.Context) {
	left := &draft{d: b.d, turn: b.turn, addr: b.addr, trace: b.trace, ref: b.ref, doubt: b.doubt}
	left.table.asked = true
	left.table.left.Store(true)
	b.ref, b.doubt = chat.MessageRef{}, time.Time{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err := left.note(ctx); err != nil {
		b.d.opt.Log.WarnContext(ctx, "message to take away not noted", "trace", b.trace, "err", err)
	}
	select {
	case b.d.left <- left:
	default: // the next start finds it
	}
}

// clear takes a message away that was left, however long it takes.
func (b *draft) clear(ctx context.Context) {
	end := time.Now().Add(draftLife)
	for pause := firstPause; time.Now().Before(end); pause = min(pause*2, maxPause) {
		if sleep(ctx, b.d.gov.resting(b.addr)) != nil {
			return
		}
		call, cancel := context.WithTimeout(ctx, draftTimeout)
		err := b.erase(call)
		cancel()
		if err == nil {
			return
		}
		b.d.opt.Log.DebugContext(ctx, "streamed message not taken away yet", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
		if sleep(ctx, pause) != nil {
			return
		}
	}
}

// erase makes one try to take the message away; nil: it is gone, or nothing can
// be done. What cannot be deleted is made as short as can be: the answer stands
// elsewhere.
func (b *draft) erase(ctx context.Context) error {
	err := error(nil)
	if b.doubtful() {
		_, err = b.open(ctx, ellipsis)
	}
	if err == nil && b.ref.ID != "" {
		if err = b.withdraw(ctx); refused(err) {
			err = b.edit(ctx, b.sealed(ellipsis))
		}
	}
	if refused(err) {
		b.d.opt.Log.WarnContext(ctx, "a streamed message stays beside its answer", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
		err = nil
	}
	if err != nil {
		b.passes(err)
		return err
	}
	b.ref, b.doubt = chat.MessageRef{}, time.Time{}
	b.forget(ctx)
	return nil
}

// ellipsis is what is left of a message that cannot be deleted.
const ellipsis = "…"

func (b *draft) withdraw(ctx context.Context) error {
	del, ok := b.d.ch.(channels.Deleter)
	if !ok {
		return &channels.Error{Channel: b.d.ch.Name(), Op: "delete", Kind: channels.Rejected, Err: errors.ErrUnsupported}
	}
	return repeatable(del.Delete(ctx, b.ref))
}

// sealed is a text that is not written on any more.
func (b *draft) sealed(text string) chat.Outbound {
	msg := b.message(text)
	msg.Draft = false
	return msg
}

// forget drops the note about the draft: its message is final or gone.
func (b *draft) forget(ctx context.Context) {
	if b == nil {
		return
	}
	if err := b.d.opt.Drafts.Delete(ctx, b.turn); err != nil {
		b.d.opt.Log.WarnContext(ctx, "draft not forgotten", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
	}
}

// sweep takes away drafts that an earlier process left: those that it would have
// taken away itself at once, the others when nobody finishes them.
func (d *Dispatcher) sweep(ctx context.Context) {
	if _, ok := d.ch.(channels.Editor); !ok || !d.opt.Stream {
		return
	}
	left, err := kv.List(ctx, d.opt.Drafts, "")
	if err != nil {
		d.opt.Log.WarnContext(ctx, "drafts of an earlier run not read", "channel", d.ch.Name(), "err", err)
		return
	}
	for _, e := range left {
		d.sweepOne(ctx, e.Key, true)
	}
	if len(left) == 0 || sleep(ctx, orphanGrace) != nil {
		return
	}
	for _, e := range left {
		d.sweepOne(ctx, e.Key, false)
	}
}

// sweepOne stands in for the lost turn meanwhile, so that a final message that
// comes just now waits and finds the draft gone.
func (d *Dispatcher) sweepOne(ctx context.Context, key string, onlyLeft bool) {
	t := newTurn(d, chat.Event{Turn: key})
	d.mu.Lock()
	_, running := d.turns[key]
	_, claimed := d.claimed[key]
	if !running && !claimed {
		d.turns[key] = t
	}
	d.mu.Unlock()
	if running || claimed {
		return
	}
	defer t.leave(ctx)
	b := &t.draft
	if err := b.recall(ctx); err != nil || b.ref.Channel != d.ch.Name() || onlyLeft && !b.table.left.Load() {
		return // another channel's, or gone by now
	}
	b.addr = chat.Address{Channel: b.ref.Channel, Chat: b.ref.Chat}
	b.remove(ctx, callTimeout)
}
