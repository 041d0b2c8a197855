package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	draftDelay   = 700 * time.Millisecond // most short answers are done by then
	draftMinimum = 24                     // runes: less is not worth a message of its own
	draftLife    = 24 * time.Hour         // in the table of drafts
	draftTimeout = 20 * time.Second       // one call
	draftWindow  = 8                      // times Limits.Text: how much source the first part may need
)

// draft is the message that shows a reply while it is written. Its platform id
// is stored under the turn's id before it is edited, so that also after a
// crash the final text goes into this very message.
type draft struct {
	d     *Dispatcher
	turn  string
	addr  chat.Address
	trace string
	ref   chat.MessageRef // zero: not sent
	shown string
	known bool // shown is what the chat shows
	off   bool // given up for this turn
	noted bool // ref is in the table of drafts
	asked bool // the table of drafts was asked
}

// editPause is the pace of streaming; 0 = replies are not streamed.
func (d *Dispatcher) editPause() time.Duration {
	if _, ok := d.ch.(channels.Editor); !ok || !d.opt.Stream {
		return 0
	}
	return max(d.limits.Edit, 0)
}

// wait is how long to let text gather before it is shown.
func (b *draft) wait(pause time.Duration) time.Duration {
	if b.ref.ID == "" {
		return draftDelay
	}
	return pause
}

// show brings the chat up to text, if nobody needs the place more. It reports
// whether to come back later with whatever the text is then.
func (b *draft) show(ctx context.Context, text string) (again bool) {
	part := b.first(text)
	if b.off || part == "" || b.known && part == b.shown {
		return false
	}
	if b.ref.ID == "" && utf8.RuneCountInString(part) < draftMinimum {
		return false // the next delta asks again
	}
	if !b.d.gov.spareEdit(b.addr) {
		b.d.opt.Count("edit_skipped")
		return true
	}
	// What has begun is brought to its end, also when the program stops: a
	// message that nobody knows of would stay for ever.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), draftTimeout)
	defer cancel()
	err := b.put(ctx, part)
	switch {
	case err == nil:
		b.shown, b.known = part, true
		b.d.opt.Count("edit")
	case channels.KindOf(err) == channels.RateLimited:
		b.d.gov.limited(b.addr, retryAfter(err))
		return true
	case b.ref.ID != "" && channels.KindOf(err) == channels.Temporary:
		return true
	default:
		b.off = true
		b.d.opt.Log.InfoContext(ctx, "reply is no longer streamed", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
	}
	return false
}

// first is the part of text that the draft's message will hold at the end.
func (b *draft) first(text string) string {
	lim := b.d.limits
	if window := lim.Text * draftWindow; lim.Text > 0 && len(text) > window {
		for window > 0 && !utf8.RuneStart(text[window]) {
			window--
		}
		text = text[:window]
	}
	parts := render.Split(text, lim.Text, lim.Size)
	if len(parts) == 0 || lim.Size != nil && lim.Size(parts[0]) == 0 {
		return ""
	}
	return parts[0]
}

func (b *draft) put(ctx context.Context, text string) error {
	if err := b.recall(ctx); err != nil {
		return err
	}
	msg := chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: "draft:" + b.turn, Trace: b.trace, At: time.Now().UTC(), Addr: b.addr},
		Text: text, Turn: b.turn,
	}
	if b.ref.ID != "" {
		if err := b.note(ctx); err != nil {
			return err
		}
		return b.d.ch.(channels.Editor).Edit(ctx, b.ref, msg)
	}
	ref, err := b.d.ch.Send(ctx, msg)
	if err != nil {
		return err
	}
	b.ref = ref
	return b.note(ctx)
}

// note stores where the draft stands.
func (b *draft) note(ctx context.Context) error {
	if b.noted {
		return nil
	}
	value, err := json.Marshal(b.ref)
	if err != nil {
		return fmt.Errorf("encode the draft of turn %q: %w", b.turn, err)
	}
	if _, err := b.d.opt.Drafts.Update(ctx, b.turn, value, 0, draftLife); err != nil {
		return fmt.Errorf("store the draft of turn %q: %w", b.turn, err)
	}
	b.noted = true
	return nil
}

