package telegram

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// The parts of an update that are read; fields that are not named here cannot
// break decoding (https://core.telegram.org/bots/api#update, November 2026).

// allowedUpdates are the kinds that Telegram is asked for. It tells chat_member
// only to administrators, and nobody which messages were deleted.
const allowedUpdates = `["message","edited_message","channel_post","edited_channel_post","callback_query","my_chat_member","chat_member","business_connection"]`

type update struct {
	ID         *int64      `json:"update_id"` // 0 is an id
	Message    *message    `json:"message"`
	Edited     *message    `json:"edited_message"`
	Post       *message    `json:"channel_post"`
	EditedPost *message    `json:"edited_channel_post"`
	Press      *press      `json:"callback_query"`
	MyMember   *membership `json:"my_chat_member"`
	Member     *membership `json:"chat_member"`
	Business   *business   `json:"business_connection"`
}

// message is everything of a message that is read, in pieces by subject.
type message struct {
	messageHead
	messageText
	messageForward
	messageFiles
	messageExtras
	messageContent
	messageService
}

type messageHead struct {
	ID       int64 `json:"message_id"`
	Date     int64 `json:"date"`
	EditDate int64 `json:"edit_date"`
	Chat     room  `json:"chat"`
	From     *user `json:"from"`
	Sender   *room `json:"sender_chat"`
	Thread   int64 `json:"message_thread_id"`
	InTopic  bool  `json:"is_topic_message"`
	// Direct is whose messages to a channel these are, in the chat for them.
	Direct *struct {
		ID int64 `json:"topic_id"`
	} `json:"direct_messages_topic"`
	Album string `json:"media_group_id"`
}

type messageText struct {
	Text            string         `json:"text"`
	Entities        []entity       `json:"entities"`
	Caption         string         `json:"caption"`
	CaptionEntities []entity       `json:"caption_entities"`
	Rich            *rich          `json:"rich_message"`
	ReplyTo         *message       `json:"reply_to_message"`
	Quote           *quote         `json:"quote"`
	External        *externalReply `json:"external_reply"`
	ReplyToStory    *story         `json:"reply_to_story"`
}

type messageForward struct {
	Origin      *origin `json:"forward_origin"`
	ForwardFrom *user   `json:"forward_from"`        // before Bot API 7.0
	ForwardChat *room   `json:"forward_from_chat"`   // before Bot API 7.0
	ForwardName string  `json:"forward_sender_name"` // before Bot API 7.0
}

type messageFiles struct {
	Photo     []blob `json:"photo"`
	Document  *blob  `json:"document"`
	Voice     *blob  `json:"voice"`
	Audio     *blob  `json:"audio"`
	Video     *blob  `json:"video"`
	VideoNote *blob  `json:"video_note"`
	Animation *blob  `json:"animation"`
	Sticker   *blob  `json:"sticker"`
	Live      *live  `json:"live_photo"`
}

// live is a photo that moves; messages have the photo besides.
type live struct {
	Photo []blob `json:"photo"`
	blob
}

type messageExtras struct {
	Location *location `json:"location"`
	Venue    *venue    `json:"venue"`
	Contact  *contact  `json:"contact"`
	Dice     *dice     `json:"dice"`
	Poll     *poll     `json:"poll"`
}

type messageService struct {
	MigrateTo    int64           `json:"migrate_to_chat_id"`
	MigrateFrom  int64           `json:"migrate_from_chat_id"`
	TopicCreated json.RawMessage `json:"forum_topic_created"`
	Joined       []user          `json:"new_chat_members"`
	Left         *user           `json:"left_chat_member"`
}

type user struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
	Lang     string `json:"language_code"`
	// Of the bot itself, by getMe:
	JoinsGroups bool `json:"can_join_groups"`
	ReadsGroups bool `json:"can_read_all_group_messages"`
	Guest       bool `json:"supports_guest_queries"`
	Business    bool `json:"can_connect_to_business"`
}

func (u *user) name() string {
	if u == nil {
		return ""
	}
	return strings.TrimSpace(u.First + " " + u.Last)
}

