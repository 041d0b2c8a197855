package render

import "strings"

var plain = &dialect{
	inline:  spelled,
	heading: func(_ int, s []span) string { return spelled(s) },
	code:    func(_, body string) string { return body },
	quote:   func(body string) string { return "> " + strings.ReplaceAll(body, "\n", "\n> ") },
	rule:    textRule,
}

// plainText is the text of spans as a reader sees it: targets of links are
// shown only where they cannot be links.
func plainText(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
		if s.link != "" && !linkable(s.link) && s.text != s.link {
			b.WriteString(" (" + s.link + ")")
		}
	}
	return b.String()
}
