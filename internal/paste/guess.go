package paste

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// command is what makes a secret in a shell and was pasted in place of what it
// prints. Words of a passphrase are none: there is an option or a pipe.
var command = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`openssl\W+rand\b`, `^\W*(uuidgen|pwgen|apg|mkpasswd)( +-|$)`, `^\W*pwgen +\d`, `/dev/u?random`, `new-?guid`,
	`^\W*(python3?|node|perl|ruby|php) +-`, `^\W*(head|tail|tr|od|xxd|dd|cat|base64|date|md5sum|sha256sum|gpg) +[-+<]`, `^\W*(echo|printf|cat|head|date) .*\|`,
}, "|"))

// plentiful is how many signs of a text must say something of their own.
const plentiful = 8

// Guessable says whether a secret can be tried out in spite of its length: it
// is of few signs, of rows of the alphabet or the keyboard, repeated, or made
// of the words that everybody tries first.
func Guessable(secret string) bool {
	s := strings.ToLower(secret)
	for n := 1; n <= len(s)/2; n++ { // abc123abc123 says no more than abc123
		if strings.HasPrefix(s[n:], s[:len(s)-n]) {
			s = s[:n]
			break
		}
	}
	for word := range strings.FieldsSeq(wellKnown) {
		s = strings.ReplaceAll(s, word, "\x00")
	}
	all := []rune(s)
	own := 0
	for i, r := range all {
		known := r == 0 || unicode.IsSpace(r) || strings.ContainsRune("-_.@!#", r) && i > 0 && r == all[i-1]
		if !known && !follows(all, i, 1) && !(follows(all, i, 2) && (follows(all, i-1, 2) || follows(all, i+1, 2))) {
			own++
		}
	}
	distinct := len(slices.Compact(slices.Sorted(slices.Values(all))))
	if distinct > 10 && hexadecimal.MatchString(secret) {
		return false // the form of what openssl rand -hex makes
	}
	return own < plentiful || distinct < plentiful/2+2
}

var hexadecimal = regexp.MustCompile(`^[0-9a-f]{16,}$`)

// wellKnown are the words of the lists that are tried first, longer ones before
// those that they hold.
const wellKnown = `correcthorsebatterystaple administrator changeit password passw0rd p@ssw0rd p@ssword passwort letmein
 iloveyou welcome woaini5201314 5201314 woaini default dragon monkey master sunshine princess football baseball superman 1qaz 2wsx 3edc 4rfv 5tgb 6yhn 7ujm
 example secret qwerty magpie access hello admin login token guest test root user pass bot web key 1314520 888888 666666`

// rows are what follows one another under the fingers and in the alphabet.
const rows = "12345678901 qwertyuiop asdfghjkl zxcvbnm abcdefghijklmnopqrstuvwxyz 0123456789 !@#$%^&*()"

// follows says whether a sign goes on with the two before it, each so far from
// the next: 1 2 3, c b a, x x x.
func follows(all []rune, i, far int) bool {
	if i < 2*far || i >= len(all) {
		return false
	}
	a, b, c := all[i-2*far], all[i-far], all[i]
	if a == b && b == c {
		return true
	}
	if !utf8.ValidRune(a) || a == 0 || b == 0 || c == 0 {
		return false
	}
	return strings.Contains(rows, string([]rune{a, b, c})) || strings.Contains(rows, string([]rune{c, b, a}))
}
