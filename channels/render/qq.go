package render

// qq writes the Markdown of QQ's bots
// (bot.q.qq.com/wiki/develop/api-v2/server-inter/message/type/markdown.html,
// read 2026-11): headings of two levels, bold, italic, strikethrough, links,
// lists with four spaces, quotes, rules of stars. Phones show no tables, so
// they become lists.
var qq = &dialect{
	inline:  qqFlavor.inline,
	heading: func(level int, s []span) string { return headings(qqFlavor, 2, level, s) },
	code:    func(lang, body string) string { return shortFence(lang, inert(body)) },
	quote:   quoted,
	rule:    "***",
	table:   func(g grid) string { return g.items(qqFlavor) },
	bullet:  "- ",
	indent:  4,
}

var qqFlavor = &flavor{
	marks:    []mark{{bold, "**"}, {italic, "*"}, {strike, "~~"}},
	special:  "\\*_~`<[&!",
	escape:   halfEntity,
	br:       "  \n",
	inert:    inert,
	flanking: true,
	link:     func(text, target string) string { return "[" + text + "](" + linkEscaper.Replace(target) + ")" },
	bare:     func(target string) string { return "<" + bracketEscaper.Replace(target) + ">" },
}
