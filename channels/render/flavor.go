package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// flavor is how a platform's own Markdown differs from that of the others.
// All of them get flat text: every run of one style stands between its own
// marks, and no marks stand in each other, because each platform has other
// rules for what may.
type flavor struct {
	marks    []mark
	special  string              // what is escaped wherever it could mean something
	escape   func(c byte) string // how
	br       string              // a line end inside a paragraph
	inert    func(string) string // breaks up mentions
	rawCode  bool                // mentions do nothing in code
	flanking bool                // marks count only where CommonMark's flanking rules let them
	link     func(text, target string) string
	bare     func(target string) string // a link that shows its target; nil: as link
}

// mark is what stands on both sides of a style, outermost first.
type mark struct {
	style style
	sign  string
}

// inline writes spans as one paragraph.
func (f *flavor) inline(spans []span) string { return f.write(spans, false) }

// line writes spans in one line, for headings and cells.
func (f *flavor) line(spans []span, cell bool) string {
	one := make([]span, 0, len(spans))
	for _, s := range trimSpans(spans) {
		s.text = strings.ReplaceAll(s.text, "\n", " ")
		if cell && s.style&code != 0 && strings.Contains(s.text, "|") {
			s.style &^= code
		}
		one = append(one, s)
	}
	return f.write(one, cell)
}

func (f *flavor) write(spans []span, cell bool) string {
	w := flavorWriter{flavor: f, cell: cell}
	all := f.pieces(settled(spans))
	for i := 0; i < len(all); {
		target := all[i].link
		if target == "" {
			w.piece(all[i])
			i++
			continue
		}
		inner := flavorWriter{flavor: f, cell: cell}
		inner.b.WriteByte('[') // so that nothing counts as the start of a line
		text := ""
		for ; i < len(all) && all[i].link == target; i++ {
			inner.piece(all[i])
			text += all[i].text
		}
		if text == target && f.bare != nil {
			w.b.WriteString(f.bare(target))
		} else {
			w.b.WriteString(f.link(inner.b.String()[1:], target))
		}
		w.marked = false
	}
	return w.b.String()
}

type flavorWriter struct {
	*flavor
	b      strings.Builder
	cell   bool
	marked bool // the text ends with a mark
}

func (w *flavorWriter) piece(s span) {
	if s.style&code != 0 {
		text := s.text
		if !w.rawCode {
			text = w.inert(text)
		}
		w.b.WriteString(codeSpan(text))
		w.marked = false
		return
	}
	signs := ""
	for _, m := range w.marks {
		if s.style&m.style != 0 {
			signs += m.sign
		}
	}
	if signs != "" && strings.HasSuffix(w.b.String(), signs[:1]) && (w.marked || signs[0] == '~') {
		w.b.WriteString(gap) // or the two would be read as one mark, tildes even when the first is escaped
	}
	w.b.WriteString(signs)
	if signs != "" && strings.HasPrefix(s.text, signs[len(signs)-1:]) {
		w.b.WriteString(gap) // likewise
	}
	w.text(w.inert(s.text), signs == "")
	if signs != "" && strings.HasSuffix(s.text, signs[len(signs)-1:]) {
		w.b.WriteString(gap)
	}
	w.b.WriteString(reversed(signs))
	w.marked = signs != ""
}

func reversed(signs string) string {
	b := []byte(signs)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// text writes escaped text; plain says that it may stand at the start of a line.
func (w *flavorWriter) text(s string, plain bool) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.b.WriteString(w.br)
		}
		at := -1
		if plain && (i > 0 || w.b.Len() == 0 || strings.HasSuffix(w.b.String(), "\n")) {
			bare := strings.TrimLeft(line, " \t")
			w.b.WriteString(strings.Repeat("\u00a0", len(line)-len(bare))) // four spaces would be code
			line = bare
			at = startsAsBlock(line)
		}
		w.escaped(line, at)
	}
}

func (w *flavorWriter) escaped(line string, at int) {
	before := rune(0)
	for i, r := range line {
		next, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(r):])
		if next == utf8.RuneError {
			next = 0
		}
		if i == at || r < 0x80 && w.special != "" && w.means(line[i:], before, next) {
			w.b.WriteString(w.escape(byte(r)))
		} else {
			w.b.WriteRune(r)
		}
		before = r
	}
}

// means reports whether the first character of rest could be markup. before
// and next are 0 at the ends of the text.
func (w *flavorWriter) means(rest string, before, next rune) bool {
	c := rest[0]
	if c == '|' && w.cell {
		return true
	}
	if strings.IndexByte(w.special, c) < 0 {
		return false
	}
	switch c {
	case '\\':
		return !unicode.IsSpace(next) && (next >= 0x80 || !isWord(next))
	case '_':
		return !w.flanking || !isWord(before) || !isWord(next)
	case '*', '~':
		return !w.flanking || before == 0 || next == 0 || !unicode.IsSpace(before) || !unicode.IsSpace(next)
	case '|':
		return before == '|' || next == '|'
	case '&':
		return next == '#' || next < 0x80 && isWord(next)
	case '!':
		return next == 0 || next == '['
	case ':':
		return shortcode(rest)
	}
	return true
}

// shortcode reports whether text begins with :NAME:, which becomes an emoji.
func shortcode(text string) bool {
	name, _, ok := strings.Cut(text[1:min(len(text), 42)], ":")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-") == ""
}

// startsAsBlock is the offset of the character to escape so that line is not
// taken for a heading, an item, a quote, a rule or an underline, or -1.
func startsAsBlock(line string) int {
	if line == "" {
		return -1
	}
	body := strings.TrimRight(line, " \t")
	end := func(i int) bool { return i >= len(line) || line[i] == ' ' || line[i] == '\t' }
	switch c := line[0]; c {
	case '>':
		return 0
	case '#':
		if n := len(line) - len(strings.TrimLeft(line, "#")); end(n) {
			return 0
		}
	case '-', '+', '=', ':', '|':
		only := strings.Trim(body, "=") == "" || strings.Trim(body, "-:| \t") == "" && strings.Contains(body, "-")
		if only || c != '=' && c != ':' && c != '|' && end(1) || strings.HasPrefix(line, "-#") {
			return 0
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n := len(line) - len(strings.TrimLeft(line, "0123456789"))
		if n < len(line) && (line[n] == '.' || line[n] == ')') && end(n+1) {
			return n
		}
	}
	return -1
}

// codeSpan puts text between as many backticks as do not occur in it. Only one
// and two work everywhere, so other runs are broken up.
func codeSpan(text string) string {
	runs := map[int]bool{}
	for rest := text; ; {
		i := strings.IndexByte(rest, '`')
		if i < 0 {
			break
		}
		n := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
		runs[n] = true
		rest = rest[i+n:]
	}
	sign := "`"
	switch {
	case runs[1] && runs[2]:
		text = strings.ReplaceAll(text, "``", "`"+gap+"`")
		text = strings.ReplaceAll(text, "``", "`"+gap+"`")
		sign = "``"
	case runs[1]:
		sign = "``"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") && strings.TrimSpace(text) != "" {
		text = " " + text + " "
	}
	return sign + text + sign
}
