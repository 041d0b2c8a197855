package render

import (
	"encoding/json"
	"slices"
	"strings"
)

// feishuPost writes lines for postJSON: text in which control characters,
// which clean text cannot hold, mark what is more than text.
//
//	\x01 style \x02 target \x03 text \x04   a run of text
//	\x05 language \x06 body \x07            code
//	\x08                                    a rule
//
// A post is made of text, a, code_block and hr elements (Feishu
// im-v1/message/create_json, read 2026-11). Its md element is not used: it
// does not say how to escape.
var feishuPost = &dialect{
	inline:  postInline,
	heading: func(_ int, s []span) string { return postInline(embolden(s)) },
	code:    func(lang, body string) string { return "\x05" + lang + "\x06" + body + "\x07" },
	quote:   postQuote,
	rule:    "\x08",
}

func postInline(spans []span) string {
	var b strings.Builder
	for _, s := range settled(spans) {
		for i, line := range strings.Split(s.text, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			if line != "" {
				b.WriteString("\x01" + string(rune('0'+s.style)) + "\x02" + bracketEscaper.Replace(s.link) + "\x03" + line + "\x04")
			}
		}
	}
	return b.String()
}

// postQuote puts a bar before every line that is not code.
func postQuote(body string) string {
	var b strings.Builder
	for i, part := range strings.SplitAfter(body, "\x07") {
		text, code, _ := strings.Cut(part, "\x05")
		if i == 0 {
			b.WriteString("▏")
		}
		b.WriteString(strings.ReplaceAll(text, "\n", "\n▏"))
		if code != "" {
			b.WriteString("\x05" + code)
		}
	}
	return b.String()
}

// element is one element of a post.
type element struct {
	Tag      string   `json:"tag"`
	Text     string   `json:"text,omitempty"`
	Href     string   `json:"href,omitempty"`
	Language string   `json:"language,omitempty"`
	Style    []string `json:"style,omitempty"`
}

// postJSON reads what feishuPost wrote.
func postJSON(lines string) string {
	content := [][]element{}
	for lines != "" {
		var line string
		if i := strings.IndexAny(lines, "\n\x05"); i >= 0 && lines[i] == '\x05' {
			code, rest, _ := strings.Cut(lines[i+1:], "\x07")
			lang, body, _ := strings.Cut(code, "\x06")
			if i > 0 {
				content = append(content, postLine(lines[:i]))
			}
			content = append(content, []element{{Tag: "code_block", Language: postLanguage(lang), Text: body}})
			lines = strings.TrimPrefix(rest, "\n")
			continue
		}
		line, lines, _ = strings.Cut(lines, "\n")
		content = append(content, postLine(line))
	}
	for _, line := range content {
		for i := range line {
			line[i].Text = inert(line[i].Text)
		}
	}
	type language struct {
		Content [][]element `json:"content"`
	}
	out, err := json.Marshal(map[string]language{"zh_cn": {content}})
	if err != nil {
		panic(err) // strings always can be written
	}
	return string(out)
}

func postLine(line string) []element {
	if line == "\x08" {
		return []element{{Tag: "hr"}}
	}
	line = strings.ReplaceAll(line, "\x08", textRule) // in a quote or a list: hr has a paragraph of its own
	out := []element{}
	for line != "" {
		text, rest, found := strings.Cut(line, "\x01")
		out = appendElement(out, element{Tag: "text", Text: text})
		if !found {
			break
		}
		run, rest, _ := strings.Cut(rest, "\x04")
		how, run, _ := strings.Cut(run, "\x02")
		target, text, _ := strings.Cut(run, "\x03")
		e := element{Tag: "text", Text: text, Style: postStyles(style(how[0] - '0'))}
		if target != "" {
			e.Tag, e.Href = "a", target
		}
		out = appendElement(out, e)
		line = rest
	}
	if len(out) == 0 {
		out = append(out, element{Tag: "text", Text: " "}) // an empty paragraph
	}
	return out
}

// appendElement appends e, or adds its text to the last element when that is
// alike.
func appendElement(out []element, e element) []element {
	n := len(out)
	switch {
	case e.Text == "":
		return out
	case n > 0 && out[n-1].Href == e.Href && slices.Equal(out[n-1].Style, e.Style):
		out[n-1].Text += e.Text
		return out
	}
	return append(out, e)
}

func postStyles(s style) []string {
	var out []string
	for _, known := range [...]struct {
		style style
		name  string
	}{{bold, "bold"}, {italic, "italic"}, {strike, "lineThrough"}} {
		if s&known.style != 0 {
			out = append(out, known.name)
		}
	}
	return out
}

// postLanguages are the languages that a code_block may name.
const postLanguages = " PYTHON C CPP GO JAVA KOTLIN SWIFT PHP RUBY RUST JAVASCRIPT TYPESCRIPT BASH SHELL SQL JSON XML YAML HTML THRIFT "

func postLanguage(lang string) string {
	lang = strings.ToUpper(feishuLanguage(lang))
	if lang == "" || !strings.Contains(postLanguages, " "+lang+" ") {
		return ""
	}
	return lang
}
