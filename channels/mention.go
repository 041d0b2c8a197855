package channels

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"magpie/chat"
)

// idForm is how ids of people look that can stand in a mention.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// maxName is the longest name in a mention, in characters.
const maxName = 40

// Mentioned returns the id and the name of whom a message is for. The id is ""
// where the person cannot be mentioned, the name where nobody is meant. The name
// has no signs that a platform or Markdown would read as anything else.
func Mentioned(msg chat.Outbound) (id, name string) {
	who := msg.Mention
	if idForm.MatchString(who.ID) {
		id = who.ID
	}
	name = strings.Join(strings.FieldsFunc(cmp.Or(who.Name, who.Username), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !strings.ContainsRune("'’.-·", r)
	}), " ")
	if short := []rune(name); len(short) > maxName {
		name = string(short[:maxName])
	}
	return id, name
}

// Named puts the name of whom a message is for before its rendered text, for
// platforms and forms that mention nobody.
func Named(msg chat.Outbound, text string) string {
	if _, name := Mentioned(msg); name != "" {
		return name + ": " + text
	}
	return text
}
