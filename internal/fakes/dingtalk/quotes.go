package dingtalk

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Quote is the message that another one replies to. DingTalk documents no
// quotes; the forms are those that its own connector reads
// (dingtalk-openclaw-connector 0.8.21 of 2026-05-17, core/message-handler.ts)
// and that others have logged (soimy/openclaw-channel-dingtalk of 2026-07-28,
// message-utils.ts and its tests; read November 2026).
type Quote struct {
	ID string // of a message of a person or of the bot
	// Bare: nothing but what names it, as for files and cards on some clients.
	Bare bool
	// AsText: the content is JSON as text.
	AsText bool
}

// spoken is what is kept of a message to quote it.
type spoken struct {
	sender  string
	kind    string
	content map[string]any
	at      time.Time
	key     string // originalProcessQueryKey
	conv    string // conversation
	emotion string // on it
}

// remember keeps a message of a person; s.mu is held.
func (s *Server) remember(id string, body map[string]any) {
	if s.opts.Forget {
		return
	}
	sp := spoken{sender: body["senderId"].(string), kind: body["msgtype"].(string), at: s.opts.Now(), conv: body["conversationId"].(string)}
	switch content := body["content"].(type) {
	case map[string]any:
		sp.content = content
		if parts, ok := content["richText"].([]any); ok {
			sp.content = map[string]any{"richText": quotedParts(parts)}
		}
	default:
		text := body["text"].(map[string]any)["content"].(string)
		sp.content = map[string]any{"text": strings.TrimSpace(text)}
	}
	s.store.said[id] = sp
}

// quotedParts are the pieces of a rich text as quotes have them.
func quotedParts(parts []any) (all []any) {
	for _, p := range parts {
		p := p.(map[string]any)
		one := map[string]any{"msgType": "text", "content": p["text"]}
		if code, ok := p["downloadCode"]; ok {
			one = map[string]any{"msgType": p["type"], "downloadCode": code}
		}
		all = append(all, one)
	}
	return all
}

// quote adds a quote to a text message; s.mu is held.
func (s *Server) quote(body map[string]any, q Quote) {
	sp, ok := s.store.said[q.ID]
	if m := s.store.byID[q.ID]; m != nil {
		sp, ok = m.spoken(s.store.sent[q.ID]), true
	}
	text, plain := body["text"].(map[string]any)
	if !ok || !plain {
		panic(fmt.Sprintf("dingtalk fake: %q is no message that a text can quote", q.ID))
	}
	text["isReplyMsg"] = true
	if sp.key != "" {
		body["originalProcessQueryKey"] = sp.key
	}
	if sp.sender != BotUserID {
		body["originalMsgId"] = q.ID
	}
	if q.Bare {
		return
	}
	replied := map[string]any{"msgType": sp.kind, "senderId": sp.sender, "createdAt": sp.at.UnixMilli(), "content": sp.content}
	if sp.sender != BotUserID {
		replied["msgId"] = q.ID
	}
	if q.AsText {
		raw, _ := json.Marshal(sp.content) // strings only
		replied["content"] = string(raw)
	}
	text["repliedMsg"] = replied
}

// spoken is a message of the bot as it is quoted: one that went by a session
// webhook has no key, a card has that of its carrier and no text.
func (m *Message) spoken(at time.Time) spoken {
	sp := spoken{sender: BotUserID, kind: m.Kind, at: at, content: map[string]any{"text": m.Text}}
	switch m.Via {
	case OpPerson, OpGroup:
		sp.key = m.ID
	case OpCardCreate:
		sp.kind, sp.key, sp.content = "interactiveCard", m.Carrier, map[string]any{}
	}
	return sp
}
