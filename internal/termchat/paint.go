package termchat

import (
	"regexp"
	"strings"
)

const (
	bold = "\x1b[1m"
	code = "\x1b[36m"
)

// paint colours Markdown and leaves every character of it where it is, so that
// what is copied from the terminal is what was written.
type paint struct{ fence bool }

var spans = regexp.MustCompile("`[^`\n]+`|\\*\\*[^*\n]+\\*\\*")

// lines colours a text of whole lines.
func (p *paint) lines(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		line := strings.TrimSuffix(l, "\n")
		b.WriteString(p.line(line) + l[len(line):])
	}
	return b.String()
}

func (p *paint) line(line string) string {
	start := strings.TrimLeft(line, " ")
	switch {
	case start == "", strings.HasPrefix(line, "\x1b"): // coloured already
		return line
	case strings.HasPrefix(start, "```"), strings.HasPrefix(start, "~~~"):
		p.fence = !p.fence
		return dim + line + normal
	case p.fence:
		return code + line + normal
	case strings.HasPrefix(line, "#") && strings.HasPrefix(strings.TrimLeft(line, "#"), " "):
		return bold + line + normal
	}
	return spans.ReplaceAllStringFunc(line, func(span string) string {
		if span[0] == '`' {
			return code + span + normal
		}
		return bold + span + normal
	})
}
