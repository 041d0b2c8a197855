package render

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// feishuCard writes the Markdown of a card's markdown element, JSON 2.0
// (open.feishu.cn card-json-v2 rich-text, read 2026-11): CommonMark without
// HTML blocks, with tables, some tags of its own and :NAME: emoji; characters
// are escaped as numeric references; images are keys of uploads, so pictures
// are shown as links; code stands at the start of the line.
var feishuCard = &dialect{
	inline:  feishuFlavor.inline,
	heading: func(level int, s []span) string { return headings(feishuFlavor, 6, level, s) },
	code:    feishuFence,
	quote:   quoted,
	rule:    "---",
	table:   func(g grid) string { return pipes(feishuFlavor, g) },
	tables:  feishuTables,
	bullet:  "- ",
	indent:  4,
}

// feishuTables is how many tables one markdown element takes (same page); with
// more the card is refused (230099, 11310).
const feishuTables = 4

var feishuFlavor = &flavor{
	marks:    []mark{{bold, "**"}, {italic, "*"}, {strike, "~~"}},
	special:  "\\*_~`<[]&!:$",
	escape:   entity,
	br:       "\n",
	inert:    inert,
	flanking: true,
	link:     func(text, target string) string { return "[" + text + "](" + linkEscaper.Replace(target) + ")" },
}

func entity(c byte) string { return "&#" + strconv.Itoa(int(c)) + ";" }

// halfEntity escapes with backslashes, but what HTML would read by references:
// a client that knows only one of the two still shows no tag.
func halfEntity(c byte) string {
	switch c {
	case '<':
		return "&lt;"
	case '&':
		return "&amp;"
	}
	return `\` + string(rune(c))
}

// feishuLanguage is what Feishu calls a language.
func feishuLanguage(lang string) string {
	switch lang = strings.ToLower(lang); lang {
	case "js", "jsx":
		return "javascript"
	case "ts", "tsx":
		return "typescript"
	case "py":
		return "python"
	case "sh", "zsh", "console":
		return "shell"
	case "golang":
		return "go"
	case "c++", "cc":
		return "cpp"
	case "c#", "cs", "csharp":
		return "c_sharp"
	case "yml":
		return "yaml"
	case "md":
		return "markdown"
	case "rb":
		return "ruby"
	case "rs":
		return "rust"
	case "dockerfile":
		return "docker_file"
	}
	return lang
}

// feishuFence writes code between more backticks than there are in it.
func feishuFence(lang, body string) string {
	sign := "```"
	for strings.Contains(body, sign) {
		sign += "`"
	}
	return sign + strings.Map(languageRune, feishuLanguage(lang)) + "\n" + inert(body) + "\n" + sign
}

// Tables counts the tables in md. Where a platform takes fewer tables in a
// message than FeishuCard writes, let each weigh its share of the limit in
// what Split measures.
func Tables(md string) int {
	n := 0
	_ = ast.Walk(parse([]byte(clean(md))), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && node.Kind() == extast.KindTable {
			n++
		}
		return ast.WalkContinue, nil
	})
	return n
}
