package feishu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The events that are looked at; all others are acknowledged and passed over.
const (
	eventMessage   = "im.message.receive_v1"
	eventRecalled  = "im.message.recalled_v1"
	eventPress     = "card.action.trigger"
	eventMenu      = "application.bot.menu_v6"
	eventEntered   = "im.chat.access_event.bot_p2p_chat_entered_v1"
	eventAdded     = "im.chat.member.bot.added_v1"
	eventRemoved   = "im.chat.member.bot.deleted_v1"
	eventJoined    = "im.chat.member.user.added_v1"
	eventLeft      = "im.chat.member.user.deleted_v1"
	eventUninvited = "im.chat.member.user.withdrawn_v1"
)

// envelope is an event of schema 2.0.
type envelope struct {
	Header struct {
		ID    string `json:"event_id"`
		Type  string `json:"event_type"`
		Token string `json:"token"`
		At    millis `json:"create_time"`
	} `json:"header"`
	Event json.RawMessage `json:"event"`
}

// received is the body of eventMessage.
type received struct {
	Sender struct {
		ID   identity `json:"sender_id"`
		Type string   `json:"sender_type"` // user, app, bot
	} `json:"sender"`
	Message message `json:"message"`
}

type message struct {
	ID       string    `json:"message_id"`
	Root     string    `json:"root_id"`
	Parent   string    `json:"parent_id"`
	Thread   string    `json:"thread_id"`
	Chat     string    `json:"chat_id"`
	ChatType string    `json:"chat_type"` // p2p, group, topic_group
	Kind     string    `json:"message_type"`
	Content  string    `json:"content"`
	At       millis    `json:"create_time"`
	Changed  millis    `json:"update_time"`
	Mentions []mention `json:"mentions"`
}

type mention struct {
	Key  string   `json:"key"` // stands in the text: "@_user_1"
	ID   identity `json:"id"`
	Name string   `json:"name"`
}

// identity is somebody's open id: an object in events, a string in answers.
type identity string

func (i *identity) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(i))
	}
	var ids struct {
		Open string `json:"open_id"`
	}
	err := json.Unmarshal(raw, &ids)
	*i = identity(ids.Open)
	return err
}

// millis is a time in milliseconds, as a string or a number.
type millis time.Time

func (m *millis) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	if err == nil && n > 0 {
		*m = millis(time.UnixMilli(n))
	}
	return nil // a message without a time is still a message
}

// pressed is the body of eventPress.
type pressed struct {
	Operator struct {
		Open string `json:"open_id"`
	} `json:"operator"`
	Action struct {
		Value json.RawMessage `json:"value"` // as the card has it: an object or a string
		Tag   string          `json:"tag"`
	} `json:"action"`
	Context stands `json:"context"`
	stands         // of older cards
}

// stands says where a card stands.
type stands struct {
	Message string `json:"open_message_id"`
	Chat    string `json:"open_chat_id"`
}

// data is Button.Data of a button of ours.
func (p *pressed) data() (string, bool) {
	var v struct {
		Data *string `json:"d"`
	}
	if json.Unmarshal(p.Action.Value, &v) == nil && v.Data != nil {
		return *v.Data, true
	}
	var s string
	return s, json.Unmarshal(p.Action.Value, &s) == nil && s != ""
}

// open reads an event's frame.
func open(raw []byte) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("event that is no JSON object: %w", err)
	}
	if e.Header.Type == "" {
		return nil, errors.New("event without a type")
	}
	return &e, nil
}
