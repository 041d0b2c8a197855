package render

import (
	"unicode/utf16"
	"unicode/utf8"
)

func utf16Len(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// onceQuoted is the length of text inside a JSON string as encoding/json
// writes it.
func onceQuoted(text string) int { return quotedLen(text, 2, 2, 6) }

// twiceQuoted is the length of text in a JSON string inside a JSON string.
func twiceQuoted(text string) int { return quotedLen(text, 4, 3, 7) }

// quotedLen counts bytes: pair for a quote and a backslash, short for what has
// an escape of one letter, long for what is written as \u003c.
func quotedLen(text string, pair, short, long int) int {
	n := 0
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			n += pair
		case r == '\n' || r == '\t' || r == '\r' || r == '\b' || r == '\f':
			n += short
		case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029':
			n += long
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}
