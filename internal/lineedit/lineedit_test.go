package lineedit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// typed is what a line holds after a terminal has sent bytes, with | where the
// cursor stands.
func typed(pieces ...string) string {
	var d decoder
	l := &line{}
	for _, p := range pieces {
		for _, s := range d.feed([]byte(p)) {
			l.press(s)
		}
	}
	return strings.Join(l.cells[:l.pos], "") + "|" + strings.Join(l.cells[l.pos:], "")
}

func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"ab\x1b[Dc":                              "ac|b",
		"ab\x1bODc":                              "ac|b",
		"ab\x01c\x05d":                           "c" + "abd|",
		"ab\x1b[Hc\x1b[Fd":                       "cabd|",
		"ab\x1b[1~c\x1b[4~d":                     "cabd|",
		"ab\x1bOHc\x1bOFd":                       "cabd|",
		"one two\x1b[1;5Dx":                      "one x|two",
		"one two\x1bb\x1bbx\x1bfy":               "xoney| two",
		"one two\x17":                            "one |",
		"one two\x1b\x7f":                        "one |",
		"one two\x01\x1bd":                       "| two",
		"one\x02\x02\x0b":                        "o|",
		"one\x02\x15":                            "|e",
		"one two\x17\x19\x19":                    "one twotwo|",
		"abc\x1b[D\x1b[3~":                       "ab|",
		"a\x1b\rb":                               "a\nb|",
		"a\x1b[13;2ub":                           "a\nb|",
		"a\x1b[27;2;13~b":                        "a\nb|",
		"one\x1b\rlonger\x1b[A!":                 "one!|\nlonger",
		"longer\x1b\rone\x1b[D\x1b[A!":           "lo!|nger\none",
		"a\x1b[Ab":                               "ab|",
		"好e\u0301👩‍👧\x1b[D\x1b[D\x7f":            "|e\u0301👩‍👧",
		"a\x1b[99;99;99zb":                       "ab|",
		"a\x1b[200~b\r\nc\rd\ne\x1b[201~f":       "ab\nc\nd\nef|",
		"\x1b[200~a\x1b[Ab\x1b]0;x\x07\x1b[201~": "a[Ab]0;x|",
		"\x1b[200~\u202eab\u0085\x1b[201~":       "ab|",
	} {
		if got := typed(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		var pieces []string
		for i := range len(in) {
			pieces = append(pieces, in[i:i+1])
		}
		if got := typed(pieces...); got != want && !strings.Contains(in, "\u0301") && !strings.Contains(in, "\u200d") {
			t.Errorf("%q byte by byte: %q, want %q", in, got, want)
		}
	}
}

// However a terminal cuts what it sends, it means the same.
func TestKeysAreCutAnywhere(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "好", "🇨🇳", "\x1b[A", "\x1b[D", "\x1b[1;5C", "\x1b[3~", "\x7f", "\x17", "\x1b\r", "\x1bOH", "\x19",
		"\x1b[200~x\r\ny\x1b[z\r\x1b[201~", "\x1b[200~\x1b[201~", "\x15",
	})
	rapid.Check(t, func(t *rapid.T) {
		all := strings.Join(rapid.SliceOf(piece).Draw(t, "sent"), "")
		at := rapid.IntRange(0, len(all)).Draw(t, "cut")
		if a, b := typed(all), typed(all[:at], all[at:]); a != b {
			t.Errorf("%q is %q, cut at %d %q", all, a, at, b)
		}
	})
}

func TestClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		clean := Clean(text)
		if strings.ContainsFunc(clean, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
		}) || Clean(clean) != clean {
			t.Errorf("%q is cleaned to %q", text, clean)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 7, "one two|three"},
		{"one two three", 8, "one two|three"},
		{"one\n\ntwo", 80, "one||two"},
		{"a-word-that-is-longer than it", 10, "a-word-that-is-longer than it"},
		{"see a-word-that-is-longer", 10, "see|a-word-that-is-longer"},
		{"中文没有空格", 5, "中文|没有|空格"},
		{"中文，没有", 5, "中|文，|没有"},
		{"中文abc", 5, "中文|abc"},
		{"a\tb", 80, "a       b"},
		{"\x1b[2mone two\x1b[0m", 7, "\x1b[2mone two\x1b[0m"},
		{"\x1b[2Jx\x07\u202ey\x1b]0;t\x1b[1", 80, "[2Jxy]0;t[1"},
		{"", 10, ""},
	} {
		if got := strings.Join(wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab, 好。👩\u0301\x1b[1m\n\t"))).Draw(t, "text")
		columns := rapid.IntRange(1, 30).Draw(t, "columns")
		blank := strings.NewReplacer(" ", "", "\t", "", "\n", "")
		if got, want := blank.Replace(strings.Join(wrap(text, columns), "")), blank.Replace(shownOf(text)); got != want {
			t.Errorf("%q in %d columns became %q", want, columns, got)
		}
	})
}

