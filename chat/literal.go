package chat

import (
	"strings"
	"unicode/utf8"
)

// Literal writes a text as the Markdown of it: what a channel shows is the text,
// sign for sign. It is for words of persons within a message of the program, such
// as those of a reminder; what a model writes is Markdown already. Only what would
// mean something is changed.
func Literal(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		literalLine(&b, strings.TrimSuffix(line, "\r"))
	}
	return b.String()
}

func literalLine(b *strings.Builder, line string) {
	rest := strings.TrimLeft(line, " \t")
	if rest != line { // blanks at the beginning of a line would vanish, or make it code
		b.WriteString(map[byte]string{' ': "&#32;", '\t': "&#9;"}[line[0]] + line[1:len(line)-len(rest)])
	}
	first := len(line) - len(rest)
	mark := block(rest)
	for i := first; i < len(line); i++ {
		if n := address(line, i); n > 0 { // of these the channels make links as they stand
			b.WriteString(line[i : i+n])
			i += n - 1
			continue
		}
		if i == first+mark-1 || means(line, i) {
			b.WriteByte('\\')
		}
		b.WriteByte(line[i])
	}
}

// block is how many bytes the sign takes with which a line begins a heading, a
// quotation, a list and the like; 0: none.
func block(line string) int {
	word, _, _ := strings.Cut(line, " ")
	number := strings.TrimLeft(word, "0123456789")
	switch {
	case word == "":
	case strings.Trim(word, "#") == "", word == "-", word == "+", word[0] == '>', strings.Trim(line, "= \t") == "", strings.Trim(line, "- \t") == "":
		return 1
	case number != word && (number == "." || number == ")"):
		return len(word)
	}
	return 0
}

// address is how long the address of a page is that begins at a place, 0 for none.
func address(line string, at int) int {
	if at > 0 && strings.IndexByte(" \t(", line[at-1]) < 0 {
		return 0
	}
	for _, scheme := range []string{"https://", "http://"} {
		if strings.HasPrefix(line[at:], scheme) {
			if end := strings.IndexAny(line[at:], " \t<>\"`*|[]()\\"); end >= 0 {
				return end
			}
			return len(line) - at
		}
	}
	return 0
}

// means says whether the sign at a place means something to Markdown.
func means(line string, at int) bool {
	var before, after byte
	if at > 0 {
		before = line[at-1]
	}
	if at+1 < len(line) {
		after = line[at+1]
	}
	switch c := line[at]; c {
	case '*', '`', '[', '|':
		return true
	case '_': // within a word it is one of its letters
		return !wordByte(before) || !wordByte(after)
	case '~':
		return before == '~' || after == '~'
	case '<':
		return after == '/' || after == '!' || after == '?' || wordByte(after)
	case '&':
		return strings.IndexByte(line[at:], ';') > 0
	case '\\':
		return after == 0 || punct(after)
	}
	return false
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func punct(c byte) bool { return c > ' ' && c < utf8.RuneSelf-1 && !wordByte(c) }

// Unliteral takes back what Literal has done, for places that show no Markdown:
// buttons, terminals of operators.
func Unliteral(text string) string {
	text = strings.NewReplacer("&#32;", " ", "&#9;", "\t").Replace(text)
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && punct(text[i+1]) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
