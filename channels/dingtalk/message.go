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
	Called  bool            `json:"isInAtList"`
	At      []atUser        `json:"atUsers"`
	Robot   string          `json:"robotCode"`
	Text    json.RawMessage `json:"text"`
	Content json.RawMessage `json:"content"`
	conversation
	who
	webhook
}

type conversation struct {
	ConvType string `json:"conversationType"` // "1" private, "2" group
	ConvID   string `json:"conversationId"`
}

type who struct {
	Staff  string `json:"senderStaffId"` // "" for people outside the organisation
	Sender string `json:"senderId"`
	Nick   string `json:"senderNick"`
}

type webhook struct {
	URL   string `json:"sessionWebhook"`
	Until number `json:"sessionWebhookExpiredTime"` // ms
}

type atUser struct {
	ID    string `json:"dingtalkId"`
	Staff string `json:"staffId"`
}

// text is the text of a message, with the quoted one when it is a reply. The
// quote is not documented; its form is known from others' records only.
type text struct {
	Content string `json:"content"`
	Quoted  *quote `json:"repliedMsg"`
}

type quote struct {
	ID      string          `json:"msgId"`
	Kind    string          `json:"msgType"`
	Sender  string          `json:"senderId"`
	Nick    string          `json:"senderNick"`
	Content json.RawMessage `json:"content"`
}

// part is a piece of a rich text, or the whole content of a picture, audio,
// video or file.
type part struct {
	Text        string `json:"text"`
	Type        string `json:"type"`
	Code        string `json:"downloadCode"`
	PictureCode string `json:"pictureDownloadCode"`
	FileName    string `json:"fileName"`
	VideoType   string `json:"videoType"`
	Duration    number `json:"duration"`
	Recognition string `json:"recognition"`
	Unknown     string `json:"unknownMsgType"`
	Rich        []part `json:"richText"`
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
