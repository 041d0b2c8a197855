// Package fold makes texts equal that people take for the same: letters that are
// put together in different ways, letters with and without accents, wide and
// narrow forms. It may be imported by whoever looks for something.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Same is equal for texts that look the same: é is one letter or two, depending
// on the system that wrote it.
func Same(s string) string { return norm.NFC.String(s) }

// Plain is s without the accents of Latin and Greek letters and with wide forms
// as the usual ones: café is cafe, ＡＢＣ is ABC. Of other scripts such marks are
// more than accents (が is another syllable than か) and stay, as does what is
// another character: 臺 is not 台.
func Plain(s string) string {
	if ascii(s) {
		return s
	}
	var b strings.Builder
	bare := false // the last letter takes accents that do not count
	for _, r := range norm.NFKD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			bare = unicode.In(r, unicode.Latin, unicode.Greek)
		} else if bare {
			continue
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
