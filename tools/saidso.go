package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SaidSo says that the person has just said a text, word for word: whatever the
// turn has read has no part in it. How it is written does not count, nor do the
// marks at its end. Nothing counts as said where somebody has pasted a text from
// outside.
func (h Heard) SaidSo(text string) bool {
	said := strings.ToLower(strings.Join(strings.Fields(h.Said), " "))
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if text = strings.Trim(text, ".!?。！？ "); text == "" || outsideTag.MatchString(said) {
		return false
	}
	for from := 0; ; {
		i := strings.Index(said[from:], text)
		if i < 0 {
			return false
		}
		i += from
		if !withinWord(said, i) && !withinWord(said, i+len(text)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text)
		from = i + size
	}
}

// withinWord says that a place of a text is in the middle of a word. Chinese is
// written without blanks between its words.
func withinWord(text string, at int) bool {
	inWord := func(r rune) bool { return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return inWord(before) && inWord(after)
}
