package telegram

import (
	"strings"
	"unicode/utf16"

	"magpie/chat"
)

// words is what was read out of a text and its entities.
type words struct {
	text      string // CommonMark, the bot's mention taken out
	mentioned bool
	foreign   bool // a command for another bot
	named     []chat.Sender
}

// readText turns a text with entities into CommonMark, so that code and links
// keep their meaning, and finds out whether the bot is addressed. Entities that
// do not fit the text are ignored.
func readText(text string, entities []entity, me *user) words {
	w := words{text: text}
	if len(entities) == 0 {
		return w
	}
	p := &page{units: utf16.Encode([]rune(text)), before: map[int]string{}, after: map[int]string{}, gone: map[int]bool{}}
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(p.units) || e.Length > len(p.units)-e.Offset {
			continue
		}
		from, to := e.Offset, e.Offset+e.Length
		word := string(utf16.Decode(p.units[from:to]))
		switch {
		case e.Type == "bot_command" && from == 0:
			name, bot, at := strings.Cut(word, "@")
			w.mentioned = w.mentioned || !at || strings.EqualFold(bot, me.Username)
			w.foreign = at && !strings.EqualFold(bot, me.Username)
			if at {
				p.cut(len(name), to) // a command is ASCII: bytes are units
			}
		case e.Type == "mention" && me.Username != "" && strings.EqualFold(word, "@"+me.Username),
			e.Type == "text_mention" && e.User != nil && e.User.ID == me.ID:
			w.mentioned = true
			p.cutWord(from, to)
		case e.Type == "text_mention" && e.User != nil:
			who := e.User.sender()
			who.Name = strings.TrimPrefix(word, "@") // as it stands in the text
			w.named = append(w.named, who)
		default:
			p.format(e, word)
		}
	}
	if out := strings.TrimSpace(p.String()); out != "" || w.mentioned {
		w.text = out
	}
	return w
}

// page is a text in UTF-16 units with what is to be put in and left out.
type page struct {
	units         []uint16
	before, after map[int]string
	gone          map[int]bool
	literal       int // formatting ends before this unit: code holds no markup
}

func (p *page) cut(from, to int) {
	for i := from; i < to; i++ {
		p.gone[i] = true
	}
}

// cutWord takes out a word and one of the spaces around it.
func (p *page) cutWord(from, to int) {
	space := func(i int) bool { return p.units[i] == ' ' }
	if to < len(p.units) && space(to) && (from == 0 || space(from-1)) {
		to++
	}
	p.cut(from, to)
}

func (p *page) format(e entity, word string) {
	from, to := e.Offset, e.Offset+e.Length
	if from < p.literal {
		return
	}
	switch e.Type {
	case "bold":
		p.wrap(from, to, "**", "**")
	case "italic":
		p.wrap(from, to, "*", "*")
	case "strikethrough":
		p.wrap(from, to, "~~", "~~")
	case "text_link":
		p.wrap(from, to, "[", "]("+e.URL+")")
	case "code":
		ticks := fence(word, 1)
		p.wrap(from, to, ticks, ticks)
		p.literal = to
	case "pre":
		ticks := fence(word, 3)
		p.wrap(from, to, ticks+e.Language+"\n", "\n"+ticks)
		p.literal = to
	}
}

// wrap puts marks around a range without the space at its ends: CommonMark
// does not take "** bold**".
func (p *page) wrap(from, to int, open, closing string) {
	for from < to && blank(p.units[from]) {
		from++
	}
	for from < to && blank(p.units[to-1]) {
		to--
	}
	if from == to {
		return
	}
	p.before[from] += open
	p.after[to] = closing + p.after[to] // what opened last closes first
}

func blank(u uint16) bool { return u == ' ' || u == '\n' || u == '\t' }

// fence is a run of at least n backticks that does not stand in s.
func fence(s string, n int) string {
	ticks := strings.Repeat("`", n)
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks
}

func (p *page) String() string {
	var out []uint16
	add := func(s string) {
		if s != "" {
			out = append(out, utf16.Encode([]rune(s))...)
		}
	}
	for i := range len(p.units) + 1 {
		add(p.after[i])
		add(p.before[i])
		if i < len(p.units) && !p.gone[i] {
			out = append(out, p.units[i])
		}
	}
	return string(utf16.Decode(out))
}

// sender is who wrote a message: a person, or a channel or group that speaks
// for itself.
func (m *message) sender() chat.Sender {
	if s := m.Sender; s != nil && s.ID != 0 {
		return chat.Sender{ID: s.key(), Name: s.name(), Username: s.Username}
	}
	if m.From == nil {
		return chat.Sender{ID: m.Chat.key(), Name: m.Chat.name(), Username: m.Chat.Username}
	}
	return m.From.sender()
}
