package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// The types of messages that hold text.
const (
	formText = "text"
	formPost = "post"
	formCard = "interactive"
)

// Send delivers one text: as a plain message where there is nothing to format,
// else as a card; what the platform refuses as a card goes as a post, then as
// plain text. A repeat with the same id is recognised by the platform for an
// hour.
func (f *Feishu) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	if sizeOf(msg.Text) > maxText {
		return chat.MessageRef{}, f.api.Fail("message/create", channels.TooLong, fmt.Errorf("text is over %d bytes", maxText))
	}
	send := f.sendText
	if msg.Draft {
		send = f.sendDraft
	}
	id, err := send(ctx, msg)
	if err != nil {
		return chat.MessageRef{}, err
	}
	if !msg.Draft {
		f.answered(ctx, msg.Addr)
	}
	return chat.MessageRef{Channel: f.name, Chat: msg.Addr.Chat, ID: id}, nil
}

// sizeOf measures text as the platform counts it; each table weighs its share of
// what one card may have.
func sizeOf(md string) int {
	size := render.FeishuCardSize(md)
	if strings.Contains(md, "|") {
		size = max(size, render.Tables(md)*(maxText/maxTables))
	}
	return size
}

func (f *Feishu) sendText(ctx context.Context, msg chat.Outbound) (string, error) {
	text, plain := render.FeishuCard(msg.Text), render.Plain(msg.Text)
	if text == plain && len(msg.Buttons) == 0 {
		return f.post(ctx, msg, formText, textContent(mentioning(msg, formText, plain)))
	}
	text = mentioning(msg, formCard, text)
	c := card{text: text, buttons: msg.Buttons}
	id, err := f.post(ctx, msg, formCard, c.json())
	if coded, any := tablesAsCode(text); cardRefused(err) && any {
		f.deps.Log.Info("feishu refused a card, sending its tables as code", "err", err)
		c.text = coded
		id, err = f.post(ctx, msg, formCard, c.json())
	}
	if err == nil {
		f.note(ctx, id, msg, &buttonNote{Text: c.text})
		return id, nil
	}
	if !cardRefused(err) {
		return "", err
	}
	f.deps.Log.Warn("feishu refused a card, sending a post", "err", err)
	md := withButtons(msg)
	if id, err = f.post(ctx, msg, formPost, render.FeishuPost(md)); !cardRefused(err) {
		return id, err
	}
	f.deps.Log.Warn("feishu refused a post, sending plain text", "err", err)
	return f.post(ctx, msg, formText, textContent(render.Plain(md)))
}

// mentioning puts whom a message is for before a text of that form
// (im-v1/message/create_json, feishu-cards markdown, read November 2026).
func mentioning(msg chat.Outbound, form, text string) string {
	id, name := channels.Mentioned(msg)
	switch {
	case !strings.HasPrefix(id, "ou_"):
		return channels.Named(msg, text)
	case form == formCard:
		return "<at id=" + id + "></at> " + text
	}
	return `<at user_id="` + id + `">` + name + "</at> " + text
}

// withButtons writes the buttons out for a message that cannot have any.
func withButtons(msg chat.Outbound) string {
	md := channels.Named(msg, msg.Text)
	for _, row := range msg.Buttons {
		for _, b := range row {
			md += "\n\n- " + b.Label
		}
	}
	return md
}

// textContent is the content of a plain message. Tags in it would be obeyed,
// also <at user_id="all">: render.Plain has made them harmless.
func textContent(plain string) string {
	return mustEncode(map[string]string{"text": plain})
}

// cardRefused tells refusals that are about the content, where another form of
// the same message may be taken.
func cardRefused(err error) bool {
	var r *refusal
	if channels.KindOf(err) != channels.Rejected || !errors.As(err, &r) {
		return false
	}
	return r.code == 230001 || r.code == 230054 || ofCards(r.code)
}

func messagePath(id string) string { return "/open-apis/im/v1/messages/" + url.PathEscape(id) }

// idTypes are the kinds of ids that can be sent to, by their beginning.
var idTypes = map[string]string{"oc": "chat_id", "ou": "open_id", "on": "union_id"}

// post sends one message: as a reply where there is something to reply to, and
// to the chat itself when that is gone.
func (f *Feishu) post(ctx context.Context, msg chat.Outbound, form, content string) (string, error) {
	body := object{"msg_type": form, "content": content, "uuid": uuidOf(msg.ID)}
	target := msg.ReplyTo
	if !strings.HasPrefix(target, "om_") {
		target = msg.Addr.Thread
	}
	if target != "" {
		body["reply_in_thread"] = msg.Addr.Thread != ""
		m, err := f.put(ctx, request{op: "message/reply", method: http.MethodPost, path: messagePath(target) + "/reply", body: body, sends: true})
		if refused(err, codeNoThreads, codeAggregated) {
			body["reply_in_thread"] = false
			m, err = f.put(ctx, request{op: "message/reply", method: http.MethodPost, path: messagePath(target) + "/reply", body: body, sends: true})
		}
		if !targetGone(err) {
			return f.formed(m.ID, form), err
		}
		delete(body, "reply_in_thread")
	}
	prefix, _, _ := strings.Cut(msg.Addr.Chat, "_")
	idType, ok := idTypes[prefix]
	if !ok {
		return "", f.api.Fail("message/create", channels.Rejected, fmt.Errorf("chat %q is no id of a chat (oc_…) or person (ou_…)", msg.Addr.Chat))
	}
	id, err := f.create(ctx, idType, msg.Addr.Chat, body)
	if refused(err, codeNoPerson) && idType == "open_id" {
		if private := f.chatOf(ctx, msg.Addr.Chat); private != "" {
			id, err = f.create(ctx, "chat_id", private, body)
		}
	}
	return f.formed(id, form), err
}