type room struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	First    string `json:"first_name"`
	Username string `json:"username"`
}

func (r *room) name() string {
	switch {
	case r == nil:
		return ""
	case r.Title != "":
		return r.Title
	}
	return r.First
}

// private chats have the id of the user; payloads without a type exist.
func (r *room) private() bool { return r.Type == "private" || (r.Type == "" && r.ID > 0) }

func (r *room) key() string { return strconv.FormatInt(r.ID, 10) }

type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"` // UTF-16 units
	Length   int    `json:"length"`
	URL      string `json:"url"`
	Language string `json:"language"`
	User     *user  `json:"user"`
}

type quote struct {
	Text   string `json:"text"`
	Manual bool   `json:"is_manual"` // the person has chosen it; else the server has
}

// externalReply is a message of another chat, or one that the bot could not see.
type externalReply struct {
	Origin origin `json:"origin"`
	Chat   *room  `json:"chat"`
	ID     int64  `json:"message_id"`
	messageFiles
	messageExtras
	messageContent
}

// origin tells where a forwarded or quoted message comes from.
type origin struct {
	User *user  `json:"sender_user"`
	Name string `json:"sender_user_name"`
	Room *room  `json:"sender_chat"` // of a group
	Chat *room  `json:"chat"`        // a channel
}

func (o *origin) name() string {
	for _, name := range []string{o.User.name(), o.Name, o.Room.name(), o.Chat.name()} {
		if name != "" {
			return name
		}
	}
	return ""
}

// blob is a file of any kind.
type blob struct {
	ID        string  `json:"file_id"`
	Size      int64   `json:"file_size"`
	Name      string  `json:"file_name"`
	MIME      string  `json:"mime_type"`
	Duration  float64 `json:"duration"` // seconds
	Width     int     `json:"width"`
	Height    int     `json:"height"`
	Performer string  `json:"performer"`
	Title     string  `json:"title"`
	Emoji     string  `json:"emoji"`
	Animated  bool    `json:"is_animated"`
	Motion    bool    `json:"is_video"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type venue struct {
	Title   string `json:"title"`
	Address string `json:"address"`
}

type contact struct {
	Phone string `json:"phone_number"`
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

type dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

type poll struct {
	Question string `json:"question"`
	Options  []struct {
		Text string `json:"text"`
	} `json:"options"`
}

type press struct {
	ID      string   `json:"id"`
	From    *user    `json:"from"`
	Message *message `json:"message"` // of an inaccessible one: chat and id
	Data    string   `json:"data"`
}

// membership is a change of who is in a chat.
type membership struct {
	Chat room   `json:"chat"`
	From *user  `json:"from"` // who did it
	Date int64  `json:"date"`
	Old  member `json:"old_chat_member"`
	New  member `json:"new_chat_member"`
}

type member struct {
	User     *user  `json:"user"`
	Status   string `json:"status"`
	IsMember bool   `json:"is_member"` // of one who is restricted
}

func (m *member) in() bool {
	switch m.Status {
	case "creator", "administrator", "member":
		return true
	}
	return m.Status == "restricted" && m.IsMember
}

// business is that somebody connected the bot to their account, or no longer.
type business struct {
	User    *user `json:"user"`
	Enabled bool  `json:"is_enabled"`
}

// decodeUpdate reads one update. When it cannot be read the id is returned all
// the same if there is one, so that the update can be passed over.
func decodeUpdate(raw json.RawMessage) (*update, error) {
	var u update
	err := json.Unmarshal(raw, &u)
	if err == nil && u.ID != nil {
		return &u, nil
	}
	if err == nil {
		err = errors.New("no update_id")
	}
	var only struct {
		ID *int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &only) != nil {
		only.ID = nil
	}
	return &update{ID: only.ID}, err
}

// kindOf names the unknown kind of an update for the log.
func kindOf(raw json.RawMessage) string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return "?"
	}
	for k := range keys {
		if k != "update_id" {
			return k
		}
	}
	return "empty"
}
