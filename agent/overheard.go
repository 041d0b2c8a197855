package agent

import (
	"strings"

	"magpie/agent/session"
	"magpie/chat"
)

const labelRoom = "[Said in this group since you were last addressed, to others than you, oldest first:]\n"

// overheardText writes what was said in the group before, each message in a
// fence of its own, so that none can speak as another.
func (t *turn) overheardText(talk []chat.Overheard) string {
	if len(talk) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(labelRoom)
	for _, o := range talk {
		b.WriteString(`<overheard at="` + o.At.In(t.zone()).Format("2006-01-02 15:04") + `"`)
		if from := clean(nameOf(o.From)); from != "" {
			b.WriteString(` from="` + from + `"`)
		}
		if id := clean(o.From.ID); id != "" {
			b.WriteString(` id="` + id + `"`)
		}
		b.WriteString(">\n" + harmless(heard(o)) + "\n</overheard>\n")
	}
	return b.String()
}

// heard is what somebody has said, with what came along, or done.
func heard(o chat.Overheard) string {
	var lines []string
	if !blank(o.Text) {
		lines = append(lines, session.Shorten(o.Text, maxQuote))
	}
	for _, a := range o.Files {
		what := string(a.Kind)
		switch {
		case spoken(a):
			lines = append(lines, session.Shorten(a.Text, maxQuote))
		case a.Text != "":
			what += " " + clean(a.Text)
		}
		if name := clean(a.Name); name != "" {
			what += " " + name
		}
		lines = append(lines, "["+what+"]")
	}
	switch o.Happening {
	case chat.Joined:
		lines = append(lines, "[has joined the group]")
	case chat.Left:
		lines = append(lines, "[has left the group]")
	}
	return strings.Join(lines, "\n")
}
