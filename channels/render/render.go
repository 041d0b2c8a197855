// Package render turns CommonMark (with tables, strikethrough, task lists and
// ||spoilers||) into the dialects of the platforms and cuts long texts into
// parts that each stand alone.
//
// One walker goes over the syntax tree; a dialect is a handful of functions in
// a file of its own, beside telegram.go and plain.go. The package does no IO,
// starts no goroutine and never fails: what cannot be understood as markup is
// shown as text, so that half-written Markdown of a streamed reply is fine too.
package render

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// TelegramHTML renders CommonMark as the HTML that Telegram understands
// (parse_mode HTML). The result always parses: tags are balanced, nested only
// as Telegram allows, and everything else is escaped. It is "" when nothing
// visible is left.
func TelegramHTML(md string) string { return render(md, telegram) }

// TelegramSize is the length of md in UTF-16 units after Telegram has parsed
// the entities of TelegramHTML(md); the unit of its 4096 and 1024 limits.
func TelegramSize(md string) int {
	return utf16Len(render(md, telegramText))
}

// Plain renders CommonMark as text without any markup, for platforms without
// formatting and as the fall-back where a platform refuses its dialect. What a
// platform would take for a mention is broken up.
func Plain(md string) string { return inert(render(md, plain)) }

// PlainProse is Plain with what is no code passed through fn: runs of text, and
// the targets of links.
func PlainProse(md string, fn func(string) string) string {
	d := *plain
	d.prose = fn
	return inert(render(md, &d))
}

// PlainSize is the length of Plain(md) in runes.
func PlainSize(md string) int { return utf8.RuneCountInString(Plain(md)) }

// Discord renders CommonMark as Discord's Markdown. It mentions nobody and
// hides no target behind the name of another.
func Discord(md string) string { return render(md, discord) }

// DiscordPreviews is Discord with links that may be followed by a preview.
// It is never longer.
func DiscordPreviews(md string) string { return render(md, discordPreviews) }

// DiscordSize is the length of Discord(md) in UTF-16 units. Discord counts
// code points against its 2000 (discord-api-docs issue 1315, read 2026-11),
// of which there are never more.
func DiscordSize(md string) int { return utf16Len(Discord(md)) }

// DingTalk renders CommonMark as the Markdown of DingTalk's robots. It calls
// nobody, even where its text names someone whom the request lists.
func DingTalk(md string) string { return render(md, dingtalk) }

// DingTalkSize is the length of DingTalk(md) in bytes of UTF-8. DingTalk does
// not say what it counts; this is the most it could mean.
func DingTalkSize(md string) int { return len(DingTalk(md)) }

// DingTalkCard renders CommonMark as the Markdown of a variable of DingTalk's
// AI cards. It calls nobody.
func DingTalkCard(md string) string { return render(md, dingtalkCard) }

// DingTalkCardSize is the length of DingTalkCard(md) in bytes of UTF-8.
func DingTalkCardSize(md string) int { return len(DingTalkCard(md)) }

// QQ renders CommonMark as the Markdown of QQ's bots. It mentions nobody and
// makes no commands to press.
func QQ(md string) string { return render(md, qq) }

// QQSize is the length of QQ(md) in runes.
func QQSize(md string) int { return utf8.RuneCountInString(QQ(md)) }

// FeishuCard renders CommonMark as the content of a markdown element in a
// Feishu card of JSON 2.0. It mentions nobody.
func FeishuCard(md string) string { return render(md, feishuCard) }

// FeishuCardSize is how many bytes FeishuCard(md) takes in the body of a
// request: as a string in the card's JSON, which is itself a string there.
func FeishuCardSize(md string) int { return twiceQuoted(FeishuCard(md)) }

// FeishuPost renders CommonMark as the content of a Feishu message of type
// post: JSON with one language, zh_cn. It is for what a card was refused for,
// so it has no markup that could be refused, and mentions nobody.
func FeishuPost(md string) string { return postJSON(render(md, feishuPost)) }

// FeishuPostSize is how many bytes FeishuPost(md) takes in the body of a
// request.
func FeishuPostSize(md string) int { return onceQuoted(FeishuPost(md)) }

// clean makes md valid UTF-8 with \n line ends, without control characters and
// without towers of quotes.
func clean(md string) string {
	md = strings.ToValidUTF8(md, "\uFFFD")
	if hasTower(md) {
		md = towers.ReplaceAllString(md, "$1")
	}
	if strings.IndexFunc(md, isControl) < 0 {
		return md
	}
	md = strings.ReplaceAll(md, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case isControl(r):
			return -1
		}
		return r
	}, md)
}

// towers matches markers of nested quotes and lists far beyond what is shown;
// the parser's time grows with the square of their number.
var towers = regexp.MustCompile(`(?m)^((?:[ \t]{0,3}(?:>|[+*-][ \t]|\d{1,9}[.)][ \t])){100})(?:[ \t]{0,3}(?:>|[+*-][ \t]|\d{1,9}[.)][ \t]))+`)

// hasTower is the quick look before towers: a line that begins with a hundred
// bytes of nothing but markers.
func hasTower(md string) bool {
	for line := range strings.Lines(md) {
		if len(line) > 100 && strings.Trim(line[:100], " \t>+*-.)0123456789") == "" {
			return true
		}
	}
	return false
}

func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }
