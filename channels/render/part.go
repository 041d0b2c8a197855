package render

import "strings"

// Trailing spaces, which nobody sees, tell Join what was added at a seam.
const (
	joinLines  = " "  // between two lines of code, or two rows of a table
	joinInside = "  " // inside a line of code or of a quote
)

// part is the text from one seam to the next with everything it needs to
// stand alone.
func (l *layout) part(from, to int) string {
	start, inside := l.opening(from)
	text, mark := l.ending(start+l.src[from:to], to)
	c := l.containerAt(from)
	switch {
	case c == nil || c.code:
	case to <= c.end:
		text = outdent(text, c.quote, inside)
	default:
		n := min(len(start)+c.end-from, len(text))
		text = outdent(text[:n], c.quote, inside) + text[n:]
	}
	return text + mark
}

// ending closes text, which the cut at to ends, and gives the mark for Join.
func (l *layout) ending(text string, to int) (closed, mark string) {
	lineCut := l.atLineStart(to)
	r := l.regionAt(to)
	switch {
	case r != nil && !r.table && lineCut:
		return strings.TrimSuffix(text, "\n") + r.shut, joinLines
	case r != nil && !r.table:
		return text + r.shut, joinInside
	}
	text = strings.TrimRight(text, " \t\n")
	c := l.containerAt(to)
	switch {
	case to >= len(l.src):
	case r != nil && lineCut:
		mark = joinLines
	case c != nil && c.quote && !l.atLineStart(l.skip(to)):
		mark = joinInside
	}
	return text, mark
}

// opening is what must stand before the text at from. inside says that the
// part then begins in the middle of a line.
func (l *layout) opening(from int) (start string, inside bool) {
	inside = !l.atLineStart(from)
	if r := l.regionAt(from); r != nil {
		switch {
		case !inside:
			return r.open, false
		case !r.table:
			return r.open + r.prefix, false // begins with the line of the fence
		}
	}
	c := l.containerAt(from)
	switch {
	case c == nil || !inside:
	case c.quote:
		start = "> "
	case c.code:
		start = "    "
	}
	return start, inside
}

// outdent moves what is left of a cut list item to the left, so that it is not
// taken for indented code. It ends where the item ends.
func outdent(text string, quote, inside bool) string {
	n := firstIndent(text, quote, inside)
	if n == 0 {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		prefix, rest := quotePrefix(line, quote)
		body := strings.TrimLeft(rest, " ")
		if indent := len(rest) - len(body); indent >= n {
			lines[i] = prefix + rest[n:]
			continue
		}
		if strings.TrimSpace(body) != "" && (i > 0 || !inside) {
			break
		}
	}
	return strings.Join(lines, "")
}

// firstIndent is the indentation of the first line, or of the second when the
// first starts in the middle.
func firstIndent(text string, quote, inside bool) int {
	if inside {
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimLeft(text, "\n")
	}
	_, rest := quotePrefix(text, quote)
	return len(rest) - len(strings.TrimLeft(rest, " "))
}

func quotePrefix(line string, quote bool) (prefix, rest string) {
	trimmed := strings.TrimLeft(line, " ")
	if !quote || !strings.HasPrefix(trimmed, ">") {
		return "", line
	}
	n := len(line) - len(trimmed) + 1
	if strings.HasPrefix(line[n:], " ") {
		n++
	}
	return line[:n], line[n:]
}

// skip moves a seam over the white space that belongs to neither part.
func (l *layout) skip(i int) int {
	if l.fenced(i) {
		return i
	}
	for i < len(l.src) {
		if l.atLineStart(i) {
			end := l.lineEnd(i)
			if strings.TrimSpace(l.src[i:end]) != "" {
				return i
			}
			i = end
			continue
		}
		if c := l.src[i]; c != ' ' && c != '\t' && c != '\n' {
			return i
		}
		i++
	}
	return i
}

// Join puts the parts that Split made together again. White space at the seams
// may differ from the original: a seam becomes an empty line, except in code
// and tables, where it is restored.
func Join(parts []string) string {
	var b strings.Builder
	for i, p := range parts {
		mark := seam(parts, i-1)
		switch {
		case i == 0:
		case mark.code && mark.inside:
			opening, rest, _ := strings.Cut(p, "\n")
			prefix := opening[:len(opening)-len(strings.TrimLeft(opening, " >\t"))]
			p = strings.TrimPrefix(rest, prefix)
		case mark.code:
			_, p, _ = strings.Cut(p, "\n")
			b.WriteByte('\n')
		case mark.table:
			_, p, _ = strings.Cut(p, "\n")
			_, p, _ = strings.Cut(p, "\n")
			b.WriteByte('\n')
		case mark.inside:
			b.WriteByte('\n')
			p = strings.TrimPrefix(p, "> ")
		default:
			b.WriteString("\n\n")
		}
		if seam(parts, i).code {
			p = p[:max(0, strings.LastIndexByte(p, '\n'))]
		}
		b.WriteString(strings.TrimRight(p, trailing(parts, i)))
	}
	return b.String()
}

// trailing is the white space that may go from the end of part i.
func trailing(parts []string, i int) string {
	if seam(parts, i).code {
		return ""
	}
	return " "
}

type seamMark struct {
	code, table, inside bool
}

// seam reads the mark at the end of part i.
func seam(parts []string, i int) (m seamMark) {
	if i < 0 || i >= len(parts)-1 || !strings.HasSuffix(parts[i], " ") {
		return m
	}
	p := parts[i]
	m.inside = strings.HasSuffix(p, joinInside)
	last := strings.TrimRight(p[strings.LastIndexByte(p, '\n')+1:], " ")
	fence := strings.TrimLeft(last, " >\t")
	m.code = len(fence) >= 3 && (strings.Trim(fence, "`") == "" || strings.Trim(fence, "~") == "")
	m.table = !m.code && !m.inside
	return m
}
