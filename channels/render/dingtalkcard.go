package render

import "strings"

// dingtalkCard writes the Markdown of the variables of DingTalk's AI cards,
// which is another than that of its robots: a line breaks at <br> and at
// nothing else, but in code, where <br> would be shown; lists, headings and
// tables keep a line each; a quote is one line; tables are known, after a blank
// line (DingTalk's own connector, dingtalk-openclaw-connector 0.8.21 of
// 2026-05-17, services/messaging/card.ts, read November 2026).
var dingtalkCard = &dialect{
	inline:  dingtalkCardFlavor.inline,
	heading: func(level int, s []span) string { return headings(dingtalkCardFlavor, 6, level, s) },
	code:    func(lang, body string) string { return shortFence(lang, inertAt(body)) },
	quote:   quotedInLine,
	flat:    true,
	rule:    textRule,
	table:   func(g grid) string { return pipes(dingtalkCardFlavor, g) },
	bullet:  "- ",
	indent:  4,
}

var dingtalkCardFlavor = &flavor{
	marks:    []mark{{bold, "**"}, {italic, "*"}, {strike, "~~"}},
	special:  "\\*_~`<[&!",
	escape:   halfEntity,
	br:       "<br>",
	inert:    inertAt,
	flanking: true,
	link:     func(text, target string) string { return "[" + text + "](" + linkEscaper.Replace(target) + ")" },
}

// quotedInLine writes a quote as one line, and one with code or a table, whose
// lines cannot be joined, as others do.
func quotedInLine(body string) string {
	if strings.Contains(body, "```") || strings.Contains(body, "\n| ") {
		return quoted(body)
	}
	return "> " + strings.ReplaceAll(body, "\n", "<br>")
}
