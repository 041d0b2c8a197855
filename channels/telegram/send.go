package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// maxNotice is the longest answer to a press, in characters.
const maxNotice = 200

// Send delivers one text. Telegram cannot recognise a repeat.
func (t *Telegram) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	p, err := envelope(msg.Addr, msg)
	if err != nil {
		return chat.MessageRef{}, t.api.Fail("sendMessage", channels.Rejected, err)
	}
	raw, err := t.postText(ctx, "sendMessage", p, msg)
	if err != nil {
		return chat.MessageRef{}, err
	}
	refs, err := t.refs(msg.Addr.Chat, "sendMessage", raw)
	if err != nil {
		return chat.MessageRef{}, err
	}
	return refs[0], nil
}

// Edit replaces the text and buttons of a message.
func (t *Telegram) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	p, err := envelope(chat.Address{Chat: ref.Chat}, chat.Outbound{Buttons: msg.Buttons})
	if err != nil {
		return t.api.Fail("editMessageText", channels.Rejected, err)
	}
	p["message_id"] = ref.ID
	_, err = t.postText(ctx, "editMessageText", p, msg)
	if said(err, "message is not modified") {
		return nil
	}
	return err
}

// Delete removes a message.
func (t *Telegram) Delete(ctx context.Context, ref chat.MessageRef) error {
	_, err := t.post(ctx, "deleteMessage", tgbotapi.Params{"chat_id": ref.Chat, "message_id": ref.ID})
	if said(err, "message to delete not found") {
		return nil
	}
	return err
}

// React puts an emoji on a message; Telegram takes only those of its list.
func (t *Telegram) React(ctx context.Context, ref chat.MessageRef, emoji string) error {
	type reaction struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	list := []reaction{}
	if emoji != "" {
		list = append(list, reaction{"emoji", emoji})
	}
	p := tgbotapi.Params{"chat_id": ref.Chat, "message_id": ref.ID}
	if err := p.AddInterface("reaction", list); err != nil {
		return t.api.Fail("setMessageReaction", channels.Rejected, err)
	}
	_, err := t.post(ctx, "setMessageReaction", p)
	return err
}

// Typing shows "typing…" for 5 seconds, but not beside messages to a channel.
func (t *Telegram) Typing(ctx context.Context, a chat.Address) error {
	if strings.HasPrefix(a.Thread, directMark) {
		return nil
	}
	p := tgbotapi.Params{"chat_id": a.Chat, "action": "typing"}
	p.AddNonEmpty("message_thread_id", a.Thread)
	_, err := t.post(ctx, "sendChatAction", p)
	return err
}

// AnswerPress ends the waiting mark on the button and takes the buttons away.
// A press that is too old to answer is no error.
func (t *Telegram) AnswerPress(ctx context.Context, a chat.Address, ans chat.Answer) error {
	p := tgbotapi.Params{"callback_query_id": ans.Press}
	p.AddNonEmpty("text", cutNotice(ans.Notice))
	if ans.Press != "" {
		_, err := t.post(ctx, "answerCallbackQuery", p)
		if err != nil && !said(err, "query is too old", "query ID is invalid") {
			return err
		}
	}
	if ans.Message == "" {
		return nil
	}
	_, err := t.post(ctx, "editMessageReplyMarkup", tgbotapi.Params{
		"chat_id": a.Chat, "message_id": ans.Message, "reply_markup": `{"inline_keyboard":[]}`,
	})
	if said(err, "message is not modified", "message to edit not found", "message can't be edited") {
		return nil
	}
	return err
}

// cutNotice makes a notice short enough, counted in UTF-16 units.
func cutNotice(s string) string {
	if len(utf16.Encode([]rune(s))) <= maxNotice {
		return s
	}
	size := 1 // of the ellipsis
	for i, r := range s {
		if size += utf16.RuneLen(r); size > maxNotice {
			return s[:i] + "…"
		}
	}
	return s
}

// envelope is what all sending methods have in common.
func envelope(a chat.Address, msg chat.Outbound) (tgbotapi.Params, error) {
	p := tgbotapi.Params{"chat_id": a.Chat}
	if direct, ok := strings.CutPrefix(a.Thread, directMark); ok {
		p["direct_messages_topic_id"] = direct
	} else {
		p.AddNonEmpty("message_thread_id", a.Thread)
	}
	if id, err := strconv.ParseInt(msg.ReplyTo, 10, 64); err == nil {
		reply := map[string]any{"message_id": id, "allow_sending_without_reply": true}
		if err := p.AddInterface("reply_parameters", reply); err != nil {
			return nil, err
		}
	}
	if len(msg.Buttons) == 0 {
		return p, nil
	}
	var rows [][]tgbotapi.InlineKeyboardButton
	for _, row := range msg.Buttons {
		var buttons []tgbotapi.InlineKeyboardButton
		for _, b := range row {
			buttons = append(buttons, tgbotapi.NewInlineKeyboardButtonData(b.Label, b.Data))
		}
		rows = append(rows, buttons)
	}
	return p, p.AddInterface("reply_markup", tgbotapi.NewInlineKeyboardMarkup(rows...))
}

