package feishu

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"magpie/internal/fakes/served"
	"magpie/internal/fakes/trouble"
)

// Person is a user; their private chat with the bot is Chat.
type Person struct {
	ID   string // open id, ou_…
	Name string
	Chat string // oc_…; "" = made from ID
}

// Group is a group with the bot in it.
type Group struct {
	ID        string // oc_…
	Title     string
	NoThreads bool // replies in threads are refused
}

// room is one chat.
type room struct {
	id        string
	kind      string // p2p, group
	person    string
	noThreads bool
	closed    *refusal // why the bot may not write
	order     []string // ids of messages
	rate      trouble.Bucket
}

// AddPerson makes a user in whose availability the bot is, and returns the id
// of their private chat.
func (s *Server) AddPerson(p Person) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Chat == "" {
		p.Chat = "oc_p2p" + strings.TrimPrefix(p.ID, "ou_")
	}
	s.store.people[p.ID] = p
	s.store.rooms[p.Chat] = &room{id: p.Chat, kind: "p2p", person: p.ID}
	return p.Chat
}

// AddGroup makes a group with the bot in it.
func (s *Server) AddGroup(g Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.rooms[g.ID] = &room{id: g.ID, kind: "group", noThreads: g.NoThreads}
}

// Shut closes a chat to the bot with a code of the platform, such as 230002
// (removed from the group) or 230013 (not available to the user); 0 opens it.
func (s *Server) Shut(chat string, code int, msg string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room(chat).closed = nil
	if code != 0 {
		s.room(chat).closed = bad(code, msg)
	}
}

// Said is what a person writes. Chat "" is the private chat with the bot.
type Said struct {
	From, Chat string
	Text       string // @_user_1, … stand for Mentions
	Mentions   []string
	ReplyTo    string
	InThread   bool // a reply that makes or continues a thread
	Files      []File
	// Type and Content send any kind of message as it goes over the wire.
	Type, Content string
	Bot           bool // the sender is another bot
}

// Say lets a person write and returns the message's id. A text with pictures
// is one rich text; another file is a message without text, which follows.
func (s *Server) Say(said Said) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if said.Chat == "" {
		said.Chat = s.store.people[said.From].Chat
	}
	var pictures, files []File
	for _, f := range said.Files {
		if f.Kind == "image" && said.Text != "" {
			pictures = append(pictures, f)
		} else {
			files = append(files, f)
		}
	}
	id := ""
	if said.Type != "" {
		id = s.hear(said, said.Type, said.Content, nil)
	} else if len(pictures) > 0 {
		rows := [][]object{{{"tag": "text", "text": said.Text, "style": []string{}}}}
		held := map[string]File{}
		for _, f := range pictures {
			key := "img_v3_" + s.next()
			held[key] = f
			rows = append(rows, []object{{"tag": "img", "image_key": key}})
		}
		id = s.hear(said, "post", encode(object{"title": "", "content": rows}), held)
	} else if said.Text != "" || len(files) == 0 {
		id = s.hear(said, "text", encode(object{"text": said.Text}), nil)
	}
	for _, f := range files {
		kind, key := f.Kind, "file_v3_"+s.next()
		content := object{"file_key": key, "file_name": f.Name}
		switch kind {
		case "image":
			key = "img_v3_" + s.next()
			content = object{"image_key": key}
		case "audio":
			content = object{"file_key": key, "duration": 2000}
		case "media":
			content["duration"], content["image_key"] = 2000, "img_v3_cover"
		}
		id = s.hear(said, kind, encode(content), map[string]File{key: f})
	}
	return id
}

