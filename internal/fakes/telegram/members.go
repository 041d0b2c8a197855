package telegram

// Join lets a person into a group: every member is shown a message, and a bot
// that is an administrator is told besides, if it asked for chat_member
// (https://core.telegram.org/bots/api#update, read November 2026).
func (s *Server) Join(group, person int64) { s.member(group, person, true) }

// Leave takes a person out of a group.
func (s *Server) Leave(group, person int64) { s.member(group, person, false) }

func (s *Server) member(group, person int64, comes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, who := s.room(group), s.userJSON(person)
	c := change{by: person, who: who, was: "left", is: "member"}
	var note map[string]any
	if comes {
		note = s.service(r, "new_chat_members", []any{who})
	} else {
		note = s.service(r, "left_chat_member", who)
		c.was, c.is = c.is, c.was
	}
	note["from"] = who
	s.push("message", note)
	if s.opts.Ways.Admin {
		s.push("chat_member", s.membership(r, c))
	}
}

// Invite lets a person add the bot to a group.
func (s *Server) Invite(group, by int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(group)
	s.push("my_chat_member", s.membership(r, change{by: by, who: s.me(), was: "left", is: "member"}))
	note := s.service(r, "new_chat_members", []any{s.me()})
	note["from"] = s.userJSON(by)
	s.push("message", note)
}

// change is that somebody became something else in a chat.
type change struct {
	by      int64
	who     map[string]any
	was, is string
}

func (s *Server) membership(r *room, c change) map[string]any {
	member := func(status string) any { return map[string]any{"user": c.who, "status": status} }
	return map[string]any{
		"chat": s.chatJSON(r), "from": s.userJSON(c.by), "date": s.opts.Now().Unix(),
		"old_chat_member": member(c.was), "new_chat_member": member(c.is),
	}
}
