package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"magpie/channels"
	"magpie/chat"
)

// maxForwarded is how many messages of a forwarded conversation are shown.
const maxForwarded = 50

// item is a message as the platform tells it when asked.
type item struct {
	ID      string `json:"message_id"`
	Root    string `json:"root_id"`
	Thread  string `json:"thread_id"`
	Kind    string `json:"msg_type"`
	Deleted bool   `json:"deleted"`
	Sender  struct {
		ID   string `json:"id"`
		Type string `json:"sender_type"`
	} `json:"sender"`
	Body struct {
		Content string `json:"content"`
	} `json:"body"`
	Mentions []mention `json:"mentions"`
	Upper    string    `json:"upper_message_id"`
}

// lookUp asks for a message; of a forwarded conversation it brings all. Cards
// come as they were sent only to those who ask for that
// (larksuite/node-sdk 1.74.0, im.message.get).
func (f *Feishu) lookUp(ctx context.Context, id string) ([]item, error) {
	return f.items(ctx, request{
		op: "message/get", method: http.MethodGet, path: messagePath(id),
		query: url.Values{"user_id_type": {"open_id"}, "card_msg_content_type": {"user_card_content"}},
	})
}

func (f *Feishu) items(ctx context.Context, r request) ([]item, error) {
	raw, err := f.api.call(ctx, r)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items []item `json:"items"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Items) == 0 {
		return nil, f.api.Fail(r.op, channels.Rejected, errors.New("the platform shows no such message"))
	}
	return answer.Items, nil
}

// said is the item as a reader sees it, and its files.
func (i *item) said() (text string, files []chat.Attachment) {
	m := message{ID: i.ID, Kind: i.Kind, Content: i.Body.Content, Mentions: i.Mentions}
	s, _ := m.read()
	text, _ = resolve(s.text, i.Mentions, &bot{})
	return text, s.files
}

// text is the item with the places of its files.
func (i *item) text() string {
	text, files := i.said()
	for _, a := range files {
		text = strings.TrimSpace(text + " [" + string(a.Kind) + "]")
	}
	return text
}

func (f *Feishu) mine(i *item) bool {
	return i.Sender.ID == f.cfg.AppID || i.Sender.Type == "app" && i.Sender.ID == f.me.Load().OpenID
}

// isOwn says whether a message is known to be the bot's; known is false when
// only the platform can tell.
func (f *Feishu) isOwn(id string) (own, known bool) {
	if _, sent := f.cards.forms.get(id); sent {
		return true, true
	}
	return f.known.own.get(id)
}

// quote adds what the message refers to: the message that it quotes, and with
// the first words to the bot in a thread what the thread began with.
func (f *Feishu) quote(ctx context.Context, ev *event) {
	in := ev.in
	first := in.ReplyTo == nil && in.Addr.Thread != "" && in.Addr.Thread != in.MessageID && !f.known.isHeard(ctx, f.deps.Table, in.Addr)
	id := ev.parent
	if id == "" && first {
		id = in.Addr.Thread
	}
	if id == "" {
		return
	}
	if own, known := f.isOwn(id); known {
		in.Mentioned = in.Mentioned || own
		if in.ReplyTo == nil && !(first && (in.Direct || in.Mentioned)) {
			return
		}
	}
	items, err := f.lookUp(ctx, id)
	if err != nil {
		f.unread(in, err)
		return
	}
	own := f.mine(&items[0])
	f.known.own.put(id, own)
	in.Mentioned = in.Mentioned || own
	f.threadOf(ctx, ev, &items[0])
	if first && in.ReplyTo == nil && (in.Direct || in.Mentioned) {
		in.ReplyTo = &chat.Quote{ID: id}
	}
	if in.ReplyTo != nil {
		f.fill(in.ReplyTo, items, own)
	}
}

// fill writes the quoted message into the quote.
func (f *Feishu) fill(q *chat.Quote, items []item, own bool) {
	first := &items[0]
	q.Mine, q.From = own, first.Sender.ID
	if n, ok := f.known.names.get(q.From); ok && n.name != "" {
		q.From = n.name
	} else if name, ok := f.known.called.get(q.From); ok {
		q.From = name
	}
	switch {
	case first.Deleted && !own:
		q.Text = "[quoted message could not be read: it was taken back]"
	case first.Kind == "merge_forward":
		q.Text = strings.Join(append([]string{first.text()}, passedOn(items)...), "\n")
	default:
		q.Text, q.Attachments = first.said()
	}
}

// unread says, to the model and once to the operator, that a quoted message
// cannot be read. Words of the bot itself are known by their id.
func (f *Feishu) unread(in *chat.Inbound, err error) {
	f.deps.Log.Debug("the quoted message was not found", "err", err)
	if scopeMissing(err) {
		f.lacking(lackGroup, err)
	}
	q := in.ReplyTo
	if q == nil {
		return
	}
	if q.Mine, _ = f.isOwn(q.ID); !q.Mine {
		q.Text = "[quoted message could not be read: " + unreadable(err) + "]"
	}
}

// unreadable is why a message cannot be read, for the model.
func unreadable(err error) string {
	switch {
	case refused(err, codeDeleted, codeRecalled, codeNoMessage):
		return "it was deleted"
	case refused(err, codeInvisible):
		return "the bot may not see it, since it is older than its membership or the group forbids copying"
	case scopeMissing(err):
		return "the bot lacks the scope " + lackGroup.any[0] + ", which the operator can add"
	case channels.KindOf(err) == channels.Rejected:
		return "Feishu does not give it to the bot"
	}
	return "Feishu did not answer in time"
}

// forwarded adds what was said in a forwarded conversation.
func (f *Feishu) forwarded(ctx context.Context, in *chat.Inbound) {
	items, err := f.lookUp(ctx, in.MessageID)
	if err != nil {
		f.deps.Log.Debug("the forwarded messages were not found", "err", err)
		if scopeMissing(err) {
			f.lacking(lackGroup, err)
		}
		in.Text = "[forwarded messages could not be read: " + unreadable(err) + "]"
		return
	}
	in.Text = strings.Join(append([]string{in.Text}, passedOn(items)...), "\n")
}

// passedOn are the messages of a forwarded conversation, each as a quote. The
// platform gives out no files of them (234043).
func passedOn(items []item) (lines []string) {
	for i := range items {
		if items[i].Upper == "" && i == 0 || items[i].Deleted {
			continue
		}
		if len(lines) >= maxForwarded {
			return append(lines, "…")
		}
		lines = append(lines, "> "+strings.ReplaceAll(items[i].text(), "\n", "\n> "))
	}
	return lines
}
