package feishu

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Message is something that a chat shows.
type Message struct {
	ID, Chat  string
	Thread    string // id of the message with which the thread began
	ReplyTo   string
	Type      string // text, post, interactive, image, file, audio, media
	Content   string // as it was sent; of a card its present JSON
	Text      string // as a person reads it
	Buttons   [][]Button
	File      *File
	Mentions  []string // whom it notifies
	Streaming bool     // a card that says that it is being written
	Reactions []string
}

// Button is a button of a card.
type Button struct {
	Text  string
	Data  string // the "d" of Value, or Value when that is a string
	Value string // JSON
}

// File is a file with its bytes. Kind is image, file, audio or media.
type File struct {
	Kind, Name, MIME string
	Data             []byte
}

// stored is a message with what a chat does not show.
type stored struct {
	Message
	serial    int64
	sender    string // "" = the bot
	root      string
	card      string // card entity
	gone      bool
	begun     bool // a thread began with it
	at        time.Time
	files     map[string]File
	forwarded []*stored // of a merge_forward
	reactions []reaction
	edits     int
}

type store struct {
	people   map[string]Person
	rooms    map[string]*room
	messages map[string]*stored
	uploads  map[string]upload
	cards    map[string]*cardEntity
	uuids    map[string]sentBefore
}

type sentBefore struct {
	message *stored
	at      time.Time
}

func newStore() store {
	return store{
		people: map[string]Person{}, rooms: map[string]*room{}, messages: map[string]*stored{},
		uploads: map[string]upload{}, cards: map[string]*cardEntity{}, uuids: map[string]sentBefore{},
	}
}

// sending is the body of create and reply.
type sending struct {
	Receive  string `json:"receive_id"`
	Type     string `json:"msg_type"`
	Content  string `json:"content"`
	UUID     string `json:"uuid"`
	InThread bool   `json:"reply_in_thread"`
}

func (s *Server) createMessage(c *call) (any, *refusal) {
	var in sending
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	r := s.store.rooms[in.Receive]
	switch c.URL.Query().Get("receive_id_type") {
	case "chat_id":
	case "open_id":
		r = s.store.rooms[s.store.people[in.Receive].Chat]
		if s.store.people[in.Receive].ByChat { // openclaw/openclaw issue 109409, July 2026
			return nil, bad(230101, "Sending messages to users is temporarily unavailable.")
		}
	default:
		return nil, badParameter("receive_id_type")
	}
	if r == nil {
		return nil, bad(230034, "The receive_id is invalid.")
	}
	return s.accept(r, &in, nil)
}

func (s *Server) replyMessage(c *call) (any, *refusal) {
	var in sending
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	to := s.store.messages[c.PathValue("id")]
	switch {
	case to == nil:
		return nil, badParameter("message_id")
	case to.gone:
		return nil, bad(230011, "The message is recalled.")
	case s.room(to.Chat).fleeting: // server-docs/im-v1/message/reply, read November 2026
		return nil, bad(230111, "Action unavailable as the message will self-destruct soon.")
	case in.InThread && s.room(to.Chat).noThreads:
		return nil, bad(230071, "The group to which the message belongs does not support reply in thread.")
	}
	return s.accept(s.room(to.Chat), &in, to)
}

// accept puts a message of the bot into a chat.
func (s *Server) accept(r *room, in *sending, to *stored) (any, *refusal) {
	if r.closed != nil {
		return nil, r.closed
	}
	if len(in.UUID) > 50 {
		return nil, badParameter("uuid is longer than 50")
	}
	now := s.opts.Now()
	if old, ok := s.store.uuids[in.UUID]; ok && in.UUID != "" && now.Sub(old.at) < time.Hour {
		return s.describe(old.message), nil
	}
	if s.opts.Rates && r.rate.Take(now, chatPerSecond, chatPerSecond) > 0 {
		return nil, bad(230020, "This operation triggers the frequency limit.")
	}
	m := &stored{Message: Message{Chat: r.id, Type: in.Type, Content: in.Content}, at: now}
	if e := s.check(m, false); e != nil {
		return nil, e
	}
	m.ID = "om_" + s.next()
	m.serial = s.serial
	if to != nil {
		m.ReplyTo, m.root = to.ID, to.ID
		if to.root != "" {
			m.root = to.root
		}
		if in.InThread || to.Thread != "" {
			m.Thread = m.root
			if root := s.store.messages[m.root]; root != nil {
				root.begun = true
			}
		}
	}
	if entity := s.store.cards[m.card]; entity != nil {
		entity.message = m.ID
	}
	s.keep(r, m, in.UUID)
	return s.describe(m), nil
}

func (s *Server) keep(r *room, m *stored, uuid string) {
	if s.opts.OnMessage != nil {
		s.opts.OnMessage(s.show(m))
	}
	if uuid != "" {
		s.store.uuids[uuid] = sentBefore{m, m.at}
	}
	if s.opts.Forget {
		delete(s.store.uuids, uuid)
		if m.Type != "interactive" {
			return
		}
	}
	s.store.messages[m.ID] = m
	r.order = append(r.order, m.ID)
	s.news.Tell()
}

