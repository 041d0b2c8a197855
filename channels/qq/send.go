package qq

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/tencent-connect/botgo/dto"

	"magpie/channels"
	"magpie/chat"
)

// outgoing is a message on its way out. botgo's dto has no file_info as text
// and sends empty template fields.
type outgoing struct {
	Type     dto.MessageType  `json:"msg_type"`
	Content  string           `json:"content,omitempty"`
	MsgID    string           `json:"msg_id,omitempty"`
	EventID  string           `json:"event_id,omitempty"`
	Seq      uint32           `json:"msg_seq,omitempty"`
	Markdown *markdown        `json:"markdown,omitempty"`
	Keyboard *keyboard        `json:"keyboard,omitempty"`
	Media    *media           `json:"media,omitempty"`
	Notify   *dto.InputNotify `json:"input_notify,omitempty"`
}

type markdown struct {
	Content string `json:"content"`
}

type media struct {
	Info string `json:"file_info"`
}

// sent is the platform's answer to a message; its timestamp comes in two
// types and is not needed.
type sent struct {
	ID  string `json:"id"`
	Ext struct {
		Index string `json:"ref_idx"` // what a quote of the message refers to
	} `json:"ext_info"`
}

// Send delivers one text as a reply where there is something to reply to. A
// repeat with the same id is recognised by the platform; then the ref has no
// id. What finds no place is kept for the next contact and Rejected.
func (q *QQ) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	text := q.words(msg.Text)
	switch n := utf8.RuneCountInString(text); {
	case n > maxText:
		return chat.MessageRef{}, q.api.Fail("messages", channels.TooLong, fmt.Errorf("%d characters, at most %d are taken", n, maxText))
	case strings.TrimSpace(text) == "":
		return chat.MessageRef{}, q.api.Fail("messages", channels.Rejected, errors.New("nothing to send"))
	}
	return q.placed(ctx, msg, msg.Text, func(p place) (sent, error) { return q.deliver(ctx, msg, p) })
}

// deliver sends a text to a place, in plainer forms as far as the platform
// refuses the better ones.
func (q *QQ) deliver(ctx context.Context, msg chat.Outbound, p place) (sent, error) {
	l := &letter{markdown: q.cfg.Markdown, keyboard: q.cfg.Markdown && len(msg.Buttons) > 0}
	got, err := q.post(ctx, msg.Addr.Chat, p, func() outgoing { return l.write(q, msg) }, func(err error) bool {
		if !l.plainer(err) {
			return false
		}
		q.deps.Log.Info("qq refused a form of the message, sending a plainer one", "chat", msg.Addr.Chat, "trace", msg.Trace, "err", err)
		return true
	})
	if err == nil && (got.Ext.Index != "" || l.keyboard) && got.ID != "" {
		q.remember(ctx, msg, got, l.keyboard)
	}
	return got, err
}

// remember notes what later events refer to. Without it a quote has no text
// and a press no message, which is no reason to fail.
func (q *QQ) remember(ctx context.Context, msg chat.Outbound, got sent, buttons bool) {
	err := q.ledger.change(ctx, msg.Addr.Chat, func(a *account) error {
		a.remember(line{Index: got.Ext.Index, Text: msg.Text, Mine: true})
		if buttons {
			a.Menus = append(a.Menus, menu{Key: menuKey(msg.ID), ID: got.ID})
			a.Menus = a.Menus[max(0, len(a.Menus)-maxMenus):]
		}
		return nil
	})
	if err != nil {
		q.deps.Log.Warn("a sent message is not remembered", "chat", msg.Addr.Chat, "trace", msg.Trace, "err", err)
	}
}

// placed finds a place for a message and sends it there; when the platform
// says that the place is no longer one, it looks for another. text is what is
// kept when there is none; "" for nothing.
func (q *QQ) placed(ctx context.Context, msg chat.Outbound, text string, send func(place) (sent, error)) (chat.MessageRef, error) {
	const op = "messages"
	chatID := msg.Addr.Chat
	if !known(chatID) {
		return chat.MessageRef{}, q.api.Fail(op, channels.Rejected, fmt.Errorf("%q is no chat of QQ: want c2c:<openid> or group:<openid>", chatID))
	}
	for range maxWindows {
		p, ok, err := q.ledger.claim(ctx, chatID, want{id: msg.ID, reply: msg.ReplyTo, answer: isAnswer(msg), part: msg.Turn != "" && !msg.Final})
		if err != nil {
			return chat.MessageRef{}, q.api.Fail(op, channels.Temporary, err)
		}
		if !ok {
			break
		}
		got, err := send(p)
		if err == nil {
			return chat.MessageRef{Channel: q.name, Chat: chatID, ID: got.ID, Index: got.Ext.Index}, nil
		}
		lost := p.lost(err)
		if kind := channels.KindOf(err); lost || kind == channels.Rejected || kind == channels.TooLong || kind == channels.Unauthorized {
			q.giveBack(ctx, msg, p, err)
		}
		if !lost {
			return chat.MessageRef{}, err
		}
		q.deps.Log.Info("qq takes no more replies to a message", "chat", chatID, "trace", msg.Trace, "active", p.ID == "", "err", err)
	}
	return chat.MessageRef{}, q.keep(ctx, op, msg, text)
}

