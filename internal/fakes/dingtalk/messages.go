package dingtalk

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"magpie/internal/fakes/trouble"
)

// Message is something that the bot has put into a chat.
type Message struct {
	ID      string
	Chat    string
	Kind    string // text, markdown, image, file, audio, video, card
	Title   string
	Text    string // as it was sent
	Via     string // the call that sent it, such as OpWebhook
	At      []string
	Buttons []Button
	File    *File
	State   string            // of a card
	Carrier string            // of a card: what a quote of it names
	News    map[string]string // of a card: what the list of chats shows, by language
}

// Button is one button of a card.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"`
}

// store is what the chats show, and what was uploaded.
type store struct {
	serial  int
	chats   map[string][]*Message
	byID    map[string]*Message
	said    map[string]spoken // of people
	sent    map[string]time.Time
	media   map[string]File
	guids   map[string]bool
	calls   map[string]int
	unasked int // of calls, for JSON
	rates   map[string]*trouble.Bucket
	slowed  map[string]time.Time // until when a webhook of a group refuses everything
}

func newStore() store {
	return store{
		chats: map[string][]*Message{}, byID: map[string]*Message{}, said: map[string]spoken{}, sent: map[string]time.Time{}, media: map[string]File{},
		guids: map[string]bool{}, calls: map[string]int{}, rates: map[string]*trouble.Bucket{}, slowed: map[string]time.Time{},
	}
}

// slowedFor is how long a group's webhook refuses everything after more than 20
// messages in a minute
// (https://open.dingtalk.com/document/development/custom-robots-send-group-messages,
// page of 2026-06: "limited for 10 minutes").
const slowedFor = 10 * time.Minute

// Messages returns what a chat shows of the bot, oldest first, with changes
// applied and without what was recalled.
func (s *Server) Messages(chat string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.store.chats[chat] {
		c := *m
		c.Buttons, c.At = slices.Clone(m.Buttons), slices.Clone(m.At)
		all = append(all, c)
	}
	return all
}

// show puts a message into a chat; s.mu is held.
func (s *Server) show(m *Message) {
	s.tell(m)
	if s.opts.Forget && m.Kind != "card" {
		return
	}
	s.store.byID[m.ID], s.store.sent[m.ID] = m, s.opts.Now()
	if !s.opts.Forget {
		s.store.chats[m.Chat] = append(s.store.chats[m.Chat], m)
	}
}

func (s *Server) tell(m *Message) {
	if s.opts.OnMessage != nil {
		s.opts.OnMessage(*m)
	}
}

// formatted reports whether a call sends Markdown.
func (r *request) formatted() bool {
	var in struct {
		MsgKey  string `json:"msgKey"`
		Msgtype string `json:"msgtype"`
	}
	return json.Unmarshal(r.raw, &in) == nil && (in.MsgKey == "sampleMarkdown" || in.Msgtype == "markdown")
}

func (s *Server) sendBySession(r *request) (any, *refusal) {
	ses, ok := s.access.sessions[r.token]
	if !ok || !s.opts.Now().Before(ses.until) {
		return nil, &refusal{Errcode: 300001, Message: "session 不存在"}
	}
	var in struct {
		Msgtype  string
		Text     struct{ Content string }
		Markdown struct{ Title, Text string }
		At       struct {
			AtUserIDs []string `json:"atUserIds"`
			IsAtAll   bool     `json:"isAtAll"`
		}
	}
	if e := r.into(&in); e != nil {
		return nil, e
	}
	if s.opts.Rates && strings.HasPrefix(ses.chat, "group:") {
		b := s.store.rates[ses.chat]
		if b == nil {
			b = &trouble.Bucket{}
			s.store.rates[ses.chat] = b
		}
		now := s.opts.Now()
		if now.Before(s.store.slowed[ses.chat]) || b.Take(now, 20.0/60, 20) > 0 {
			if !now.Before(s.store.slowed[ses.chat]) {
				s.store.slowed[ses.chat] = now.Add(slowedFor)
			}
			return nil, &refusal{Errcode: 410100, Message: "发送速度太快而限流"}
		}
	}
	m := &Message{ID: s.next("webhook"), Chat: ses.chat, Kind: in.Msgtype, Via: OpWebhook, At: in.At.AtUserIDs}
	switch {
	case in.Msgtype == "text" && in.Text.Content != "":
		m.Text = in.Text.Content
	case in.Msgtype == "markdown" && in.Markdown.Title != "" && in.Markdown.Text != "":
		m.Title, m.Text = in.Markdown.Title, in.Markdown.Text
	case in.Msgtype == "text" || in.Msgtype == "markdown":
		return nil, &refusal{Errcode: 40035, Message: "缺少参数 json"}
	default:
		return nil, &refusal{Errcode: 400105, Message: "不支持的消息类型"}
	}
	if in.At.IsAtAll {
		m.At = append(m.At, "all")
	}
	s.show(m)
	return map[string]any{"errcode": 0, "errmsg": "ok"}, nil
}

