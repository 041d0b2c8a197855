package render

import (
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGolden(t *testing.T) {
	for name, fn := range map[string]func(string) string{"telegram.html": TelegramHTML, "plain.txt": Plain} {
		golden(t, "testdata/all."+name, fn(sample(t)))
	}
}

// golden holds got against a file, or writes it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// nested lists which tags Telegram lets stand inside which.
var nested = map[string]string{
	"":           "b i s tg-spoiler a code pre blockquote",
	"blockquote": "b i s tg-spoiler a code pre",
	"b":          "i s tg-spoiler", "i": "b s tg-spoiler", "s": "b i tg-spoiler", "tg-spoiler": "b i s",
	"a":   "b i s tg-spoiler",
	"pre": "code",
}

// checkHTML is a strict reader of Telegram's dialect: it knows only the tags
// above, wants them closed in order and everything else escaped.
func checkHTML(t interface {
	Fatalf(string, ...any)
	Helper()
}, html string, size int,
) {
	t.Helper()
	var open []string
	var text strings.Builder
	for rest := html; rest != ""; {
		switch rest[0] {
		case '>', '<', '&':
			end := strings.IndexAny(rest, ">;")
			if end < 0 || rest[0] == '>' {
				t.Fatalf("bare %q in %q", rest[0], html)
			}
			word := rest[1:end]
			if rest[0] == '&' {
				r, ok := map[string]rune{"amp": '&', "lt": '<', "gt": '>'}[word]
				if !ok {
					t.Fatalf("reference %q in %q", word, html)
				}
				text.WriteRune(r)
			} else {
				end = strings.IndexByte(rest, '>')
				open = checkTag(t, open, rest[1:end], html)
			}
			rest = rest[end+1:]
		default:
			end := strings.IndexAny(rest, "<>&")
			if end < 0 {
				end = len(rest)
			}
			text.WriteString(rest[:end])
			rest = rest[end:]
		}
	}
	if len(open) > 0 {
		t.Fatalf("unclosed %v in %q", open, html)
	}
	if n := len(utf16.Encode([]rune(text.String()))); n != size {
		t.Fatalf("measures %d, TelegramSize says %d: %q", n, size, html)
	}
}

func checkTag(t interface {
	Fatalf(string, ...any)
	Helper()
}, open []string, tag, html string,
) []string {
	t.Helper()
	outer := ""
	if len(open) > 0 {
		outer = open[len(open)-1]
	}
	if name, ok := strings.CutPrefix(tag, "/"); ok {
		if name != outer {
			t.Fatalf("</%s> inside %q in %q", name, outer, html)
		}
		return open[:len(open)-1]
	}
	name, attr, _ := strings.Cut(tag, " ")
	allowed := " " + nested[outer] + " "
	for _, o := range open { // what an outer tag forbids stays forbidden
		if o != "blockquote" && (name == "code" && o != "pre" || name == "pre" || name == "a" || name == "blockquote") {
			t.Fatalf("<%s> inside %v in %q", name, open, html)
		}
		if o == name {
			t.Fatalf("<%s> inside itself in %q", name, html)
		}
	}
	if !strings.Contains(allowed, " "+name+" ") {
		t.Fatalf("<%s> inside %q in %q", name, outer, html)
	}
	switch {
	case attr == "", name == "blockquote" && attr == "expandable":
	case name == "code" && strings.HasPrefix(attr, `class="language-`), name == "a" && strings.HasPrefix(attr, `href="`):
		if strings.Count(attr, `"`) != 2 || strings.ContainsAny(attr, "<>") {
			t.Fatalf("attribute %q in %q", attr, html)
		}
	default:
		t.Fatalf("attribute %q of %s in %q", attr, name, html)
	}
	return append(open, name)
}

func TestTelegramHTMLIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md := document().Draw(t, "md")
		// A streamed text may end anywhere.
		md = clean(md[:rapid.IntRange(0, len(md)).Draw(t, "cut")])
		checkHTML(t, TelegramHTML(md), TelegramSize(md))
	})
}

