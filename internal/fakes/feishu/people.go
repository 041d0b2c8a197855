package feishu

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	// Hidden people are outside what the app may see of the contacts.
	Hidden bool
	// ByChat: the private chat is reached by its chat_id only.
	ByChat bool
}

// Group is a group with the bot in it.
type Group struct {
	ID        string // oc_…
	Title     string
	NoThreads bool // replies in threads are refused
	Topics    bool // every message begins a thread
	Fleeting  bool // messages delete themselves after a while, and take no replies
	// Restricted groups forbid copying: they bring the bot no messages and show
	// it none (breaking-change/control-restricted-mode, since 24 March 2026).
	Restricted bool
}

// room is one chat.
type room struct {
	id        string
	kind      string // p2p, group
	person    string
	noThreads bool
	topics    bool
	fleeting  bool
	// restricted: nobody tells the bot anything
	restricted bool
	closed     *refusal // why the bot may not write
	order      []string // ids of messages
	rate       trouble.Bucket
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
	s.store.rooms[g.ID] = &room{
		id: g.ID, kind: "group", noThreads: g.NoThreads, topics: g.Topics, fleeting: g.Fleeting, restricted: g.Restricted,
	}
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
	// Bare leaves ids of a message in a thread out of its event, as the platform
	// is said to do: "thread_id" or "root_id" (which takes parent_id along).
	Bare string
	// Forwarded are the messages of a merge_forward.
	Forwarded []Said
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
	said.Type, said.Content = kind, content
	m := s.write(r, said, files)
	for _, one := range said.Forwarded {
		one.Type, one.Content = cmp.Or(one.Type, "text"), cmp.Or(one.Content, encode(object{"text": one.Text}))
		m.forwarded = append(m.forwarded, s.write(r, one, nil))
	}
	if s.delivered(r, said.Mentions) {
		s.tell(r, m, said)
	}
	return m.ID
}

// write stores a message of a person.
func (s *Server) write(r *room, said Said, files map[string]File) *stored {
	m := &stored{
		Message: Message{ID: "om_" + s.next(), Chat: r.id, Type: said.Type, Content: said.Content, ReplyTo: said.ReplyTo},
		serial:  s.serial, sender: said.From, files: files, at: s.opts.Now(),
	}
	if r.topics {
		m.Thread = m.ID
	}
	if parent := s.store.messages[said.ReplyTo]; parent != nil {
		m.root = parent.ID
		if parent.root != "" {
			m.root = parent.root
		}
		if said.InThread || parent.Thread != "" {
			m.Thread = m.root
			if root := s.store.messages[m.root]; root != nil {
				root.begun = true // it is told with its thread from now on
			}
		}
	}
	if !s.opts.Forget {
		s.store.messages[m.ID] = m
	}
	return m
}

// tell pushes the event of a message.
func (s *Server) tell(r *room, m *stored, said Said) {
	kindOf := map[bool]string{false: "user", true: "bot"}
	message := s.received(r, m, said.Mentions)
	switch said.Bare {
	case "thread_id":
		delete(message, "thread_id")
	case "root_id":
		delete(message, "root_id")
		delete(message, "parent_id")
	}
	s.push(r.id, "im.message.receive_v1", object{
		"sender":  object{"sender_id": ids(said.From), "sender_type": kindOf[said.Bot], "tenant_key": "fake"},
		"message": message,
	})
}

// Rewrite lets a person change the text of a message, by which the bot may be
// mentioned for the first time. The platform has no event for it, but is said
// to bring the message again (agentscope-ai/QwenPaw pull 4708, May 2026).
func (s *Server) Rewrite(message, text string, mentions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.store.messages[message]
	m.Content, m.edits = encode(object{"text": text}), m.edits+1
	if r := s.room(m.Chat); s.delivered(r, mentions) {
		s.tell(r, m, Said{From: m.sender, Mentions: mentions})
	}
}

func (s *Server) received(r *room, m *stored, mentions []string) object {
	out := object{
		"message_id": m.ID, "create_time": strconv.FormatInt(m.at.UnixMilli(), 10), "chat_id": r.id, "chat_type": r.kind,
		"update_time": strconv.FormatInt(m.at.UnixMilli()+int64(m.edits), 10), "message_type": m.Type, "content": m.Content,
	}
	if m.Type == "interactive" {
		out["content"] = s.contentFor(m, "user_card_content")
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
