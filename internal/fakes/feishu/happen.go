package feishu

import (
	"encoding/json"
	"fmt"
	"maps"
)

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
				return s.push(m.Chat, callback, object{
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

// Post puts a card into the private chat of a person as if the bot had sent it,
// and returns its id.
func (s *Server) Post(person, card string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &stored{Message: Message{ID: "om_" + s.next(), Chat: s.store.people[person].Chat, Type: "interactive", Content: card}, serial: s.serial, at: s.opts.Now()}
	s.keep(s.room(m.Chat), m, "")
	return m.ID
}

// Pressed is what the one who pressed sees of it.
type Pressed struct {
	Done  bool   // the bot has answered, or the time for it is over
	Error bool   // the client says that something went wrong
	Toast string // a short notice, in the client's Chinese if there is one
}

// Pressed says what became of a press.
func (s *Server) Pressed(event string) Pressed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushes.pressed[event]
}

// Recall lets a person take a message back.
func (s *Server) Recall(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.store.messages[message]
	m.gone = true
	s.push(m.Chat, "im.message.recalled_v1", object{"message_id": m.ID, "chat_id": m.Chat, "recall_time": "1", "recall_type": "message_owner"})
}

// Invite lets a person add the bot to a group; Expel takes it out.
func (s *Server) Invite(from, chat string) { s.membership("bot.added", from, chat, nil) }

// Expel lets a person take the bot out of a group.
func (s *Server) Expel(from, chat string) { s.membership("bot.deleted", from, chat, nil) }

// Join lets people come into a group, Leave out of it, in one event.
func (s *Server) Join(chat string, people ...string) {
	s.membership("user.added", people[0], chat, people)
}

// Leave lets people go out of a group, in one event.
func (s *Server) Leave(chat string, people ...string) {
	s.membership("user.deleted", people[0], chat, people)
}

// Uninvite lets somebody take back that they have added people.
func (s *Server) Uninvite(chat string, people ...string) {
	s.membership("user.withdrawn", people[0], chat, people)
}

// membership pushes an event of server-docs/group/chat-member/event, read
// November 2026.
func (s *Server) membership(kind, from, chat string, people []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := object{"chat_id": chat, "operator_id": ids(from), "external": false, "operator_tenant_key": "fake", "name": "a group"}
	var users []object
	for _, id := range people {
		users = append(users, object{"name": s.store.people[id].Name, "tenant_key": "fake", "user_id": ids(id)})
	}
	if users != nil {
		body["users"] = users
	}
	s.push(chat, "im.chat.member."+kind+"_v1", body)
}

// Enter lets a person open the private chat with the bot, as they do many times
// (group/chat-member/event/bot_p2p_chat_entered, read November 2026).
func (s *Server) Enter(from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	chat := s.store.people[from].Chat
	s.push(chat, "im.chat.access_event.bot_p2p_chat_entered_v1", object{"chat_id": chat, "operator_id": ids(from), "last_message_id": "", "last_message_create_time": ""})
}

// Menu lets a person choose an entry of the bot's menu. The event does not say
// in what chat (client-docs/bot-v3/events/menu, read November 2026).
func (s *Server) Menu(from, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(s.store.people[from].Chat, "application.bot.menu_v6", object{
		"operator":  object{"operator_name": s.store.people[from].Name, "operator_id": ids(from)},
		"event_key": key, "timestamp": s.opts.Now().Unix(),
	})
}

// Event pushes any event of schema 2.0.
func (s *Server) Event(kind string, event map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push("", kind, maps.Clone(event))
}
