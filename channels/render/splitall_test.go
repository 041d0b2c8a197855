package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// least is the smallest limit at which a word with its marks and a fence with
// its language surely fit, in each dialect's unit.
var least = map[string]int{"post": 500, "feishu": 250, "dingtalk": 200, "card": 200}

func TestSplitForEveryDialect(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				md := rapid.OneOf(document(), soup()).Draw(t, "md")
				low := max(least[name], 120)
				checkParts(t, md, rapid.IntRange(low, 4*low).Draw(t, "limit"), d.size)
			})
		})
	}
}

// A reader of the parts sees what a reader of the whole would see.
func TestSplitShowsTheSameInEveryDialect(t *testing.T) {
	for name, f := range flavors {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				md := strings.Join(rapid.SliceOfN(rapid.OneOf(paragraph(" "), fence(), bullets(" ")), 1, 6).Draw(t, "blocks"), "\n\n")
				var got strings.Builder
				for _, p := range checkParts(t, md, rapid.IntRange(500, 1500).Draw(t, "limit"), dialects[name].size) {
					checkShown(t, name, p)
					got.WriteString(visible(render(p, f.dialect)))
				}
				if want := visible(render(md, f.dialect)); got.String() != want {
					t.Fatalf("parts show %q\nwhole shows %q", got.String(), want)
				}
			})
		})
	}
}

// visible is what a reader sees but for styles, signs of items and fences.
func visible(rendered string) string {
	var b strings.Builder
	for _, s := range looks(shown(strings.ReplaceAll(rendered, "<br>", " "))) {
		if s = s[:1]; !strings.Contains("-{}", s) {
			b.WriteString(s)
		}
	}
	return b.String()
}

func TestSplitAtTheLimit(t *testing.T) {
	for name, d := range dialects {
		for _, unit := range []string{"a", "字", "😀", "<", "a*", "\\*", `"`, "&amp;", "**b** "} {
			whole := strings.TrimSpace(strings.Repeat(unit, 50))
			n := d.size(whole)
			if parts := Split(whole, n, d.size); len(parts) != 1 {
				t.Errorf("%s: %q at its size %d makes %d parts", name, unit, n, len(parts))
			}
			parts := Split(whole, n-1, d.size)
			if len(parts) < 2 {
				t.Errorf("%s: %q one under its size %d makes %d parts", name, unit, n, len(parts))
			}
			for _, p := range parts {
				if d.size(p) > n-1 {
					t.Errorf("%s: part of %q measures %d of %d", name, unit, d.size(p), n-1)
				}
			}
		}
	}
}

// Text made to be slow, or to be larger than its source, in every dialect.
func TestHostileTextInEveryDialect(t *testing.T) {
	for name, d := range dialects {
		for _, unit := range []string{">", "> ", "- ", "1. ", "[", "![", "*a ", "a_", "<@1>", "&", "\\", "`", "| a ", "~~a", "@here", ":a:", "**a*b", "[a](https://b.cd) ", "# a\n", "字"} {
			md := strings.Repeat(unit, 3000/len(unit))
			if out := d.render(md); !utf8.ValidString(out) {
				t.Errorf("%s of %q is not UTF-8", name, unit)
			}
			for _, p := range Split(md, 800, d.size) {
				if n := d.size(p); n > 800 {
					t.Errorf("%s: %q: a part measures %d", name, unit, n)
				}
			}
		}
	}
}

// A text of 64 KiB that would take the parser seconds is cheap, and one that is
// only long keeps its marks.
func TestCrowdedText(t *testing.T) {
	for _, unit := range []string{"[", "[a](", "a_", "![", "*a* ", "||a|| "} {
		md := strings.Repeat(unit, 65536/len(unit))
		if got, want := squeeze(strings.ReplaceAll(Plain(md), gap, "")), squeeze(md); got != want {
			t.Errorf("%q is not shown as text: %.60q", unit, got)
		}
	}
	if got := Plain("**a**" + strings.Repeat("\n\n**a** [b](c)", 2000)); strings.Contains(got, "*") {
		t.Errorf("marks are left in many small paragraphs: %.60q", got)
	}
	row := "| **a** | b |\n"
	if got := QQ("| c | d |\n|---|---|\n" + strings.Repeat(row, 900)); !strings.HasSuffix(got, "- **a** · d: b") {
		t.Errorf("a long table is not a table: %.60q", got)
	}
}

func FuzzDialects(f *testing.F) {
	for _, s := range []string{"", "# a\n\n> - b\n", "| a |\n|-|\n| b |", "**中文。**字", "<@1> @everyone", "[a.b](https://c.d/(e))", "```\n`", "\x01\x05\x07\x08", "1. a\n\n   ```\n   b\n   ```\n   c", "~~~a~~~", "<@everYone", "***\n---\n___"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, md string) {
		if len(md) > 1024 {
			t.Skip("long inputs add nothing")
		}
		checkDiscord(t, clean(md))
		for name := range flavors {
			checkShown(t, name, clean(md))
		}
		for name, d := range dialects {
			out := d.render(md)
			if name != "telegram" && name != "discord" { // which has code
				checkSilent(t, name, md, out)
			}
			checkParts(t, md, max(least[name], 120), d.size)
		}
	})
}

func benchmarkText(b *testing.B) string {
	b.Helper()
	md := strings.Repeat(sample(b), 1+65536/len(sample(b)))[:65536]
	b.SetBytes(int64(len(md)))
	b.ReportAllocs()
	return md
}

func BenchmarkRender64KiB(b *testing.B) {
	for name, d := range dialects {
		b.Run(name, func(b *testing.B) {
			for md := benchmarkText(b); b.Loop(); {
				d.render(md)
			}
		})
	}
}

func BenchmarkSplit64KiBFor(b *testing.B) {
	for name, limit := range map[string]int{"telegram": 4096, "plain": 4096, "discord": 2000, "feishu": 28000, "post": 28000, "dingtalk": 4000, "qq": 4000} {
		b.Run(name, func(b *testing.B) {
			for md := benchmarkText(b); b.Loop(); {
				Split(md, limit, dialects[name].size)
			}
		})
	}
}
