package dingtalk

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"magpie/chat"
)

// quote is the message that another one replies to. DingTalk does not document
// it; its forms are known from its own connector
// (dingtalk-openclaw-connector 0.8.21 of 2026-05-17, core/message-handler.ts)
// and from payloads that others have logged
// (soimy/openclaw-channel-dingtalk, message-utils.ts of 2026-07-28): the
// content is an object or JSON of one, the id may stand beside the quote alone,
// and a robot's message is named by the key that its sending has returned.
type quote struct {
	ID      string          `json:"msgId"`
	Kind    string          `json:"msgType"`
	Sender  string          `json:"senderId"`
	Nick    string          `json:"senderNick"`
	Created number          `json:"createdAt"` // ms
	Content json.RawMessage `json:"content"`
	Text    words           `json:"text"` // of older clients, as Link
	Link    string          `json:"biz_custom_action_url"`
}

// quotedOfOld is the form of a quote that old clients send.
type quotedOfOld struct {
	ID     string          `json:"msgId"`
	Kind   string          `json:"msgtype"`
	Sender string          `json:"senderId"`
	Nick   string          `json:"senderNick"`
	Text   json.RawMessage `json:"text"`
}

// quotes finds what a message replies to, wherever it says so.
func (m message) quotes(body text, p part) (q quote, ok bool) {
	switch {
	case body.Quoted != nil:
		q = *body.Quoted
	case p.Quoted != nil:
		q = *p.Quoted
	case m.OldQuote != nil:
		o := m.OldQuote
		q = quote{ID: o.ID, Kind: o.Kind, Sender: o.Sender, Nick: o.Nick, Content: o.Text}
	case m.Original == "" && m.OriginalKey == "":
		return q, false
	}
	q.ID = cmp.Or(q.ID, m.Original)
	return q, true
}

// replyTo is the quoted message of m; nil when there is nothing to say of it.
func (t *DingTalk) replyTo(ctx context.Context, m message, q quote) *chat.Quote {
	out := &chat.Quote{ID: q.ID, From: q.Nick, Mine: m.Bot != "" && q.Sender == m.Bot}
	out.Text, out.Attachments = q.content(m.Robot)
	if m.OriginalKey != "" || out.Mine {
		t.own(ctx, m, q, out)
	}
	if out.Text == "" && len(out.Attachments) == 0 && !out.Mine {
		if old, ok := t.heard.find(ctx, m.chat(), q.ID); ok {
			out.From, out.Text, out.Attachments = cmp.Or(out.From, old.From), old.Text, old.Files
		} else {
			out.Text = q.label()
		}
	}
	if out.ID == "" && out.Text == "" && len(out.Attachments) == 0 {
		return nil
	}
	return out
}

// own gives a quoted message of the bot the id under which it was sent: by the
// key that DingTalk names it with, or, as one that went by a session webhook
// has none, by its words and its time.
func (t *DingTalk) own(ctx context.Context, m message, q quote, out *chat.Quote) {
	at := time.UnixMilli(int64(q.Created))
	if q.Created <= 0 {
		at = time.Time{}
	}
	id, known := t.sent.find(ctx, m.chat(), m.OriginalKey, out.Text, at)
	switch {
	case known && (out.Mine || q.Sender == ""):
		out.ID, out.Mine = id, true
	case q.Sender == "" && m.ConvType == direct: // there is no other robot
		out.ID, out.Mine = m.OriginalKey, true
	case out.Mine && m.OriginalKey != "":
		out.ID = m.OriginalKey
	}
}

// content is what a quoted message said and held.
func (q quote) content(robot string) (text string, files []chat.Attachment) {
	p, _ := decodePart(q.Content) // of another form than expected: less is known
	switch q.Kind {
	case "chatRecord":
		return p.forwarded(robot)
	case "picture", "audio", "video", "file":
		if a, ok := p.attachment(q.Kind, robot); ok {
			return "", []chat.Attachment{a}
		}
		return strings.TrimSpace(cmp.Or(p.Recognition, p.address())), nil
	case "actionCard", "markdown", "link":
		return strings.TrimSpace(strings.Join([]string{p.Title, p.says()}, "\n")), nil
	}
	text = p.says()
	if len(p.Rich) > 0 {
		var texts []string
		texts, files = pieces(p.Rich, robot)
		text = strings.Join(texts, "")
	}
	return strings.TrimSpace(cmp.Or(text, string(q.Text), p.Link, q.Link)), files
}

// label stands for a quoted message of which nothing but its kind is known,
// and the name of the file.
func (q quote) label() string {
	p, _ := decodePart(q.Content)
	switch {
	case p.FileName != "":
		return "[" + cmp.Or(strings.TrimPrefix(q.Kind, "unknownMsgType"), "file") + ": " + p.FileName + "]"
	case p.Unknown+q.Kind != "":
		return "[" + cmp.Or(p.Unknown, q.Kind) + "]"
	}
	return ""
}

// pieces takes a rich text apart.
func pieces(parts []part, robot string) (texts []string, files []chat.Attachment) {
	for _, p := range parts {
		if a, ok := p.attachment(cmp.Or(p.Type, p.Kind, "picture"), robot); ok {
			files = append(files, a)
			continue
		}
		texts = append(texts, p.says())
	}
	return texts, files
}
