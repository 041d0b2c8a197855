package dingtalk

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// withoutMention takes the mention of the bot out of the texts of a message. No
// mark says whose name is which, or where one ends: nick is the bot's name if it
// is known; mentions is how many DingTalk counts. In doubt a mention stays, for
// what a person wrote must not be lost with it.
func withoutMention(texts []string, nick string, mentions int) {
	if nick != "" && cutNick(texts, "@"+nick) {
		return
	}
	begins := func(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "@") }
	at := slices.IndexFunc(texts, begins) // people put the bot's first
	if at < 0 {
		return
	}
	name, more := untilBlank(strings.TrimSpace(texts[at]))
	others := func(text string) bool { return strings.TrimSpace(text) != "" }
	switch {
	case strings.ContainsFunc(name[1:], notInNames): // it goes on without a blank
	case more && (mentions > 1 || slices.ContainsFunc(texts[at+1:], begins)): // the first may be somebody else's
	case more:
		texts[at] = strings.TrimPrefix(strings.TrimLeftFunc(texts[at], unicode.IsSpace), name)
	case slices.ContainsFunc(texts[:at], others) || slices.ContainsFunc(texts[at+1:], others):
		texts[at] = ""
	}
}

// untilBlank is the text before the first white space of any kind; more: there
// is some.
func untilBlank(s string) (first string, more bool) {
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i], true
	}
	return s, false
}

// cutNick takes the first mention of the bot by its name away.
func cutNick(texts []string, mention string) bool {
	for i, text := range texts {
		before, after, ok := strings.Cut(text, mention)
		next, _ := utf8.DecodeRuneInString(after)
		if !ok || next < utf8.RuneSelf && (unicode.IsLetter(next) || unicode.IsDigit(next)) { // a longer name
			continue
		}
		if strings.TrimSpace(before) == "" {
			after = strings.TrimLeftFunc(after, unicode.IsSpace)
		}
		texts[i] = before + after
		return true
	}
	return false
}

// notInNames tells marks that stand in sentences.
func notInNames(r rune) bool { return unicode.IsPunct(r) && !strings.ContainsRune("-_.·()（）&", r) }