// postText posts a text as Telegram's HTML, and plain when Telegram does not
// take that. A call without an answer is never repeated here.
func (t *Telegram) postText(ctx context.Context, method string, p tgbotapi.Params, msg chat.Outbound) (json.RawMessage, error) {
	p["text"], p["parse_mode"] = mentioning(msg, render.TelegramHTML(msg.Text)), tgbotapi.ModeHTML
	if method != draftMethod && (len(msg.Sources) > 0 || !t.cfg.LinkPreviews) {
		p["link_preview_options"] = noPreview
	}
	raw, err := t.post(ctx, method, p)
	if !badMarkup(err) {
		return raw, err
	}
	t.deps.Log.Warn("telegram refused the markup, sending plain text", "err", err)
	p["text"] = channels.Named(msg, render.Plain(msg.Text))
	delete(p, "parse_mode")
	return t.post(ctx, method, p)
}

// mentioning puts whom a message is for before its HTML: a link with the id of
// a user mentions a member of the chat, whether or not they have a username
// (core.telegram.org/bots/api#html-style, read November 2026).
func mentioning(msg chat.Outbound, text string) string {
	id, name := channels.Mentioned(msg)
	if _, err := strconv.ParseInt(id, 10, 64); err != nil {
		return channels.Named(msg, text)
	}
	return `<a href="tg://user?id=` + id + `">` + cmp.Or(name, id) + `</a> ` + text
}

// noPreview: an address that somebody has smuggled into an answer would be
// fetched by Telegram without a click, and with it what stands in the address.
// What was written after reading text from outside has none in any case.
// While a reply is streamed previews come and go besides
// (https://core.telegram.org/bots/api#linkpreviewoptions, read November 2026).
const noPreview = `{"is_disabled":true}`

func badMarkup(err error) bool { return said(err, "can't parse entities", "entities too long") }

// post calls a method for a chat. It follows a group that has moved, and uses
// the chat itself when the topic is gone or closed (BetterForward #58, goclaw
// #637, read November 2026); both were refused before, so nothing is sent twice.
func (t *Telegram) post(ctx context.Context, method string, p tgbotapi.Params, files ...*file) (json.RawMessage, error) {
	p = maps.Clone(p)
	from := p["chat_id"]
	p["chat_id"] = t.moved.now(from)
	if from == "" {
		delete(p, "chat_id")
	}
	raw, err := t.api.call(ctx, method, p, files...)
	var r *refusal
	if errors.As(err, &r) && r.migrateTo != 0 {
		if err := t.moved.note(ctx, from, r.migrateTo); err != nil {
			t.deps.Log.Warn("the new id of a group is known until the restart only", "chat", from, "err", err)
		}
		p["chat_id"] = strconv.FormatInt(r.migrateTo, 10)
		raw, err = t.api.call(ctx, method, p, files...)
	}
	if _, topic := p["message_thread_id"]; topic && said(err, "message thread not found", "TOPIC_DELETED", "TOPIC_CLOSED") {
		delete(p, "message_thread_id")
		raw, err = t.api.call(ctx, method, p, files...)
	}
	return raw, err
}

// refs reads the ids out of a message or a list of messages.
func (t *Telegram) refs(chatID, method string, raw json.RawMessage) ([]chat.MessageRef, error) {
	type sent struct {
		ID int64 `json:"message_id"`
	}
	var many []sent
	var one sent
	if json.Unmarshal(raw, &many) != nil && json.Unmarshal(raw, &one) == nil {
		many = []sent{one}
	}
	var refs []chat.MessageRef
	for _, m := range many {
		if m.ID != 0 {
			refs = append(refs, chat.MessageRef{Channel: t.name, Chat: chatID, ID: strconv.FormatInt(m.ID, 10)})
		}
	}
	if len(refs) == 0 {
		return nil, t.api.Fail(method, channels.Ambiguous, errors.New("answer without a message"))
	}
	return refs, nil
}
