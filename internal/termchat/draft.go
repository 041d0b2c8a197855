package termchat

import (
	"strings"

	"github.com/rivo/uniseg"
)

// draft writes a reply while it grows. Above a line that is being typed only
// whole rows can be written without garbage, so it holds back the row that is
// not full yet, as the rest. What was written is a prefix of the text; the final message
// then only adds the rest.
type draft struct {
	width func() int
	turn  string
	text  string // written so far
	rest  string // not written yet: a row that is not full
	doing string // the last tool or progress line
}

// live returns what to write for a new state.
func (d *draft) live(l live) string {
	if l.Turn != d.turn {
		*d = draft{width: d.width, turn: l.Turn}
	}
	var out strings.Builder
	doing := visible(l.Line)
	if l.Tool != nil && l.Tool.State == "runs" {
		doing = "using " + visible(l.Tool.Name) + "…"
	}
	if doing != "" && doing != d.doing && l.Busy {
		out.WriteString(dim + "· " + doing + normal + "\n")
	}
	d.doing = doing
	text := visible(l.Text)
	if d.rest = ""; text == "" {
		return out.String()
	}
	if !strings.HasPrefix(text, d.text) {
		d.text = "" // it begins anew, after a tool
	}
	for rows := d.rows(text[len(d.text):]); rows != ""; rows = d.rows(text[len(d.text):]) {
		d.text = text[:len(d.text)+len(rows)]
		out.WriteString(ended(rows))
	}
	d.rest = text[len(d.text):]
	return out.String()
}

// rows is the part of text that fills whole rows: up to the last line break,
// or to the last space before the edge when a line is longer than the
// terminal is wide.
func (d *draft) rows(text string) string {
	done := strings.LastIndexByte(text, '\n') + 1
	width := d.width()
	if width < 20 {
		return text[:done]
	}
	col, space := 0, 0
	rest, state := text[done:], -1
	for at := 0; at < len(rest); {
		cluster, _, w, next := uniseg.FirstGraphemeClusterInString(rest[at:], state)
		state = next
		if col += w; col > width {
			if space == 0 {
				space = at // one long word, or a script without spaces
			}
			return text[:done+space]
		}
		at += len(cluster)
		if cluster == " " {
			space = at
		}
	}
	return text[:done]
}

// ended makes sure that text ends its line.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return strings.TrimSuffix(text, " ") + "\n"
}

// finish returns what is left to write of a message: all of it, or the rest
// when its draft stands there already.
func (d *draft) finish(m message) string {
	text := visible(m.Text)
	if !m.Final || m.Turn != d.turn {
		return text
	}
	written := d.text
	d.text, d.rest = "", ""
	if rest, ok := strings.CutPrefix(text, written); ok {
		return rest
	}
	return text
}