// robotCall is what the calls of the robot API have in common.
type robotCall struct {
	RobotCode          string   `json:"robotCode"`
	UserIDs            []string `json:"userIds"`
	OpenConversationID string   `json:"openConversationId"`
	MsgKey             string   `json:"msgKey"`
	MsgParam           string   `json:"msgParam"`
	ProcessQueryKeys   []string `json:"processQueryKeys"`
}

func (s *Server) robotCall(r *request) (in robotCall, e *refusal) {
	if e := r.into(&in); e != nil {
		return in, e
	}
	switch in.RobotCode {
	case "":
		return in, bad("invalidParameter.robotCode.empty", "机器人robotCode无效")
	case s.opts.ClientID:
		return in, nil
	}
	return in, bad("invalidParameter.robotCode.notExsit", "机器人不存在")
}

func (s *Server) sendToPeople(r *request) (any, *refusal) {
	in, e := s.robotCall(r)
	if e != nil {
		return nil, e
	}
	if len(in.UserIDs) == 0 {
		return nil, bad("invalidParameter.userIds.empty", "用户userId列表为空")
	}
	if len(in.UserIDs) > 20 {
		return nil, bad("invalidParameter.userIds.overMax", "用户userId列表超过最大限制")
	}
	m, e := s.robotMessage(in)
	if e != nil {
		return nil, e
	}
	var unknown []string
	key := s.next("pqk")
	for _, id := range in.UserIDs {
		if p, ok := s.people["user:"+id]; !ok || p.StaffID == "" {
			unknown = append(unknown, id)
			continue
		}
		own := *m
		own.ID, own.Chat, own.Via = key, "user:"+id, OpPerson
		s.show(&own)
	}
	if len(unknown) == len(in.UserIDs) {
		return nil, bad("staffId.notExisted", "staffId不存在")
	}
	return map[string]any{"processQueryKey": key, "invalidStaffIdList": unknown, "flowControlledStaffIdList": []string{}}, nil
}

func (s *Server) sendToGroup(r *request) (any, *refusal) {
	in, e := s.robotCall(r)
	if e != nil {
		return nil, e
	}
	if in.OpenConversationID == "" {
		return nil, bad("miss.openConversationId", "缺少openConversationId")
	}
	if _, ok := s.groups["group:"+in.OpenConversationID]; !ok {
		return nil, bad("invalid.openConversationId", "无效的openConversationId")
	}
	m, e := s.robotMessage(in)
	if e != nil {
		return nil, e
	}
	m.ID, m.Chat, m.Via = s.next("pqk"), "group:"+in.OpenConversationID, OpGroup
	s.show(m)
	return map[string]any{"processQueryKey": m.ID}, nil
}

