package agent

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/chat"
)

// How a message is written for the model. A plain message of a private chat is
// its text and nothing else. What comes from others stands in a fence that its
// text cannot close: <message from="…"> in groups, <quoted from="…"> for the
// message replied to (quote.go) and for what is forwarded, <report> for background tasks,
// <reminder> for what a job has shown. What the program itself adds stands in
// square brackets.
const (
	labelEdited  = "[The person has changed an earlier message. It reads now:]\n"
	labelJob     = "[A scheduled job of this chat is due; nobody has written just now. Do what it says and answer with the outcome. If there is nothing that a person should read, answer " + SilentMark + " and nothing else:]\n"
	labelShown   = "[The chat has been shown this reminder, as its job asks; nobody has answered it yet:]\n"
	labelReport  = "[A background task has ended. The person has not seen its report; tell them what matters:]\n"
	labelVoice   = "[The text above is the transcript of a voice message.]"
	labelNothing = "[an empty message]"
)

const (
	maxText   = 256 << 10        // bytes of a message that the history takes; the whole is kept in a file
	maxQuote  = 32 << 10         // bytes of a quoted message: no platform of ours has longer ones
	maxName   = 64               // bytes of a sender's or a file's name
	maxReason = 300              // bytes of the reason why a file is missing
	longGap   = time.Hour        // a pause in the conversation that is told to the model
	late      = 10 * time.Minute // a message that waited that long says when it was sent
)

const timeLayout = "Mon 2006-01-02 15:04 -07:00"

// item makes the history entry of an inbound message.
func (t *turn) item(ctx context.Context, d chat.Delivery) session.Item {
	it := session.Item{At: t.h.a.opt.Now(), Inputs: []chat.Input{{Seq: d.Seq, ID: d.ID}}}
	it.Message = llm.Message{Role: llm.User}
	for _, a := range filesOf(&d.Inbound) {
		if isPicture(*a) {
			it.Message.Images = append(it.Message.Images, llm.Image{Ref: a.Ref, MIME: a.MIME})
		}
	}
	it.Message.Text = t.text(ctx, d)
	it.Sources = carries(d)
	t.learn(it.Sources)
	return it
}

// learn notes that the turn has text from outside before it.
func (t *turn) learn(sources []chat.Source) {
	if len(sources) == 0 {
		return
	}
	t.loop.sources = chat.JoinSources(t.loop.sources, sources)
	t.h.mu.Lock()
	t.doing.sources = t.loop.sources
	t.h.mu.Unlock()
}

// carries is where the words come from that a message brings and that others
// than its sender have written: what it quotes, forwards or pastes, what people
// who are not let in have said in the group before, and what the program itself
// has put into it, such as a reminder.
func carries(d chat.Delivery) []chat.Source {
	all := d.Sources
	add := func(kind chat.SourceKind, name string) {
		all = chat.JoinSources(all, []chat.Source{{Kind: kind, Name: clean(name), At: d.At}})
	}
	if d.Forwarded {
		add(chat.SourceOthers, nameOf(d.From))
	}
	if d.Origin == chat.FromSystem && d.Sources == nil {
		add(chat.SourceTask, d.From.Name)
	}
	if d.Origin == chat.FromPerson && pasted.MatchString(d.Text) {
		add(chat.SourceOthers, "")
	}
	if foreign(d.ReplyTo) {
		add(chat.SourceOthers, d.ReplyTo.From)
	} else if q := d.ReplyTo; q != nil && (!blank(q.Text) || len(q.Attachments) > 0) {
		all = chat.JoinSources(all, q.Sources)
	}
	for _, o := range d.Room {
		if o.Outside {
			add(chat.SourceOthers, nameOf(o.From))
		}
	}
	return all
}

// pasted finds a fence that somebody has copied, with what stood in it.
var pasted = regexp.MustCompile(`(?i)<\s*outside\b`)

