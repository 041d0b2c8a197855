package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// Words know what the bot's messages on their platforms hold.
type Words interface {
	// Words is of the message with that id in the chat; false where nobody knows.
	Words(ctx context.Context, a chat.Address, id string) (part chat.Part, found bool, err error)
	// WordsAt is of the message that was sent there at that time.
	WordsAt(ctx context.Context, a chat.Address, at time.Time) (part chat.Part, found bool, err error)
}

// wordsPatience bounds the look for what a quoted message said: a platform
// waits for its acknowledgement meanwhile, some only 3 s.
const wordsPatience = time.Second

// OwnWords puts, before next, the bot's own words into quotes of its messages,
// whatever the platform tells of them: some tell nothing, or something else
// than what was said. What nobody knows any more stays as the platform tells it.
func OwnWords(w Words, log *slog.Logger, next channels.Sink) channels.Sink {
	return func(ctx context.Context, in chat.Inbound) error {
		if in.ReplyTo == nil {
			return next(ctx, in)
		}
		part, found, err := said(ctx, w, in.Addr, in.ReplyTo)
		if err != nil {
			log.WarnContext(ctx, "what a quoted message said is not known", "session", in.Addr.Session(), "trace", in.Trace, "err", err)
		}
		if found {
			quote := *in.ReplyTo
			recall(&quote, part)
			in.ReplyTo, in.Mentioned = &quote, in.Mentioned || !in.ReplyTo.Mine
		}
		return next(ctx, in)
	}
}

// said looks for the quoted message among those of the bot.
func said(ctx context.Context, w Words, a chat.Address, q *chat.Quote) (part chat.Part, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wordsPatience)
	defer cancel()
	if q.ID != "" {
		part, found, err = w.Words(ctx, a, q.ID)
	}
	if err == nil && !found && q.Mine && !q.At.IsZero() {
		part, found, err = w.WordsAt(ctx, a, q.At)
	}
	return part, found, err
}

// recall makes q a quote of what we said. A part of which nothing was kept says
// only whose it is.
func recall(q *chat.Quote, part chat.Part) {
	q.Mine = true
	if part.Text == "" && len(part.Files) == 0 {
		return
	}
	q.Text, q.Attachments = part.Text, slices.Clone(part.Files)
}
