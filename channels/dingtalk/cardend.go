package dingtalk

import (
	"context"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// start looks after open cards until the returned function is called.
func (d *desk) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	d.wg.Go(func() { d.run(ctx) })
	return func() {
		cancel()
		d.wg.Wait()
	}
}

func (d *desk) run(ctx context.Context) {
	d.restore(ctx)
	tick := time.NewTicker(d.t.pace.sweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.sweep(ctx)
		}
	}
}

// restore finds the cards that an earlier process left open.
func (d *desk) restore(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	var notes cardNotes
	if err := notes.load(ctx, d.t.deps.Table); err != nil {
		d.t.deps.Log.Warn("cards of an earlier run are not completed", "err", err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for track, n := range notes {
		if n.Open && d.open[track] == nil {
			d.open[track] = &openCard{chat: n.Chat, message: "unknown", touched: d.t.deps.Now()}
		}
	}
}

// sweep completes cards that nobody has touched for long.
func (d *desk) sweep(ctx context.Context) {
	old := d.t.deps.Now().Add(-d.t.pace.orphan)
	d.mu.Lock()
	var due []string
	for track, c := range d.open {
		if c.touched.Before(old) {
			due = append(due, track)
		}
	}
	d.mu.Unlock()
	for _, track := range due {
		if err := d.complete(ctx, track); err != nil && ctx.Err() == nil {
			d.t.deps.Log.Warn("an open card was not completed and is tried again", "card", track, "err", err)
		}
	}
}

// giveUp completes a card whose message is no longer wanted, later when it
// cannot be done now. A card cannot be taken away, and its half of an answer
// that stands elsewhere is not left there.
func (d *desk) giveUp(ctx context.Context, ref chat.MessageRef) error {
	defer d.lock(ref.Chat)()
	d.mu.Lock()
	if d.open[ref.ID] != nil {
		d.mu.Unlock()
		d.change(ref.ID, func(c *openCard) { c.text = cardMoved })
		d.abandon(ctx, ref.ID)
		return nil
	}
	d.mu.Unlock()
	return nil
}

// abandon completes a card now, or leaves that to sweep.
func (d *desk) abandon(ctx context.Context, track string) {
	if track == "" {
		return
	}
	if err := d.complete(ctx, track); err != nil {
		d.t.deps.Log.Info("an abandoned card is completed later", "card", track, "err", err)
		d.later(track)
	}
}

// later leaves a card to sweep.
func (d *desk) later(track string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.open[track]; c != nil {
		c.message, c.touched = "abandoned", time.Time{}
	}
}

// complete ends a card with the text that it has.
func (d *desk) complete(ctx context.Context, track string) error {
	d.mu.Lock()
	c := d.open[track]
	if c == nil {
		d.mu.Unlock()
		return nil
	}
	text, end := c.text, cardEnds
	switch {
	case text == "" && c.message == "":
		text = cardDone
	case text == "":
		text, end = cardBroke, cardFails
	}
	d.mu.Unlock()
	err := d.t.streamCard(ctx, track, text, end)
	if kind := channels.KindOf(err); err != nil && kind != channels.Rejected && kind != channels.TooLong {
		return err
	}
	d.forget(ctx, track) // also when it never came to be
	return nil
}

// settle completes the working sign of a chat whose answer is no text.
func (d *desk) settle(ctx context.Context, chatID, text string) {
	defer d.lock(chatID)()
	if track, _, ok := d.find(chatID, "\x00none"); ok {
		d.change(track, func(c *openCard) { c.text = text })
		d.abandon(ctx, track)
	}
}
