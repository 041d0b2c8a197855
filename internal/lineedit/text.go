package lineedit

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Clean drops what could steer a terminal or show a text in another order than
// it has: control characters but line breaks and tabs, and the characters that
// turn the direction of writing around. A carriage return is a line break.
func Clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r', r == '\u2028', r == '\u2029':
			return '\n'
		case r == '\n', r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, // also the controls of 8 bits
			r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', // overrides, embeddings, isolates
			r >= '\ufff9' && r <= '\ufffb':
			return -1
		}
		return r
	}, text)
}

// cells cuts a text into what a person sees as characters.
func cells(text string) []string {
	var all []string
	for state := -1; text != ""; {
		var cell string
		cell, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		all = append(all, cell)
	}
	return all
}

// width is how many columns a character takes, at most: terminals differ in
// how they show those made of several.
func width(cell string) int {
	sum := 0
	for _, r := range cell {
		sum += uniseg.StringWidth(string(r))
	}
	return max(sum, uniseg.StringWidth(cell))
}

func textWidth(text string) (sum int) {
	for _, c := range cells(text) {
		sum += width(c)
	}
	return sum
}

const tabStop = 8

// wrap cuts a text into rows of a width, between words where that is possible;
// a word that is longer than a row is left whole. Sequences for colours take
// no room. Every other control character is dropped.
func wrap(text string, width int) []string {
	var rows []string
	for line := range strings.SplitSeq(text, "\n") {
		rows = append(rows, wrapLine(line, max(width, 1))...)
	}
	return rows
}

// wrapping is a line that is being cut into rows.
type wrapping struct {
	rows  []string
	row   strings.Builder
	col   int
	word  strings.Builder // not in the row yet
	wcol  int             // its width
	limit int
}

func wrapLine(line string, limit int) []string {
	w := &wrapping{limit: limit}
	for line != "" {
		if n := colour(line); n > 0 {
			w.word.WriteString(line[:n])
			line = line[n:]
			continue
		}
		cell, rest, _, _ := uniseg.FirstGraphemeClusterInString(line, -1)
		line = rest
		switch cols := width(cell); {
		case cell == "\t":
			w.flush()
			w.space(strings.Repeat(" ", tabStop-w.col%tabStop))
		case cell == " ":
			w.flush()
			w.space(cell)
		case Clean(cell) != cell:
		default:
			wide := cols > 1 // a script that is not cut between words only
			if wide && !closes(cell) {
				w.flush()
			}
			w.word.WriteString(cell)
			w.wcol += cols
			if wide && !closes(line) {
				w.flush()
			}
		}
	}
	w.flush()
	return append(w.rows, w.row.String())
}

// closes says whether a text begins with a sign that does not begin a row.
func closes(text string) bool {
	for _, r := range text {
		return strings.ContainsRune("，。、；：！？）》」』”’…,.;:!?)", r)
	}
	return false
}

// space adds blanks; those that do not fit end the row.
func (w *wrapping) space(blanks string) {
	if w.col+len(blanks) > w.limit {
		w.newRow()
		return
	}
	w.row.WriteString(blanks)
	w.col += len(blanks)
}

// flush puts the word into the row, or into the next.
func (w *wrapping) flush() {
	if w.col > 0 && w.col+w.wcol > w.limit {
		w.newRow()
	}
	w.row.WriteString(w.word.String())
	w.col += w.wcol
	if w.wcol > w.limit { // the terminal cuts it itself
		w.col %= w.limit
	}
	w.word.Reset()
	w.wcol = 0
}

func (w *wrapping) newRow() {
	w.rows = append(w.rows, strings.TrimRight(w.row.String(), " "))
	w.row.Reset()
	w.col = 0
}

// colour is the length of the sequence for a colour that text begins with.
func colour(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case (c < '0' || c > '9') && c != ';':
			return 0
		}
	}
	return 0
}

// withoutColour drops the sequences that colour finds.
func withoutColour(text string) string {
	var b strings.Builder
	for text != "" {
		if n := colour(text); n > 0 {
			text = text[n:]
			continue
		}
		next := strings.IndexByte(text[1:], 0x1b) + 1
		if next == 0 {
			next = len(text)
		}
		b.WriteString(text[:next])
		text = text[next:]
	}
	return b.String()
}
