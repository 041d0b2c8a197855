package dingtalk

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"

	"magpie/channels"
	"magpie/chat"
)

// Carded is a robot with a card template: it shows that it works and what it
// writes in an AI card.
type Carded struct{ *DingTalk }

var _ channels.Editor = (*Carded)(nil)

// Typing shows a card that says that the bot is at work. The next text of the
// chat goes into it.
func (t *Carded) Typing(ctx context.Context, a chat.Address) error {
	to, err := parseTarget(a.Chat)
	if err != nil {
		return t.api.Fail("typing", channels.Rejected, err)
	}
	if !to.reachable() {
		return nil
	}
	d := t.cards
	defer d.lock(to.chat)()
	if d.busy(to.chat) {
		return nil
	}
	if ctx.Err() != nil { // the answer was there first
		return t.api.Fail("typing", channels.Temporary, ctx.Err())
	}
	// A card that was begun is brought to its end: half-made it would stay.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cardPatience)
	defer cancel()
	return d.create(ctx, newTrack(), to, "", d.opening(ctx, chat.Outbound{Meta: chat.Meta{Addr: a}}, ""))
}

// busy reports whether a chat shows an open card, and touches it.
func (d *desk) busy(chatID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := false
	for _, c := range d.open {
		if c.chat == chatID && !c.touched.IsZero() {
			found, c.touched = true, d.t.deps.Now()
		}
	}
	return found
}

// Edit replaces the text of a card; without Draft it completes it.
func (t *Carded) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	msg.Addr = chat.Address{Channel: t.name, Chat: ref.Chat, Thread: msg.Addr.Thread}
	if _, err := t.fits(msg); err != nil {
		return err
	}
	return t.cards.edit(ctx, ref, msg)
}

// Buttoned is a robot whose card template has buttons.
type Buttoned struct{ Carded }

var _ channels.Buttoner = (*Buttoned)(nil)

// AnswerPress takes the buttons of a card away. DingTalk shows no notice: a
// press is acknowledged when it is stored.
func (t *Buttoned) AnswerPress(ctx context.Context, a chat.Address, ans chat.Answer) error {
	if ans.Message == "" {
		return nil
	}
	defer t.cards.lock(a.Chat)()
	if err := t.updateCard(ctx, ans.Message, map[string]string{t.cfg.CardButtonsKey: "[]"}); err != nil {
		return err
	}
	if err := t.cards.erase(ctx, ans.Message); err != nil {
		t.deps.Log.Debug("an answered card stays in the table", "card", ans.Message, "err", err)
	}
	return nil
}

// buttonList is the value of the template's variable, "" without buttons.
func (d *desk) buttonList(msg chat.Outbound) string {
	if d.t.cfg.CardButtonsKey == "" {
		return ""
	}
	type button struct {
		Label string `json:"label"`
		Data  string `json:"data"`
	}
	var list []button
	for _, row := range msg.Buttons {
		for _, b := range row {
			list = append(list, button(b))
		}
	}
	if len(list) == 0 {
		return ""
	}
	data, _ := json.Marshal(list) // of strings
	return string(data)
}

// cardPress is a callback of a card
// (https://open.dingtalk.com/document/development/event-callback-card, page of 2026-08).
type cardPress struct {
	Track string `json:"outTrackId"`
	User  string `json:"userId"` // a staff id, as asked for by userIdType 1
	// What was pressed, as JSON within a string; Value in some of the samples.
	Content json.RawMessage `json:"content"`
	Value   json.RawMessage `json:"value"`
}

// pressed is what a callback says of the press.
func (p cardPress) pressed() []byte {
	for _, raw := range []json.RawMessage{p.Content, p.Value} {
		var inner string
		if json.Unmarshal(raw, &inner) == nil {
			raw = json.RawMessage(inner)
		}
		if len(raw) > 0 {
			return raw
		}
	}
	return nil
}

// press turns a card's callback into a message. The template's buttons send
// their data as the parameter "data", or as their id.
func (t *DingTalk) press(ctx context.Context, f *payload.DataFrame) (a arrival, skip string, bad bool) {
	var p cardPress
	var content struct {
		Private struct {
			IDs    []string       `json:"actionIds"`
			Params map[string]any `json:"params"`
		} `json:"cardPrivateData"`
	}
	if err := json.Unmarshal([]byte(f.Data), &p); err != nil {
		return a, fmt.Sprintf("undecodable: %v", err), true
	}
	if err := json.Unmarshal(p.pressed(), &content); err != nil {
		return a, fmt.Sprintf("undecodable content: %v", err), true
	}
	data, _ := content.Private.Params["data"].(string)
	if data == "" && len(content.Private.IDs) > 0 {
		data = content.Private.IDs[0]
	}
	if p.Track == "" || p.User == "" || data == "" || t.cards == nil {
		return a, "press without card, person or data", true
	}
	chatID, set, err := t.cards.address(ctx, p.Track)
	if err != nil || chatID == "" {
		return a, fmt.Sprintf("press on a card that is not known (any more): %v", err), false
	}
	to, err := parseTarget(chatID)
	if err != nil {
		return a, err.Error(), true
	}
	now := t.deps.Now().UTC()
	id := t.presses.id(fmt.Sprintf("%s:%d:%s:%s", p.Track, set, p.User, data), now)
	if ms := f.GetTimestamp(); ms > 0 {
		now = time.UnixMilli(ms).UTC()
	}
	a.in = chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: "dingtalk:" + t.name + ":press:" + id, At: now,
			Addr: chat.Address{Channel: t.name, Chat: chatID},
		},
		Origin: chat.FromPerson, From: chat.Sender{ID: p.User}, Direct: to.group == "", Mentioned: true,
		Press: &chat.Press{ID: id, Data: data, Message: p.Track},
	}
	return a, "", false
}
