package dingtalk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"

	"magpie/chat"
)

// direct is the conversationType of a private chat.
const direct = "1"

// read turns a callback into a message for the sink, or says why there is none
// and whether that is a fault of the push.
func (t *DingTalk) read(ctx context.Context, f *payload.DataFrame) (a arrival, skip string, bad bool) {
	if f.GetTopic() == payload.CardInstanceCallbackTopic {
		return t.press(ctx, f)
	}
	var m message
	var form *json.UnmarshalTypeError
	if err := json.Unmarshal([]byte(f.Data), &m); err != nil && !errors.As(err, &form) {
		return a, fmt.Sprintf("undecodable: %v", err), true
	} // a field of another form than documented costs that field
	m.ID = cmp.Or(m.ID, f.GetMessageId())
	switch {
	case m.ID == "" || cmp.Or(m.Staff, m.Sender) == "" || (m.ConvType != direct && m.ConvID == ""):
		return a, "message without id, sender or conversation", true
	case m.withheld():
		return arrival{withheld: &m}, "", false
	case m.Sender != "" && m.Sender == m.Bot:
		return a, "the bot's own message", false
	}
	in := t.inbound(ctx, m, f)
	// Who only mentions the bot wants something: what stands above, or help.
	if in.Text == "" && len(in.Attachments) == 0 && in.ReplyTo == nil && (in.Direct || !in.Mentioned) {
		return a, "empty message", false
	}
	t.heard.keep(ctx, in)
	if in.Direct || in.Mentioned {
		t.signs.heard(in.Addr.Chat, m.ID, m.ConvID)
	}
	note := &session{URL: m.URL, Until: time.UnixMilli(int64(m.Until)).UTC()}
	if m.ConvType != direct {
		note.Heard = []heard{{ID: m.ID, Staff: m.Staff, Name: m.Nick}}
	}
	return arrival{in: in, note: note}, "", false
}

func (t *DingTalk) inbound(ctx context.Context, m message, f *payload.DataFrame) chat.Inbound {
	at := time.UnixMilli(cmp.Or(int64(m.Created), f.GetTimestamp())).UTC()
	if at.Unix() <= 0 {
		at = t.deps.Now().UTC()
	}
	in := chat.Inbound{
		Meta:   chat.Meta{V: chat.Version, ID: "dingtalk:" + t.name + ":" + m.ID, At: at, Addr: chat.Address{Channel: t.name, Chat: m.chat()}},
		Origin: chat.FromPerson, From: chat.Sender{ID: cmp.Or(m.Staff, m.Sender), Name: m.Nick}, MessageID: m.ID,
		Direct: m.ConvType == direct, Mentioned: m.called(),
	}
	t.content(ctx, m, &in)
	return in
}

// chat is the place of a message in the form in which it can be answered.
func (m message) chat() string {
	if m.ConvType == direct {
		return userPrefix + cmp.Or(m.Staff, m.Sender)
	}
	return groupPrefix + m.ConvID
}

func (m message) called() bool {
	if m.Called {
		return true
	}
	for _, u := range m.At {
		if m.Bot != "" && u.ID == m.Bot {
			return true
		}
	}
	return false
}

// content fills in text, files and quote. A part that has another form than
// expected is left out, not the message.
func (t *DingTalk) content(ctx context.Context, m message, in *chat.Inbound) {
	var body text
	_ = json.Unmarshal(m.Text, &body) // absent in other kinds
	in.Text = strings.TrimSpace(body.Content)
	p, err := decodePart(m.Content)
	if err != nil {
		t.deps.Log.Warn("the content of a dingtalk message has an unknown form", "msgtype", m.Kind, "err", err)
	}
	switch m.Kind {
	case "text", "reply":
		in.Text = cmp.Or(in.Text, strings.TrimSpace(p.says()))
	case "richText":
		if len(p.Rich) == 0 {
			p.Rich = m.RichText.List
		}
		in.Text, in.Attachments = t.rich(p.Rich, m)
	case "picture", "audio", "video", "file":
		if a, ok := p.attachment(m.Kind, m.Robot); ok {
			in.Attachments = []chat.Attachment{a}
		} else if in.Text == "" {
			in.Text = cmp.Or(p.address(), "["+m.Kind+"]")
		}
	case "chatRecord":
		in.Forwarded = true
		if in.Text, in.Attachments = p.forwarded(m.Robot); in.Text == "" && len(in.Attachments) == 0 {
			in.Text = "[" + m.Kind + "]"
		}
	default:
		if p.Link = cmp.Or(p.Link, m.Link); in.Text == "" {
			in.Text = other(m.Kind, p)
		}
	}
	if q, ok := m.quotes(body, p); ok {
		in.ReplyTo = t.replyTo(ctx, m, q)
	}
	if in.ReplyTo != nil && in.ReplyTo.Mine {
		in.Mentioned = true
		if in.ReplyTo.From != "" {
			t.nick.Store(&in.ReplyTo.From)
		}
	}
}

// other is the text of a message that is neither text nor file: Markdown, cards
// with links, and what DingTalk does not show to robots.
func other(kind string, p part) string {
	var lines []string
	said := []string{p.Title, p.says(), p.Link}
	for _, a := range p.Actions {
		said = append(said, a.URL)
	}
	for _, line := range said {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if p.Unknown == "" && len(lines) > 0 && kind != "" && kind != "unknownMsgType" {
		return strings.Join(lines, "\n")
	}
	return "[" + cmp.Or(p.Unknown, string(p.Text), kind, "unknown message") + "]"
}

// rich joins the pieces of a rich text. Unlike in plain messages the names of
// those who are mentioned stand in it, the bot's too.
func (t *DingTalk) rich(parts []part, m message) (string, []chat.Attachment) {
	texts, files := pieces(parts, m.Robot)
	if m.ConvType != direct && m.called() {
		withoutMention(texts, *t.nick.Load(), len(m.At))
	}
	return strings.TrimSpace(strings.Join(texts, "")), files
}
