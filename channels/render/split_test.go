package render

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// squeeze drops white space: what Split may change at seams.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func checkParts(t interface {
	Fatalf(string, ...any)
	Helper()
}, md string, limit int, size func(string) int,
) []string {
	t.Helper()
	parts := Split(md, limit, size)
	for i, p := range parts {
		if n := size(p); n > limit && utf8.RuneCountInString(squeeze(p)) > 1 {
			t.Fatalf("part %d of %d measures %d of %d: %q\nof %q", i, len(parts), n, limit, p, md)
		}
		if strings.TrimSpace(p) == "" {
			t.Fatalf("part %d is blank: %q", i, md)
		}
		if !utf8.ValidString(p) {
			t.Fatalf("part %d is not UTF-8: %q", i, p)
		}
	}
	if got, want := squeeze(Join(parts)), squeeze(clean(md)); got != want {
		t.Fatalf("joined text differs (-want +got):\n%s\nparts %q\nof %q", cmp.Diff(want, got), parts, md)
	}
	return parts
}

func TestSplitKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md := document().Draw(t, "md")
		limit := rapid.IntRange(64, 300).Draw(t, "limit")
		checkParts(t, md, limit, TelegramSize)
		checkParts(t, md, limit, utf8.RuneCountInString)
	})
}

// What a reader sees is the same whether a text is cut or not.
func TestSplitShowsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md := strings.Join(rapid.SliceOfN(rapid.OneOf(paragraph(" "), fence(), bullets(" ")), 1, 6).Draw(t, "blocks"), "\n\n")
		limit := rapid.IntRange(120, 400).Draw(t, "limit")
		var shown strings.Builder
		for _, p := range checkParts(t, md, limit, TelegramSize) {
			shown.WriteString(squeeze(Plain(p)))
		}
		if got, want := shown.String(), squeeze(Plain(md)); got != want {
			t.Fatalf("shown text differs (-want +got):\n%s\nof %q", cmp.Diff(want, got), md)
		}
	})
}

func document() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		blocks := rapid.SliceOfN(rapid.OneOf(paragraph(" ", "\n"), fence(), bullets(" ", "\n"), quote(), table(), heading(), indented()), 1, 4).Draw(t, "blocks")
		return strings.Join(blocks, rapid.SampledFrom([]string{"\n\n", "\n", "\n\n\n"}).Draw(t, "sep"))
	})
}

// words joins words, some of which look like markup, with one of the
// separators.
func words(seps ...string) *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{
		"word", "a", "longer-word", "中文字符", "句子。", "end.", "# x", "- x", "**bold text**", "`code x`", "[link](https://example.com/a?b=c)",
		"👩‍👩‍👧‍👦", "é", "*", "a<b>c", "&amp;", "~~gone~~", "||hidden||", "\\*", "https://example.org/x_y", "_it_",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 1, 25).Draw(t, "words"), rapid.SampledFrom(seps).Draw(t, "space"))
	})
}

func paragraph(seps ...string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return "P " + words(seps...).Draw(t, "text") })
}

func heading() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return "## " + words(" ").Draw(t, "text")
	})
}

func fence() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"x := 1", "    if y {", "", "# 注释", "> q", "``", "| a |", strings.Repeat("long ", 30)}), 0, 12).Draw(t, "lines")
		mark := rapid.SampledFrom([]string{"```", "~~~", "````"}).Draw(t, "mark")
		return mark + rapid.SampledFrom([]string{"", "go", "c++ x"}).Draw(t, "lang") + "\n" + strings.Join(lines, "\n") + "\n" + mark
	})
}

