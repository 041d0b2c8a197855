package web

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMarkdown(t *testing.T) {
	md := newMarkdown()
	for in, want := range map[string]string{
		"**bold** `code` ~~no~~":         "<p><strong>bold</strong> <code>code</code> <del>no</del></p>\n",
		"a <b>b</b> & c":                 "<p>a &lt;b&gt;b&lt;/b&gt; &amp; c</p>\n",
		"<div onclick=x>\nhi\n</div>":    "<p class=\"plain\">&lt;div onclick=x&gt;\nhi\n&lt;/div&gt;</p>\n",
		"[x](https://e.org/?a=1&b=\"2)":  "<p><a href=\"https://e.org/?a=1&amp;b=%222\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">x</a></p>\n",
		"[x](javascript:alert(1))":       "<p><a>x</a></p>\n",
		"[x](JaVaScRiPt&colon;alert(1))": "<p><a>x</a></p>\n",
		"[x](data:text/html,hi)":         "<p><a>x</a></p>\n",
		"[x](//evil.example)":            "<p><a>x</a></p>\n",
		"[x](/logout)":                   "<p><a>x</a></p>\n",
		"<me@e.org>":                     "<p><a href=\"mailto:me@e.org\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">me@e.org</a></p>\n",
		"![pic](https://e.org/a.png)":    "<p><a href=\"https://e.org/a.png\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">pic</a></p>\n",
		"![a \"b\"](/api/chat/files/u1)": "<p><img src=\"/api/chat/files/u1\" alt=\"a &#34;b&#34;\"></p>\n",
		"![a](/api/chat/files/../x)":     "<p><a>a</a></p>\n",
		"- [x] 完成":                       "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> 完成</li>\n</ul>\n",
		"| a |\n|--:|\n| 1 |":            "<table>\n<thead>\n<tr>\n<th align=\"right\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"right\">1</td>\n</tr>\n</tbody>\n</table>\n",
		"":                               "",
		"```go\n<x>\n```":                "<pre><code class=\"language-go\">&lt;x&gt;\n</code></pre>\n",
	} {
		if got := md.render(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
}

// Texts made to be slow are bounded: without the bound, each of these takes
// minutes, so the deadline is no matter of the machine.
func TestMarkdownIsBounded(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		md := newMarkdown()
		for _, unit := range []string{">", "[", "![", "- ", "* ", "**a ", "`", "<", "|", "a@", "_a*", "<a ", "\\", "[](", "http://", "&", "\n> ", "\n- "} {
			md.render(strings.Repeat(unit, maxText/len(unit)))
			md.render(strings.Repeat(unit, maxMarkup/len(unit)))
		}
	}()
	select {
	case <-done:
	case <-time.After(4 * time.Minute):
		t.Fatal("rendering takes too long")
	}
}

var (
	tag  = regexp.MustCompile(`<[^>]*>`)
	safe = regexp.MustCompile(`^<(/?(p|strong|em|del|code|pre|ul|ol|li|blockquote|h[1-6]|table|thead|tbody|tr|th|td|a)|hr|br|p class="plain"|ol start="\d+"|code class="language-[^"<>]*"|(th|td) align="(left|right|center)"|input (checked="" )?disabled="" type="checkbox"|a href="(https?:|HTTPS?:|mailto:|(?i:https?|mailto):)[^"<>]*" target="_blank" rel="noopener noreferrer nofollow"|img src="/api/chat/files/[A-Za-z0-9_-]+" alt="[^"<>]*")>$`)
)

func FuzzMarkdownIsSafe(f *testing.F) {
	for _, seed := range []string{
		"**a**", "<script>alert(1)</script>", "[a](javascript:alert(1))", "![a](x onerror=alert(1))", "<a href=x>", "```\"><script>\n```",
		"[a]: javascript:x\n[a]", "| <b> |\n|---|\n", "<https://e.org/\"onclick=x>", "![](/api/chat/files/x\"y)", "&lt;script&gt;", "<!-- x -->", "<?php ?>", "\x00", "\xff",
		"[x](https://e.org \"t\" onclick=1)", "~~~a\" onclick=\"x\n~~~", "www.e.org\"x", "1. a\n2. b", "- [ ] x",
	} {
		f.Add(seed)
	}
	md := newMarkdown()
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD") // as the history stores it
		html := md.render(text)
		if !utf8.ValidString(html) {
			t.Fatalf("%q became invalid UTF-8", text)
		}
		for _, found := range tag.FindAllString(html, -1) {
			if !safe.MatchString(found) {
				t.Fatalf("%q became %q with the tag %q", text, html, found)
			}
		}
		if rest := tag.ReplaceAllString(html, ""); strings.ContainsAny(rest, "<>") {
			t.Fatalf("%q became %q", text, html)
		}
	})
}

func FuzzCleanName(f *testing.F) {
	for _, seed := range []string{"a.txt", "../../etc/passwd", `C:\x\y.doc`, "笔记.txt", "\u202egpj.exe", "a\r\nb", "...", "", strings.Repeat("x", 300) + ".tar", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := cleanName(name)
		if got == "" || got == "." || got == ".." || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\"\r\n\x00") || utf8.RuneCountInString(got) > nameRunes {
			t.Fatalf("%q became %q", name, got)
		}
	})
}
