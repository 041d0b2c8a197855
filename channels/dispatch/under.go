package dispatch

import (
	"context"
	"errors"
	"fmt"

	"magpie/channels"
	"magpie/chat"
)

// under writes the text under what an earlier message of the chat says, whose
// buttons go. It reports false where that cannot be done, so that the text goes
// by itself.
func (j *job) under(ctx context.Context) (done bool, err error) {
	r, found, err := j.d.opt.Receipts.Receipt(ctx, j.out.Answer.Under)
	if err != nil {
		return false, fmt.Errorf("look for the receipt of %q: %w", j.out.Answer.Under, err)
	}
	if !found || len(r.Refs) == 0 {
		return false, nil
	}
	last := len(r.Refs) - 1 // which has the buttons
	ref, text := r.Refs[last], ""
	if last < len(r.Parts) {
		text = r.Parts[last].Text
	}
	msg := j.out
	msg.Text = paragraphs(text, j.out.Text)
	e, edits := j.d.ch.(channels.Editor)
	if edits && text != "" && (j.d.limits.Text == 0 || j.size(msg.Text) <= j.d.limits.Text) {
		err := j.d.try(ctx, j.out.Meta, callTimeout, func(ctx context.Context) error { return repeatable(e.Edit(ctx, ref, msg)) })
		if err == nil {
			j.unplanned(ref, chat.Part{Text: msg.Text})
			j.progress.Refs = []chat.MessageRef{ref}
			return true, nil
		}
		if !settled(err) {
			return false, err
		}
		j.d.opt.Log.InfoContext(ctx, "a message cannot be written under another, it goes by itself", "trace", j.out.Trace, "err", err)
	}
	return false, j.strip(ctx, ref)
}

// strip takes the buttons of a message away.
func (j *job) strip(ctx context.Context, ref chat.MessageRef) error {
	b, ok := j.d.ch.(channels.Buttoner)
	if !ok {
		return nil
	}
	err := j.d.try(ctx, j.out.Meta, callTimeout, func(ctx context.Context) error {
		return repeatable(b.AnswerPress(ctx, j.out.Addr, chat.Answer{Message: ref.ID}))
	})
	if settled(err) {
		return nil
	}
	return err
}

// settled says of an error that trying again later is useless.
func settled(err error) bool {
	var dead *Undeliverable
	return refused(err) || errors.As(err, &dead)
}
