package telegram

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"magpie/chat"
)

// rich is a message of blocks, which other bots send and people forward and
// reply to (https://core.telegram.org/bots/api#richmessage, Bot API 10.1 to
// 10.3, read November 2026). It comes without a text.
type rich struct {
	Blocks []block `json:"blocks"`
}

// block is a part of a rich message: text, files, or further blocks.
type block struct {
	Type       string       `json:"type"`
	Text       richText     `json:"text"`
	Language   string       `json:"language"`
	Expression string       `json:"expression"`
	Summary    richText     `json:"summary"`
	Items      []richItem   `json:"items"`
	Blocks     []block      `json:"blocks"`
	Cells      [][]richCell `json:"cells"`
	Caption    richText     `json:"caption"`
	Location   *location    `json:"location"`
	VoiceNote  *blob        `json:"voice_note"`
	messageFiles
}

// UnmarshalJSON implements json.Unmarshaler. A block of a kind that looks
// otherwise is empty.
func (b *block) UnmarshalJSON(data []byte) error {
	type fields block
	var f fields
	if json.Unmarshal(data, &f) == nil {
		*b = block(f)
	}
	return nil
}

type richItem struct {
	Label  string  `json:"label"`
	Blocks []block `json:"blocks"`
}

type richCell struct {
	Text richText `json:"text"`
}

// richText is a text in CommonMark, read from a string, a list of texts or a
// text with a kind. What it cannot read is empty: it must not hide the rest.
type richText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *richText) UnmarshalJSON(data []byte) error {
	var plain string
	if json.Unmarshal(data, &plain) == nil {
		*t = richText(plain)
		return nil
	}
	var list []richText
	if json.Unmarshal(data, &list) == nil {
		for _, part := range list {
			*t += part
		}
		return nil
	}
	var of struct {
		Type       string   `json:"type"`
		Text       richText `json:"text"`
		URL        string   `json:"url"`
		Emoji      string   `json:"alternative_text"`
		Expression string   `json:"expression"`
		Credit     richText `json:"credit"`
		Button     struct {
			Text richText `json:"text"`
		} `json:"button"`
	}
	if json.Unmarshal(data, &of) != nil {
		return nil
	}
	switch of.Type {
	case "bold":
		*t = "**" + of.Text + "**"
	case "italic":
		*t = "*" + of.Text + "*"
	case "strikethrough":
		*t = "~~" + of.Text + "~~"
	case "code":
		ticks := richText(fence(string(of.Text), 1))
		*t = ticks + of.Text + ticks
	case "url":
		*t = "[" + of.Text + "](" + richText(of.URL) + ")"
	default:
		*t = of.Text + richText(of.Emoji) + richText(of.Expression) + of.Button.Text
		if of.Credit != "" { // of a caption
			*t += " — " + of.Credit
		}
	}
	return nil
}

// words are the text of a rich message, and whether it names the bot.
func (r *rich) words(me *user) words {
	w := words{text: paragraphs(r.Blocks)}
	if me.Username != "" {
		name := regexp.MustCompile(`(?i)(^|\W)@` + regexp.QuoteMeta(me.Username) + `\b`)
		w.mentioned = name.MatchString(w.text)
	}
	return w
}

func paragraphs(blocks []block) string {
	var all []string
	for i := range blocks {
		if text := blocks[i].String(); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}

// String is a block as CommonMark. Its files are not in it.
func (b *block) String() string {
	switch b.Type {
	case "heading":
		return "**" + string(b.Text) + "**"
	case "pre":
		ticks := fence(string(b.Text), 3)
		return ticks + b.Language + "\n" + string(b.Text) + "\n" + ticks
	case "divider":
		return "---"
	case "thinking":
		return ""
	case "map":
		if b.Location != nil {
			return fmt.Sprintf("[Location: %.6f, %.6f]", b.Location.Latitude, b.Location.Longitude)
		}
	}
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(string(b.Summary))
	add(string(b.Text) + b.Expression)
	for _, item := range b.Items {
		add(strings.TrimSpace(item.Label + " " + paragraphs(item.Blocks)))
	}
	for _, row := range b.Cells {
		var cells []string
		for _, c := range row {
			cells = append(cells, string(c.Text))
		}
		add(strings.Join(cells, " | "))
	}
	inner := paragraphs(b.Blocks)
	if inner != "" && strings.HasSuffix(b.Type, "quote") {
		inner = "> " + strings.ReplaceAll(inner, "\n", "\n> ")
	}
	add(inner)
	add(string(b.Caption))
	return strings.Join(parts, "\n")
}

// maxRichFiles is how many files are taken from one rich message.
const maxRichFiles = 10

// attachments are the files of all blocks.
func (r *rich) attachments() []chat.Attachment { return filesOf(r.Blocks, nil) }

func filesOf(blocks []block, all []chat.Attachment) []chat.Attachment {
	for i := range blocks {
		b := &blocks[i]
		if b.VoiceNote != nil {
			b.Voice = b.VoiceNote
		}
		all = append(all, b.messageFiles.attachments()...)
		all = filesOf(b.Blocks, all)
		for _, item := range b.Items {
			all = filesOf(item.Blocks, all)
		}
	}
	return all[:min(len(all), maxRichFiles)]
}
