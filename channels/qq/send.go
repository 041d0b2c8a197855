package qq

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
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
	Quotes   *reference       `json:"message_reference,omitempty"`
}

// reference shows a message as quoted. The page asks for its index and has an
// example with an id (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, sending to
// a group, July 2026, read November 2026).
type reference struct {
	ID string `json:"message_id"`
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
	if ref, done, err := q.finish(ctx, msg); done || err != nil {
		return ref, err
	}
	return q.placed(ctx, msg, msg.Text, func(p place) (sent, error) { return q.deliver(ctx, msg, p) })
}

// deliver sends a text to a place, in plainer forms as far as the platform
// refuses the better ones.
func (q *QQ) deliver(ctx context.Context, msg chat.Outbound, p place) (sent, error) {
	l := q.letter(msg, p)
	got, err := q.post(ctx, msg.Addr.Chat, p, func() outgoing { return l.write(msg) }, func(err error) bool {
		if !l.plainer(err) {
			return false
		}
		q.deps.Log.Info("qq refused a form of the message, sending a plainer one", "chat", msg.Addr.Chat, "trace", msg.Trace, "err", err)
		return true
	})
	if err != nil {
		return got, err
	}
	for f, why := range l.refused {
		q.learnt.refused(f, why)
	}
	if (got.Ext.Index != "" || l.keyboard) && got.ID != "" {
		q.remember(ctx, msg, got, l.keyboard)
	}
	return got, nil
}

// remember notes what later events refer to. Without it a quote has no text
// and a press no message, which is no reason to fail.
func (q *QQ) remember(ctx context.Context, msg chat.Outbound, got sent, buttons bool) {
	l := line{Index: got.Ext.Index, ID: got.ID, Text: msg.Text, Mine: true}
	q.keepLine(ctx, msg.Addr.Chat, l)
	err := q.ledger.change(ctx, msg.Addr.Chat, func(a *account) error {
		a.remember(l)
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
	w := want{id: msg.ID, reply: msg.ReplyTo, bound: strings.HasPrefix(msg.ID, missedPrefix), part: msg.Turn != "" && !msg.Final}
	for range maxWindows + 1 {
		p, ok, err := q.ledger.claim(ctx, chatID, w)
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
		if err = q.slowed(ctx, msg, p, err); channels.KindOf(err) == channels.RateLimited {
			return chat.MessageRef{}, err
		}
		lost := p.lost(err)
		if kind := channels.KindOf(err); lost || kind == channels.Rejected || kind == channels.TooLong || kind == channels.Unauthorized {
			q.giveBack(ctx, msg, p, err)
		}
		if !lost {
			return chat.MessageRef{}, err
		}
		q.deps.Log.Info("qq takes no message there", "chat", chatID, "trace", msg.Trace, "active", p.ID == "", "err", err)
		if refusedWith(err, absentCodes()) {
			break // no other place will do
		}
	}
	return chat.MessageRef{}, q.keep(ctx, op, msg, text)
}

// mayBeOver: the platform says with the same words that a message is too fast
// and that there are no more.
func (p place) mayBeOver(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	return r.code == 22009 || r.status == http.StatusTooManyRequests && (slices.Contains(windowCodes(), r.code) || slices.Contains(quotaCodes(), r.code))
}

// slowed makes a refusal that may mean either one that says to wait, until the
// message has waited longer than any rate lasts; then the place is over.
func (q *QQ) slowed(ctx context.Context, msg chat.Outbound, p place, why error) error {
	if !p.mayBeOver(why) {
		return why
	}
	times, err := q.ledger.slow(context.WithoutCancel(ctx), msg.Addr.Chat, msg.ID)
	if err != nil {
		return q.api.Fail("messages", channels.Temporary, err)
	}
	if times == 0 || times > maxSlow {
		return q.api.Fail("messages", channels.Rejected, over{cause(why)})
	}
	after, _ := channels.Limit(why)
	wait := q.pace.slow
	for range times - 1 {
		wait *= 5
	}
	e := q.api.Fail("messages", channels.RateLimited, cause(why))
	e.RetryAfter = max(wait, after)
	return e
}

// over is a place that takes no more, whatever the platform calls it.
type over struct{ error }

// Unwrap gives the platform's words.
func (o over) Unwrap() error { return o.error }

// cause is what the platform said.
func cause(err error) error {
	if r := errors.Unwrap(err); r != nil {
		return r
	}
	return err
}

// lost reports whether a refusal says that the place is none (any more).
func (p place) lost(err error) bool {
	var o over
	if errors.As(err, &o) || refusedWith(err, absentCodes()) {
		return true
	}
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
	if p.lost(why) && err == nil && !refusedWith(why, mutedCodes()) {
		err = q.ledger.shut(ctx, msg.Addr.Chat, p)
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

// Typing shows the input notify, in private chats only. It may cost one of the
// replies to a message, so there are two for each message at most, and only
// while nothing has replied to it; then answers still have their parts.
func (q *QQ) Typing(ctx context.Context, a chat.Address) error {
	if !*q.cfg.InputNotify || !strings.HasPrefix(a.Chat, direct) || !q.learnt.works(asNotify) {
		return nil
	}
	p, id, ok, err := q.ledger.claimNotify(ctx, a.Chat)
	if err != nil {
		return q.api.Fail("input notify", channels.Temporary, err)
	}
	if !ok {
		return nil
	}
	notify := &dto.InputNotify{InputType: 1, InputSecond: notifySeconds}
	_, err = q.post(ctx, a.Chat, p, func() outgoing { return outgoing{Type: dto.InputNotifyMsg, Notify: notify} }, func(error) bool { return false })
	if refusedWith(err, notifyCodes()) {
		q.learnt.refused(asNotify, err)
	}
	if kind := channels.KindOf(err); err != nil && kind != channels.Ambiguous && kind != channels.Temporary { // else it may be shown
		q.giveBack(ctx, chat.Outbound{Meta: chat.Meta{ID: id, Addr: a}}, p, err)
	}
	return err
}