// text writes what a message says, with everything the model should know of it.
func (t *turn) text(ctx context.Context, d chat.Delivery) string {
	said := t.overheardText(d.Room) + t.quote(ctx, d.ReplyTo)
	switch {
	case d.Origin == chat.FromCron:
		said += labelJob
	case d.Origin == chat.FromBot:
		said += labelShown
	case d.Origin == chat.FromSystem:
		said += labelReport
	case d.Edited:
		said += labelEdited
	}
	body, notes := t.body(ctx, d)
	switch {
	case d.Origin == chat.FromSystem:
		body = fence("report", d.From.Name, "", body)
	case d.Origin == chat.FromBot:
		body = fence("reminder", "", "", chat.Unliteral(body))
	case d.Forwarded && body != "":
		body = fence("quoted", "forwarded by "+nameOf(d.From), d.From.ID, body)
	case d.Origin == chat.FromPerson && !d.Direct && !blank(body):
		body = fence("message", nameOf(d.From), d.From.ID, body)
	}
	if !blank(body) {
		said += body
	}
	said = strings.TrimSuffix(said, "\n")
	if d.Origin == chat.FromPerson && d.Mentioned && !d.Direct && blank(d.Text) && len(d.Attachments) == 0 {
		notes = append(notes, fmt.Sprintf("[%s has addressed you without a word of their own.]", cmp.Or(clean(nameOf(d.From)), "Somebody")))
	}
	if d.Origin == chat.FromPerson && !d.At.IsZero() && t.began.Sub(d.At) >= late {
		notes = append(notes, "[sent at "+d.At.In(t.zone()).Format(timeLayout)+"]")
	}
	for _, n := range notes {
		said += "\n" + n
	}
	if blank(said) {
		return labelNothing
	}
	return strings.TrimPrefix(said, "\n")
}

// body is the text proper, with transcripts, and the notes on what comes with
// it.
func (t *turn) body(ctx context.Context, d chat.Delivery) (text string, notes []string) {
	text = strings.ToValidUTF8(d.Text, "\uFFFD")
	if len(text) > maxText {
		saved := t.inbox().keep(ctx, "message.txt", strings.NewReader(text))
		text = session.Shorten(text, maxText)
		if saved != "" {
			notes = append(notes, "[the whole message is in the file "+saved+"]")
		}
	}
	for _, a := range d.Attachments {
		if spoken(a) {
			text = join(text, strings.ToValidUTF8(a.Text, "\uFFFD"))
			notes = append(notes, labelVoice)
		}
		notes = append(notes, "["+t.attachment(ctx, a, t.loop.counted)+"]")
	}
	return text, notes
}

// attachment names a file to the model and puts a copy into the inbox.
func (t *turn) attachment(ctx context.Context, a chat.Attachment, again bool) string {
	name := clean(a.Name)
	what := string(a.Kind)
	if name != "" {
		what += " " + name
	}
	switch {
	case isPending(a):
		return what + ": has not arrived yet"
	case a.Failed != "" && a.Ref == "":
		return fmt.Sprintf("%s: could not be received: %s", what, cleanTo(a.Failed, maxReason))
	case a.Kind == chat.Sticker && a.Text != "":
		return "sticker " + clean(a.Text)
	case a.Ref == "":
		return what
	}
	if a.MIME != "" {
		what += ", " + clean(a.MIME)
	}
	if a.Size > 0 {
		what += fmt.Sprintf(", %d bytes", a.Size)
	}
	saved := t.copyIn(ctx, a, again)
	if saved != "" {
		what += ", saved as " + saved
	}
	if a.Failed != "" {
		what += "; " + cleanTo(a.Failed, maxReason)
	}
	return what
}

// gap tells of a long pause since the last message; "" when there was none.
func (t *turn) gap(last time.Time) string {
	if last.IsZero() || t.began.Sub(last) < longGap {
		return ""
	}
	return "[It is now " + t.began.In(t.zone()).Format(timeLayout) + "; the message above is from " +
		last.In(t.zone()).Format(timeLayout) + ".]"
}

func (t *turn) zone() *time.Location {
	if t.env.scope.Zone != nil {
		return t.env.scope.Zone
	}
	return time.UTC
}

func nameOf(s chat.Sender) string {
	if s.Name != "" {
		return s.Name
	}
	return s.Username
}

// fence puts text between tags that it cannot itself contain.
func fence(tag, from, id, text string) string {
	var b strings.Builder
	b.WriteString("<" + tag)
	if from = clean(from); from != "" {
		b.WriteString(` from="` + from + `"`)
	}
	if id = clean(id); id != "" {
		b.WriteString(` id="` + id + `"`)
	}
	b.WriteString(">\n" + harmless(text) + "\n</" + tag + ">\n")
	return b.String()
}

// harmless is foreign text that cannot close a fence, or open one.
func harmless(text string) string {
	return tags.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "&lt;$1")
}

// tags finds the tags of fences in foreign text, to make them harmless.
var tags = regexp.MustCompile(`(?i)<(\s*/?\s*(?:message|quoted|overheard|report|reminder)\b)`)

// clean makes a foreign name fit to stand in a label: one short line without
// the characters that labels are made of.
func clean(s string) string { return cleanTo(s, maxName) }

func cleanTo(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7f || r == '\uFFFD' || r == '\u2028' || r == '\u2029':
			return ' '
		case strings.ContainsRune(`"<>[]`, r):
			return '\''
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	for i := range s {
		if i > limit {
			return s[:i] + "…"
		}
	}
	return s
}
