package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

const (
	draftDelay   = 700 * time.Millisecond // most short answers are done by then
	draftMinimum = 24                     // runes: less is not worth a message of its own
	draftLife    = 24 * time.Hour         // in the table of drafts
	draftTimeout = 20 * time.Second       // one call
	noteTimeout  = 5 * time.Second        // one visit to the table, when the call has used up its time
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
	display
	worth
	table tableState
	tempo tempo
}

// tableState is how a draft stands to the table of drafts.
type tableState struct {
	noted bool // it holds what is known
	asked bool
	// left: the message is to be taken away, and is not to be used for the
	// answer. It may become true while the draft's turn is in a call.
	left atomic.Bool
}

// display is what the chat is shown.
type display struct {
	shown   string
	known   bool          // shown is what the chat shows
	sources []chat.Source // Outbound.Sources of what it will show
}

// worth is what a draft is worth.
type worth struct {
	off bool // given up for this turn
	// working: the text tells what is done, which is worth a message however
	// short it is.
	working bool
}

// tempo is how fast the platform is, and has to be.
type tempo struct {
	usual atomic.Int64  // nanoseconds of the last call that worked
	spent time.Duration // from the answer's coming to the end of the turn's last call
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
	if b.d.editPause(b.addr) == 0 {
		return false // drafts were shown here, and are no longer
	}
	if b.ref.ID == "" && !b.working && utf8.RuneCountInString(part) < draftMinimum {
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
		b.d.gov.rest(b.addr, err)
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
	return b.edit(ctx, b.message(text))
}

func (b *draft) edit(ctx context.Context, msg chat.Outbound) error {
	e, ok := b.d.ch.(channels.Editor)
	if !ok { // it was one in an earlier life of the program
		return &channels.Error{Channel: b.d.ch.Name(), Op: "edit", Kind: channels.Rejected, Err: errors.ErrUnsupported}
	}
	began := time.Now()
	err := repeatable(e.Edit(ctx, b.ref, msg))
	if err == nil {
		b.tempo.usual.Store(int64(time.Since(began)))
	}
	return err
}

func (b *draft) message(text string) chat.Outbound {
	return chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: "draft:" + b.turn, Trace: b.trace, At: time.Now().UTC(), Addr: b.addr},
		Text: text, Turn: b.turn, Draft: true, Sources: b.sources,
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
	b.tempo.usual.Store(int64(time.Since(began)))
	b.ref, b.doubt, b.table.noted = ref, time.Time{}, false
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

// draftNote is what the table keeps of a draft.
type draftNote struct {
	chat.MessageRef
	Doubt time.Time `json:"doubt,omitzero"`
	Left  bool      `json:"left,omitzero"`
}

// note stores where the draft stands.
func (b *draft) note(ctx context.Context) error {
	if b.table.noted {
		return nil
	}
	if err := b.store(ctx, draftNote{b.ref, b.doubt, b.table.left.Load()}); err != nil {
		return err
	}
	b.table.noted = true
	return nil
}

func (b *draft) store(ctx context.Context, n draftNote) error {
	value, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode the draft of turn %q: %w", b.turn, err)
	}
	if _, err := b.d.opt.Drafts.Update(ctx, b.turn, value, 0, draftLife); err != nil {
		return fmt.Errorf("store the draft of turn %q: %w", b.turn, err)
	}
	return nil
}

// recall looks for a draft of this turn from before a crash, once.
func (b *draft) recall(ctx context.Context) error {
	if b.table.asked || b.ref.ID != "" {
		return nil
	}
	var n draftNote
	found, err := load(ctx, b.d.opt.Drafts, b.turn, &n)
	if err != nil {
		return fmt.Errorf("look for a draft of turn %q: %w", b.turn, err)
	}
	b.table.asked, b.table.noted = true, found
	if found {
		b.ref, b.doubt = n.MessageRef, n.Doubt
		b.table.left.Store(n.Left)
	}
	return nil
}
