package approval

import (
	"fmt"
	"strings"
	"unicode"

	"magpie/tools"
)

// The bounds of what a question shows, in runes: of all parts, of each but the
// first, and of the first whatever else there is.
const (
	maxShown = 1200
	maxOther = 400
	minFirst = 600
	maxParts = 12
)

// brief writes parts as a question shows them. whole is false where something
// had to be left out, veiled true where a secret is hidden.
func (d *Desk) brief(parts []tools.Part, lang string) (text string, whole, veiled bool) {
	clear := make([]tools.Part, len(parts))
	others := 0
	for i, p := range parts {
		safe := d.opt.Redact(p.Text)
		veiled = veiled || safe != p.Text
		clear[i] = tools.Part{Name: p.Name, Text: visible(safe, lang)}
		if i > 0 {
			others += min(len([]rune(clear[i].Text)), maxOther)
		}
	}
	left, whole := maxShown, true
	rest := max(0, len(clear)-maxParts)
	clear = clear[:len(clear)-rest]
	for i, p := range clear {
		room := min(maxOther, max(left, maxOther/4))
		if i == 0 {
			room = max(minFirst, maxShown-others)
		}
		cut := middle(p.Text, room, lang)
		whole = whole && cut == p.Text
		left -= min(left, len([]rune(cut)))
		clear[i].Text = cut
	}
	text = listed(clear, lang)
	if rest > 0 {
		text += fmt.Sprintf(pick(lang, "\n[⚠ %d more arguments are not shown here]", "\n[⚠ 还有 %d 个参数未显示]"), rest)
	}
	return text, whole && rest == 0, veiled
}

// summary is a call in one line.
func (d *Desk) summary(q *tools.Question, lang string) string {
	const most, each = 600, 300
	var all []string
	for i, p := range q.Parts {
		text := middle(visible(strings.Join(strings.Fields(d.opt.Redact(p.Text)), " "), lang), each, lang)
		if i > 0 || p.Name != "command" && len(q.Parts) > 1 {
			text = label(p.Name, lang) + ": " + text
		}
		all = append(all, text)
	}
	return middle(strings.Join(all, "; "), most, lang)
}

func heading(tool, id string) string { return "`" + tool + "` · " + id }

// listed writes parts one below the other. What is a command goes without
// saying.
func listed(parts []tools.Part, lang string) string {
	var all []string
	for i, p := range parts {
		text := visible(p.Text, lang)
		name := label(p.Name, lang)
		switch {
		case p.Name == tools.PartFolder && !strings.ContainsAny(text, "`\n"):
			all = append(all, name+": `"+text+"`")
		case p.Name == tools.PartChange && p.Text == "=":
			all = append(all, name+": "+pick(lang, "none, it holds this already", "无，内容已相同"))
		case i == 0 && (p.Name == "command" || p.Name == "" || len(parts) == 1):
			all = append(all, fenced(text))
		default:
			all = append(all, name+":\n"+fenced(text))
		}
	}
	return strings.Join(all, "\n")
}

// label names a part.
func label(name, lang string) string {
	switch name {
	case tools.PartFolder:
		return pick(lang, "In the folder", "工作目录")
	case tools.PartEnv:
		return pick(lang, "With these variables", "环境变量")
	case tools.PartChange:
		return pick(lang, "Change", "改动")
	case tools.PartRemoved:
		return pick(lang, "Deletes", "删除")
	case tools.PartMoved:
		return pick(lang, "Moves", "移动")
	case tools.PartBytes:
		return pick(lang, "No text", "非文本内容")
	}
	return "`" + strings.Map(func(c rune) rune {
		if c == '`' || unicode.IsControl(c) {
			return -1
		}
		return c
	}, name) + "`"
}

// fenced puts text into a code fence longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// Blanks are counted where there are more of them than texts need: what they
// would push out of sight is to be seen.
const (
	mostBlanks = 40 // in a line
	mostEmpty  = 3  // empty lines
)

// visible writes a text so that the one who decides is not deceived: characters
// that show nothing or turn others around are written by their numbers, and long
// runs of blanks are counted.
func visible(text, lang string) string {
	var b strings.Builder
	gap := make([]rune, 0, mostBlanks) // blanks and line ends that are not written yet
	flush := func() {
		b.WriteString(blanks(gap, lang))
		gap = gap[:0]
	}
	for _, c := range strings.ToValidUTF8(text, "\uFFFD") {
		if c == ' ' || c == '\t' || c == '\n' || c == '\u3000' {
			gap = append(gap, c)
			continue
		}
		flush()
		if hides(c) {
			fmt.Fprintf(&b, "<%U>", c)
			continue
		}
		b.WriteRune(c)
	}
	flush()
	return b.String()
}

// blanks writes a run of blanks and line ends, counted where it is long.
func blanks(gap []rune, lang string) string {
	lines := strings.Split(string(gap), "\n")
	if empty := len(lines) - 2; empty > mostEmpty {
		note := fmt.Sprintf(pick(lang, "[⚠ %d empty lines]", "[⚠ %d 个空行]"), empty)
		lines = []string{lines[0], note, lines[len(lines)-1]}
	}
	for i, line := range lines {
		if n := len([]rune(line)); n > mostBlanks && strings.TrimSpace(line) == "" {
			lines[i] = fmt.Sprintf(pick(lang, "[⚠ %d blanks]", "[⚠ %d 个空白]"), n)
		}
	}
	return strings.Join(lines, "\n")
}

// hides says whether a character shows nothing, looks like a plain blank, or
// changes how its neighbours are shown.
func hides(c rune) bool {
	switch {
	case unicode.IsControl(c), unicode.Is(unicode.Cf, c), unicode.IsSpace(c), unicode.Is(unicode.Z, c):
		return true
	case unicode.Is(unicode.Variation_Selector, c), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c):
		return true
	case c == '\u2800': // a braille pattern without dots
		return true
	}
	return unicode.Is(unicode.Co, c)
}

// middle leaves out the middle of a text that is longer than n runes, and counts
// it.
func middle(text string, n int, lang string) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	head, tail := n*2/3, n/3
	left := fmt.Sprintf(pick(lang, "[⚠ %d characters are not shown here]", "[⚠ 此处有 %d 个字符未显示]"), len(r)-head-tail)
	return string(r[:head]) + "\n" + left + "\n" + string(r[len(r)-tail:])
}