// goneWords find what a refusal is about that has a code which is said of much
// else, or which no table has.
var goneWords = regexp.MustCompile(`(?i)(?:message|topic|thread)(?:_id)?\b.{0,40}(?:not found|not exist|n't exist|recalled|withdrawn|deleted|is invalid)|invalid.{0,5}message_id|(?:消息|话题).{0,12}(?:不存在|撤回|删除)`)

// targetGone reports whether a reply was refused because what it replies to is
// gone, or takes none.
func targetGone(err error) bool {
	if refused(err, codeRecalled, codeDeleted, codeNoTopic, codeInvisible, codeNoReaction, codeFleeting, codeNoMessage) {
		return true
	}
	var r *refusal
	return channels.KindOf(err) == channels.Rejected && errors.As(err, &r) && !ofCards(r.code) && goneWords.MatchString(r.text)
}

func (f *Feishu) create(ctx context.Context, idType, id string, body object) (string, error) {
	body["receive_id"] = id
	m, err := f.put(ctx, request{
		op: "message/create", method: http.MethodPost, path: "/open-apis/im/v1/messages",
		query: url.Values{"receive_id_type": {idType}}, body: body, sends: true,
	})
	f.learn(ctx, id, m.Chat)
	return m.ID, err
}

const (
	// codeFleeting: a message that deletes itself takes no reply
	// (im-v1/message/reply, read November 2026).
	codeFleeting = 230111
	// codeNoPerson: people are sometimes reached by their private chat only
	// (openclaw/openclaw issue 109409, July 2026; no page names it).
	codeNoPerson = 230101
	// codeNoMessage: "not a valid {open_message_id} or not exists"
	// (openclaw/openclaw pull 135404, September 2026).
	codeNoMessage = 99992354
)

// formed remembers what form a message has, for its edits.
func (f *Feishu) formed(id, form string) string {
	if id != "" {
		f.cards.forms.put(id, form)
	}
	return id
}

// made is what is answered to a message that is sent.
type made struct {
	ID   string `json:"message_id"`
	Chat string `json:"chat_id"`
}

func (f *Feishu) put(ctx context.Context, r request) (m made, err error) {
	raw, err := f.api.call(ctx, r)
	if err != nil {
		return made{}, err
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.ID == "" {
		return made{}, f.api.Fail(r.op, channels.Ambiguous, errors.New("answer without a message"))
	}
	return m, nil
}

// uuidOf makes the id by which the platform knows a repeat; it takes 50
// characters.
func uuidOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:40])
}

// Delete takes a message back.
func (f *Feishu) Delete(ctx context.Context, ref chat.MessageRef) error {
	_, err := f.api.call(ctx, request{op: "message/delete", method: http.MethodDelete, path: messagePath(ref.ID)})
	if refused(err, codeRecalled, codeDeleted, codeNoReaction, codeNoMessage) {
		return nil
	}
	return err
}

// note keeps what a press will need, when there are buttons.
func (f *Feishu) note(ctx context.Context, id string, msg chat.Outbound, n *buttonNote) {
	if len(msg.Buttons) == 0 {
		return
	}
	n.Thread = msg.Addr.Thread
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	if _, err := f.deps.Table.Update(ctx, "buttons."+id, n.bytes(), 0, cardLife); err != nil {
		f.deps.Log.Warn("the buttons of a message will stay when one is pressed", "err", err)
	}
}

func (f *Feishu) noted(ctx context.Context, id string) (n buttonNote, ok bool) {
	e, err := f.deps.Table.Get(ctx, "buttons."+id)
	if err != nil || json.Unmarshal(e.Value, &n) != nil {
		return buttonNote{}, false
	}
	return n, true
}

// AnswerPress takes the buttons away and writes the notice under the text: a
// toast can only be part of the answer to the press itself, which was given
// when the press was stored. A press that was answered before is no error.
func (f *Feishu) AnswerPress(ctx context.Context, _ chat.Address, ans chat.Answer) error {
	if ans.Message == "" {
		return nil
	}
	n, ok := f.noted(ctx, ans.Message)
	if !ok {
		return nil
	}
	c := card{text: n.Text, notice: ans.Notice}
	var err error
	if n.Card != "" {
		err = f.replace(ctx, f.cards.entity(ans.Message, n.Card), &c)
	} else {
		err = f.patch(ctx, ans.Message, &c)
	}
	if channels.KindOf(err) == channels.Rejected && err != nil {
		f.deps.Log.Info("the buttons of a message could not be taken away", "err", err)
		err = nil
	}
	if err != nil {
		return err
	}
	if err := f.deps.Table.Delete(ctx, "buttons."+ans.Message); err != nil {
		return f.api.Fail("press", channels.Temporary, err)
	}
	return nil
}
