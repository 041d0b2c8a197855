package dingtalk

import (
	"encoding/json"
	"strings"
	"time"

	"magpie/chat"
)

// message is a robot message as DingTalk pushes it
// (https://open.dingtalk.com/document/development/receive-message, and the
// samples of https://github.com/open-dingtalk/developerpedia; read November
// 2026). Fields that are not read here cannot break it.
type message struct {
	ID      string          `json:"msgId"`
	Kind    string          `json:"msgtype"`
	Bot     string          `json:"chatbotUserId"`
	Created number          `json:"createAt"` // ms
	Robot   string          `json:"robotCode"`
	Fault   number          `json:"errorCode"` // why there is no content
	Text    json.RawMessage `json:"text"`
	Content json.RawMessage `json:"content"`
	conversation
	who
	calls
	beside
}

// beside is what stands beside the content.
type beside struct {
	original
	older
}

// older is where older clients put what stands in the content otherwise
// (dingtalk-openclaw-connector 0.8.21, core/message-handler.ts).
type older struct {
	RichText struct {
		List []part `json:"richTextList"`
	} `json:"richText"`
	Link string `json:"biz_custom_action_url"`
}

type conversation struct {
	ConvType string `json:"conversationType"` // "1" private, "2" group
	ConvID   string `json:"conversationId"`
	URL      string `json:"sessionWebhook"`
	Until    number `json:"sessionWebhookExpiredTime"` // ms
}

type who struct {
	Staff  string `json:"senderStaffId"` // "" for people outside the organisation
	Sender string `json:"senderId"`
	Nick   string `json:"senderNick"`
}

type calls struct {
	Called bool     `json:"isInAtList"`
	At     []atUser `json:"atUsers"`
}

type atUser struct {
	ID    string `json:"dingtalkId"`
	Staff string `json:"staffId"`
}

// original names the quoted message beside the quote, or without one.
type original struct {
	Original    string       `json:"originalMsgId"`
	OriginalKey string       `json:"originalProcessQueryKey"` // of a robot's message
	OldQuote    *quotedOfOld `json:"quoteMessage"`
}

// text is the text of a message, with the quoted one when it is a reply.
type text struct {
	Content string `json:"content"`
	Quoted  *quote `json:"repliedMsg"`
}

// part is the whole content of a message that is no text, of a quoted one, or
// a piece of a rich text. Pieces of quoted rich texts say msgType and content
// where others say type and text.
type part struct {
	Text    words  `json:"text"`
	Content words  `json:"content"`
	Type    string `json:"type"`
	Kind    string `json:"msgType"`
	AtName  string `json:"atName"`
	Unknown string `json:"unknownMsgType"`
	Link    string `json:"biz_custom_action_url"` // of a document that is shared as a card
	Actions []link `json:"actionUrlItemList"`     // of a card with links
	Rich    []part `json:"richText"`
	Quoted  *quote `json:"repliedMsg"`
	media
	record
}

type link struct {
	URL string `json:"actionUrl"`
}

type media struct {
	Code        string `json:"downloadCode"`
	PictureCode string `json:"pictureDownloadCode"`
	PictureURL  string `json:"pictureUrl"` // instead of a code
	FileName    string `json:"fileName"`
	VideoType   string `json:"videoType"`
	Duration    number `json:"duration"`
	Recognition string `json:"recognition"`
}

// decodePart reads a content, which is an object or the JSON of one as text. A
// field of another form than expected is left out.
func decodePart(raw json.RawMessage) (p part, err error) {
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		if json.Unmarshal([]byte(inner), &p) != nil {
			return part{Text: words(inner)}, nil
		}
		return p, nil
	}
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &p)
	}
	return p, err
}

// words is text that DingTalk also writes as an object with the text in it.
type words string

// UnmarshalJSON takes "a", {"text":"a"}, {"content":"a"} and {"message":"a"};
// of anything else there is no text.
func (w *words) UnmarshalJSON(raw []byte) error {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		*w = words(plain)
		return nil
	}
	var in map[string]json.RawMessage
	_ = json.Unmarshal(raw, &in) // an array has no text
	for _, key := range []string{"text", "content", "message"} {
		if json.Unmarshal(in[key], &plain) == nil && plain != "" {
			*w = words(plain)
			return nil
		}
	}
	return nil
}

// says is what there is to read in a part.
func (p part) says() string {
	text := string(p.Text)
	if text == "" {
		text = string(p.Content)
	}
	if p.Type == "at" || p.Kind == "at" {
		if p.AtName != "" {
			text = p.AtName
		}
		return "@" + strings.TrimPrefix(text, "@")
	}
	if text == "" {
		return p.address()
	}
	return text
}

// address stands for a picture of which nothing but an address is told.
func (m media) address() string {
	if m.PictureURL == "" {
		return ""
	}
	return "[picture: " + m.PictureURL + "]"
}

// attachment makes a file of a part; ok is false when there is none in it.
func (p part) attachment(kind, robot string) (a chat.Attachment, ok bool) {
	code := p.Code
	if code == "" {
		code = p.PictureCode
	}
	if code == "" {
		return a, false
	}
	a = chat.Attachment{Name: p.FileName, Source: robot + " " + code, Duration: p.length()}
	switch kind {
	case "picture":
		a.Kind = chat.Image
	case "audio":
		a.Kind, a.Text = chat.Voice, strings.TrimSpace(p.Recognition)
	case "video":
		a.Kind = chat.Video
		if p.VideoType == "mp4" || p.VideoType == "" {
			a.MIME = "video/mp4"
		}
	default:
		a.Kind = chat.File
	}
	return a, true
}

// length: one page of the documentation counts seconds (as a string), a newer
// one milliseconds. Nobody records for a quarter of an hour, or for less than
// a second.
func (p part) length() time.Duration {
	if p.Duration < 1000 {
		return time.Duration(p.Duration) * time.Second
	}
	return time.Duration(p.Duration) * time.Millisecond
}
