package dingtalk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Person is somebody who talks to the robot.
type Person struct {
	StaffID string // "" for somebody outside the organisation
	Name    string
}

// Chat is the person's private chat with the robot.
func (p Person) Chat() string {
	if p.StaffID == "" {
		return "user:" + p.senderID()
	}
	return "user:" + p.StaffID
}

func (p Person) senderID() string { return "$:LWCP_v1:$" + p.StaffID + p.Name }

// Group is a group that the robot is a member of.
type Group struct {
	ID    string // open conversation id
	Title string
}

// Chat is the group's name here.
func (g Group) Chat() string { return "group:" + g.ID }

// AddPerson makes somebody who may talk to the robot.
func (s *Server) AddPerson(p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[p.Chat()] = p
}

// AddGroup makes a group with the robot in it.
func (s *Server) AddGroup(g Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[g.Chat()] = g
}

// RemoveGroup disbands a group.
func (s *Server) RemoveGroup(chat string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, chat)
}

// Said is what a person writes.
type Said struct {
	From    string // a private chat's name; "" = the person of Chat
	Chat    string
	Text    string
	Mention bool // the robot is mentioned; what does not is pushed to no robot of a group, and can be quoted
	Files   []File
	Quote   *Quote
	Fields  map[string]any // more fields of the message, as they go over the wire
}

// Say lets a person write and returns the message's id and the id of the frame
// that carries it. Text with files, and more than one file, make a rich text.
func (s *Server) Say(m Said) (messageID, frameID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messageID = s.next("msg") + "=="
	body := s.message(m, messageID)
	s.remember(messageID, body)
	if m.Quote != nil {
		s.quote(body, *m.Quote)
	}
	if s.quota {
		withhold(body)
	}
	maps.Copy(body, m.Fields)
	if _, inGroup := s.groups[m.Chat]; inGroup && body["isInAtList"] != true {
		return messageID, "" // open.dingtalk.com/document/development/receive-message, read November 2026
	}
	return messageID, s.push(TopicRobot, body)
}

// QuotaGone makes the platform keep back what people write: messages carry an
// errorCode instead of their content, as when an organisation has used up its
// month (a review of this project names the code; no page, vendor code or thread
// that could be read in November 2026 has it).
func (s *Server) QuotaGone(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota = on
}

func withhold(body map[string]any) {
	delete(body, "text")
	delete(body, "content")
	body["errorCode"], body["errorMessage"] = 20001, "当月额度已用完"
}

// message is the payload of a robot message; s.mu is held.
func (s *Server) message(m Said, id string) map[string]any {
	if m.From == "" {
		m.From = m.Chat
	}
	p, ok := s.people[m.From]
	if !ok {
		panic(fmt.Sprintf("dingtalk fake: there is nobody called %q: call AddPerson first", m.From))
	}
	now := s.opts.Now()
	secret, until := s.webhook(m.Chat)
	body := map[string]any{
		"msgId": id, "conversationType": "1", "conversationId": "cid-direct-" + p.Name + "==",
		"senderNick": p.Name, "senderId": p.senderID(), "senderCorpId": corpID, "senderPlatform": "Mac", "isAdmin": false,
		"chatbotCorpId": corpID, "chatbotUserId": BotUserID, "robotCode": s.opts.ClientID,
		"sessionWebhook":            s.gate.base + "/robot/sendBySession?session=" + secret,
		"sessionWebhookExpiredTime": until.UnixMilli(), "createAt": now.UnixMilli(),
	}
	if p.StaffID != "" {
		body["senderStaffId"] = p.StaffID
	}
	g, inGroup := s.groups[m.Chat]
	if inGroup {
		body["conversationType"], body["conversationId"], body["conversationTitle"] = "2", g.ID, g.Title
		body["isInAtList"] = m.Mention
		if m.Mention {
			body["atUsers"] = []any{map[string]any{"dingtalkId": BotUserID}}
		}
	}
	s.content(body, m)
	return body
}

func (s *Server) content(body map[string]any, m Said) {
	switch {
	case len(m.Files) == 0:
		text := m.Text
		if m.Mention {
			text = " " + text // DingTalk takes the name out and leaves the blank
		}
		body["msgtype"], body["text"] = "text", map[string]any{"content": text}
	case len(m.Files) == 1 && m.Text == "":
		kind, content := s.fileContent(m.Files[0])
		body["msgtype"], body["content"] = kind, content
	default:
		var parts []any
		if m.Mention {
			parts = append(parts, map[string]any{"text": "@" + BotName})
		}
		if m.Text != "" {
			parts = append(parts, map[string]any{"text": m.Text})
		}
		for _, f := range m.Files {
			kind, content := s.fileContent(f)
			content["type"] = kind
			parts = append(parts, content)
		}
		body["msgtype"], body["content"] = "richText", map[string]any{"richText": parts}
	}
}

// fileContent stores a person's file under a download code; s.mu is held.
func (s *Server) fileContent(f File) (kind string, content map[string]any) {
	code := s.next("fakeDownloadCode/") + "=="
	s.access.downloads[code] = f
	content = map[string]any{"downloadCode": code}
	switch f.Kind {
	case "picture":
		content["pictureDownloadCode"] = "p" + code
	case "audio":
		content["duration"], content["recognition"] = 4000, f.Transcript
	case "video":
		content["duration"], content["videoType"] = "5", "mp4"
	default:
		f.Kind = "file"
		content["fileName"], content["spaceId"], content["fileId"] = f.Name, "223", "117"
	}
	return f.Kind, content
}

// Press lets a person press the button with this data on a card and returns
// the id of the frame. It reports an error when the card shows no such button.
func (s *Server) Press(from, card, data string) (frameID string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.store.byID[card]
	p, ok := s.people[from]
	switch {
	case !ok:
		return "", fmt.Errorf("press %q: there is nobody called %q", data, from)
	case m == nil || m.Kind != "card":
		return "", fmt.Errorf("press %q: there is no card %q", data, card)
	case m.State != Finished:
		return "", fmt.Errorf("press %q: card %q is %s and shows no buttons", data, card, m.State)
	case !slices.ContainsFunc(m.Buttons, func(b Button) bool { return b.Data == data }):
		return "", fmt.Errorf("press %q: card %q has the buttons %v", data, card, m.Buttons)
	}
	content, _ := json.Marshal(map[string]any{"cardPrivateData": map[string]any{ // strings only
		"actionIds": []string{"choose"}, "params": map[string]any{"data": data},
	}})
	return s.push(TopicCard, map[string]any{
		"type": "actionCallback", "outTrackId": card, "corpId": corpID, "userId": p.StaffID, "userIdType": 1,
		"content": string(content), "extension": "{}", "spaceType": "IM", "spaceId": strings.TrimPrefix(m.Chat, "group:"),
	}), nil
}
