package render

import "strings"

// discord writes the Markdown of
// https://support.discord.com/hc/en-us/articles/210298617 (read 2026-11):
// headings of three levels, no tables, no rules, quotes not in each other.
var discord = &dialect{
	inline:  discordFlavor.inline,
	heading: discordHeading,
	code:    func(lang, body string) string { return shortFence(strings.ToLower(lang), body) },
	quote:   quoted,
	rule:    textRule,
	bullet:  "- ",
}

var discordFlavor = &flavor{
	marks:   []mark{{bold, "**"}, {italic, "*"}, {strike, "~~"}, {spoiler, "||"}},
	special: "\\*_~|`<[",
	escape:  func(c byte) string { return `\` + string(rune(c)) },
	br:      "\n",
	inert:   inert,
	rawCode: true,
	// The angle brackets keep a reply with many links from being followed by
	// as many previews.
	link: func(text, target string) string { return "[" + text + "](<" + bracketEscaper.Replace(target) + ">)" },
	bare: func(target string) string { return "<" + bracketEscaper.Replace(target) + ">" },
}

// discordPreviews lets Discord fetch what a reply links to.
var discordPreviews = &dialect{
	inline: openFlavor.inline, heading: discordHeading, code: discord.code, quote: quoted, rule: textRule, bullet: discord.bullet,
}

var openFlavor = &flavor{
	marks: discordFlavor.marks, special: discordFlavor.special, escape: discordFlavor.escape, br: discordFlavor.br,
	inert: inert, rawCode: true,
	link: func(text, target string) string { return "[" + text + "](" + bracketEscaper.Replace(target) + ")" },
	bare: func(target string) string { return bracketEscaper.Replace(target) },
}

func discordHeading(level int, spans []span) string {
	return headings(discordFlavor, 3, level, spans)
}

// headings writes a heading; one below the deepest level that the platform
// knows is a line in bold.
func headings(f *flavor, deepest, level int, spans []span) string {
	if level > deepest {
		return f.line(embolden(spans), false)
	}
	text := f.line(spans, false)
	if text == "" {
		return ""
	}
	if strings.HasSuffix(text, "#") {
		text += gap // or it would count as the closing sign
	}
	return strings.Repeat("#", level) + " " + text
}

// shortFence writes code between three backticks, for platforms where four
// are not safe: three in the code are broken up.
func shortFence(lang, body string) string {
	for strings.Contains(body, "```") {
		body = strings.ReplaceAll(body, "```", "``"+gap+"`")
	}
	return "```" + strings.Map(languageRune, lang) + "\n" + body + "\n```"
}

func quoted(body string) string { return "> " + strings.ReplaceAll(body, "\n", "\n> ") }
