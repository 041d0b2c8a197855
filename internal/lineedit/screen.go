package lineedit

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// screen draws the last rows of a terminal: what is in the making, and below
// it the line being typed. What is printed scrolls away above them. Nothing is
// asked of the terminal but to move the cursor up, to erase and to cut rows at
// its edge.
type screen struct {
	out  io.Writer
	size func() (columns, rows int)

	live    string // in the making
	unshown string // printed while the terminal was given back

	rows   []string // as they were drawn last
	at     int      // the row with the cursor
	before string   // what stands in it before the cursor
	breaks bool     // the terminal is known to break rows that do not fit any more
	asked  bool     // where the cursor is, after a change of size
}

const (
	syncOn    = "\x1b[?2026h" // show what follows at once
	syncOff   = "\x1b[?2026l"
	eraseDown = "\x1b[J"
	askCursor = "\x1b[6n"
)

// draw prints a text above and draws the rows anew.
func (s *screen) draw(above string, live []string, v view) {
	var b strings.Builder
	b.WriteString(syncOn)
	s.back(&b)
	b.WriteString(above)
	_, height := s.size()
	v = v.within(height - 1)
	live = live[max(0, len(live)-(height-1-len(v.rows))):]
	s.rows = append(append([]string{}, live...), v.rows...)
	s.at, s.before, s.asked = len(live)+v.at, v.before, false
	b.WriteString(strings.Join(s.rows, "\n"))
	// The row is written once more up to the cursor, which so stands right also
	// where the terminal counts the width of a character in its own way.
	up(&b, len(s.rows)-1-s.at)
	b.WriteString("\r" + v.before + syncOff)
	s.write(b.String())
}

// erase takes the rows away; the cursor stands where they began.
func (s *screen) erase() {
	var b strings.Builder
	s.back(&b)
	s.rows, s.at, s.before = nil, 0, ""
	s.write(b.String())
}

// forget is for rows that are gone, or that somebody else has written below.
func (s *screen) forget() { s.rows, s.at, s.before, s.asked = nil, 0, "", false }

func (s *screen) back(b *strings.Builder) {
	up(b, s.at)
	b.WriteString("\r" + eraseDown)
}

func up(b *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(b, "\x1b[%dA", n)
	}
}

func (s *screen) write(text string) {
	_, _ = io.WriteString(s.out, text) // a terminal that is gone ends the reading as well
}

// resized reports whether the rows can be drawn anew at once after a change of
// the size. When one of them does not fit any more, some terminals have broken
// it into several and some have cut it off; the column in which the cursor
// stands tells which, and so it is asked for. Where it tells nothing, because
// it did not have to move, what the terminal is known for counts; a wrong guess
// leaves a row too many, but never takes one away that is not ours.
func (s *screen) resized() bool {
	columns, _ := s.size()
	for _, row := range s.rows {
		if textWidth(row) > columns {
			s.asked = true
			s.write(askCursor)
			return false
		}
	}
	return true
}

// cursor takes the answer, if one is waited for.
func (s *screen) cursor(col int) {
	if !s.asked {
		return
	}
	s.asked = false
	columns, _ := s.size()
	was := textWidth(s.before)
	if was >= columns && (col == columns-1 || col != was%columns) || was < columns && !s.breaks {
		return // cut off
	}
	at := broken(s.before, columns) - 1
	for _, row := range s.rows[:s.at] {
		at += broken(row, columns)
	}
	s.at = at
}

// breaksRows names terminals that are known to, by what they set.
func breaksRows() bool {
	return slices.ContainsFunc([]string{
		"TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID", "WT_SESSION", "TERM_PROGRAM",
	}, func(name string) bool { return os.Getenv(name) != "" })
}

// broken is how many rows of a width a row takes that a terminal has broken.
func broken(row string, columns int) int {
	n, col := 1, 0
	for _, c := range cells(row) {
		if w := width(c); col+w > columns {
			n, col = n+1, w
		} else {
			col += w
		}
	}
	return n
}
