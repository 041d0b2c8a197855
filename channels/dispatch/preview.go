package dispatch

import (
	"context"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// editPause is the pace of streaming by edits in a chat; 0 = not there.
func (d *Dispatcher) editPause(a chat.Address) time.Duration {
	if _, ok := d.ch.(channels.Editor); !ok || !d.opt.Stream {
		return 0
	}
	if d.limits.EditIn != nil {
		return max(d.limits.EditIn(a), 0)
	}
	return max(d.limits.Edit, 0)
}

// draftPause is the pace of drafts that are no messages in a chat; 0 = it shows
// none.
func (d *Dispatcher) draftPause(a chat.Address) time.Duration {
	_, ok := d.ch.(channels.Drafter)
	if !ok || !d.opt.Stream || d.limits.DraftIn == nil {
		return 0
	}
	if refused := d.gov.chat(a).undrafted.Load(); refused != 0 && time.Since(time.Unix(0, refused)) < draftless {
		return 0
	}
	return max(d.limits.DraftIn(a), 0)
}

// pause is the pace of this reply; 0 = it is not streamed.
func (b *draft) pause() time.Duration {
	if pause := b.d.draftPause(b.addr); pause > 0 {
		return pause
	}
	return b.d.editPause(b.addr)
}

// wait is how long to let text gather before it is shown.
func (b *draft) wait() time.Duration {
	if b.ref.ID == "" && b.brief.IsZero() {
		return draftDelay
	}
	return b.pause()
}

// renewal is after which time a draft that is no message is shown again; 0 = it
// need not be.
func (b *draft) renewal() time.Duration {
	if b.brief.IsZero() {
		return 0
	}
	return b.d.limits.DraftLife * 2 / 3
}

// fades reports that what is shown will soon go by itself.
func (b *draft) fades() bool {
	life := b.renewal()
	return life > 0 && time.Since(b.brief) >= life
}

// preview shows text as a draft that is no message. Nothing of it stays, so
// whatever goes wrong is made good by the next one or by the answer.
func (b *draft) preview(ctx context.Context, text string) (again bool) {
	if !b.d.gov.spareCall(b.addr) {
		b.d.opt.Count("edit_skipped")
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, draftTimeout)
	defer cancel()
	err := b.d.ch.(channels.Drafter).Draft(ctx, b.addr, b.turn, text)
	if err == nil {
		b.shown, b.known, b.brief = text, true, time.Now()
		b.d.opt.Count("edit")
		return false
	}
	switch channels.KindOf(err) {
	case channels.RateLimited:
		b.d.gov.rest(b.addr, err)
	case channels.Rejected:
		b.d.gov.chat(b.addr).undrafted.Store(time.Now().UnixNano())
		b.shown, b.known, b.brief = "", false, time.Time{}
		b.d.opt.Log.InfoContext(ctx, "the chat shows no drafts, replies are streamed by edits if at all", "channel", b.d.ch.Name(), "chat", b.addr.Chat, "trace", b.trace, "err", err)
		return b.d.editPause(b.addr) > 0
	case channels.Unauthorized:
		b.off = true
		return false
	case channels.TooLong:
		return false // the next delta asks again
	}
	return true
}
