// Package patch applies unified diffs as models write them: line numbers that
// have drifted and wrong counts are accepted, wrong lines are not. It is pure.
package patch

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// hunk is one piece of a diff.
type hunk struct {
	head   string   // the @@ line, for errors
	line   int      // where the old lines are said to begin, from 1; unknown without numbers
	before []string // the old lines, without their ends
	edits  []edit
	// ends is the kind of the last line that is marked to have no line end; 0
	// where none is.
	ends byte
}

const unknown = -1

// edit is one line of a hunk: kept (blank), removed (-) or added (+).
type edit struct {
	kind byte
	text string // without its end
}

var header = regexp.MustCompile(`^@@+(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)?)?(?: @@+.*)?\s*$`)

// Apply applies the unified diff to the text of the file of that name; a diff
// that says to be of another file is refused. The lines of a hunk must stand in
// text as they are, at the place that is nearest to its line number, without
// one at a single place; where that is not the case nothing is applied and the
// error says what differs. Lines that stay keep their ends (LF or CRLF); a new
// line gets that of its neighbour.
func Apply(name, text, diff string) (string, error) {
	hunks, err := parse(name, diff)
	if err != nil {
		return "", err
	}
	lines := splitLines(text)
	drift, from := 0, 0
	for i, h := range hunks {
		at, err := find(lines, h, from, drift)
		if err != nil {
			return "", fmt.Errorf("hunk %d (%s): %w", i+1, h.head, err)
		}
		if h.line != unknown {
			drift = at - h.place()
		}
		after := h.rewrite(lines, at)
		end := at + len(h.before)
		if at > 0 && len(after) > 0 && !strings.HasSuffix(lines[at-1], "\n") { // behind a last line without an end
			lines[at-1] += ending(lines, at)
		}
		lines = append(append(lines[:at:at], after...), lines[end:]...)
		from = at + len(after)
		drift += len(after) - len(h.before)
	}
	return strings.Join(lines, ""), nil
}

// place is the index of the line where a numbered hunk is said to begin.
func (h hunk) place() int {
	if len(h.before) == 0 {
		return h.line // "-N,0" adds behind line N
	}
	return h.line - 1
}

// rewrite returns what stands instead of the old lines at a place.
func (h hunk) rewrite(lines []string, at int) []string {
	var after []string
	old, last := at, at+len(h.before) == len(lines)
	for _, e := range h.edits {
		switch e.kind {
		case '-':
			old++
		case '+':
			after = append(after, e.text+ending(lines, old))
		default:
			after = append(after, lines[old])
			old++
		}
	}
	if !last {
		return after
	}
	// Models seldom write the marker for a missing newline: the end of the file
	// stays as it was unless the hunk says something of it.
	open := len(lines) > 0 && !strings.HasSuffix(lines[len(lines)-1], "\n")
	if h.ends != 0 {
		open = h.ends != '-'
	}
	for i, line := range after {
		switch bare := content(line); {
		case i == len(after)-1 && open:
			after[i] = bare
		case !strings.HasSuffix(line, "\n"):
			after[i] = bare + ending(lines, old)
		}
	}
	return after
}

// ending is the line end of the nearest line before that index, else behind it.
func ending(lines []string, at int) string {
	for i := min(at, len(lines)) - 1; i >= 0; i-- {
		if end := lines[i][len(content(lines[i])):]; end != "" {
			return end
		}
	}
	if at < len(lines) && strings.HasSuffix(lines[at], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// content is a line without its end.
func content(line string) string {
	if bare, ok := strings.CutSuffix(line, "\r\n"); ok {
		return bare
	}
	return strings.TrimSuffix(line, "\n")
}

// splitLines keeps the line ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func parse(name, diff string) ([]hunk, error) {
	var hunks []hunk
	files := 0
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(diff, "\r\n", "\n"), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "):
			if files++; files > 1 {
				return nil, fmt.Errorf("the diff is for several files; give one call for each")
			}
			if err := sameFile(name, line[4:], lines[i+1][4:]); err != nil {
				return nil, err
			}
			i++
		case strings.HasPrefix(line, "@@"):
			m := header.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("line %d of the diff, %q, is no hunk header; want @@ -12,5 +12,6 @@", i+1, line)
			}
			n, err := strconv.Atoi(m[1])
			if err != nil {
				n = unknown
			}
			hunks = append(hunks, hunk{head: strings.TrimSpace(line), line: n})
		case len(hunks) > 0:
			if err := hunks[len(hunks)-1].add(line, i); err != nil {
				return nil, err
			}
		}
	}
	if len(hunks) == 0 {
		return nil, fmt.Errorf("the diff has no hunk; want lines that begin with @@, and below them lines that begin with a blank, - or +")
	}
	return hunks, nil
}

