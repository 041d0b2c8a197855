package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieces cuts spans so that each can stand between marks: no line ends, no
// white space and, where the flanking rules would not let the marks count, no
// punctuation at the edges. Styles that the platform lacks are dropped.
func (f *flavor) pieces(spans []span) []span {
	known := code
	for _, m := range f.marks {
		known |= m.style
	}
	var flat, out []span
	for _, s := range spans {
		if s.style &= known; s.style&code != 0 {
			s.style = code
		}
		flat = appendSpan(flat, s)
	}
	for i, s := range flat {
		if s.style == 0 || s.style == code {
			out = appendSpan(out, s)
			continue
		}
		before, after := rune(' '), rune(' ')
		if i > 0 {
			before = edge(flat[i-1], s, utf8.DecodeLastRuneInString)
		}
		if i+1 < len(flat) {
			after = edge(flat[i+1], s, utf8.DecodeRuneInString)
		}
		lines := strings.Split(s.text, "\n")
		for k, line := range lines {
			left, right := ' ', ' '
			if k == 0 {
				left = before
			} else {
				out = appendSpan(out, span{text: "\n", link: s.link})
			}
			if k == len(lines)-1 {
				right = after
			}
			out = f.peeled(out, line, s, [2]rune{left, right})
		}
	}
	return out
}

// peeled appends line in the style of s, with what may not stand at its edges
// outside. around is what comes before and after.
func (f *flavor) peeled(out []span, line string, s span, around [2]rune) []span {
	core := strings.TrimFunc(line, unicode.IsSpace)
	at := strings.Index(line, core)
	end := at + len(core)
	if f.flanking {
		if s.style&strike != 0 && (isLetterLike(around[0]) || isLetterLike(around[1])) {
			s.style = strike // of two signs only the inner would touch a letter
		}
		if at == 0 && isLetterLike(around[0]) {
			at = len(line) - len(strings.TrimLeftFunc(line, isEdge))
		}
		if at < end && end == len(line) && isLetterLike(around[1]) {
			end = len(strings.TrimRightFunc(line, isEdge))
		}
	}
	if at >= end {
		return appendSpan(out, span{text: line, link: s.link})
	}
	out = appendSpan(out, span{text: line[:at], link: s.link})
	out = appendSpan(out, span{text: line[at:end], link: s.link, style: s.style})
	return appendSpan(out, span{text: line[end:], link: s.link})
}

// edge is the rune of a neighbour that the marks of s will touch.
func edge(neighbour, s span, decode func(string) (rune, int)) rune {
	switch {
	case neighbour.link != s.link, neighbour.style == code:
		return '['
	case neighbour.style != 0:
		return 'x' // its mark, or the gap in front of it
	}
	r, _ := decode(neighbour.text)
	if r == '~' && s.style&strike != 0 {
		return 'x' // likewise
	}
	return r
}

func isEdge(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r) }

func isLetterLike(r rune) bool { return !isEdge(r) }

// appendSpan appends s, or adds its text to the last span when that is alike.
func appendSpan(out []span, s span) []span {
	if s.text == "" {
		return out
	}
	if n := len(out); n > 0 && out[n-1].style == s.style && out[n-1].link == s.link {
		out[n-1].text += s.text
		return out
	}
	return append(out, s)
}
