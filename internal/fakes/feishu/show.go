package feishu

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
)

var (
	atTag     = regexp.MustCompile(`<at (?:user_)?id ?= ?['"]?([^'"> ]+)['"]?[^>]*>(?:[^<]*</at>)?`)
	otherTags = regexp.MustCompile(`</?(?:font|b|i|u|s|link|person|text_tag)\b[^>]*>`)
	linkMark  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	signMark  = regexp.MustCompile(`\*\*|\*|~~`)
	headMark  = regexp.MustCompile(`(?m)^#{1,6} `)
)

// show is a message as its chat shows it; s.mu is held.
func (s *Server) show(m *stored) Message {
	out := m.Message
	for _, r := range m.reactions {
		out.Reactions = append(out.Reactions, r.emoji)
	}
	switch m.Type {
	case "text":
		var c struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal([]byte(m.Content), &c) // was checked
		out.read(c.Text)
	case "post":
		out.readPost()
	case "interactive":
		out.readCard()
		if entity := s.store.cards[m.card]; entity != nil {
			out.Streaming = !entity.opened.IsZero()
		}
	}
	return out
}

// read takes the tags out of a text and notes whom it mentions.
func (m *Message) read(text string) string {
	for _, at := range atTag.FindAllStringSubmatch(text, -1) {
		m.Mentions = append(m.Mentions, at[1])
	}
	m.Text = atTag.ReplaceAllString(text, "@$1")
	return m.Text
}

func (m *Message) readPost() {
	var c map[string]struct {
		Title   string `json:"title"`
		Content [][]struct {
			Tag  string `json:"tag"`
			Text string `json:"text"`
			User string `json:"user_id"`
		} `json:"content"`
	}
	_ = json.Unmarshal([]byte(m.Content), &c) // was checked
	var lines []string
	for _, l := range c {
		for _, row := range l.Content {
			line := ""
			for _, n := range row {
				if n.Tag == "at" {
					m.Mentions = append(m.Mentions, n.User)
				}
				line += n.Text
			}
			lines = append(lines, line)
		}
	}
	m.Text = strings.Join(lines, "\n")
}

func (m *Message) readCard() {
	card, refused := readCard(m.Content)
	if refused != nil {
		return
	}
	var lines []string
	for i := range card.Body.Elements {
		m.readNode(&card.Body.Elements[i], &lines)
	}
	m.Text = strings.Join(lines, "\n")
}

func (m *Message) readNode(n *cardNode, lines *[]string) {
	switch n.Tag {
	case "markdown":
		*lines = append(*lines, m.visible(n.Content))
	case "div":
		*lines = append(*lines, n.Text.Content)
	case "column_set":
		var row []Button
		for _, column := range n.Columns {
			for _, e := range column.Elements {
				if e.Tag == "button" {
					row = append(row, buttonOf(&e))
				} else {
					m.readNode(&e, lines)
				}
			}
		}
		if row != nil {
			m.Buttons = append(m.Buttons, row)
		}
	case "button":
		m.Buttons = append(m.Buttons, []Button{buttonOf(n)})
	}
}

func buttonOf(n *cardNode) Button {
	b := Button{Text: n.Text.Content}
	for _, behavior := range n.Behaviors {
		b.Value = string(behavior.Value)
		var v struct {
			Data string `json:"d"`
		}
		if json.Unmarshal(behavior.Value, &v) != nil {
			_ = json.Unmarshal(behavior.Value, &v.Data)
		}
		b.Data = v.Data
	}
	return b
}

// visible is the Markdown of a card as a person reads it.
func (m *Message) visible(md string) string {
	text := m.read(md)
	for _, mark := range []struct {
		find *regexp.Regexp
		by   string
	}{{otherTags, ""}, {linkMark, "$1"}, {signMark, ""}, {headMark, ""}} {
		text = mark.find.ReplaceAllString(text, mark.by)
	}
	return html.UnescapeString(text)
}
