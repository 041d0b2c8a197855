package telegram

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// Person is a user of Telegram. A private chat with the bot has the user's id.
type Person struct {
	ID                   int64
	Name, Username, Lang string
}

// Group is a supergroup that the bot is a member of; Topics make it a forum.
type Group struct {
	ID     int64 // negative
	Title  string
	Topics []int // ids of the threads
}

// room is one chat.
type room struct {
	id        int64
	title     string
	topics    map[int]bool
	kind      string // private, supergroup
	closed    string // why the bot may not write; "" = it may
	movedTo   int64
	last      int // message id
	messages  map[int]*Message
	order     []int // ids of the bot's messages
	streams   streams
	reactions map[string]string      // of the bot, by message
	said      map[int]map[string]any // messages of people, for quotes
}

// AddPerson makes a user who has started the bot.
func (s *Server) AddPerson(p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[p.ID] = p
	s.chats[p.ID] = &room{id: p.ID, kind: "private", messages: map[int]*Message{}}
}

// AddGroup makes a group with the bot in it.
func (s *Server) AddGroup(g Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &room{id: g.ID, kind: "supergroup", title: g.Title, messages: map[int]*Message{}, topics: map[int]bool{}}
	for _, topic := range g.Topics {
		r.topics[topic] = true
		r.last = max(r.last, topic)
	}
	s.chats[g.ID] = r
}

// Reasons for which a chat is closed to the bot.
const (
	Blocked = "bot was blocked by the user"
	Kicked  = "bot was kicked from the supergroup chat"
)

// Shut closes a chat to the bot for a reason such as Blocked; "" opens it.
func (s *Server) Shut(chat int64, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(chat)
	status := map[bool]string{true: "member", false: "kicked"}
	was := r.closed == ""
	r.closed = reason
	s.push("my_chat_member", s.membership(r, change{by: chat, who: s.me(), was: status[was], is: status[reason == ""]}))
}

// Migrate turns a group into a supergroup with another id, as Telegram does
// when a group grows.
func (s *Server) Migrate(from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.room(from)
	s.chats[to] = &room{id: to, kind: "supergroup", title: old.title, messages: map[int]*Message{}}
	s.push("message", s.service(old, "migrate_to_chat_id", to))
	old.movedTo = to
	s.push("message", s.service(s.chats[to], "migrate_from_chat_id", from))
}

func (s *Server) service(r *room, field string, value any) map[string]any {
	r.last++
	return map[string]any{"message_id": r.last, "chat": s.chatJSON(r), "date": s.opts.Now().Unix(), field: value}
}

// Said is what a person writes. Chat 0 is the private chat with the bot.
type Said struct {
	From, Chat int64
	Thread     int
	Text       string // the caption when there are files
	ReplyTo    int
	Files      []File         // several make an album
	Fields     map[string]any // more fields of the message, as they go over the wire
}

// Say lets a person write and returns the id of the (first) message.
func (s *Server) Say(m Said) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Chat == 0 {
		m.Chat = m.From
	}
	r, n := s.room(m.Chat), max(1, len(m.Files))
	album := ""
	if n > 1 {
		album = strconv.FormatInt(s.updates.lastID+77_000_000, 10)
	}
	first := r.last + 1
	for i := range n {
		r.last++
		msg := s.personal(r, m, r.last)
		if album != "" {
			msg["media_group_id"] = album
		}
		if i < len(m.Files) {
			maps.Copy(msg, s.incoming(m.Files[i]))
		}
		if i == 0 && m.Text != "" {
			field, entities := "text", "entities"
			if len(m.Files) > 0 {
				field, entities = "caption", "caption_entities"
			}
			msg[field] = m.Text
			if found := detect(m.Text); len(found) > 0 {
				msg[entities] = found
			}
		}
		maps.Copy(msg, m.Fields)
		s.keepSaid(r, msg)
		if s.shows(r, m) {
			s.push("message", msg)
		}
	}
	return first
}

// personal is the frame of a person's message.
func (s *Server) personal(r *room, m Said, id int) map[string]any {
	msg := map[string]any{"message_id": id, "from": s.userJSON(m.From), "chat": s.chatJSON(r), "date": s.opts.Now().Unix()}
	if m.Thread != 0 {
		msg["message_thread_id"], msg["is_topic_message"] = m.Thread, true
	}
	if m.ReplyTo != 0 {
		msg["reply_to_message"] = s.quoted(r, m)
	}
	return msg
}

