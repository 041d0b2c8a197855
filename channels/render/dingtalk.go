package render

// dingtalk writes the subset of Markdown that DingTalk documents
// (open.dingtalk.com, "robot message types", read 2026-11): headings 1 to 6,
// quotes, bold, italic, links, lists; a line breaks after two spaces. Tables
// are not shown, so they become lists. Strikethrough and code are not in the
// subset, but current clients show them, and others show marks that people
// understand.
var dingtalk = &dialect{
	inline:  dingtalkFlavor.inline,
	heading: func(level int, s []span) string { return headings(dingtalkFlavor, 6, level, s) },
	code:    func(lang, body string) string { return shortFence(lang, inertAt(body)) },
	quote:   quoted,
	rule:    textRule,
	table:   func(g grid) string { return g.items(dingtalkFlavor) },
	bullet:  "- ",
	indent:  4,
}

var dingtalkFlavor = &flavor{
	marks:    []mark{{bold, "**"}, {italic, "*"}, {strike, "~~"}},
	special:  "\\*_~`<[&!",
	escape:   halfEntity,
	br:       "  \n",
	inert:    inertAt,
	flanking: true,
	link:     func(text, target string) string { return "[" + text + "](" + linkEscaper.Replace(target) + ")" },
}
