package when

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTokens bounds the work for one text. Whoever pastes a book and names a
// time after the first pages is not understood.
const maxTokens = 4000

// maxList bounds what can be repeated in one time: pieces, terms of a length,
// days of a list, characters of a number. It keeps the work for a text linear.
const maxList = 16

type kind uint8

const (
	mark   kind = iota // punctuation, symbols, broken bytes: one rune each
	word               // letters
	number             // digits
	han                // one Chinese character
)

// token is a word, a run of digits, a Chinese character or a mark. White space
// stands between tokens.
type token struct {
	text     string // lower case; full-width and traditional forms are made plain
	raw      string // as written
	kind     kind
	num      int // of a number; -1 when it has more than nine digits
	gap      bool
	from, to int // bytes of the text
}

type tokens []token

func scan(src string) tokens {
	var all tokens
	gap := false
	for i := 0; i < len(src) && len(all) < maxTokens; {
		r, size := utf8.DecodeRuneInString(src[i:])
		if unicode.IsSpace(r) {
			gap, i = true, i+size
			continue
		}
		t := token{kind: kindOf(r), gap: gap, from: i, to: i + size, num: -1}
		if t.kind == word || t.kind == number {
			t.to = runEnd(src, i, t.kind)
		}
		t.raw = src[t.from:t.to]
		t.text = plain(t.raw)
		if t.kind == number && len(t.text) <= 9 {
			t.num, _ = strconv.Atoi(t.text)
		}
		all = append(all, t)
		gap, i = false, t.to
	}
	return all
}

func kindOf(r rune) kind {
	r = narrow(r)
	switch {
	case r >= '0' && r <= '9':
		return number
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.IsLetter(r) || r == '_':
		return word
	}
	return mark
}

// runEnd is where the run of one kind ends that begins at i. An apostrophe
// inside belongs to a word, so "today's" is not "today".
func runEnd(src string, i int, k kind) int {
	for i < len(src) {
		r, size := utf8.DecodeRuneInString(src[i:])
		if kindOf(r) != k {
			next, _ := utf8.DecodeRuneInString(src[i+size:])
			if k != word || r != '\'' && r != '’' || kindOf(next) != word {
				break
			}
		}
		i += size
	}
	return i
}

// narrow makes full-width forms plain: １ is 1, ： is a colon.
func narrow(r rune) rune {
	if r >= '！' && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

func plain(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune {
				if r == '’' {
					return '\''
				}
				return fold(unicode.ToLower(narrow(r)))
			}, s)
		}
	}
	return strings.ToLower(s)
}

// text of the token at i; nothing outside of the sentence.
func (ts tokens) text(i int) string {
	if i < 0 || i >= len(ts) {
		return ""
	}
	return ts[i].text
}

// num is the number at i, -1 when there is none.
func (ts tokens) num(i int) int {
	if i < 0 || i >= len(ts) || ts[i].kind != number {
		return -1
	}
	return ts[i].num
}

// close says that the token at i follows the one before without white space.
func (ts tokens) close(i int) bool {
	return i > 0 && i < len(ts) && !ts[i].gap
}

// lit is where the literal s ends that begins at i, 0 when it does not stand
// there. Words of s are separated by one space; Chinese needs none.
func (ts tokens) lit(i int, s string) int {
	for s != "" {
		if i >= len(ts) {
			return 0
		}
		t := ts[i]
		if !strings.HasPrefix(s, t.text) {
			return 0
		}
		s = s[len(t.text):]
		if t.kind == word && s != "" && kindOf(rune(s[0])) == word {
			return 0 // "no" is not the beginning of "noon"
		}
		s = strings.TrimPrefix(s, " ")
		i++
	}
	return i
}

// any is where the first of the literals ends that stands at i, 0 when none
// does. Longer ones come first.
func (ts tokens) any(i int, all ...string) int {
	for _, s := range all {
		if j := ts.lit(i, s); j > 0 {
			return j
		}
	}
	return 0
}

// skip is the place after an optional literal.
func (ts tokens) skip(i int, all ...string) int {
	if j := ts.any(i, all...); j > 0 {
		return j
	}
	return i
}

// is says whether the token at i is one of the texts.
func (ts tokens) is(i int, all ...string) bool {
	for _, s := range all {
		if i >= 0 && i < len(ts) && ts[i].text == s {
			return true
		}
	}
	return false
}
