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
		quote, found := *in.ReplyTo, false
		if quote.ID != "" {
			bound, cancel := context.WithTimeout(ctx, wordsPatience)
			part, is, err := w.Words(bound, in.Addr, quote.ID)
			cancel()
			if err != nil {
				log.WarnContext(ctx, "what a quoted message said is not known", "session", in.Addr.Session(), "trace", in.Trace, "err", err)
			}
			if found = is; found {
				recall(&quote, part)
				in.Mentioned = in.Mentioned || !in.ReplyTo.Mine
			}
		}
		if quote.Mine && !found { // by what the platform tells it may have said anything
			quote.Sources = []chat.Source{{Kind: chat.SourceUnknown, At: in.At}}
		}
		in.ReplyTo = &quote
		return next(ctx, in)
	}
}

// recall makes q a quote of what we said. A part of which nothing was kept says
// only whose it is.
func recall(q *chat.Quote, part chat.Part) {
	q.Mine, q.Sources = true, part.Sources
	if part.Sources == nil { // an older version wrote it
		q.Sources = []chat.Source{{Kind: chat.SourceUnknown}}
	}
	if part.Text == "" && len(part.Files) == 0 {
		return
	}
	q.Text, q.Attachments = part.Text, slices.Clone(part.Files)
}
