package render

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// discordReader reads what Discord's clients read, by rules of the same kind
// as theirs: an ordered list of patterns, each tried at the start of what is
// left, the first that matches wins.
type discordReader struct {
	b     strings.Builder
	quote bool
}

var (
	dQuote   = regexp.MustCompile(`^(?: *> [^\n]*(?:\n|$))+`)
	dHead    = regexp.MustCompile(`^(#{1,3}) +([^\n]+?)#*\s*(?:\n|$)`)
	dItem    = regexp.MustCompile(`^( *)([-*]|\d+\.) +`)
	dEscape  = regexp.MustCompile(`^\\([^0-9A-Za-z\s])`)
	dAuto    = regexp.MustCompile(`^<(https?://[^\s>]+)>`)
	dMention = regexp.MustCompile(`^(?:@everyone|@here|<(?:@[!&]?\d+|#\d+|a?:\w+:\d+|t:-?\d+(?::\w)?|/[^>]*:\d+|id:\w+)>)`)
)

func (r *discordReader) block(s string) {
	for lineStart := true; s != ""; {
		if lineStart {
			if m := dQuote.FindString(s); m != "" && !r.quote {
				inner := discordReader{quote: true}
				inner.block(regexp.MustCompile(`(?m)^ *> `).ReplaceAllString(strings.TrimSuffix(m, "\n"), ""))
				r.b.WriteString(inner.b.String())
				s = s[len(m):]
				continue
			}
			if m := dHead.FindStringSubmatch(s); m != nil {
				r.inline(m[2])
				s = s[len(m[0]):]
				continue
			}
			if m := dItem.FindStringSubmatch(s); m != nil {
				r.b.WriteString(m[2] + " ")
				s = s[len(m[0]):]
				lineStart = false
				continue
			}
			if strings.HasPrefix(s, "-# ") || strings.HasPrefix(s, ">>> ") {
				r.b.WriteString("SMALL")
			}
		}
		if strings.HasPrefix(s, "```") {
			if end := strings.Index(s[3:], "```"); end >= 0 {
				body := s[3 : 3+end]
				_, body, _ = strings.Cut(body, "\n")
				r.b.WriteString("{" + body + "}")
				s = s[end+6:]
				continue
			}
		}
		end := strings.IndexByte(s, '\n') + 1
		if end == 0 {
			end = len(s)
		}
		lineStart = true
		r.inline(s[:end])
		s = s[end:]
	}
}

func (r *discordReader) inline(s string) {
	for s != "" {
		if n := r.rule(s); n > 0 {
			s = s[n:]
			continue
		}
		r.b.WriteString(s[:1])
		s = s[1:]
	}
}

// rule reads one piece of markup at the start of s and returns its length.
func (r *discordReader) rule(s string) int {
	if m := dEscape.FindStringSubmatch(s); m != nil {
		r.b.WriteString(m[1])
		return len(m[0])
	}
	if m := dAuto.FindStringSubmatch(s); m != nil {
		r.b.WriteString(m[1] + "⟦" + m[1] + "⟧")
		return len(m[0])
	}
	if m := dMention.FindString(s); m != "" {
		r.b.WriteString("MENTION")
		return len(m)
	}
	if n := r.code(s); n > 0 {
		return n
	}
	if text, target, n := discordLink(s); n > 0 {
		r.inline(text)
		r.b.WriteString("⟦" + target + "⟧")
		return n
	}
	for _, m := range [...]mark{{bold, "**"}, {spoiler, "||"}, {strike, "~~"}, {italic, "*"}, {italic, "_"}} {
		if n := closing(s, m.sign); n > 0 {
			sign := map[style]string{bold: boldSign, italic: italicSign, strike: strikeSign, spoiler: "\x14"}[m.style]
			r.b.WriteString(sign)
			r.inline(s[len(m.sign) : n-len(m.sign)])
			r.b.WriteString(sign)
			return n
		}
	}
	return 0
}

// closing is where the text between two signs ends: the signs are not escaped,
// are not part of longer ones, and for one star touch the text.
func closing(s, sign string) int {
	if !strings.HasPrefix(s, sign) || len(s) > len(sign) && strings.ContainsAny(s[len(sign):len(sign)+1], " \t\n") {
		return 0
	}
	for i := len(sign); i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case i > len(sign) && strings.HasPrefix(s[i:], sign) && !strings.HasPrefix(s[i+len(sign):], sign[:1]):
			return i + len(sign)
		case len(sign) == 1 && strings.HasPrefix(s[i:], sign+sign) && i > len(sign):
			i++
		}
	}
	return 0
}

func (r *discordReader) code(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	if n == 0 {
		return 0
	}
	for i := n; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == n {
			body := s[n:i]
			if len(body) > 2 && body[0] == ' ' && body[len(body)-1] == ' ' {
				body = body[1 : len(body)-1]
			}
			r.b.WriteString(codeSpan(body))
			return i + n
		}
		i += run
	}
	return 0
}

func discordLink(s string) (text, target string, n int) {
	if s[0] != '[' {
		return "", "", 0
	}
	end := strings.Index(s, "](<")
	if end < 0 || strings.ContainsAny(s[1:end], "[]") {
		return "", "", 0
	}
	stop := strings.Index(s[end:], ">)")
	if stop < 0 {
		return "", "", 0
	}
	return s[1:end], s[end+3 : end+stop], end + stop + 2
}

func checkDiscord(t fataler, md string) {
	t.Helper()
	out := Discord(md)
	var r discordReader
	r.block(out)
	got, want := looks(strings.ReplaceAll(r.b.String(), "\x14", "")), looks(expectedDiscord(md))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Discord shows something else (-want +got):\n%s\nmarkdown %q\nrendered %q", diff, md, out)
	}
}

func expectedDiscord(md string) string {
	open := opened(discordFlavor)
	open.link = func(text, target string) string { return text + "⟦" + bracketEscaper.Replace(target) + "⟧" }
	like := *discord
	like.inline = open.inline
	like.heading = func(level int, s []span) string {
		if level > 3 {
			s = embolden(s)
		}
		return open.line(s, false)
	}
	like.code = func(_, body string) string {
		_, body, _ = strings.Cut(shortFence("", body), "\n")
		return "{" + strings.TrimSuffix(body, "\n```") + "}"
	}
	like.quote = func(body string) string { return body }
	return render(md, &like)
}

func TestDiscordShowsWhatTheTextSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkDiscord(t, document().Draw(t, "md")) })
}

func TestDiscordShowsSoup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkDiscord(t, soup().Draw(t, "md")) })
}
