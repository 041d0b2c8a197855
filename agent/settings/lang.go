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
	return LangAfter(set, sender, text, func() string { return "" })
}

// LangAfter is Lang in a conversation: where nothing else tells the language it
// is that of what the bot said before.
func LangAfter(set Settings, sender chat.Sender, text string, said func() string) string {
	if set.Lang == English || set.Lang == Chinese {
		return set.Lang
	}
	if tag := strings.ToLower(strings.TrimSpace(sender.Lang)); tag != "" {
		if base, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-"); base == "zh" {
			return Chinese
		}
		return English
	}
	if tells(text) {
		return TextLang(text)
	}
	return TextLang(said())
}

// tells reports whether a text shows its writer's language. A command in Latin
// letters is the same in all languages.
func tells(text string) bool {
	if TextLang(text) == Chinese {
		return true
	}
	text = strings.TrimSpace(text)
	return !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "／") && strings.ContainsFunc(text, unicode.IsLetter)
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