// check refuses what Feishu refuses in a message's content.
func (s *Server) check(m *stored, edit bool) *refusal {
	limit := 30 << 10
	if m.Type == "text" {
		limit = 150 << 10
	}
	if len(m.Content) > limit {
		return bad(230025, "The length of the message content reaches its limit.")
	}
	var c struct {
		Text  *string `json:"text"`
		Image string  `json:"image_key"`
		File  string  `json:"file_key"`
	}
	if err := json.Unmarshal([]byte(m.Content), &c); err != nil {
		return badParameter("content is not in JSON format")
	}
	switch m.Type {
	case "text":
		if c.Text == nil || *c.Text == "" {
			return badParameter("text is empty")
		}
		return nil
	case "post":
		return checkPost(m.Content)
	case "interactive":
		return s.checkInteractive(m)
	case "image", "file", "audio", "media":
		if edit {
			return badParameter("msg_type")
		}
		return s.attach(m, c.Image+c.File)
	}
	return badParameter("msg_type")
}

// postTags are the elements of a post (im-v1/message/create_json).
var postTags = []string{"text", "a", "at", "img", "media", "emotion", "hr", "code_block", "md"}

func checkPost(content string) *refusal {
	var languages map[string]struct {
		Title   string             `json:"title"`
		Content [][]map[string]any `json:"content"`
	}
	if err := json.Unmarshal([]byte(content), &languages); err != nil || len(languages) == 0 {
		return badParameter("post: " + content)
	}
	for name, l := range languages {
		if name != "zh_cn" && name != "en_us" && name != "ja_jp" || len(l.Content) == 0 {
			return badParameter("post language " + name)
		}
		for _, row := range l.Content {
			for _, n := range row {
				tag, _ := n["tag"].(string)
				if !slices.Contains(postTags, tag) {
					return badParameter("post tag " + tag)
				}
				if text, _ := n["text"].(string); text == "" && slices.Contains([]string{"text", "a", "md", "code_block"}, tag) {
					return badParameter("post: empty " + tag)
				}
			}
		}
	}
	return nil
}

func (s *Server) describe(m *stored) object {
	out := object{
		"message_id": m.ID, "msg_type": m.Type, "create_time": strconv.FormatInt(m.at.UnixMilli(), 10),
		"update_time": strconv.FormatInt(m.at.UnixMilli(), 10), "deleted": m.gone, "updated": m.edits > 0, "chat_id": m.Chat,
		"sender": object{"id": s.opts.AppID, "id_type": "app_id", "sender_type": "app", "tenant_key": "fake"},
		"body":   object{"content": m.Content},
	}
	if m.sender != "" {
		out["sender"] = object{"id": m.sender, "id_type": "open_id", "sender_type": "user", "tenant_key": "fake"}
	}
	if m.ReplyTo != "" {
		out["root_id"], out["parent_id"] = m.root, m.ReplyTo
	}
	if m.Thread != "" || m.begun {
		out["thread_id"] = threadID(cmp.Or(m.Thread, m.ID))
	}
	return out
}

// own finds a message of the bot that can be changed.
func (s *Server) own(c *call) (*stored, *refusal) {
	m := s.store.messages[c.PathValue("id")]
	switch {
	case m == nil:
		return nil, badParameter("message_id")
	case m.gone:
		return nil, bad(230110, "Action unavailable as the message has been deleted.")
	case m.sender != "":
		return nil, bad(230026, "No permission to operate this message.")
	case s.opts.Now().Sub(m.at) > 14*24*time.Hour:
		return nil, bad(230031, "Message can only be modified within 14 days after sending.")
	}
	return m, nil
}

func (s *Server) updateMessage(c *call) (any, *refusal) {
	var in struct {
		Type    string `json:"msg_type"`
		Content string `json:"content"`
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	m, e := s.own(c)
	if e != nil {
		return nil, e
	}
	if m.Type != "text" && m.Type != "post" || in.Type != "text" && in.Type != "post" {
		return nil, bad(230054, "This operation is not supported for this message type.")
	}
	return s.change(m, in.Type, in.Content)
}

func (s *Server) patchMessage(c *call) (any, *refusal) {
	var in struct {
		Content string `json:"content"`
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	m, e := s.own(c)
	if e != nil {
		return nil, e
	}
	if m.Type != "interactive" || m.card != "" || strings.Contains(in.Content, `"card_id"`) {
		return nil, badParameter("the message is no card that can be replaced")
	}
	return s.change(m, m.Type, in.Content)
}

func (s *Server) change(m *stored, kind, content string) (any, *refusal) {
	next := &stored{Message: Message{Type: kind, Content: content}}
	if e := s.check(next, true); e != nil {
		return nil, e
	}
	m.Type, m.Content = kind, content
	m.edits++
	s.touched(m)
	return s.describe(m), nil
}

// touched tells those who watch that a message has changed.
func (s *Server) touched(m *stored) {
	if s.opts.OnMessage != nil {
		s.opts.OnMessage(s.show(m))
	}
	s.news.Tell()
}

func (s *Server) deleteMessage(c *call) (any, *refusal) {
	m, e := s.own(c)
	if e != nil {
		return nil, e
	}
	m.gone = true
	s.news.Tell()
	return nil, nil
}
