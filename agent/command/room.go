package command

import (
	"context"
	"fmt"
	"strings"

	"magpie/chat"
)

// Room keeps what was said in groups without addressing the bot.
type Room interface {
	// List returns what is kept of a chat, the oldest first.
	List(ctx context.Context, session chat.SessionKey) ([]chat.Overheard, error)
	// Clear forgets it and says how many messages that were.
	Clear(ctx context.Context, session chat.SessionKey) (int, error)
}

func contextVerbs() [][]string {
	return [][]string{
		{"show", "list", "ls", "查看", "列表"},
		{"clear", "remove", "delete", "forget", "reset", "清空", "清除", "删除"},
	}
}

// maxHeard is how many messages /context shows.
const maxHeard = 30

// runContext shows or clears what is kept of a group.
func runContext(ctx context.Context, s *Set, r *request) (string, error) {
	session := r.d.Addr.Session()
	verb, rest := verbIn(contextVerbs(), r.args)
	switch {
	case r.d.Direct:
		return r.pick("This is a private chat, so every message here is for me. In a group I keep what does not address me, until I am asked.",
			"这里是私聊，每条消息都是发给我的。在群里，我会暂存没有 @ 我的消息，有人问我时再一起看。"), nil
	case rest != "":
		return r.pick("`/context` shows what I keep of this group, `/context clear` forgets it.", "`/上下文` 查看我暂存的本群消息，`/上下文 清空` 将其清除。"), nil
	case verb == "clear":
		n, err := s.ports.Room.Clear(ctx, session)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf(r.pick("Forgotten: %d messages of this group.", "已清除 %d 条本群消息。"), n), nil
	}
	all, err := s.ports.Room.List(ctx, session)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return r.pick("I keep nothing of this group just now.", "目前没有暂存本群的消息。"), nil
	}
	since := all[0].At.In(s.ports.Settings.Zone(r.set)).Format("2006-01-02 15:04")
	head := fmt.Sprintf(r.pick("Messages of this group that I keep for the next question, for a day at most: %d, since %s.\n",
		"为回答下一个问题，暂存了 %d 条本群消息（最多保留一天），自 %s 起。\n"), len(all), since)
	return head + s.overheard(r, all[max(0, len(all)-maxHeard):]) + r.pick("\n\n`/context clear` forgets them.", "\n\n`/上下文 清空` 将其清除。"), nil
}

// overheard writes what is kept, a line each.
func (s *Set) overheard(r *request, all []chat.Overheard) string {
	zone := s.ports.Settings.Zone(r.set)
	var b strings.Builder
	for _, o := range all {
		who := o.From.Name
		if who == "" {
			who = o.From.Username
		}
		if who == "" {
			who = o.From.ID
		}
		fmt.Fprintf(&b, "\n- %s %s", o.At.In(zone).Format("15:04"), code(cut(who)))
		switch {
		case o.Happening == chat.Joined:
			b.WriteString(r.pick(" joined", " 加入了群聊"))
		case o.Happening == chat.Left:
			b.WriteString(r.pick(" left", " 离开了群聊"))
		case strings.TrimSpace(o.Text) != "":
			b.WriteString(": " + code(cut(strings.Join(strings.Fields(o.Text), " "))))
		}
		for _, f := range o.Files {
			name := f.Name
			if name == "" {
				name = string(f.Kind)
			}
			b.WriteString(" + " + code(cut(name)))
		}
	}
	return b.String()
}
