package telegram

import (
	"fmt"
	"time"

	"magpie/chat"
)

// myself reads what became of the bot in a chat. In private chats that is only
// whether it is blocked; who begins one says /start.
func (t *Telegram) myself(ev *event, m *membership) {
	came := !m.Old.in() && m.New.in()
	if m.Chat.private() || m.Chat.Type == "channel" || !came || m.From == nil || m.Chat.ID == 0 {
		ev.skip = "membership: the bot is now " + m.New.Status
		return
	}
	in := t.happening(chat.Added, &m.Chat, m.From, m.Date)
	ev.in = &in
}

// member reads who came and who left, as an administrator is told it.
func (t *Telegram) member(ev *event, m *membership) {
	what := chat.Joined
	switch was, is := m.Old.in(), m.New.in(); {
	case m.Chat.ID == 0 || m.New.User == nil:
		ev.skip, ev.bad = "membership without chat or user", true
		return
	case was == is:
		ev.skip = "rights of a member"
		return
	case was:
		what = chat.Left
	}
	if m.New.User.ID == t.me.Load().ID {
		ev.skip = "the bot's own membership"
		return
	}
	in := t.happening(what, &m.Chat, m.New.User, m.Date)
	ev.in = &in
}

// comings reads who came and who left, as every member is shown it.
func (t *Telegram) comings(ev *event, m *message) {
	me := t.me.Load().ID
	var all []chat.Inbound
	for _, u := range m.Joined {
		if u.ID != me {
			all = append(all, t.happening(chat.Joined, &m.Chat, &u, m.Date))
		}
	}
	if m.Left != nil && m.Left.ID != me {
		all = append(all, t.happening(chat.Left, &m.Chat, m.Left, m.Date))
	}
	if len(all) == 0 {
		ev.skip = "the bot's own membership"
		return
	}
	ev.in, ev.also = &all[0], all[1:]
}

// happening is news of a chat. Its id is the same for both ways in which
// Telegram tells of it.
func (t *Telegram) happening(what chat.Happening, r *room, who *user, date int64) chat.Inbound {
	return chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: fmt.Sprintf("telegram:%s:%d:%s:%d:%d", t.name, r.ID, what, who.ID, date),
			At: time.Unix(date, 0).UTC(), Addr: chat.Address{Channel: t.name, Chat: r.key()},
		},
		Origin: chat.FromPerson, From: who.sender(), Direct: r.private(), Happening: what,
	}
}
