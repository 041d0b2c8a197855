package feishu

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"

	"magpie/channels/rest"
	"magpie/chat"
)

// Sizes of messages (im/v1/message/create, read November 2026): 30 KB for the
// body of a card or post, of which buttons and braces need some.
const (
	maxText = 27_000 // bytes of the rendered text as it stands in the body
	// maxTables is what one markdown element takes; a card with more is refused.
	maxTables = 4
	// answerID names the card's element that is streamed to.
	answerID   = "answer"
	maxSummary = 60 // runes shown in the list of chats
)

// card is what a message of type interactive shows.
type card struct {
	text    string // in the markdown of cards
	buttons [][]chat.Button
	notice  string // what became of a press, plain
	summary string // for the list of chats; "" = Feishu makes one
	stream  bool   // still being written
}

type object = map[string]any

// json is the card in JSON 2.0 (feishu-cards/card-json-v2-structure, read
// November 2026).
func (c *card) json() string {
	config := object{"update_multi": true, "streaming_mode": c.stream}
	if c.summary != "" {
		config["summary"] = object{"content": c.summary}
	}
	elements := []object{{"tag": "markdown", "element_id": answerID, "content": c.text}}
	for _, row := range c.buttons {
		elements = append(elements, buttonRow(row))
	}
	if c.notice != "" {
		elements = append(elements, object{"tag": "div", "text": object{
			"tag": "plain_text", "content": c.notice, "text_size": "notation", "text_color": "grey",
		}})
	}
	return mustEncode(object{"schema": "2.0", "config": config, "body": object{"elements": elements}})
}

func buttonRow(row []chat.Button) object {
	var columns []object
	for _, b := range row {
		columns = append(columns, object{"tag": "column", "width": "auto", "elements": []object{{
			"tag": "button", "text": object{"tag": "plain_text", "content": b.Label}, "type": "default",
			"behaviors": []object{{"type": "callback", "value": object{"d": b.Data}}},
		}}})
	}
	return object{"tag": "column_set", "flex_mode": "flow", "columns": columns}
}

// mustEncode writes what consists of strings, numbers, maps and slices only.
func mustEncode(v any) string {
	data, err := rest.Encode(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// summarize is the start of a text for the list of chats.
func summarize(plain string) string {
	plain = strings.Join(strings.Fields(plain), " ")
	if utf8.RuneCountInString(plain) <= maxSummary {
		return plain
	}
	return string([]rune(plain)[:maxSummary-1]) + "…"
}

// tablesAsCode turns the tables of a card's text into code blocks, for when
// the platform finds too many. It reports whether there was one.
func tablesAsCode(text string) (string, bool) {
	var b strings.Builder
	fence, table, any := "", false, false
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		bare := strings.TrimLeft(line, " ")
		row := fence == "" && strings.HasPrefix(bare, "|")
		if row != table {
			b.WriteString("```\n")
			table, any = row, true
		}
		switch {
		case fence == "" && strings.HasPrefix(bare, "```"):
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		case fence != "" && strings.HasPrefix(bare, fence):
			fence = ""
		}
		if row {
			line = unescape(line)
		}
		b.WriteString(line)
	}
	if table {
		b.WriteString("\n```")
	}
	return b.String(), any
}

var references = regexp.MustCompile(`&#\d{1,4};`)

// unescape undoes the numeric references that code does not need.
func unescape(s string) string {
	return references.ReplaceAllStringFunc(s, func(ref string) string {
		var n int
		for _, c := range ref[2 : len(ref)-1] {
			n = n*10 + int(c-'0')
		}
		if n == '`' || n == '<' || n > '~' {
			return ref
		}
		return string(rune(n))
	})
}

// buttonNote is what is kept about a message with buttons: a press does not
// say it, and the platform does not give a card back as it was sent.
type buttonNote struct {
	Card   string `json:"card,omitempty"` // id of the card entity, if it is one
	Text   string `json:"text"`
	Thread string `json:"thread,omitempty"`
}

func (n *buttonNote) bytes() []byte {
	data, err := json.Marshal(n)
	if err != nil {
		panic(err) // three strings always can be written
	}
	return data
}
