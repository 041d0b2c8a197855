package command

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/near"
)

// Is says whether a text is for Handle instead of the model: a known command
// or a near miss of one. It is pure and quick; other text with a slash ("/etc/
// hosts", "/shrug") goes to the model.
func Is(text string) bool {
	word, _, ok := split(text)
	return ok && (find(word) != nil || nearMiss(word) != nil)
}

// IsStop says whether a text is /stop in one of its spellings: it is let
// through where other messages have to wait.
func IsStop(text string) bool {
	word, _, ok := split(text)
	if !ok {
		return false
	}
	e := find(word)
	return e != nil && e.names[0] == "stop"
}

// maxWord is longer than any command, in bytes: what is longer is no typing
// error but a path or a sentence.
const maxWord = 64

// split takes a command apart: "／Help@my_bot me" is "help" and "me". ok is
// false for text that does not begin with a slash and a word; what people write
// between the bot's name and the command counts for nothing ("@bot：/help").
func split(text string) (word, args string, ok bool) {
	text = strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune("，,：:、", r)
	})
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		if rest, ok = strings.CutPrefix(text, "／"); !ok {
			return "", "", false
		}
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	if end > maxWord*2 { // a bot's name may follow
		return "", "", false
	}
	word, _, _ = strings.Cut(strings.Map(narrow, rest[:end]), "@")
	word = strings.TrimRightFunc(strings.ToLower(word), unicode.IsPunct)
	if word == "" || len(word) > maxWord || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return "", "", false
	}
	return word, strings.TrimSpace(rest[end:]), true
}

// narrow turns full-width letters and signs, as Chinese input methods write
// them, into the usual ones.
func narrow(r rune) rune {
	if r >= '！' && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

// find returns the command of that name, nil when there is none.
func find(word string) *entry {
	for _, e := range table() {
		for _, name := range e.names {
			if name == word {
				return &e
			}
		}
	}
	return nil
}

// near returns the command that the word was probably meant to be, nil when it
// looks like none. Two typing errors make a near miss, in names of three
// letters one, but no more than half of what was typed ("/tmp" is not
// "/stop"). Shorter names have none, and neither have the further names:
// "/post" must not become "/cost".
func nearMiss(word string) *entry {
	var best *entry
	least, typed := 3, utf8.RuneCountInString(word)
	for _, e := range table() {
		for _, name := range e.names[:2] {
			letters := utf8.RuneCountInString(name)
			allowed := 2
			if letters <= 3 {
				allowed = letters - 2
			}
			if d := near.Distance(word, name); d <= allowed && d < least && 2*d <= typed {
				best, least = &e, d
			}
		}
	}
	return best
}
