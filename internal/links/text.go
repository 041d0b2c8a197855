package links

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Defang is text with everything that Find finds written so that nothing links
// it.
func Defang(text string) string {
	folded, places := Flat(text)
	var edits []Edit
	for _, f := range Find(folded, false) {
		for _, e := range f.Defang {
			edits = append(edits, Edit{places[e.From], places[e.To], e.Text})
		}
	}
	return Apply(text, edits)
}

// Flat folds a text and says for each of its bytes, and its end, where it stood.
func Flat(text string) (string, []int) {
	var b strings.Builder
	var places []int
	for i, r := range text {
		if r = Fold(r); r < 0 {
			continue
		}
		b.WriteRune(r)
		for range utf8.RuneLen(r) {
			places = append(places, i)
		}
	}
	return b.String(), append(places, len(text))
}

// Apply makes edits, in any order; of two that overlap the first counts.
func Apply(text string, edits []Edit) string {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.From - b.From })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.From < at {
			continue
		}
		b.WriteString(text[at:e.From] + e.Text)
		at = e.To
	}
	return b.String() + text[at:]
}

// Finished is a text that is still being written without its last word, if that
// may become a link, or another one.
func Finished(text string) string {
	cut := strings.LastIndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r > 0x2FFF && unicode.IsPunct(r) && r != '。' }) + 1
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	last := text[cut:]
	if strings.ContainsAny(last, ".:/@") || last != "" && last[len(last)-1] < 0x80 {
		return text[:cut]
	}
	return text
}

// All are the targets that a text names, in every reading.
func All(text string) (all []string) {
	text, _ = Flat(text)
	for _, f := range Find(text, false) {
		for _, t := range f.Targets {
			all = append(all, t.Text)
		}
		for i, r := range text[f.From:f.To] { // some clients know names of ASCII only
			if r < utf8.RuneSelf {
				if i > 0 && isLabel(r) {
					all = append(all, All(text[f.From+i:f.To])...)
				}
				break
			}
		}
	}
	return all
}