func TestTelegramHTML(t *testing.T) {
	cases := []struct{ name, md, want string }{
		{"empty", "", ""},
		{"nothing visible", "[a]: http://x.y", ""},
		{"html escaped", "<script>a & b</script>", "&lt;script&gt;a &amp; b&lt;/script&gt;"},
		{"code in bold", "**a `b` c**", "<b>a </b><code>b</code><b> c</b>"},
		{"code in link", "[`b`](https://a.b)", `<a href="https://a.b">b</a>`},
		{"bold in link", "[a **b**](https://a.b)", `<a href="https://a.b">a <b>b</b></a>`},
		{"quote in attribute", `[a](<https://a.b/"x">)`, `<a href="https://a.b/&quot;x&quot;">a</a>`},
		{"script link", "[a](javascript:alert)", "a (javascript:alert)"},
		{"relative link", "[a](b.md)", "a (b.md)"},
		{"user link", "[a](tg://user?id=1)", `<a href="tg://user?id=1">a</a>`},
		{"image", "![alt](https://a.b/c.png)", `<a href="https://a.b/c.png">alt</a>`},
		{"image without text", "![](https://a.b/c.png)", `<a href="https://a.b/c.png">https://a.b/c.png</a>`},
		{"spoiler", "a ||b|| c", "a <tg-spoiler>b</tg-spoiler> c"},
		{"no spoiler", "if a||b || c||d", "if a||b || c||d"},
		{"Chinese emphasis", "**注意：**请看**“引号”**后", "<b>注意：</b>请看<b>“引号”</b>后"},
		{"unclosed", "**bold and `code", "**bold and `code"},
		{"unclosed fence", "```go\nx", `<pre><code class="language-go">x</code></pre>`},
		{"bad language", "```a\"><b\nx\n```", `<pre><code class="language-ab">x</code></pre>`},
		{"empty fence", "```\n```", ""},
		{"line break", "a<br>b  \nc\\\nd", "a\nb\nc\nd"},
		{"tasks", "- [ ] a\n- [x] b", "☐ a\n☑ b"},
		{"numbers", "3. a\n3. b", "3. a\n4. b"},
		{"escapes", `\*a\* &amp;amp; &copy;`, "*a* &amp;amp; ©"},
		{"control", "a\x00\x1bb\r\nc", "ab\nc"},
		{"invalid", "a\xffb", "a\uFFFDb"},
		{"heading", "# **a** `b`", "<b>a </b><code>b</code>"},
		{"email", "<a@b.cd>", `<a href="mailto:a@b.cd">a@b.cd</a>`},
		{"quote in quote", "> a\n> > b", "<blockquote>a\n\nb</blockquote>"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := TelegramHTML(c.md)
			if got != c.want {
				t.Errorf("TelegramHTML(%q)\n got %q\nwant %q", c.md, got, c.want)
			}
			checkHTML(t, got, TelegramSize(c.md))
		})
	}
}

func TestLongQuoteIsFolded(t *testing.T) {
	if got := TelegramHTML(strings.Repeat("> line\n", 30)); !strings.HasPrefix(got, "<blockquote expandable>") {
		t.Errorf("a quote of 30 lines is not folded: %.40q", got)
	}
}

// Text made to be slow must not hold the bot up.
func TestHostileText(t *testing.T) {
	for _, s := range []string{">", "> ", "- + ", "1. ", "[", "![", "*a ", "||a ", "a_", "- ", "<", "&", "\\", "`", "| a ", "~~a"} {
		md := strings.Repeat(s, 16384/len(s))
		checkHTML(t, TelegramHTML(md), TelegramSize(md))
	}
}

func TestPlain(t *testing.T) {
	cases := []struct{ md, want string }{
		{"**a** [b](https://c.d) <https://e.f>", "a b (https://c.d) https://e.f"},
		{"[**b** c](https://c.d) x", "b c (https://c.d) x"},
		{"> a\n\n- b", "> a\n\n• b"},
	}
	for _, c := range cases {
		if got := Plain(c.md); got != c.want {
			t.Errorf("Plain(%q) = %q, want %q", c.md, got, c.want)
		}
	}
}
