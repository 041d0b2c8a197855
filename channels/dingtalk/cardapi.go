package dingtalk

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/channels"
	"magpie/internal/kv"
)

// trackPrefix begins the outTrackId of every card of ours.
const trackPrefix = "magpie-"

func newTrack() string { return trackPrefix + rand.Text() }

func isCard(id string) bool { return strings.HasPrefix(id, trackPrefix) }

// opening is what a card begins with.
type opening struct {
	buttons string
	news    string // what the list of chats and the notification show; "" = that the bot is at work
	asker   heard  // who is mentioned, in a group
}

// working is what a card announces that has no text yet.
const (
	workingChinese = "正在思考…"
	workingEnglish = "Thinking…"
)

// createCard makes a card and puts it into a chat. It shows that the bot is at
// work until something is streamed into it
// (https://open.dingtalk.com/document/development/create-and-deliver-cards, page of 2026-06).
// What it announces is told now or never; a card without news says nothing in
// the list of chats and notifies nobody in a group (the vendor's connector has
// the list follow the card in private chats by dynamicSummary, 2026-05-17).
func (t *DingTalk) createCard(ctx context.Context, track string, to target, with opening) error {
	const op = "card/instances/createAndDeliver"
	param := map[string]string{t.cfg.CardKey: ""}
	if key := t.cfg.CardButtonsKey; key != "" {
		param[key] = "[]"
		if with.buttons != "" {
			param[key] = with.buttons
		}
	}
	chinese, english := cmp.Or(with.news, workingChinese), cmp.Or(with.news, workingEnglish)
	space := map[string]any{
		"supportForward": true, "lastMessageI18n": map[string]string{"ZH_CN": chinese, "EN_US": english},
		"notification": map[string]any{"alertContent": chinese},
	}
	in := map[string]any{
		"cardTemplateId": t.cfg.CardTemplateID, "outTrackId": track, "callbackType": "STREAM", "userIdType": 1,
		"cardData": map[string]any{"cardParamMap": param},
	}
	if to.group != "" {
		in["openSpaceId"] = "dtv1.card//IM_GROUP." + to.group
		in["imGroupOpenSpaceModel"] = space
		deliver := map[string]any{"robotCode": t.cfg.RobotCode}
		if with.asker.Staff != "" {
			deliver["atUserIds"] = map[string]string{with.asker.Staff: cmp.Or(with.asker.Name, with.asker.Staff)}
		}
		in["imGroupOpenDeliverModel"] = deliver
	} else {
		in["openSpaceId"] = "dtv1.card//IM_ROBOT." + to.staff
		in["imRobotOpenSpaceModel"] = space
		in["imRobotOpenDeliverModel"] = map[string]any{
			"spaceType": "IM_ROBOT", "robotCode": t.cfg.RobotCode, "extension": map[string]string{"dynamicSummary": "true"},
		}
	}
	var got struct {
		Result struct {
			Delivered []struct {
				Success bool   `json:"success"`
				Error   string `json:"errorMsg"`
				Carrier string `json:"carrierId"`
			} `json:"deliverResults"`
		} `json:"result"`
	}
	if err := t.api.send(ctx, op, "/v1.0/card/instances/createAndDeliver", in, &got); err != nil {
		return err
	}
	for _, r := range got.Result.Delivered {
		if !r.Success {
			return t.api.Fail(op, channels.Rejected, fmt.Errorf("not delivered: %s", r.Error))
		}
		if r.Carrier != "" { // by which a quote names the card
			t.sent.keep(ctx, to.chat, sentMessage{ID: track, Key: r.Carrier})
		}
	}
	return nil
}

// cardStage is what a streamed text does to a card.
type cardStage int

const (
	cardGrows cardStage = iota // more text will come
	cardEnds                   // complete
	cardFails                  // complete, and marked as failed
)

// streamCard replaces the text of a card
// (https://open.dingtalk.com/document/development/api-streamingupdate, page of 2026-06).
// The same text at the same stage has the same guid, by which DingTalk knows a
// repeat; as the whole text is sent every time, one does no harm either.
func (t *DingTalk) streamCard(ctx context.Context, track, text string, stage cardStage) error {
	guid := rand.Text()
	if stage != cardGrows {
		sum := sha256.Sum256([]byte(track + "\x00" + text))
		guid = hex.EncodeToString(sum[:16])
	}
	in := map[string]any{
		"outTrackId": track, "guid": guid, "key": t.cfg.CardKey, "content": text,
		"isFull": true, "isFinalize": stage == cardEnds, "isError": stage == cardFails,
	}
	return t.cardCall(ctx, "card/streaming", "/v1.0/card/streaming", in)
}

// updateCard sets variables of a card and leaves the others.
func (t *DingTalk) updateCard(ctx context.Context, track string, param map[string]string) error {
	in := map[string]any{
		"outTrackId": track, "userIdType": 1, "cardData": map[string]any{"cardParamMap": param},
		"cardUpdateOptions": map[string]any{"updateCardDataByKey": true},
	}
	return t.cardCall(ctx, "card/instances", "/v1.0/card/instances", in)
}

// cardCall changes a card. A change without an answer is simply made again.
func (t *DingTalk) cardCall(ctx context.Context, op, path string, in map[string]any) error {
	var got struct {
		Success *bool `json:"success"`
		Result  *bool `json:"result"`
	}
	if err := t.api.put(ctx, op, path, in, &got); err != nil {
		return ofCards(err)
	}
	if (got.Success != nil && !*got.Success) || (got.Result != nil && !*got.Result) {
		return t.api.Fail(op, channels.Rejected, errors.New("the answer says that it had no success"))
	}
	return nil
}

// ofCards is the error of a call that changes a card. A limit that is named after
// the interface (QpsLimitForAppkeyAndApi, QpsLimitForApi) is that interface's:
// messages go on.
func ofCards(err error) error {
	var e *channels.Error
	if code, _ := codeOf(err); errors.As(err, &e) && strings.HasSuffix(code, "Api") {
		e.Global = false
	}
	return err
}

// store writes a note under a card's id.
func (n cardNote) store(ctx context.Context, table kv.Table, track string, life time.Duration) error {
	value, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode card %q: %w", track, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if _, err := table.Update(ctx, cardPrefix+track, value, 0, life); err != nil {
		return fmt.Errorf("note card %q: %w", track, err)
	}
	return nil
}

func (n *cardNote) load(ctx context.Context, table kv.Table, track string) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	e, err := table.Get(ctx, cardPrefix+track)
	if err != nil {
		return fmt.Errorf("read card %q: %w", track, err)
	}
	return json.Unmarshal(e.Value, n)
}

// cardNotes are all cards of the table by id.
type cardNotes map[string]cardNote

func (all *cardNotes) load(ctx context.Context, table kv.Table) error {
	entries, err := kv.List(ctx, table, strings.TrimSuffix(cardPrefix, "."))
	if err != nil {
		return fmt.Errorf("list cards: %w", err)
	}
	*all = cardNotes{}
	for _, e := range entries {
		var n cardNote
		if json.Unmarshal(e.Value, &n) == nil {
			(*all)[strings.TrimPrefix(e.Key, cardPrefix)] = n
		}
	}
	return nil
}