// lost reports whether a refusal says that the place is none (any more).
func (p place) lost(err error) bool {
	if p.ID == "" {
		return refusedWith(err, quotaCodes())
	}
	return refusedWith(err, windowCodes())
}

// giveBack frees a place that the platform refused, and closes it when it is
// none any more.
func (q *QQ) giveBack(ctx context.Context, msg chat.Outbound, p place, why error) {
	ctx = context.WithoutCancel(ctx)
	err := q.ledger.release(ctx, msg.Addr.Chat, msg.ID)
	if p.lost(why) && err == nil {
		err = q.ledger.shut(ctx, msg.Addr.Chat, p, refusedWith(why, unwelcomeCodes()))
	}
	if err != nil {
		q.deps.Log.Warn("the ledger of replies is not right", "chat", msg.Addr.Chat, "err", err)
	}
}

// post sends to a place until a form is taken. A msg_seq that was used before
// means, for a repeat, that the message had arrived.
func (q *QQ) post(ctx context.Context, chatID string, p place, write func() outgoing, plainer func(error) bool) (got sent, err error) {
	for n := range uint32(forms) {
		body := write()
		body.Seq = p.Seq + n
		if p.Event {
			body.EventID = p.ID
		} else {
			body.MsgID = p.ID
		}
		r := request{op: "messages", method: http.MethodPost, path: route(chatID, "messages"), body: body, sends: true}
		err = q.api.call(ctx, r, &got)
		switch {
		case err == nil:
			return got, nil
		case refusedWith(err, repeatCodes()):
			if p.Again {
				return sent{}, nil
			}
		case !plainer(err):
			return sent{}, err
		}
	}
	return sent{}, err
}

func known(chatID string) bool {
	return len(chatID) > len(direct) && strings.HasPrefix(chatID, direct) || len(chatID) > len(group) && strings.HasPrefix(chatID, group)
}

// route is the path of a resource of a chat.
func route(chatID, resource string) string {
	if id, ok := strings.CutPrefix(chatID, group); ok {
		return "/v2/groups/" + url.PathEscape(id) + "/" + resource
	}
	return "/v2/users/" + url.PathEscape(strings.TrimPrefix(chatID, direct)) + "/" + resource
}

// Delete takes a message back; QQ allows it for two minutes.
func (q *QQ) Delete(ctx context.Context, ref chat.MessageRef) error {
	r := request{op: "messages/delete", method: http.MethodDelete, path: route(ref.Chat, "messages/"+url.PathEscape(ref.ID))}
	err := q.api.call(ctx, r, nil)
	if refusedWith(err, goneCodes()) {
		return nil
	}
	return err
}

// Typing shows the input notify, in private chats only. It costs one of the
// five replies to a message, so there is one for each message at most, and
// only while that is the first; then answers still have their parts.
func (q *QQ) Typing(ctx context.Context, a chat.Address) error {
	if !*q.cfg.InputNotify || !strings.HasPrefix(a.Chat, direct) {
		return nil
	}
	p, ok, err := q.ledger.claimFirst(ctx, a.Chat)
	if err != nil {
		return q.api.Fail("input notify", channels.Temporary, err)
	}
	if !ok {
		return nil
	}
	notify := &dto.InputNotify{InputType: 1, InputSecond: notifySeconds}
	_, err = q.post(ctx, a.Chat, p, func() outgoing { return outgoing{Type: dto.InputNotifyMsg, Notify: notify} }, func(error) bool { return false })
	if kind := channels.KindOf(err); err != nil && kind != channels.Ambiguous && kind != channels.Temporary { // else it may be shown
		q.giveBack(ctx, chat.Outbound{Meta: chat.Meta{ID: notifyID(p.ID), Addr: a}}, p, err)
	}
	return err
}
