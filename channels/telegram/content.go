package telegram

import (
	"cmp"
	"fmt"
	"strings"

	"magpie/chat"
)

// What a message may hold instead of a text and files
// (https://core.telegram.org/bots/api#message, Bot API 10.3, read November
// 2026). Without a line for it the model would not hear of the message at all.
type messageContent struct {
	Checklist *checklist `json:"checklist"`
	Paid      *paid      `json:"paid_media"`
	Story     *story     `json:"story"`
	Game      *game      `json:"game"`
	Invoice   *invoice   `json:"invoice"`
	Giveaway  *giveaway  `json:"giveaway"`
}

type checklist struct {
	Title string `json:"title"`
	Tasks []struct {
		Text string `json:"text"`
		Done int64  `json:"completion_date"`
	} `json:"tasks"`
}

// paid is media that cost Telegram Stars; of what was not paid for there is
// only the size.
type paid struct {
	Stars int            `json:"star_count"`
	Media []messageFiles `json:"paid_media"`
}

type story struct {
	Chat room `json:"chat"`
}

type game struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Text        string `json:"text"`
}

type invoice struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

type giveaway struct {
	Chats []room `json:"chats"`
	Prize string `json:"prize_description"`
}

// describe is the content in words, a line each.
func (c *messageContent) describe() (lines []string) {
	add := func(kind string, parts ...string) {
		var all []string
		for _, p := range parts {
			if p != "" {
				all = append(all, p)
			}
		}
		lines = append(lines, "["+strings.TrimSuffix(kind+": "+strings.Join(all, ", "), ": ")+"]")
	}
	if l := c.Checklist; l != nil {
		add("Checklist", l.Title)
		for _, task := range l.Tasks {
			mark := map[bool]string{true: "- [x] ", false: "- [ ] "}[task.Done != 0]
			lines = append(lines, mark+task.Text)
		}
	}
	if p := c.Paid; p != nil {
		add("Paid media", fmt.Sprintf("%d for %d Telegram Stars", len(p.Media), p.Stars))
	}
	if s := c.Story; s != nil {
		add("Story of "+cmp.Or(s.Chat.name(), "somebody"), "stories are not shown to bots")
	}
	if g := c.Game; g != nil {
		add("Game", g.Title, g.Description, g.Text)
	}
	if i := c.Invoice; i != nil {
		add("Invoice", i.Title, i.Description)
	}
	if g := c.Giveaway; g != nil {
		var names []string
		for i := range g.Chats {
			names = append(names, g.Chats[i].name())
		}
		add("Giveaway of "+strings.Join(names, ", "), g.Prize)
	}
	return lines
}

// attachments are the files that were paid for.
func (p *paid) attachments() (all []chat.Attachment) {
	for i := range p.Media {
		all = append(all, p.Media[i].attachments()...)
	}
	return all
}
