package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"magpie/chat"
)

// filesWait is how long a turn waits for the files of its messages: what a
// download may take at most, and a minute for a gateway that is just being
// started again.
const filesWait = 150*time.Second + time.Minute

// textMissing is what the model reads of a file that was not there in time.
const textMissing = "it did not arrive in time"

// gather waits for the files of the messages that begin the turn. What the
// person says meanwhile belongs to the turn as well: nothing has been said to
// the model yet.
func (t *turn) gather(ctx context.Context) error {
	for done := 0; done < len(t.inputs); {
		from := done
		done = len(t.inputs)
		waited := t.await(ctx, t.inputs[from:])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !waited || len(t.loop.past.replies) > 0 {
			continue
		}
		if err := t.h.pull(ctx); err != nil {
			return err
		}
		t.join(t.joins)
	}
	return nil
}

// await fills in what has become of the files of messages, which are the
// turn's, and reports whether there was one to wait for. They are waited for
// side by side, so that one that never comes does not cost the others; it is
// named to the model as missing.
func (t *turn) await(ctx context.Context, inputs []chat.Delivery) (waited bool) {
	bound, cancel := context.WithTimeout(ctx, filesWait)
	defer cancel()
	own := make([]chat.Inbound, len(inputs))
	var all sync.WaitGroup
	for i := range inputs {
		own[i] = withOwnFiles(inputs[i].Inbound) // the mailbox keeps its own
		for _, file := range filesOf(&own[i]) {
			if isPending(*file) {
				waited = true
				all.Go(func() { *file = t.file(bound, *file) })
			}
		}
	}
	if waited {
		// The only error is the end of ctx, which the caller sees.
		_ = t.h.aside(ctx, func(context.Context) error {
			all.Wait()
			return nil
		})
	}
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	for i := range inputs {
		inputs[i].Attachments, inputs[i].ReplyTo = own[i].Attachments, own[i].ReplyTo
	}
	return waited
}

// withOwnFiles is in with a list of files, and a quote with one, that nobody
// shares.
func withOwnFiles(in chat.Inbound) chat.Inbound {
	in.Attachments = slices.Clone(in.Attachments)
	if in.ReplyTo != nil {
		q := *in.ReplyTo
		q.Attachments = slices.Clone(q.Attachments)
		in.ReplyTo = &q
	}
	return in
}

// filesOf are the files that come with a message: first those that it quotes.
func filesOf(in *chat.Inbound) []*chat.Attachment {
	var all []*chat.Attachment
	if in.ReplyTo != nil {
		for i := range in.ReplyTo.Attachments {
			all = append(all, &in.ReplyTo.Attachments[i])
		}
	}
	for i := range in.Attachments {
		all = append(all, &in.Attachments[i])
	}
	return all
}

func isPending(a chat.Attachment) bool { return a.Pending != "" }

// isPicture reports whether a stored file is something to look at: also a
// picture that was sent as a file, to keep its quality.
func isPicture(a chat.Attachment) bool {
	switch a.MIME {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return a.Ref != "" && (a.Kind == chat.Image || a.Kind == chat.File)
	}
	return a.Ref != "" && a.Kind == chat.Image
}

// file waits for one file.
func (t *turn) file(ctx context.Context, a chat.Attachment) chat.Attachment {
	if t.h.a.ports.Media == nil {
		return a
	}
	got, err := t.h.a.ports.Media.Await(ctx, a)
	if err == nil {
		return got
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return a // the turn is cut off
	}
	t.h.a.opt.Log.Warn("a turn goes on without a file", "session", t.h.key, "trace", t.first().Trace, "err", err)
	a.Pending, a.Failed = "", textMissing
	return a
}
