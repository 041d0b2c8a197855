package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	cardsPath = "/open-apis/cardkit/v1/cards"
	// cardLife is how long a card can be changed (cardkit-v1/card/create and
	// im-v1/message/patch, read November 2026).
	cardLife = 14 * 24 * time.Hour
	// uuidLife is how long the platform knows a repeated send.
	uuidLife = time.Hour
	// uuidSlack is given away, since the last try and the clocks need some.
	uuidSlack = 5 * time.Minute
)

// sequences begin here and count half seconds, so that they grow over restarts
// without being stored and fit into 31 bits until 2058.
var sequences = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// cards is what is remembered of messages that were sent: their form, and the
// entity behind a streamed card. What is forgotten the platform is asked for.
type cards struct {
	forms    recent[string]
	entities recent[*entity]

	mu  sync.Mutex
	off time.Time // no permission for CardKit before then
}

func newCards() *cards { return &cards{} }

// entity is a card of CardKit, which can be written to piece by piece.
type entity struct {
	id string

	mu   sync.Mutex
	last int64
}

// entity remembers which one is behind a message.
func (c *cards) entity(message, id string) *entity {
	if e, ok := c.entities.get(message); ok {
		return e
	}
	e := &entity{id: id}
	c.entities.put(message, e)
	return e
}

// next is the number of the next operation on the card: more than all before.
func (e *entity) next(now time.Time, skip int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = max(e.last+1+skip, int64(now.Sub(sequences)/(500*time.Millisecond)))
	return e.last
}

// sendDraft sends a card that is written on: one of CardKit where the app may,
// else an ordinary one that is replaced as a whole.
func (f *Feishu) sendDraft(ctx context.Context, msg chat.Outbound) (string, error) {
	c := card{text: render.FeishuCard(msg.Text), stream: true}
	made, err := f.make(ctx, uuidOf(msg.ID), &c)
	if err != nil {
		return "", err
	}
	if made == "" {
		c.stream = false
		return f.post(ctx, msg, formCard, c.json())
	}
	id, err := f.post(ctx, msg, formCard, mustEncode(object{"type": "card", "data": object{"card_id": made}}))
	if err == nil {
		f.cards.entity(id, made)
	}
	return id, err
}

// make creates a card entity, or finds the one that was made for an earlier
// try of the same message: the platform would take the repeat for that one.
// "" means that the app cannot have one.
func (f *Feishu) make(ctx context.Context, uuid string, c *card) (string, error) {
	f.cards.mu.Lock()
	off := f.cards.off
	f.cards.mu.Unlock()
	if f.deps.Now().Before(off) {
		return "", nil
	}
	have, err := f.deps.Table.Get(ctx, "card."+uuid)
	if err == nil {
		return string(have.Value), nil
	}
	if !errors.Is(err, kv.ErrNotFound) {
		return "", f.api.Fail("card/create", channels.Temporary, err)
	}
	raw, err := f.api.call(ctx, request{
		op: "card/create", method: http.MethodPost, path: cardsPath, body: object{"type": "card_json", "data": c.json()},
	})
	if cardRefused(err) { // this one: others may be streamed
		f.deps.Log.Info("feishu lets a card not be streamed, it is replaced instead", "err", err)
		return "", nil
	}
	if channels.KindOf(err) == channels.Rejected && err != nil {
		f.deps.Log.Warn("feishu lets no card be streamed; is the permission cardkit:card:write missing? Cards are replaced instead", "err", err)
		f.cards.mu.Lock()
		f.cards.off = f.deps.Now().Add(scopePause)
		f.cards.mu.Unlock()
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"card_id"`
	}
	if err := json.Unmarshal(raw, &made); err != nil || made.ID == "" {
		return "", f.api.Fail("card/create", channels.Temporary, errors.New("answer without a card"))
	}
	if _, err := f.deps.Table.Update(ctx, "card."+uuid, []byte(made.ID), 0, uuidLife); err != nil {
		return "", f.api.Fail("card/create", channels.Temporary, err)
	}
	return made.ID, nil
}

// Edit replaces the text and buttons of a message. A message keeps its form: a
// plain one stays plain, for which an edit with buttons is Rejected.
func (f *Feishu) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	const op = "message/edit"
	if sizeOf(msg.Text) > maxText {
		return f.api.Fail(op, channels.TooLong, fmt.Errorf("text is over %d bytes", maxText))
	}
	form, err := f.formOf(ctx, ref.ID)
	if err != nil {
		return err
	}
	switch {
	case form == formCard:
		err = f.editCard(ctx, ref.ID, msg)
	case len(msg.Buttons) > 0:
		return f.api.Fail(op, channels.Rejected, errors.New("a plain message cannot get buttons"))
	case form == formPost:
		err = f.rewrite(ctx, ref.ID, formPost, render.FeishuPost(msg.Text))
	default:
		err = f.rewrite(ctx, ref.ID, formText, textContent(render.Plain(msg.Text)))
	}
	if err == nil && !msg.Draft {
		f.answered(ctx, msg.Addr)
	}
	return err
}

// formOf is the form of a message, which the platform knows when we do not.
func (f *Feishu) formOf(ctx context.Context, id string) (string, error) {
	if form, ok := f.cards.forms.get(id); ok {
		return form, nil
	}
	items, err := f.lookUp(ctx, id)
	if err != nil {
		return "", err
	}
	if items[0].Deleted {
		return "", f.api.Fail("message/get", channels.Rejected, errors.New("the message was taken back"))
	}
	return f.cards.formed(id, items[0].Kind), nil
}

func (c *cards) formed(id, form string) string {
	c.forms.put(id, form)
	return form
}

func (f *Feishu) editCard(ctx context.Context, id string, msg chat.Outbound) error {
	e, err := f.entityOf(ctx, id)
	if err != nil {
		return err
	}
	c := card{text: render.FeishuCard(msg.Text), buttons: msg.Buttons, stream: msg.Draft}
	if e == nil {
		c.stream = false
		err = f.patch(ctx, id, &c)
	} else if msg.Draft {
		return f.write(ctx, e, &c)
	} else {
		c.summary = summarize(render.Plain(msg.Text))
		err = f.seal(ctx, e, &c)
	}
	if coded, any := tablesAsCode(c.text); cardRefused(err) && any {
		c.text = coded
		if e == nil {
			err = f.patch(ctx, id, &c)
		} else {
			err = f.seal(ctx, e, &c)
		}
	}
	if err == nil {
		n := &buttonNote{Text: c.text}
		if e != nil {
			n.Card = e.id
		}
		f.note(ctx, id, msg, n)
	}
	if err == nil && msg.Answer != nil && msg.Answer.Under != "" { // its buttons are gone: a press must not bring the old text back
		if err := f.deps.Table.Delete(ctx, "buttons."+id); err != nil {
			return f.api.Fail("message/edit", channels.Temporary, err)
		}
	}
	return err
}

// entityOf finds the entity behind a message; nil = it is an ordinary card.
func (f *Feishu) entityOf(ctx context.Context, message string) (*entity, error) {
	if e, ok := f.cards.entities.get(message); ok {
		return e, nil
	}
	raw, err := f.api.call(ctx, request{
		op: "card/id", method: http.MethodPost, path: cardsPath + "/id_convert", body: object{"message_id": message},
	})
	if channels.KindOf(err) == channels.Rejected && err != nil {
		f.cards.entities.put(message, nil)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found struct {
		ID string `json:"card_id"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, f.api.Fail("card/id", channels.Temporary, err)
	}
	if found.ID == "" {
		f.cards.entities.put(message, nil)
		return nil, nil
	}
	return f.cards.entity(message, found.ID), nil
}