// shownOf is a text without what wrap drops.
func shownOf(text string) string {
	var b strings.Builder
	for text != "" {
		n := max(colour(text), 1)
		if n > 1 || text[0] != 0x1b {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// Rows of what is typed never reach the last column, and hold all of it.
func TestView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &line{}
		l.set(rapid.StringOf(rapid.RuneFrom([]rune("ab 好👩\n"))).Draw(t, "text"))
		l.pos = rapid.IntRange(0, len(l.cells)).Draw(t, "cursor")
		columns := rapid.IntRange(5, 30).Draw(t, "columns")
		v := l.view(columns)
		var all strings.Builder
		for _, row := range v.rows {
			if w := textWidth(row); w >= columns {
				t.Errorf("row %q is %d wide of %d", row, w, columns)
			}
			all.WriteString(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(row, Prompt), More), goesOn))
		}
		if got := all.String(); got != strings.ReplaceAll(l.text(), "\n", "") && !strings.Contains(l.text(), " ") {
			t.Errorf("%q is shown as %q", l.text(), got)
		}
		if !strings.HasPrefix(v.rows[v.at], v.before) {
			t.Errorf("the cursor stands after %q of %q", v.before, v.rows[v.at])
		}
		if small := v.within(2); len(small.rows) > 2 || small.rows[small.at] != v.rows[v.at] {
			t.Errorf("in two rows: %+v of %+v", small, v)
		}
	})
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "history")
	h, err := loadHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"one", "two\nlines \\\nof 中文", `ends in \`, "three"}
	for _, text := range append(texts, "three") {
		if err := h.add(text); err != nil {
			t.Fatal(err)
		}
	}
	if h, err = loadHistory(file); err != nil {
		t.Fatal(err)
	}
	texts[2] += " "
	if diff := cmp.Diff(texts, h.texts); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	var seen []string
	for range 5 {
		if text, ok := h.older("typing"); ok {
			seen = append(seen, text[:3])
		}
	}
	for range 5 {
		if text, ok := h.newer(); ok {
			seen = append(seen, text[:3])
		}
	}
	if got := strings.Join(seen, " "); got != "thr end two one two end thr typ" {
		t.Errorf("recalled %q", got)
	}
	for i := range 3 * keepTyped {
		if err := h.add(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if h, err = loadHistory(file); err != nil || len(h.texts) != keepTyped || h.texts[keepTyped-1] != fmt.Sprint(3*keepTyped-1) {
		t.Errorf("%d texts are kept, %v", len(h.texts), err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 10*keepTyped {
		t.Errorf("the file is %v, %v", info, err)
	}
	if _, err := loadHistory(filepath.Join(file, "x", "y")); err == nil {
		t.Error("a history in a file that is no folder")
	}
}

// A terminal that breaks rows of a window that became narrower, and one that
// cuts them off, tell by where the cursor stands.
func TestRowsBrokenByTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		before, col int
		breaks      bool
		at          int
	}{
		"broken":                    {17, 17 % 10, false, 3},
		"cut off":                   {17, 9, true, 1},
		"no way to tell":            {4, 4, false, 1},
		"no way to tell, but known": {4, 4, true, 2},
	} {
		var out strings.Builder
		s := screen{out: &out, breaks: c.breaks, size: func() (int, int) { return 10, 24 }}
		s.rows, s.at, s.before = []string{strings.Repeat("a", 18), strings.Repeat("b", 19)}, 1, strings.Repeat("b", c.before)
		if s.resized() || out.String() != askCursor {
			t.Errorf("%s: asked %q", name, out.String())
		}
		s.cursor(c.col)
		s.cursor(c.col) // an answer that nobody waits for
		if s.at != c.at {
			t.Errorf("%s: the cursor is in row %d, want %d", name, s.at, c.at)
		}
	}
}
