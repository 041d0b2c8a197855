package when

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// rest is what is left when the times and the words around them are taken
// away.
func (s *sentence) rest(g group) string {
	gone := make([]bool, len(s.ts))
	for _, g := range append(s.extra, g) {
		for i := g.from; i < g.to; i++ {
			gone[i] = true
		}
	}
	text := ""
	for i := 0; i < len(s.ts); {
		if gone[i] {
			i++
			continue
		}
		j := i
		for j < len(s.ts) && !gone[j] {
			j++
		}
		text = joined(text, s.trim(i, j))
		i = j
	}
	return text
}

// links lead from the time to the thing: "to call mum", "三点的会议".
var links = []string{"to", "that", "about", "for", "要记得", "的时候", "的", "时", "后", "之后"}

// trim takes orders, marks and links from the ends of a piece of the sentence.
func (s *sentence) trim(i, j int) string {
	last := len(s.ts)
	for i < j {
		k := s.ts.any(i, links...)
		switch {
		case s.order[i] || s.ts[i].kind == mark && strings.ContainsAny(s.ts[i].text, ",.;:!?。，；：！？、-–—~*"):
			i++
		case k > 0 && k <= j:
			i = k
		default:
			last = i
		}
		if last == i {
			break
		}
	}
	for i < j && (s.order[j-1] || s.ts[j-1].kind == mark && strings.ContainsAny(s.ts[j-1].text, ",;:，；：、-–—") || j < len(s.ts) && s.ts.is(j-1, "at", "on", "by", "from", "在", "于")) {
		j--
	}
	polite := len(s.ts) > 0 && (s.ts.is(0, "can", "could", "would", "will") || s.ts.any(0, "你能", "能", "可以", "可不可以") > 0)
	for end := j == len(s.ts); i < j && end && (s.ts.is(j-1, ".", "。", "!", "吧", "~") || polite && s.ts.is(j-1, "?", "吗", "么")); {
		j--
	}
	if i >= j {
		return ""
	}
	end := s.ts[j-1].to
	if j == len(s.ts) && j == maxTokens {
		end = len(s.src)
	}
	return strings.TrimSpace(s.src[s.ts[i].from:end])
}

// joined puts two texts together, with a space unless both are Chinese.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if unicode.Is(unicode.Han, last) && unicode.Is(unicode.Han, first) {
		return a + b
	}
	return a + " " + b
}
