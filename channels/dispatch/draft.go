package dispatch

import (
	"context"
	"encoding/json"
	"errors"
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
	noteTimeout  = 5 * time.Second        // one visit to the table, when the call has used up its time
	finishTries  = 5                      // of the last edit, within 15 s to 2 min; then the answer goes by itself
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
	brief time.Time       // when shown was shown as a draft that is no message; zero: it was not
	ref   chat.MessageRef // ID "": not sent, as far as is known
	doubt time.Time       // when a try began that may have sent it; zero: none
	shown string
	known bool // shown is what the chat shows
	off   bool // given up for this turn
	noted bool // ref is in the table of drafts
	asked bool // the table of drafts was asked
}

// show brings the chat up to text, if nobody needs the place more. It reports
// whether to come back later with whatever the text is then.
func (b *draft) show(ctx context.Context, text string) (again bool) {
	part := b.first(text)
	if b.off || part == "" || b.known && part == b.shown && !b.fades() {
		return false
	}
	if b.d.draftPause(b.addr) > 0 && !b.there() {
		return b.preview(ctx, part)
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
		b.d.gov.limited(b.addr, err)
		return true
	case b.worthwhile(channels.KindOf(err)):
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

// worthwhile reports whether to come back after an error.
func (b *draft) worthwhile(kind channels.Kind) bool {
	switch kind {
	case channels.Temporary:
		return b.ref.ID != "" || b.doubtful()
	case channels.Ambiguous:
		return b.doubtful()
	}
	return false
}

func (b *draft) put(ctx context.Context, text string) error {
	if err := b.recall(ctx); err != nil {
		return err
	}
	if b.ref.ID == "" {
		if same, err := b.open(ctx, text); err != nil || same {
			return err
		}
	}
	if err := b.note(ctx); err != nil {
		return err
	}
	return b.d.ch.(channels.Editor).Edit(ctx, b.ref, b.message(text))
}

func (b *draft) message(text string) chat.Outbound {
	return chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: "draft:" + b.turn, Trace: b.trace, At: time.Now().UTC(), Addr: b.addr},
		Text: text, Turn: b.turn, Draft: true,
	}
}

// open sends the draft's message. After a try that may have sent it that is a
// repeat, which the platform recognises: then the chat may show an older text,
// and same is false.
func (b *draft) open(ctx context.Context, text string) (same bool, err error) {
	began := time.Now()
	ref, err := b.d.ch.Send(ctx, b.message(text))
	if err != nil {
		if channels.KindOf(err) == channels.Ambiguous {
			b.suspect(ctx, began)
		}
		return false, err
	}
	same = b.doubt.IsZero()
	b.ref, b.doubt, b.noted = ref, time.Time{}, false
	return same, b.note(ctx)
}

// suspect notes that the draft may have been sent by a call that began at that
// time. It matters only where asking again is safe.
func (b *draft) suspect(ctx context.Context, began time.Time) {
	if !b.doubt.IsZero() || b.d.limits.RepeatKnown == 0 {
		return
	}
	b.doubt = began
	b.ref = chat.MessageRef{Channel: b.addr.Channel, Chat: b.addr.Chat}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout) // ctx may have ended the call
	defer cancel()
	if err := b.note(ctx); err != nil {
		b.d.opt.Log.WarnContext(ctx, "draft that may have been sent not noted", "trace", b.trace, "err", err)
	}
}

// doubtful reports that the draft may have been sent, and that sending it again
// would tell.
func (b *draft) doubtful() bool {
	return b.ref.ID == "" && !b.doubt.IsZero() && time.Since(b.doubt) < b.d.limits.RepeatKnown
}

// there reports that the chat shows the draft, or may.
func (b *draft) there() bool { return b.ref.ID != "" || b.doubtful() }

// resolve asks the platform, by a repeat, for the message of a draft that may
// have been sent. When it cannot be had, the draft counts as not sent.
func (b *draft) resolve(ctx context.Context, text string) error {
	if !b.doubtful() {
		return nil
	}
	of := b.message(text).Meta
	err := b.d.try(ctx, of, callTimeout, func(ctx context.Context) error {
		_, err := b.open(ctx, text)
		return err
	})
	if _, dead := errors.AsType[*Undeliverable](err); dead || refused(err) {
		b.d.opt.Log.WarnContext(ctx, "a draft may have been left behind", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
		return nil
	}
	return err
}

// draftNote is what the table keeps of a draft.
type draftNote struct {
	chat.MessageRef
	Doubt time.Time `json:"doubt,omitzero"`
}

// note stores where the draft stands.
func (b *draft) note(ctx context.Context) error {
	if b.noted {
		return nil
	}
	value, err := json.Marshal(draftNote{b.ref, b.doubt})
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
	var n draftNote
	found, err := load(ctx, b.d.opt.Drafts, b.turn, &n)
	if err != nil {
		return fmt.Errorf("look for a draft of turn %q: %w", b.turn, err)
	}
	b.asked, b.noted = true, found
	if found {
		b.ref, b.doubt = n.MessageRef, n.Doubt
	}
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
	if err := b.resolve(ctx, msg.Text); err != nil {
		return fmt.Errorf("ask for the draft: %w", err)
	}
	if b.ref.ID == "" {
		return nil // the answer goes by itself
	}
	if !b.known || b.shown != msg.Text || len(msg.Buttons) > 0 || b.d.limits.Seal {
		switch err := b.finish(ctx, msg); {
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
	if err := j.keep(ctx); err != nil {
		return fmt.Errorf("note the draft as sent: %w", err)
	}
	return nil
}

func (b *draft) meta() chat.Meta { return chat.Meta{Addr: b.addr, Trace: b.trace} }

// finish makes the last edit. When it keeps failing it counts as refused: what
// changes messages may be down where what sends them is not, and the answer
// must not wait for it.
func (b *draft) finish(ctx context.Context, msg chat.Outbound) error {
	fails := 0
	return b.d.try(ctx, b.meta(), draftTimeout, func(ctx context.Context) error {
		err := repeatable(b.d.ch.(channels.Editor).Edit(ctx, b.ref, msg))
		if err == nil || channels.KindOf(err) != channels.Temporary {
			return err
		}
		if fails++; fails == finishTries {
			return &channels.Error{Channel: b.d.ch.Name(), Op: "edit", Kind: channels.Rejected, Err: err}
		}
		return err
	})
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
	if err := b.resolve(ctx, "…"); err != nil {
		b.d.opt.Log.WarnContext(ctx, "draft not found", "channel", b.d.ch.Name(), "trace", b.trace, "err", err)
		return
	}
	if b.ref.ID == "" {
		b.forget(ctx)
		return
	}
	if del, ok := b.d.ch.(channels.Deleter); ok {
		err := b.d.try(ctx, b.meta(), callTimeout, func(ctx context.Context) error {
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
	if _, ok := d.ch.(channels.Editor); !ok || !d.opt.Stream {
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
