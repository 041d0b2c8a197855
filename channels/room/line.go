package room

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/chat"
)

// line makes of a message what is kept of it: words and names, no bytes of
// files and nothing that fetches them.
func (k *Keeper) line(in chat.Inbound, outside bool) line {
	at := in.At
	if now := k.opt.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	return line{ID: in.ID, Overheard: chat.Overheard{
		MessageID: in.MessageID, At: at.UTC(), Text: shorten(in.Text, MaxText), Files: files(in.Attachments),
		From: chat.Sender{
			ID: in.From.ID, Name: shorten(in.From.Name, maxName), Username: shorten(in.From.Username, maxName), Bot: in.From.Bot,
		},
		Happening: in.Happening, Outside: outside,
	}}
}

// empty: the line tells nothing.
func (l *line) empty() bool {
	return strings.TrimSpace(l.Text) == "" && len(l.Files) == 0 && l.Happening == ""
}

// size is about how many bytes the line takes.
func (l *line) size() int {
	n := len(l.ID) + len(l.MessageID) + len(l.Text) + len(l.From.ID) + len(l.From.Name) + len(l.From.Username)
	for _, f := range l.Files {
		n += len(f.Name) + len(f.MIME) + len(f.Text)
	}
	return n
}

// files are the names of what was sent along.
func files(all []chat.Attachment) []chat.Attachment {
	var kept []chat.Attachment
	for i, a := range all {
		if i == maxFiles {
			break
		}
		kept = append(kept, chat.Attachment{
			Kind: a.Kind, Name: shorten(a.Name, maxName), MIME: shorten(a.MIME, maxName), Size: a.Size,
			Text: shorten(a.Text, MaxText), Duration: a.Duration.Truncate(time.Second),
		})
	}
	return kept
}

// shorten cuts a text after a whole character and says how much is missing.
func shorten(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + fmt.Sprintf("… [%d more]", utf8.RuneCountInString(text[cut:]))
}