// operate makes one numbered operation on a card. A number that is too small,
// because another process or a wrong clock was ahead, is raised once.
func (f *Feishu) operate(ctx context.Context, e *entity, r request, body object) error {
	r.path = cardsPath + "/" + url.PathEscape(e.id) + r.path
	body["sequence"] = e.next(f.deps.Now(), 0)
	r.body = body
	_, err := f.api.call(ctx, r)
	if refused(err, codeSequence) {
		body["sequence"] = e.next(f.deps.Now(), 10_000)
		_, err = f.api.call(ctx, r)
	}
	return err
}

// write shows text that grows. A card whose streaming has ended (after ten
// minutes it does by itself) is replaced, which begins it again.
func (f *Feishu) write(ctx context.Context, e *entity, c *card) error {
	err := f.operate(ctx, e, request{
		op: "card/content", method: http.MethodPut, path: "/elements/" + answerID + "/content",
	}, object{"content": c.text})
	if refused(err, codeStreamEnd, codeStreamOver, codeStreamOff) {
		return f.replace(ctx, e, c)
	}
	return err
}

// replace puts another card into the entity's place.
func (f *Feishu) replace(ctx context.Context, e *entity, c *card) error {
	return f.operate(ctx, e, request{op: "card/update", method: http.MethodPut},
		object{"card": object{"type": "card_json", "data": c.json()}})
}

// seal shows the final card and ends the streaming.
func (f *Feishu) seal(ctx context.Context, e *entity, c *card) error {
	if err := f.replace(ctx, e, c); err != nil {
		return err
	}
	config := object{"streaming_mode": false, "summary": object{"content": c.summary}}
	err := f.operate(ctx, e, request{op: "card/settings", method: http.MethodPatch, path: "/settings"},
		object{"settings": mustEncode(object{"config": config})})
	if refused(err, codeStreamEnd, codeStreamOver, codeStreamOff) {
		return nil
	}
	return err
}

// patch replaces an ordinary card.
func (f *Feishu) patch(ctx context.Context, id string, c *card) error {
	_, err := f.api.call(ctx, request{
		op: "message/patch", method: http.MethodPatch, path: messagePath(id), body: object{"content": c.json()},
	})
	return err
}

// rewrite replaces a message that is no card.
func (f *Feishu) rewrite(ctx context.Context, id, form, content string) error {
	_, err := f.api.call(ctx, request{
		op: "message/update", method: http.MethodPut, path: messagePath(id), body: object{"msg_type": form, "content": content},
	})
	return err
}
