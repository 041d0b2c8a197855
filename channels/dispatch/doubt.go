package dispatch

import (
	"context"
	"encoding/json"
	"time"
)

const (
	blindPause = 5 * time.Second // an outage of a second or two must not cost a message
	// keepDoubt is how long a doubt is kept that nobody ends: longer than any
	// platform recognises repeats.
	keepDoubt = 24 * time.Hour
)

// doubt is that a message may have arrived, since its sending failed as
// Ambiguous. It is stored, so that a restart changes nothing about how often
// the message is sent again.
type doubt struct {
	d     *Dispatcher
	id    string    // of the message
	Since time.Time `json:"since"` // start of the first such try; zero: no doubt
}

func (b *doubt) key() string { return b.id + ".doubt" }

// again judges a try that began at a time and failed as Ambiguous: whether
// there is to be another one, after which pause. As long as the platform
// recognises the repeat there is, until end. Otherwise the message may be
// there twice after it, so there is exactly one, and not too soon.
func (b *doubt) again(ctx context.Context, began, end time.Time, pause time.Duration) (time.Duration, bool) {
	lim := b.d.limits
	if !lim.Resend {
		return 0, false
	}
	if b.Since.IsZero() {
		b.recall(ctx)
	}
	if b.Since.IsZero() {
		b.Since = began
		b.note(ctx)
	} else if began.Sub(b.Since) >= lim.RepeatKnown {
		return 0, false // this was the one
	}
	if next := time.Now().Add(pause); next.Sub(b.Since) < lim.RepeatKnown {
		return pause, !next.After(end)
	}
	return max(pause, b.d.opt.BlindPause), true
}

// recall looks for a doubt from before a restart.
func (b *doubt) recall(ctx context.Context) {
	if _, err := load(ctx, b.d.opt.Drafts, b.key(), b); err != nil {
		b.d.opt.Log.WarnContext(ctx, "earlier tries of a message not read", "id", b.id, "err", err)
	}
}

func (b *doubt) note(ctx context.Context) {
	value, err := json.Marshal(b)
	if err == nil {
		err = stumble(ctx, func() error {
			_, err := b.d.opt.Drafts.Update(ctx, b.key(), value, 0, keepDoubt)
			return err
		})
	}
	if err != nil {
		b.d.opt.Log.WarnContext(ctx, "a try of a message not noted", "id", b.id, "err", err)
	}
}

// end forgets the doubt: the message arrived, or will not be sent again by
// itself.
func (b *doubt) end(ctx context.Context) {
	if b.Since.IsZero() {
		return
	}
	if err := b.d.opt.Drafts.Delete(ctx, b.key()); err != nil { // then its time ends it
		b.d.opt.Log.DebugContext(ctx, "tries of a message not forgotten", "id", b.id, "err", err)
	}
}