func bullets(seps ...string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var lines []string
		for i := range rapid.IntRange(1, 4).Draw(t, "n") {
			lines = append(lines, fmt.Sprintf("- item %d %s", i, strings.ReplaceAll(words(seps...).Draw(t, "text"), "\n", "\n  ")))
			switch rapid.IntRange(0, 4).Draw(t, "below") {
			case 0:
				lines = append(lines, "  - nested one", "    - deeper "+strings.Repeat("deep ", 20))
			case 1:
				lines = append(lines, "", "  "+strings.ReplaceAll(fence().Draw(t, "fence"), "\n", "\n  "))
			}
		}
		return strings.Join(lines, "\n")
	})
}

func quote() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		inner := rapid.OneOf(paragraph(" ", "\n"), fence(), bullets(" ", "\n")).Draw(t, "inner")
		return "> " + strings.ReplaceAll(inner, "\n", "\n> ")
	})
}

func table() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		cell := rapid.SampledFrom([]string{"x", "两个字", "`c`", "**b**", "some longer text in a cell", ""})
		var b strings.Builder
		b.WriteString("| A | B |\n|---|:-:|")
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			b.WriteString("\n| " + cell.Draw(t, "a") + " | " + cell.Draw(t, "b") + " |")
		}
		return b.String()
	})
}

func indented() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return "    code\n    " + strings.Repeat("more code ", rapid.IntRange(1, 40).Draw(t, "n"))
	})
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "# a\n\n```go\nx\n```\n", "- a\n  - b\n\n    c", "> ```\n> x\n", "| a |\n|-|\n| b |", "中文。句子", "***", "\x00\xff", "1. a\n2. b", "    x\n\ty"} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, md string, limit int) {
		if len(md) > 2048 {
			t.Skip("long inputs add nothing")
		}
		if limit < 8 || limit > 4096 {
			limit = 40
		}
		parts := Split(md, limit, TelegramSize)
		for _, p := range parts {
			if n := TelegramSize(p); n > limit {
				t.Fatalf("part measures %d of %d: %q", n, limit, p)
			}
		}
		if limit >= 64 {
			checkParts(t, md, limit, TelegramSize)
		}
		checkHTML(t, TelegramHTML(md), TelegramSize(md))
	})
}

func TestSplitCases(t *testing.T) {
	long := strings.Repeat("字", 30)
	cases := []struct {
		name, md string
		limit    int
		want     []string
	}{
		{"blank", " \n\t\n", 10, nil},
		{"at the limit", "0123456789", 10, []string{"0123456789"}},
		{"one over", "01234 56789", 10, []string{"01234", "56789"}},
		{"blocks first", "# T\n\nfirst paragraph\n\nsecond paragraph", 30, []string{"# T\n\nfirst paragraph", "second paragraph"}},
		{"sentences before words", "One two three. Four five six seven", 28, []string{"One two three.", "Four five six seven"}},
		{"Chinese sentences", "今天天气很好。我们去公园散步吧然后回家", 12, []string{"今天天气很好。", "我们去公园散步吧然后回家"}},
		{"no space at all", long, 20, []string{strings.Repeat("字", 20), strings.Repeat("字", 10)}},
		{"fence", "```go\naaaaaaaaaa\nbbbbb\nccccccccccccccc\n```", 28, []string{"```go\naaaaaaaaaa\nbbbbb\n``` ", "```go\nccccccccccccccc\n```"}},
		{"fence in a list", "- x\n\n  ```go\n  aaaaaaa\n    bbbb\n  ```\n- y", 36, []string{"- x\n\n  ```go\n  aaaaaaa\n  ``` ", "```go\n  bbbb\n```\n- y"}},
		{"nested list", "- one\n    - two two\n    - three\n- four", 20, []string{"- one\n    - two two", "- three\n- four"}},
		{"numbers go on", "1. first\n2. second\n3. third", 20, []string{"1. first\n2. second", "3. third"}},
		{"inline code whole", "some text `inline code here` end", 24, []string{"some text", "`inline code here` end"}},
		{"link whole", "some text [a link text](http://x.y/z) end", 34, []string{"some text", "[a link text](http://x.y/z) end"}},
		{"no false heading", "we use C\n# not here but a long text", 20, nil},
		{"unclosed fence", "```\naaaaaaaa\nbbbb\nccccccccc", 26, []string{"```\naaaaaaaa\nbbbb\n``` ", "```\nccccccccc"}},
		{"quote", "> one two three\n> four five six", 20, []string{"> one two three", "> four five six"}},
		{"quote in a line", "> one two three four five six", 20, []string{"> one two three  ", "> four five six"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := checkParts(t, c.md, c.limit, utf8.RuneCountInString)
			if c.name != "no false heading" && !cmp.Equal(c.want, got) {
				t.Errorf("parts differ (-want +got):\n%s", cmp.Diff(c.want, got))
			}
		})
	}
}

