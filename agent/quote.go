package agent

import (
	"context"
	"strings"

	"magpie/agent/session"
	"magpie/chat"
)

const (
	labelQuotedVoice = "[The quoted text is the transcript of a voice message.]\n"
	labelPassage     = "[They mean this passage of it:]\n"
	labelOwnUnknown  = "[This replies to a message of yours whose text is no longer known.]\n"
	labelUnknown     = "[This replies to a message that could not be read.]\n"
)

// foreign reports whether a quote brings something of others than the bot.
func foreign(q *chat.Quote) bool {
	return q != nil && !q.Mine && (!blank(q.Text) || len(q.Attachments) > 0)
}

// quote writes the message replied to: its text, and what is said in it, in a
// fence, and then its files.
func (t *turn) quote(ctx context.Context, q *chat.Quote) string {
	if q == nil {
		return ""
	}
	text, spoke := q.Text, false
	var files strings.Builder
	for _, a := range q.Attachments {
		if spoken(a) {
			text, spoke = join(text, a.Text), true
		}
		files.WriteString("[with the quoted message" + by(q) + ": " + t.attachment(ctx, a, t.loop.counted) + "]\n")
	}
	switch {
	case !blank(text):
		text = fence("quoted", quotedFrom(q), "", session.Shorten(text, maxQuote))
		if !blank(q.Passage) && q.Passage != q.Text {
			text += labelPassage + fence("quoted", quotedFrom(q), "", session.Shorten(q.Passage, maxQuote))
		}
	case files.Len() > 0:
		text = ""
	case q.Mine:
		return labelOwnUnknown
	case q.ID != "":
		return labelUnknown
	default:
		return ""
	}
	if spoke {
		text += labelQuotedVoice
	}
	return text + files.String()
}

func quotedFrom(q *chat.Quote) string {
	if q.Mine {
		return "you"
	}
	return q.From
}

func by(q *chat.Quote) string {
	if from := clean(quotedFrom(q)); from != "" {
		return " from " + from
	}
	return ""
}

// spoken reports whether the text of a file is what is said in it.
func spoken(a chat.Attachment) bool {
	return a.Text != "" && (a.Kind == chat.Voice || a.Kind == chat.Audio)
}
