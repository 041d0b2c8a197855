package termchat

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

func TestDraftWritesEverythingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := visible(rapid.StringOf(rapid.RuneFrom([]rune("ab \n好👩‍👧é-"))).Draw(t, "text"))
		width := rapid.IntRange(20, 60).Draw(t, "width")
		d := draft{width: func() int { return width }}
		var out strings.Builder
		runes := []rune(text)
		for n := 0; n < len(runes); n += rapid.IntRange(1, 30).Draw(t, "step") {
			out.WriteString(d.live(live{Turn: "t", Busy: true, Text: string(runes[:n])}))
			if s := out.String(); s != "" && !strings.HasSuffix(s, "\n") {
				t.Fatalf("a row is not ended: %q", s)
			}
		}
		out.WriteString(d.finish(message{Turn: "t", Final: true, Text: text}))
		strip := strings.NewReplacer("\n", "", " ", "")
		if got := out.String(); strip.Replace(got) != strip.Replace(text) {
			t.Fatalf("wrote %q of %q", got, text)
		}
	})
}

func TestDraftRows(t *testing.T) {
	d := draft{width: func() int { return 20 }}
	for _, c := range []struct{ text, want string }{
		{"short", ""},
		{"short and then longer than it fits", "short and then\n"},
		{"short and then longer than it fits\nmore", "longer than it fits\n"},
		{"begins anew\nrest", "begins anew\n"},
	} {
		got := d.live(live{Turn: "t", Busy: true, Text: c.text})
		if got != c.want {
			t.Errorf("%q: wrote %q, want %q", c.text, got, c.want)
		}
		for row := range strings.Lines(got) {
			if w := uniseg.StringWidth(strings.TrimSuffix(row, "\n")); w > 20 {
				t.Errorf("row %q is %d wide", row, w)
			}
		}
	}
	if got := d.finish(message{Turn: "t", Final: true, Text: "something else"}); got != "something else" {
		t.Errorf("a final text that does not go on from the draft: wrote %q", got)
	}
}

func TestDraftTools(t *testing.T) {
	d := draft{width: func() int { return 80 }}
	l := live{Turn: "t", Busy: true, Tool: &tool{Name: "read_file\x1b[2J", State: "runs"}}
	if got := d.live(l) + d.live(l); got != dim+"· using read_file[2J…"+normal+"\n" {
		t.Errorf("wrote %q", got)
	}
}
