package qq

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tencent-connect/botgo/dto"
)

// Event types that botgo does not name
// (bot.q.qq.com/wiki/develop/api-v2/server-inter/, read November 2026).
const (
	ready        dto.EventType = "READY"
	resumed      dto.EventType = "RESUMED"
	groupMessage dto.EventType = "GROUP_MESSAGE_CREATE" // every message, for bots that may read all
	groupAdd     dto.EventType = "GROUP_ADD_ROBOT"
	groupDel     dto.EventType = "GROUP_DEL_ROBOT"
	groupReject  dto.EventType = "GROUP_MSG_REJECT"
	groupReceive dto.EventType = "GROUP_MSG_RECEIVE"
	directReject dto.EventType = "C2C_MSG_REJECT"
	directAccept dto.EventType = "C2C_MSG_RECEIVE"
	memberAdd    dto.EventType = "GROUP_MEMBER_ADD" // since August 2026
	memberRemove dto.EventType = "GROUP_MEMBER_REMOVE"
)

// switchType is the type of an interaction by which a person may switch active
// messages off; others tell it by C2C_MSG_REJECT. The sources differ (read
// November 2026).
const switchType = 18

// frame is what goes over the gateway and comes to the webhook; botgo's
// WSPayload would decode d as it likes.
type frame struct {
	dto.WSPayloadBase
	Data json.RawMessage `json:"d"`
}

// message is a message event. botgo's dto loses the openids
// (user_openid, member_openid, group_openid), voices' transcripts and quotes.
type message struct {
	ID          string       `json:"id"`
	Content     string       `json:"content"`
	Time        moment       `json:"timestamp"`
	Group       string       `json:"group_openid"`
	Author      author       `json:"author"`
	Attachments []attachment `json:"attachments"`
	Mentions    []mention    `json:"mentions"`
	Scene       struct {
		Ext []string `json:"ext"` // "key=value"
	} `json:"message_scene"`
	Kind     int       `json:"message_type"`
	Card     card      `json:"ark_data"`
	Markdown markdown  `json:"markdown"`     // instead of content, perhaps
	Elements []element `json:"msg_elements"` // of a quoting message: what is quoted
}

// Kinds of messages that are read otherwise than texts (seen in events, read
// November 2026).
const (
	kindCard  = 3
	kindQuote = 103
)

type author struct {
	User   string `json:"user_openid"`
	Member string `json:"member_openid"`
	Name   string `json:"username"`
	Bot    bool   `json:"bot"`
}

type mention struct {
	ID     string `json:"id"`
	Member string `json:"member_openid"`
	Name   string `json:"username"`
	Nick   string `json:"nickname"`
	Me     bool   `json:"is_you"`
	Scope  string `json:"scope"` // single, all
}

type element struct {
	Index       string       `json:"msg_idx"`
	Kind        int          `json:"message_type"`
	Content     string       `json:"content"`
	Card        card         `json:"ark_data"`
	Markdown    markdown     `json:"markdown"`
	Author      author       `json:"author"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	URL   string `json:"url"`
	Name  string `json:"filename"`
	Type  string `json:"content_type"` // "voice", "file", or a MIME type
	Size  int64  `json:"size"`
	Wav   string `json:"voice_wav_url"`
	Words string `json:"asr_refer_text"`
}

// scene finds a value of message_scene.ext.
func (m *message) scene(key string) string {
	for _, e := range m.Scene.Ext {
		if k, v, ok := strings.Cut(e, "="); ok && strings.TrimSpace(k) == key {
			return v
		}
	}
	return ""
}

// change is an event about a person or group.
type change struct {
	Open     string `json:"openid"`
	Group    string `json:"group_openid"`
	Operator string `json:"op_member_openid"`
	Member   string `json:"member_openid"`
	Time     moment `json:"timestamp"`
}

// pressed is what stands in the data of an interaction with a button.
type pressed struct {
	Data   string `json:"button_data"`
	Button string `json:"button_id"`
	User   string `json:"user_id"`
}

// moment is a time that comes as text or as a number of seconds, or of
// milliseconds.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler. What is no time is no time: an
// odd stamp must not cost the message.
func (m *moment) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		m.Time = t.UTC()
	} else if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < 1e10 {
		m.Time = time.Unix(n, 0).UTC()
	} else if err == nil && n >= 1e10 && n < 1e13 { // milliseconds
		m.Time = time.UnixMilli(n).UTC()
	}
	return nil
}
