package grammar

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxTokens bounds the work for one text. Whoever pastes a book and names a
// time after the first pages is not understood.
const MaxTokens = 4000

// MaxList bounds what can be repeated in one time: pieces, terms of a length,
// days of a list, characters of a number. It keeps the work for a text linear.
const MaxList = 16

// Kind of a Token.
type Kind uint8

// The kinds.
const (
	Mark   Kind = iota // punctuation, symbols, broken bytes: one rune each
	Word               // letters
	Number             // digits
	Han                // one Chinese character
)

// Token is a word, a run of digits, a Chinese character or a mark. White space
// stands between tokens.
type Token struct {
	Text     string // lower case; full-width and traditional forms are made plain, slips are mended
	Raw      string // as written
	Kind     Kind
	Num      int  // of a number; -1 when it has more than nine digits
	Gap      bool // white space stands before it
	From, To int  // bytes of the text
}

// Class is what a token may begin.
type Class uint8

// The classes: each token is of one of them at most.
const (
	Digits   Class = 1 << iota // 12
	Spoken                     // twelve, half, second
	Numerals                   // 十二, 半
	Letters                    // another word
	Marks
	classes = 5
)

func (t Token) class() Class {
	switch kind := numbers()[t.Text].kind; {
	case t.Kind == Number:
		return Digits
	case t.Kind == Mark:
		return Marks
	case t.Kind == Han && kind == "":
		return 0
	case t.Kind == Han:
		return Numerals
	case kind == "":
		return Letters
	}
	return Spoken
}

// Tokens of a text.
type Tokens []Token

// Scan cuts a text into tokens.
func Scan(src string) Tokens {
	var all Tokens
	gap := false
	for i := 0; i < len(src) && len(all) < MaxTokens; {
		r, size := utf8.DecodeRuneInString(src[i:])
		if unicode.IsSpace(r) {
			gap, i = true, i+size
			continue
		}
		t := Token{Kind: kindOf(r), Gap: gap, From: i, To: i + size, Num: -1}
		if t.Kind == Word || t.Kind == Number {
			t.To = runEnd(src, i, t.Kind)
		}
		t.Raw = src[t.From:t.To]
		t.Text = plain(t.Raw)
		if t.Kind == Number && len(t.Text) <= 9 {
			t.Num, _ = strconv.Atoi(t.Text)
		}
		all = append(all, t)
		gap, i = false, t.To
	}
	return all
}

func kindOf(r rune) Kind {
	r = narrow(r)
	switch {
	case r >= '0' && r <= '9':
		return Number
	case unicode.Is(unicode.Han, r):
		return Han
	case unicode.IsLetter(r) || r == '_':
		return Word
	}
	return Mark
}

// runEnd is where the run of one kind ends that begins at i. An apostrophe
// inside belongs to a word, so "today's" is not "today".
func runEnd(src string, i int, k Kind) int {
	for i < len(src) {
		r, size := utf8.DecodeRuneInString(src[i:])
		if kindOf(r) != k {
			next, _ := utf8.DecodeRuneInString(src[i+size:])
			if k != Word || r != '\'' && r != '’' || kindOf(next) != Word {
				break
			}
		}
		i += size
	}
	return i
}

// narrow makes full-width forms plain: １ is 1, ： is a colon.
func narrow(r rune) rune {
	switch {
	case r == '’':
		return '\''
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	}
	return r
}

func plain(s string) string {
	return Simplify(strings.Map(func(r rune) rune { return unicode.ToLower(narrow(r)) }, s))
}

// Text is that of the token at i; nothing outside of the sentence.
func (ts Tokens) Text(i int) string {
	if i < 0 || i >= len(ts) {
		return ""
	}
	return ts[i].Text
}

// Num is the number at i, -1 when there is none.
func (ts Tokens) Num(i int) int {
	if i < 0 || i >= len(ts) || ts[i].Kind != Number {
		return -1
	}
	return ts[i].Num
}

// Close says that the token at i follows the one before without white space.
func (ts Tokens) Close(i int) bool {
	return i > 0 && i < len(ts) && !ts[i].Gap
}

// lit is where the literal s ends that begins at i, 0 when it does not stand
// there. Words of s are separated by one space; Chinese needs none.
func (ts Tokens) lit(i int, s string) int {
	for s != "" {
		if i >= len(ts) {
			return 0
		}
		t := ts[i]
		if !strings.HasPrefix(s, t.Text) {
			return 0
		}
		s = s[len(t.Text):]
		if t.Kind == Word && s != "" && kindOf(rune(s[0])) == Word {
			return 0 // "no" is not the beginning of "noon"
		}
		s = strings.TrimPrefix(s, " ")
		i++
	}
	return i
}

// Any is where the first of the literals ends that stands at i, 0 when none
// does. Longer ones come first.
func (ts Tokens) Any(i int, all ...string) int {
	for _, s := range all {
		if j := ts.lit(i, s); j > 0 {
			return j
		}
	}
	return 0
}

// Skip is the place after an optional literal.
func (ts Tokens) Skip(i int, all ...string) int {
	if j := ts.Any(i, all...); j > 0 {
		return j
	}
	return i
}

// Is says whether the token at i is one of the texts.
func (ts Tokens) Is(i int, all ...string) bool {
	return i >= 0 && i < len(ts) && slices.Contains(all, ts[i].Text)
}
