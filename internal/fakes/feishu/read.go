package feishu

import (
	"cmp"
	"slices"
	"strings"
)

// upgrade is what a card of schema 2.0 is degraded to for those who do not ask
// for its JSON: the text for old clients and a picture (openclaw/openclaw pull
// 93134, June 2026; riba2534/feishu-cli pull 127, May 2026).
const upgrade = "请升级至最新版本客户端，以查看内容"

// Degrade says cards that come back degraded in another language.
func (s *Server) Degrade(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.degraded = text
}

func (s *Server) getMessage(c *call) (any, *refusal) {
	m := s.store.messages[c.PathValue("id")]
	if m == nil {
		return nil, badParameter("message_id")
	}
	if e := s.readable(s.room(m.Chat)); e != nil {
		return nil, e
	}
	form := c.URL.Query().Get("card_msg_content_type")
	if !slices.Contains([]string{"", "user_card_content", "raw_card_content"}, form) {
		return nil, badParameter("card_msg_content_type")
	}
	items := []any{s.told(m, form)}
	for _, sub := range m.forwarded {
		out := s.told(sub, form)
		out["upper_message_id"] = m.ID
		items = append(items, out)
	}
	return object{"items": items}, nil
}

// told is a message as it is given to one who asks.
func (s *Server) told(m *stored, form string) object {
	out := s.describe(m)
	out["body"] = object{"content": s.contentFor(m, form)}
	if m.gone {
		out["body"] = object{}
	}
	return out
}

// contentFor is a message's content. A card comes back as something else than
// was sent: its JSON in user_dsl only for those who ask.
func (s *Server) contentFor(m *stored, form string) string {
	if m.Type != "interactive" {
		return m.Content
	}
	card := m.Content
	if entity := s.store.cards[m.card]; entity != nil {
		card = entity.json
	}
	rows := [][]object{{{"tag": "text", "text": s.degraded}}, {{"tag": "img", "image_key": "img_v3_upgrade"}}}
	out := object{"title": "", "elements": rows}
	switch form {
	case "user_card_content":
		out["user_dsl"] = card
	case "raw_card_content":
		out = object{"json_card": card, "card_schema": 2}
	}
	return encode(out)
}

// listMessages gives the messages of a thread, oldest first
// (server-docs/im-v1/message/list, read November 2026).
func (s *Server) listMessages(c *call) (any, *refusal) {
	q := c.URL.Query()
	if q.Get("container_id_type") != "thread" || !strings.HasPrefix(q.Get("container_id"), "omt_") {
		return nil, badParameter("the fake lists threads only")
	}
	var found []*stored
	for _, m := range s.store.messages {
		if threadID(cmp.Or(m.Thread, m.ID)) == q.Get("container_id") {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, badParameter("container_id")
	}
	if e := s.readable(s.room(found[0].Chat)); e != nil {
		return nil, e
	}
	slices.SortFunc(found, func(a, b *stored) int { return cmp.Compare(a.serial, b.serial) })
	items := []any{}
	for _, m := range found {
		items = append(items, s.told(m, q.Get("card_msg_content_type")))
	}
	return object{"items": items, "has_more": false}, nil
}

// getMembers lists the people of a group, without bots
// (server-docs/group/chat-member/get, read November 2026).
func (s *Server) getMembers(c *call) (any, *refusal) {
	r := s.store.rooms[c.PathValue("chat")]
	switch {
	case r == nil:
		return nil, bad(232006, "Your request specifies a chat_id which is invalid.")
	case r.closed != nil:
		return nil, bad(232011, "Operator can NOT be out of the chat.")
	case c.URL.Query().Get("member_id_type") != "open_id":
		return nil, bad(232001, "Your request contains an invalid request parameter.")
	}
	ids := []string{}
	for id := range s.store.people {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	page, from := 2, slices.Index(ids, c.URL.Query().Get("page_token")) // small pages: whoever reads one only is found out
	from = max(from, 0)
	items := []object{}
	for _, id := range ids[from:min(from+page, len(ids))] {
		items = append(items, object{"member_id_type": "open_id", "member_id": id, "name": s.store.people[id].Name, "tenant_key": "fake"})
	}
	out := object{"items": items, "has_more": from+page < len(ids), "member_total": len(ids)}
	if from+page < len(ids) {
		out["page_token"] = ids[from+page]
	}
	return out, nil
}