// robotMessage reads msgKey and msgParam.
func (s *Server) robotMessage(in robotCall) (*Message, *refusal) {
	if in.MsgKey == "" {
		return nil, bad("invalidParameter.msgKey.empty", "msgKey为空")
	}
	if len(in.MsgParam) > s.opts.MaxParam {
		return nil, bad("invalidParameter.msgParam.tooLong", "消息内容太长")
	}
	var p map[string]string // every parameter of every kind is a string
	if json.Unmarshal([]byte(in.MsgParam), &p) != nil {
		return nil, bad("invalidParameter.msgParam.invalid", "msgParam格式非法，必须是json格式")
	}
	switch in.MsgKey {
	case "sampleText":
		if p["content"] == "" {
			return nil, bad("miss.param.contentOfText", "需要text->content属性")
		}
		return &Message{Kind: "text", Text: p["content"]}, nil
	case "sampleMarkdown":
		if p["title"] == "" {
			return nil, bad("miss.param.markdownTotitle", "需要markdown->title属性")
		}
		if p["text"] == "" {
			return nil, bad("miss.param.markdownTotext", "需要markdown->text属性")
		}
		return &Message{Kind: "markdown", Title: p["title"], Text: p["text"]}, nil
	case "sampleImageMsg":
		return s.mediaMessage("image", p["photoURL"], "image", "miss.param.photoTophotoUrl")
	case "sampleAudio":
		if p["duration"] == "" {
			return nil, bad("miss.param.audio", "需要audio属性")
		}
		if s.opts.StrictFiles && !slices.Contains(shownAudio(), extension(s.store.media[p["mediaId"]].Name)) {
			return nil, bad("invalidParameter.msgParam.invalid", "不支持的文件类型")
		}
		return s.mediaMessage("audio", p["mediaId"], "voice", "miss.param.audio")
	case "sampleVideo":
		if _, ok := s.store.media[p["picMediaId"]]; !ok || p["duration"] == "" || p["videoType"] != "mp4" {
			return nil, bad("miss.param.video", "需要video->videoMediaId属性")
		}
		return s.mediaMessage("video", p["videoMediaId"], "video", "miss.param.video")
	case "sampleFile":
		if p["fileName"] == "" || p["fileType"] == "" {
			return nil, bad("miss.param.file", "需要file属性")
		}
		if s.opts.StrictFiles && !slices.Contains(shownFiles(), p["fileType"]) {
			return nil, bad("invalidParameter.msgParam.invalid", "不支持的文件类型")
		}
		m, e := s.mediaMessage("file", p["mediaId"], "file", "miss.param.file")
		if e == nil {
			m.File.Name = p["fileName"]
		}
		return m, e
	}
	return nil, bad("invalidParameter.msgKey.invalid", "msgKey无效，请传入正确的msgKey")
}

func (s *Server) mediaMessage(kind, id, uploaded, code string) (*Message, *refusal) {
	f, ok := s.store.media[id]
	if id == "" || !ok || f.Kind != uploaded {
		return nil, bad(code, "消息内容不合法")
	}
	return &Message{Kind: kind, File: &f}, nil
}

func (s *Server) recallFromPeople(r *request) (any, *refusal) {
	in, e := s.robotCall(r)
	if e != nil {
		return nil, e
	}
	return s.recall(in, OpPerson)
}

func (s *Server) recallFromGroup(r *request) (any, *refusal) {
	in, e := s.robotCall(r)
	if e == nil && in.OpenConversationID == "" {
		e = bad("miss.openConversationId", "缺少openConversationId")
	}
	if e != nil {
		return nil, e
	}
	return s.recall(in, OpGroup)
}

func (s *Server) recall(in robotCall, via string) (any, *refusal) {
	if len(in.ProcessQueryKeys) == 0 {
		return nil, &refusal{Status: http.StatusBadRequest, Code: "invalidParameter.processQueryKey.missing", Message: "缺少processQueryKey"}
	}
	ok, failed := []string{}, map[string]string{}
	for _, key := range in.ProcessQueryKeys {
		m := s.store.byID[key]
		if m == nil || m.Via != via {
			failed[key] = "无效的processQueryKey"
			continue
		}
		delete(s.store.byID, key)
		s.store.chats[m.Chat] = slices.DeleteFunc(s.store.chats[m.Chat], func(x *Message) bool { return x == m })
		ok = append(ok, key)
	}
	return map[string]any{"successResult": ok, "failedResult": failed}, nil
}
