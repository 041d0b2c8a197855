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
	"unicode/utf16"
)

// TelegramHTML renders CommonMark as the HTML that Telegram understands
// (parse_mode HTML). The result always parses: tags are balanced, nested only
// as Telegram allows, and everything else is escaped. It is "" when nothing
// visible is left.
func TelegramHTML(md string) string { return render(md, telegram) }

// TelegramSize is the length of md in UTF-16 units after Telegram has parsed
// the entities of TelegramHTML(md); the unit of its 4096 and 1024 limits.
func TelegramSize(md string) int {
	n := 0
	for _, r := range render(md, telegramText) {
		n += utf16.RuneLen(r)
	}
	return n
}

// Plain renders CommonMark as text without any markup, for platforms without
// formatting and as the fall-back where a platform refuses its dialect.
func Plain(md string) string { return render(md, plain) }

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
