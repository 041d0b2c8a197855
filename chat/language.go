package chat

import (
	"strings"
	"unicode"
)

// The languages in which the bot speaks for itself.
const (
	English = "en"
	Chinese = "zh"
)

// Language is what the platform says of the sender: Chinese, English for any
// other tag, "" where it says nothing.
func (s *Sender) Language() string {
	tag := strings.ToLower(strings.TrimSpace(s.Lang))
	if tag == "" {
		return ""
	}
	if base, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-"); base == Chinese {
		return Chinese
	}
	return English
}

// Language is that in which to answer somebody of whom no more is known than one
// message: Chinese where its text or the platform tells so, "" where nothing
// tells anything.
func (in *Inbound) Language() string {
	sender, text := in.From.Language(), TextLanguage(in.Text)
	if sender == Chinese || text == Chinese {
		return Chinese
	}
	if sender == "" {
		return text
	}
	return sender
}

// scanned bounds how much of a text TextLanguage looks at, in bytes.
const scanned = 4096

// TextLanguage is Chinese for text with Han characters and no kana or hangul,
// English for other text, and "" for what shows no language: a command in Latin
// letters is the same in all, and signs have none.
func TextLanguage(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > scanned {
		text = text[:scanned]
	}
	command := strings.HasPrefix(text, "/") || strings.HasPrefix(text, "／")
	lang := ""
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			return English
		case unicode.Is(unicode.Han, r):
			lang = Chinese
		case lang == "" && !command && unicode.IsLetter(r):
			lang = English
		}
	}
	return lang
}