// hear stores a person's message and pushes its event; s.mu is held.
func (s *Server) hear(said Said, kind, content string, files map[string]File) string {
	r := s.room(said.Chat)
	m := &stored{
		Message: Message{ID: "om_" + s.next(), Chat: r.id, Type: kind, Content: content, ReplyTo: said.ReplyTo},
		sender:  said.From, files: files, at: s.opts.Now(),
	}
	if parent := s.store.messages[said.ReplyTo]; parent != nil {
		m.root = parent.ID
		if parent.root != "" {
			m.root = parent.root
		}
		if said.InThread || parent.Thread != "" {
			m.Thread = m.root
		}
	}
	if !s.opts.Forget {
		s.store.messages[m.ID] = m
	}
	kindOf := map[bool]string{false: "user", true: "bot"}
	s.push(r.id, "im.message.receive_v1", object{
		"sender":  object{"sender_id": ids(said.From), "sender_type": kindOf[said.Bot], "tenant_key": "fake"},
		"message": s.received(r, m, said.Mentions),
	})
	return m.ID
}

func (s *Server) received(r *room, m *stored, mentions []string) object {
	out := object{
		"message_id": m.ID, "create_time": strconv.FormatInt(m.at.UnixMilli(), 10), "chat_id": r.id, "chat_type": r.kind,
		"message_type": m.Type, "content": m.Content,
	}
	if m.root != "" {
		out["root_id"], out["parent_id"] = m.root, m.ReplyTo
	}
	if m.Thread != "" {
		out["thread_id"] = threadID(m.Thread)
	}
	var list []object
	for i, id := range mentions {
		name, kind := BotName, "bot"
		if id != BotID {
			name, kind = s.store.people[id].Name, "user"
		}
		list = append(list, object{"key": fmt.Sprintf("@_user_%d", i+1), "id": ids(id), "name": name, "mentioned_type": kind, "tenant_key": "fake"})
	}
	if list != nil {
		out["mentions"] = list
	}
	return out
}

func ids(open string) object {
	return object{"open_id": open, "union_id": "on_" + open, "user_id": nil}
}

func threadID(root string) string { return "omt_" + strings.TrimPrefix(root, "om_") }

// Press lets a person press the button with this data (the "d" of its value)
// and returns the id of the event. It reports an error when the message shows
// no such button.
func (s *Server) Press(from, message, data string) (event string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.store.messages[message]
	if m == nil || m.gone {
		return "", fmt.Errorf("press %q: there is no message %q", data, message)
	}
	for _, row := range s.show(m).Buttons {
		for _, b := range row {
			if b.Data == data {
				return s.push(m.Chat, "card.action.trigger", object{
					"operator": object{"open_id": from, "union_id": "on_" + from, "tenant_key": "fake"},
					"token":    "c-" + s.next(), "host": "im_message",
					"action":  object{"tag": "button", "value": json.RawMessage(b.Value)},
					"context": object{"open_message_id": m.ID, "open_chat_id": m.Chat},
				}), nil
			}
		}
	}
	return "", fmt.Errorf("press %q: message %q has the buttons %v", data, message, s.show(m).Buttons)
}

// Recall lets a person take a message back.
func (s *Server) Recall(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.store.messages[message]
	m.gone = true
	s.push(m.Chat, "im.message.recalled_v1", object{"message_id": m.ID, "chat_id": m.Chat, "recall_time": "1", "recall_type": "message_owner"})
}

// Event pushes any event of schema 2.0.
func (s *Server) Event(kind string, event map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push("", kind, maps.Clone(event))
}

// room finds a chat that the test has made; s.mu is held.
func (s *Server) room(id string) *room {
	r, ok := s.store.rooms[id]
	if !ok {
		panic(fmt.Sprintf("feishu fake: there is no chat %q: call AddPerson or AddGroup first", id))
	}
	return r
}

// Messages is what the bot has put into a chat, oldest first, with edits and
// deletions applied.
func (s *Server) Messages(chat string) (out []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.room(chat).order {
		if m := s.store.messages[id]; m != nil && !m.gone {
			out = append(out, s.show(m))
		}
	}
	return out
}

// Wait waits until a chat shows what ok wants, and returns it.
func (s *Server) Wait(ctx context.Context, chat string, ok func([]Message) bool) ([]Message, error) {
	return served.Wait(ctx, &s.news, chat, s.Messages, ok)
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings always can be written
	}
	return string(data)
}
