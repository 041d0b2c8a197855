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

var simplified = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(strings.Split(strings.Join(strings.Fields(variants), ""), "")...)
})

// Simplify writes a text in simplified characters: people write 兩點 and 两点,
// and the tables know only the second.
func Simplify(text string) string { return simplified().Replace(text) }