func TestSplitTableRepeatsHeader(t *testing.T) {
	md := "| Name | 值 |\n|------|---|\n" + strings.Repeat("| row | 一二三 |\n", 40)
	parts := checkParts(t, md, 200, TelegramSize)
	if len(parts) < 3 {
		t.Fatalf("want at least 3 parts, got %d", len(parts))
	}
	for _, p := range parts {
		if !strings.HasPrefix(p, "| Name | 值 |\n|------|---|\n| row") || !strings.Contains(TelegramHTML(p), "<pre>Name | 值") {
			t.Errorf("part does not stand alone as a table: %q", p)
		}
	}
}

func TestSplitGraphemes(t *testing.T) {
	family := "👩‍👩‍👧‍👦" // 11 UTF-16 units
	for _, p := range checkParts(t, strings.Repeat(family, 20), 25, TelegramSize) {
		if p != family+family {
			t.Errorf("part %q is not two families", p)
		}
	}
	zalgo := "a" + strings.Repeat("\u0301", 100)
	if n := uniseg.GraphemeClusterCount(zalgo); n != 1 {
		t.Fatalf("want one grapheme, got %d", n)
	}
	checkParts(t, zalgo, 40, TelegramSize)
}

func TestSplitTinyLimit(t *testing.T) {
	for limit := 1; limit < 12; limit++ {
		parts := Split("```go\nx := 1\n```\n\n| a |\n|---|\n| b |\n\n😀 ok", limit, utf8.RuneCountInString)
		if len(parts) == 0 {
			t.Fatal("no parts")
		}
		for _, p := range parts {
			if utf8.RuneCountInString(p) > limit {
				t.Errorf("limit %d: part %q", limit, p)
			}
		}
	}
}

func TestSplitHuge(t *testing.T) {
	md := strings.Repeat(sample(t), 1+65536/len(sample(t)))
	parts := checkParts(t, md, 4096, TelegramSize)
	for i, p := range parts[:len(parts)-1] {
		if n := TelegramSize(p); n < 4096/4 {
			t.Errorf("part %d is only %d long", i, n)
		}
	}
}

// One endless line without a place to cut, and text made to be slow.
func TestSplitHostile(t *testing.T) {
	for _, unit := range []string{"a", "字", "👩‍👩‍👧‍👦", "a_", "**b", "[x](", "`", "- ", "|", "\\"} {
		md := strings.Repeat(unit, 10_000/len(unit))
		for _, p := range checkParts(t, md, 4096, TelegramSize) {
			if n := TelegramSize(p); n > 4096 {
				t.Errorf("%q: a part measures %d", unit, n)
			}
		}
	}
}

func sample(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/all.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func BenchmarkSplit64KiB(b *testing.B) {
	md := strings.Repeat(sample(b), 1+65536/len(sample(b)))[:65536]
	b.SetBytes(int64(len(md)))
	b.ReportAllocs()
	for b.Loop() {
		Split(md, 4096, TelegramSize)
	}
}

func BenchmarkTelegramHTML4KiB(b *testing.B) {
	md := strings.Repeat(sample(b), 1+4096/len(sample(b)))[:4096]
	b.SetBytes(int64(len(md)))
	for b.Loop() {
		TelegramHTML(md)
	}
}
