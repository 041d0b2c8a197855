package grammar

import (
	_ "embed"
	"strings"
	"sync"
)

// variants are pairs of a traditional character and its simplified form.
//
//go:embed variants.txt
var variants string

var simplified = sync.OnceValue(func() map[rune]rune {
	all := map[rune]rune{}
	for pair := range strings.FieldsSeq(variants) {
		r := []rune(pair)
		for i := 0; i+1 < len(r); i += 2 {
			all[r[i]] = r[i+1]
		}
	}
	return all
})

// Simplify writes a text in simplified characters.
func Simplify(text string) string {
	return strings.Map(fold, text)
}

// fold writes a traditional character in its simplified form: people write 兩點
// and 两点, and the tables know only the second.
func fold(r rune) rune {
	if s, ok := simplified()[r]; ok {
		return s
	}
	return r
}
