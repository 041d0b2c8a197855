package qq

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"magpie/chat"
)

// mentionMark finds mentions in what people write: as <@id>, <@!id> or
// <qqbot-at-user id="id" />, and of everybody
// (bot.q.qq.com/wiki/develop/api-v2/server-inter/message/trans/text-chain.html,
// and events that public bots have logged; read November 2026).
var mentionMark = regexp.MustCompile(`<@!?([A-Za-z0-9_-]+)>|<qqbot-at-user\s+id=["']?([A-Za-z0-9_-]+)["']?\s*/?>|<qqbot-at-(everyone)\s*/?>`)

// readable makes the marks in a text readable, takes the mention of the bot out
// and says whether there was one.
func (q *QQ) readable(text string, mentions []mention) (clean string, called bool) {
	me := *q.me.Load()
	clean = mentionMark.ReplaceAllStringFunc(text, func(mark string) string {
		m := mentionMark.FindStringSubmatch(mark)
		id := cmp.Or(m[1], m[2], m[3])
		if id == "all" || id == "everyone" {
			return "@everyone"
		}
		for _, who := range mentions {
			if who.ID != id && who.Member != id {
				continue
			}
			if who.Me {
				called = true
				return ""
			}
			return "@" + cmp.Or(who.Nick, who.Name, "somebody")
		}
		if id == me {
			called = true
			return ""
		}
		return "@somebody"
	})
	return strings.ToValidUTF8(strings.TrimSpace(readFaces(clean)), "\uFFFD"), called
}

// readText reads what a message says, and whether it mentions the bot.
func (q *QQ) readText(in *chat.Inbound, m *message) {
	text, called := q.readable(cmp.Or(m.Content, m.Markdown.Content), m.Mentions)
	in.Mentioned = in.Mentioned || called
	for _, who := range m.Mentions {
		in.Mentioned = in.Mentioned || who.Me && who.Scope != "all"
		if name := cmp.Or(who.Nick, who.Name); !who.Me && name != "" {
			in.Named = append(in.Named, chat.Sender{ID: cmp.Or(who.Member, who.ID), Name: name})
		}
	}
	in.Text = m.Card.say(text)
	if in.Text == "" && len(m.Attachments) == 0 {
		in.Text = unsaid(m.Kind)
	}
}

// quoted is the message this one replies to, as far as the event tells.
func (q *QQ) quoted(m *message) *chat.Quote {
	index := m.scene("ref_msg_idx")
	switch {
	case index == "" && m.Kind != kindQuote: // then an element is the message itself
		return nil
	case len(m.Elements) == 0 && index == "":
		return nil
	case len(m.Elements) == 0:
		return &chat.Quote{ID: index}
	}
	e, me := m.Elements[0], *q.me.Load()
	text, _ := q.readable(cmp.Or(e.Content, e.Markdown.Content), m.Mentions)
	quote := &chat.Quote{
		ID: cmp.Or(e.Index, index), From: e.Author.Name, Text: e.Card.say(text),
		Mine: e.Author.Bot && (e.Author.Member == "" || e.Author.Member == me || e.Author.User == me),
	}
	for _, a := range e.Attachments {
		quote.Attachments = append(quote.Attachments, q.attachment(a))
	}
	if quote.Text == "" && len(quote.Attachments) == 0 && e.Kind == kindCard { // else it may be known
		quote.Text = unsaid(e.Kind)
	}
	return quote
}

// unsaid stands for a message of a kind of which the event tells nothing else,
// such as a person's card; "" for texts.
func unsaid(kind int) string {
	switch kind {
	case 0, kindQuote:
		return ""
	case kindCard:
		return "[card whose content QQ does not tell]"
	}
	return fmt.Sprintf("[message of type %d]", kind)
}

// card is a link, a mini program or a place that somebody shares (seen in
// events since 2026; those of 2025 have the kind alone).
type card struct {
	Prompt string          `json:"prompt"`
	Name   string          `json:"ark_name"`
	Fields json.RawMessage `json:"fields"`
}

// say adds to a text what a card shows that is not in it.
func (c card) say(text string) string {
	var fields map[string]any
	if json.Unmarshal(c.Fields, &fields) != nil { // as JSON within a string, or of no known form
		var inner string
		_ = json.Unmarshal(c.Fields, &inner)
		_ = json.Unmarshal([]byte(inner), &fields)
	}
	parts := []string{c.Prompt}
	for _, name := range []string{"title", "desc", "name", "address", "source", "tag", "jump_url", "url"} {
		part, _ := fields[name].(string)
		parts = append(parts, part)
	}
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" && !strings.Contains(text, part) {
			text = strings.TrimSpace(text + "\n" + part)
		}
	}
	if text == "" && c.Name != "" {
		return "[" + c.Name + "]"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// faces are written into texts by QQ's own clients; the field ext holds the
// face's name.
var faces = regexp.MustCompile(`<faceType=[^<>]*?ext="([A-Za-z0-9+/=_-]*)"[^<>]*>|<(?:faceType=|emoji:)[^<>]*>`)

// readFaces turns faces into their names, such as [呲牙].
func readFaces(text string) string {
	return faces.ReplaceAllStringFunc(text, func(face string) string {
		raw, err := base64.StdEncoding.DecodeString(faces.FindStringSubmatch(face)[1])
		var ext struct {
			Text string `json:"text"`
		}
		if err != nil || json.Unmarshal(raw, &ext) != nil || ext.Text == "" {
			return "[表情]"
		}
		return "[" + strings.Trim(ext.Text, "[]/") + "]"
	})
}
