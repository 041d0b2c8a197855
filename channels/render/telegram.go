package render

import (
	"strings"
)

// telegram writes the HTML of https://core.telegram.org/bots/api#html-style
// (read 2026-11): b, i, s, tg-spoiler may contain each other; code and pre
// stand alone; links contain no code; quotes contain no quotes.
var telegram = &dialect{
	inline:  telegramInline,
	heading: func(_ int, s []span) string { return telegramInline(embolden(s)) },
	code:    telegramCode,
	quote:   telegramQuote,
	rule:    textRule,
}

// telegramText is what is left of the telegram dialect once its tags are
// parsed: what Telegram counts.
var telegramText = &dialect{
	inline:  plainText,
	heading: func(_ int, s []span) string { return plainText(s) },
	code:    func(_, body string) string { return body },
	quote:   func(body string) string { return body },
	rule:    textRule,
}

// A quote with more lines or runes than this is shown folded.
const (
	foldLines = 8
	foldRunes = 600
)

type tag struct {
	style style
	name  string
}

// In the order of nesting.
var telegramTags = [...]tag{{bold, "b"}, {italic, "i"}, {strike, "s"}, {spoiler, "tg-spoiler"}, {code, "code"}}

func telegramInline(spans []span) string {
	var b strings.Builder
	var open []string // opening tags
	for _, s := range spans {
		text, want := s.text, telegramWant(s)
		keep := 0
		for keep < len(open) && keep < len(want) && open[keep] == want[keep] {
			keep++
		}
		closeTags(&b, open[keep:])
		for _, t := range want[keep:] {
			b.WriteString("<" + t + ">")
		}
		open = want
		b.WriteString(escapeHTML(text))
		if s.link != "" && !linkable(s.link) && text != s.link {
			b.WriteString(escapeHTML(" (" + s.link + ")"))
		}
	}
	closeTags(&b, open)
	return b.String()
}

// telegramWant lists the tags around a span, outermost first.
func telegramWant(s span) []string {
	var want []string
	linked := linkable(s.link)
	if linked {
		want = append(want, `a href="`+attrEscaper.Replace(s.link)+`"`)
	}
	for _, t := range telegramTags {
		alone := s.style&code != 0 && !linked
		switch {
		case s.style&t.style == 0, alone && t.style != code, linked && t.style == code:
		default:
			want = append(want, t.name)
		}
	}
	return want
}

func closeTags(b *strings.Builder, open []string) {
	for i := len(open) - 1; i >= 0; i-- {
		name, _, _ := strings.Cut(open[i], " ")
		b.WriteString("</" + name + ">")
	}
}

func embolden(spans []span) []span {
	for i := range spans {
		spans[i].style |= bold
	}
	return spans
}

func telegramCode(lang, body string) string {
	body = escapeHTML(body)
	if lang = strings.Map(languageRune, lang); lang != "" {
		return `<pre><code class="language-` + lang + `">` + body + `</code></pre>`
	}
	return `<pre>` + body + `</pre>`
}

func languageRune(r rune) rune {
	if r < 0x80 && isWord(r) || strings.ContainsRune("+-_#.", r) {
		return r
	}
	return -1
}

func telegramQuote(body string) string {
	if strings.Count(body, "\n") >= foldLines || len([]rune(body)) > foldRunes {
		return "<blockquote expandable>" + body + "</blockquote>"
	}
	return "<blockquote>" + body + "</blockquote>"
}

// escapeHTML escapes what Telegram asks for; it knows no other named
// references than these and &quot;.
func escapeHTML(s string) string {
	return htmlEscaper.Replace(s)
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