// quoted is the message that is replied to, whole, but without what it replies
// to itself (https://core.telegram.org/bots/api#message, read November 2026).
func (s *Server) quoted(r *room, m Said) map[string]any {
	if old := r.messages[m.ReplyTo]; old != nil {
		return s.messageJSON(old)
	}
	if said := r.said[m.ReplyTo]; said != nil {
		said = maps.Clone(said)
		delete(said, "reply_to_message")
		return said
	}
	return map[string]any{
		"message_id": m.ReplyTo, "chat": s.chatJSON(r), "date": s.opts.Now().Unix(),
		"from": s.userJSON(m.From), "text": "an earlier message",
	}
}

func (s *Server) keepSaid(r *room, msg map[string]any) {
	if s.opts.Forget {
		return
	}
	if r.said == nil {
		r.said = map[int]map[string]any{}
	}
	r.said[msg["message_id"].(int)] = msg
}

// shows: with privacy mode a bot is shown of groups only what mentions it or
// replies to it, and commands (https://core.telegram.org/bots/features#privacy-mode,
// read November 2026).
func (s *Server) shows(r *room, m Said) bool {
	return !s.opts.Ways.Privacy || r.kind == "private" || r.messages[m.ReplyTo] != nil ||
		strings.HasPrefix(m.Text, "/") || strings.Contains(m.Text, "@"+s.opts.Username)
}

// Edit lets a person change a message of theirs.
func (s *Server) Edit(m Said, id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Chat == 0 {
		m.Chat = m.From
	}
	msg := s.personal(s.room(m.Chat), m, id)
	msg["text"], msg["edit_date"] = m.Text, s.opts.Now().Unix()
	s.push("edited_message", msg)
}

// Press lets a person press the button with this data and returns the id of
// the press. It reports an error when the message shows no such button.
func (s *Server) Press(from, chat int64, message int, data string) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.room(chat).messages[message]
	if m == nil {
		return "", fmt.Errorf("press %q: chat %d shows no message %d", data, chat, message)
	}
	for _, row := range m.Keyboard {
		for _, b := range row {
			if b.Data == data {
				id = s.store.newPress()
				s.push("callback_query", map[string]any{
					"id": id, "from": s.userJSON(from), "message": s.messageJSON(m), "chat_instance": "-777", "data": data,
				})
				return id, nil
			}
		}
	}
	return "", fmt.Errorf("press %q: message %d has the buttons %v", data, message, m.Keyboard)
}

// room finds a chat that the test has made.
func (s *Server) room(id int64) *room {
	r, ok := s.chats[id]
	if !ok {
		panic(fmt.Sprintf("telegram fake: there is no chat %d: call AddPerson or AddGroup first", id))
	}
	return r
}

func (s *Server) me() map[string]any {
	return map[string]any{"id": BotID, "is_bot": true, "first_name": "Magpie Test", "username": s.opts.Username}
}

func (s *Server) userJSON(id int64) map[string]any {
	p := s.people[id]
	u := map[string]any{"id": id, "is_bot": false, "first_name": p.Name}
	if p.Username != "" {
		u["username"] = p.Username
	}
	if p.Lang != "" {
		u["language_code"] = p.Lang
	}
	return u
}

func (s *Server) chatJSON(r *room) map[string]any {
	c := map[string]any{"id": r.id, "type": r.kind}
	if r.kind == "private" {
		c["first_name"] = s.people[r.id].Name
		return c
	}
	c["title"] = r.title
	if len(r.topics) > 0 {
		c["is_forum"] = true
	}
	return c
}

var marks = regexp.MustCompile(`(?:^|\s)(/[a-zA-Z0-9_]{1,32}(?:@[a-zA-Z0-9_]{3,32})?|@[a-zA-Z0-9_]{3,32}|https?://\S+)`)

// detect finds the entities that Telegram finds by itself.
func detect(text string) []Entity {
	var found []Entity
	for _, at := range marks.FindAllStringSubmatchIndex(text, -1) {
		word := text[at[2]:at[3]]
		kind := map[byte]string{'/': "bot_command", '@': "mention", 'h': "url"}[word[0]]
		found = append(found, Entity{Type: kind, Offset: units(text[:at[2]]), Length: units(word)})
	}
	return found
}