var stamp = regexp.MustCompile(`(\t| +\d{4}-\d\d-\d\d ).*$`)

// sameFile refuses a diff whose headers both name another file. "a" and "b"
// are what tools write that know no names.
func sameFile(name string, headers ...string) error {
	var others []string
	for _, h := range headers {
		h = strings.TrimSpace(stamp.ReplaceAllString(h, ""))
		if plain, err := strconv.Unquote(h); err == nil { // as git writes 你好
			h = plain
		}
		switch base := path.Base(h); {
		case base == path.Base(name) || h == "a" || h == "b":
			return nil
		case h != "/dev/null":
			others = append(others, h)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("it is for %q, not for %q; give the path of the file that it changes", others[len(others)-1], name)
}

func (h *hunk) add(line string, number int) error {
	e := edit{kind: ' '} // an empty line is one of context whose blank was lost
	if line != "" {
		e = edit{line[0], line[1:]}
	}
	switch {
	case e.kind == '\\': // no newline at the end of the file
		if n := len(h.edits); n > 0 {
			h.ends = h.edits[n-1].kind
		}
		return nil
	case strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "index "):
		return nil
	case e.kind != ' ' && e.kind != '-' && e.kind != '+':
		return fmt.Errorf("line %d of the diff, %q, begins with none of blank, -, + and @@", number+1, line)
	}
	if e.kind != '+' {
		h.before = append(h.before, e.text)
	}
	h.edits = append(h.edits, e)
	return nil
}

// find returns the place of a hunk's old lines: the nearest to where they are
// expected, at or behind from.
func find(lines []string, h hunk, from, drift int) (int, error) {
	if len(h.before) == 0 && h.line == unknown && len(lines) > 0 {
		return 0, fmt.Errorf("only adds lines and does not say where; give a line number or lines of context")
	}
	if h.line == unknown {
		return only(lines, h, from)
	}
	want := max(from, h.place()+drift)
	if len(h.before) == 0 {
		return min(want, len(lines)), nil
	}
	last := len(lines) - len(h.before)
	for away := 0; want-away >= from || want+away <= last; away++ {
		if at := want - away; at >= from && at <= last && matches(lines, h, at) == len(h.before) {
			return at, nil
		}
		if at := want + away; away > 0 && at >= from && at <= last && matches(lines, h, at) == len(h.before) {
			return at, nil
		}
	}
	return 0, nearest(lines, h, from)
}

// only finds a hunk without numbers, which must fit one place.
func only(lines []string, h hunk, from int) (int, error) {
	const shown = 5
	var places []string
	found := 0
	for at := from; at+len(h.before) <= len(lines); at++ {
		if matches(lines, h, at) < len(h.before) {
			continue
		}
		if places = append(places, strconv.Itoa(at+1)); len(places) == 1 {
			found = at
		}
	}
	switch {
	case len(places) == 0:
		return 0, nearest(lines, h, from)
	case len(places) > 1:
		return 0, fmt.Errorf("it has no line number and fits %d places (at line %s); give a number, as in @@ -12,5 +12,6 @@, or more lines of context",
			len(places), strings.Join(places[:min(len(places), shown)], ", "))
	}
	return found, nil
}

// matches counts how many of the old lines stand at a place.
func matches(lines []string, h hunk, at int) int {
	for i, want := range h.before {
		if at+i >= len(lines) || content(lines[at+i]) != want {
			return i
		}
	}
	return len(h.before)
}

// nearest says where the hunk fits best, and which line is different there.
func nearest(lines []string, h hunk, from int) error {
	best, most := -1, 0
	for at := from; at < len(lines); at++ {
		if n := matches(lines, h, at); n > most {
			best, most = at, n
		}
	}
	if best < 0 {
		return fmt.Errorf("its first line %q is not in the file below line %d; read the file again", h.before[0], from)
	}
	got := "the end of the file"
	if best+most < len(lines) {
		got = strconv.Quote(content(lines[best+most]))
	}
	return fmt.Errorf("it fits from line %d on, but line %d is %s where the hunk has %q; read the file again", best+1, best+most+1, got, h.before[most])
}
