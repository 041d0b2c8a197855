package settings

import (
	"strings"
	"unicode"

	"magpie/chat"
)

// The languages in which the bot speaks for itself.
const (
	English = "en"
	Chinese = "zh"
)

// Lang decides in which language the bot speaks for itself: what the chat has
// chosen, else what the platform says of the sender, else what the text is
// written in.
func Lang(set Settings, sender chat.Sender, text string) string {
	if set.Lang == English || set.Lang == Chinese {
		return set.Lang
	}
	if tag := strings.ToLower(strings.TrimSpace(sender.Lang)); tag != "" {
		if base, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-"); base == "zh" {
			return Chinese
		}
		return English
	}
	return TextLang(text)
}

// scanned bounds how much of a text TextLang looks at, in bytes.
const scanned = 4096

// TextLang returns Chinese for text with Han characters and no kana or hangul,
// else English.
func TextLang(text string) string {
	if len(text) > scanned {
		text = text[:scanned]
	}
	lang := English
	for _, r := range text {
		switch {
		case r < 0x80:
		case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			return English
		case unicode.Is(unicode.Han, r):
			lang = Chinese
		}
	}
	return lang
}