// recall looks for a draft of this turn from before a crash, once.
func (b *draft) recall(ctx context.Context) error {
	if b.asked || b.ref.ID != "" {
		return nil
	}
	found, err := load(ctx, b.d.opt.Drafts, b.turn, &b.ref)
	if err != nil {
		return fmt.Errorf("look for a draft of turn %q: %w", b.turn, err)
	}
	b.asked, b.noted = true, found
	return nil
}

// settle turns the draft into the first step of the job, or takes it away
// when that step is no text or the message cannot be edited any more.
func (b *draft) settle(ctx context.Context, j *job) error {
	if b == nil || j.progress.Done > 0 {
		return nil
	}
	if len(j.steps) == 0 || len(j.steps[0].files) > 0 {
		b.remove(ctx)
		return nil
	}
	msg := j.message(0, j.steps[0])
	if !b.known || b.shown != msg.Text || len(msg.Buttons) > 0 {
		err := b.d.try(ctx, b.addr, callTimeout, func(ctx context.Context) error {
			return repeatable(b.d.ch.(channels.Editor).Edit(ctx, b.ref, msg))
		})
		switch {
		case err == nil:
		case refused(err):
			b.remove(ctx)
			return nil
		default:
			return err
		}
	}
	j.progress = progress{Done: 1, Refs: []chat.MessageRef{b.ref}}
	if len(j.steps) == 1 {
		return nil
	}
	if err := b.d.store(ctx, b.d.opt.Receipts, j.progressKey(), j.progress); err != nil {
		return fmt.Errorf("note the draft as sent: %w", err)
	}
	return nil
}

// repeatable makes an ambiguous failure an ordinary one, for calls that may be
// made twice without anybody seeing it.
func repeatable(err error) error {
	if err != nil && channels.KindOf(err) == channels.Ambiguous {
		return &channels.Error{Op: "repeat", Kind: channels.Temporary, Err: err}
	}
	return err
}

// remove deletes the draft's message and forgets it. Best effort: what cannot
// be deleted stays, as the start of an answer that somebody may have read.
func (b *draft) remove(ctx context.Context) {
	if del, ok := b.d.ch.(channels.Deleter); ok {
		err := b.d.try(ctx, b.addr, callTimeout, func(ctx context.Context) error {
			return repeatable(del.Delete(ctx, b.ref))
		})
		if err != nil {
			b.d.opt.Log.WarnContext(ctx, "draft not deleted", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
		}
	}
	b.forget(ctx)
	b.ref = chat.MessageRef{}
}

// forget drops the note about the draft: its message is final now.
func (b *draft) forget(ctx context.Context) {
	if b == nil {
		return
	}
	if err := b.d.opt.Drafts.Delete(ctx, b.turn); err != nil {
		b.d.opt.Log.WarnContext(ctx, "draft not forgotten", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
	}
}

// sweep takes away drafts that an earlier process left and nobody finished.
func (d *Dispatcher) sweep(ctx context.Context) {
	if d.editPause() == 0 {
		return
	}
	left, err := kv.List(ctx, d.opt.Drafts, "")
	if err != nil {
		d.opt.Log.WarnContext(ctx, "drafts of an earlier run not read", "channel", d.ch.Name(), "err", err)
		return
	}
	if len(left) == 0 || sleep(ctx, orphanGrace) != nil {
		return
	}
	for _, e := range left {
		d.sweepOne(ctx, e.Key)
	}
}

// sweepOne stands in for the lost turn meanwhile, so that a final message that
// comes just now waits and finds the draft gone.
func (d *Dispatcher) sweepOne(ctx context.Context, key string) {
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
	defer t.leave()
	if err := t.draft.recall(ctx); err != nil || t.draft.ref.Channel != d.ch.Name() {
		return // another channel's, or gone by now
	}
	t.draft.addr = chat.Address{Channel: t.draft.ref.Channel, Chat: t.draft.ref.Chat}
	t.draft.remove(ctx)
}
