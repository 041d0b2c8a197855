package telegram

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseHTML(t *testing.T) {
	for _, c := range []struct {
		src, text string
		entities  []Entity
		err       string
	}{
		{src: "plain", text: "plain"},
		{src: "a &lt;b&gt; &amp;amp; &quot;&#39;&#x41;", text: `a <b> &amp; "'A`},
		{src: "AT&T &nbsp; &copy;", text: "AT&T &nbsp; &copy;"},
		{src: "😀<b>好</b>", text: "😀好", entities: []Entity{{Type: "bold", Offset: 2, Length: 1}}},
		{src: `<a href="https://e.org/?a=1&amp;b=2">x</a>`, text: "x", entities: []Entity{{Type: "text_link", Length: 1, URL: "https://e.org/?a=1&b=2"}}},
		{src: `<pre><code class="language-go">x</code></pre>`, text: "x", entities: []Entity{{Type: "pre", Length: 1, Language: "go"}}},
		{src: "<b>a<i>b</i></b>", text: "ab", entities: []Entity{{Type: "italic", Offset: 1, Length: 1}, {Type: "bold", Length: 2}}},
		{src: "<blockquote expandable>q</blockquote>", text: "q", entities: []Entity{{Type: "expandable_blockquote", Length: 1}}},
		{src: `<span class="tg-spoiler">s</span>`, text: "s", entities: []Entity{{Type: "spoiler", Length: 1}}},
		{src: "<b>x", err: `Can't find end tag corresponding to start tag "b"`},
		{src: "<b>x</i>", err: `Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`},
		{src: "x</b>", err: "Unexpected end tag at byte offset 1"},
		{src: "<h1>x</h1>", err: `Unsupported start tag "h1" at byte offset 0`},
		{src: "<br/>", err: `Unsupported start tag "br/" at byte offset 0`},
		{src: "好 < x", err: "Unclosed start tag at byte offset 4"},
		{src: "<span>x</span>", err: `Tag "span" must have class "tg-spoiler" at byte offset 0`},
		{src: `<a href="x>y</a`, err: "Unclosed start tag at byte offset 0"},
	} {
		text, entities, e := parseHTML(c.src)
		got := ""
		if e != nil {
			got = strings.TrimPrefix(e.Text, "Bad Request: can't parse entities: ")
		}
		if text != c.text || got != c.err {
			t.Errorf("%q: text %q, error %q; want %q, %q", c.src, text, got, c.text, c.err)
		}
		if diff := cmp.Diff(c.entities, entities); diff != "" {
			t.Errorf("%q: %s", c.src, diff)
		}
	}
}

func FuzzParseHTML(f *testing.F) {
	for _, s := range []string{"<b>x</b>", "<a href='x'>y</a>", "&#x1F600;", "<pre><code class=language-go>", "</", "<a =>", "<b \xff>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		text, entities, e := parseHTML(src)
		if e != nil {
			return
		}
		if utf8.ValidString(src) && !utf8.ValidString(text) {
			t.Errorf("%q gives invalid text %q", src, text)
		}
		for _, ent := range entities {
			if ent.Offset < 0 || ent.Length < 1 || ent.Offset+ent.Length > units(text) {
				t.Errorf("%q: entity %+v outside of %q", src, ent, text)
			}
		}
	})
}
