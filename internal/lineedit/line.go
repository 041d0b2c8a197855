package lineedit

import (
	"slices"
	"strings"
	"unicode"
)

// line is the text being typed, which may have several lines, and where the
// cursor stands in it.
type line struct {
	cells []string
	pos   int
	cut   []string
}

func (l *line) text() string { return strings.Join(l.cells, "") }

func (l *line) set(text string) {
	l.cells = cells(text)
	l.pos = len(l.cells)
}

// insert puts a text before the cursor. It can belong to the character before,
// as accents do.
func (l *line) insert(text string) {
	from := l.pos
	if from > 0 && l.cells[from-1] != "\n" {
		from--
		text = l.cells[from] + text
	}
	added := cells(text)
	l.cells = slices.Replace(l.cells, from, l.pos, added...)
	l.pos = from + len(added)
}

// begin and end are those of the line in which the cursor stands.
func (l *line) begin() int {
	for i := l.pos; i > 0; i-- {
		if l.cells[i-1] == "\n" {
			return i
		}
	}
	return 0
}

func (l *line) end() int {
	if i := slices.Index(l.cells[l.pos:], "\n"); i >= 0 {
		return l.pos + i
	}
	return len(l.cells)
}

func letter(cell string) bool {
	for _, r := range cell {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
	}
	return false
}

func (l *line) wordLeft() int {
	i := l.pos
	for i > 0 && !letter(l.cells[i-1]) {
		i--
	}
	for i > 0 && letter(l.cells[i-1]) {
		i--
	}
	return i
}

func (l *line) wordRight() int {
	i := l.pos
	for i < len(l.cells) && !letter(l.cells[i]) {
		i++
	}
	for i < len(l.cells) && letter(l.cells[i]) {
		i++
	}
	return i
}

// remove takes out what stands from a to b, and keeps it when it is cut.
func (l *line) remove(a, b int, cut bool) {
	a, b = max(a, 0), min(b, len(l.cells))
	if a >= b {
		return
	}
	if cut {
		l.cut = slices.Clone(l.cells[a:b])
	}
	l.cells = slices.Delete(l.cells, a, b)
	l.pos = a
}

// vertical moves the cursor a line up or down, or reports that there is none.
func (l *line) vertical(down bool) bool {
	col := l.pos - l.begin()
	if down {
		end := l.end()
		if end == len(l.cells) {
			return false
		}
		l.pos = end + 1
	} else {
		begin := l.begin()
		if begin == 0 {
			return false
		}
		l.pos = begin - 1
		l.pos = l.begin()
	}
	l.pos = min(l.pos+col, l.end())
	return true
}

// press changes the line as a key wants, or reports that the key is not for it.
func (l *line) press(s stroke) bool {
	switch s.key {
	case keyText:
		l.insert(s.text)
	case keyNewline:
		l.insert("\n")
	case keyBack:
		l.remove(l.pos-1, l.pos, false)
	case keyDelete:
		l.remove(l.pos, l.pos+1, false)
	case keyCutWord:
		l.remove(l.wordLeft(), l.pos, true)
	case keyCutWordRight:
		l.remove(l.pos, l.wordRight(), true)
	case keyCutBefore:
		l.remove(l.begin(), l.pos, true)
	case keyCutAfter:
		l.remove(l.pos, l.end(), true)
	case keyPaste:
		l.insert(strings.Join(l.cut, ""))
	case keyUp, keyDown:
		return l.vertical(s.key == keyDown)
	default:
		return l.move(s.key)
	}
	return true
}

func (l *line) move(k key) bool {
	switch k {
	case keyLeft:
		l.pos = max(l.pos-1, 0)
	case keyRight:
		l.pos = min(l.pos+1, len(l.cells))
	case keyHome:
		l.pos = l.begin()
	case keyEnd:
		l.pos = l.end()
	case keyWordLeft:
		l.pos = l.wordLeft()
	case keyWordRight:
		l.pos = l.wordRight()
	default:
		return false
	}
	return true
}

// view is the line as rows of a terminal.
type view struct {
	rows   []string
	at     int    // the row with the cursor
	before string // what stands in that row before the cursor
}

// What stands before the rows.
const (
	Prompt = "› " // before what is typed
	More   = "… " // before each further line of it
	goesOn = "  " // before a row that goes on
)

// view cuts the line into rows that leave the last column free, where the
// cursor stands after a full row.
func (l *line) view(columns int) view {
	v := view{}
	limit := max(columns-1, len(goesOn)+2)
	row, col := Prompt, len(goesOn)
	begin := func(mark string) {
		v.rows = append(v.rows, row)
		row, col = mark, len(goesOn) // all are as wide
	}
	for i, c := range l.cells {
		shown, w := c, width(c)
		if c == "\t" {
			shown, w = "    ", 4
		}
		if c != "\n" && col+w > limit {
			begin(goesOn)
		}
		if i == l.pos {
			v.at, v.before = len(v.rows), row
		}
		if c == "\n" {
			begin(More)
			continue
		}
		row, col = row+shown, col+w
	}
	if l.pos == len(l.cells) {
		v.at, v.before = len(v.rows), row
	}
	v.rows = append(v.rows, row)
	return v
}

// within cuts a view down to a height, around the cursor.
func (v view) within(height int) view {
	height = max(height, 1)
	if len(v.rows) <= height {
		return v
	}
	from := min(max(v.at-height/2, 0), len(v.rows)-height)
	v.rows, v.at = v.rows[from:from+height], v.at-from
	return v
}
