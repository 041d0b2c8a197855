package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"magpie/internal/fold"
)

// Query is what to look for.
type Query struct {
	Words string // words and phrases, separated by blanks or commas
	All   bool   // every word must be there; else any
	Max   int    // at most so many; 0 = 15
}

const defaultMax = 15

// Hit is a note that fits, with how well.
type Hit struct {
	Entry
	Score float64
}

// Search returns the notes that fit best, the best first. Latin words are
// found as words and as beginnings of words, whatever their case and accents; Chinese is
// found wherever it stands, also two characters alone.
func (s *Store) Search(ctx context.Context, o Owner, q Query) ([]Hit, error) {
	entries, err := s.List(ctx, o)
	if err != nil {
		return nil, err
	}
	return rank(entries, q), nil
}

// term is one thing looked for.
type term struct {
	text   string
	word   bool    // matches at the beginning of a word only
	weight float64 // of a part of a longer term: less
	group  int     // the word of the query that it belongs to
}

// search is one query over one set of notes.
type search struct {
	terms   []term
	groups  int
	weights []float64
	mean    float64 // length of a note, in bytes
}

func rank(entries []Entry, q Query) []Hit {
	s := search{mean: 1}
	if s.terms, s.groups = split(q.Words); len(s.terms) == 0 {
		return nil
	}
	counts := make([][]int, len(entries))
	found := make([]int, len(s.terms)) // notes that hold the term
	for i, e := range entries {
		text := folded(e.Text)
		s.mean += float64(len(text)) / float64(len(entries))
		counts[i] = make([]int, len(s.terms))
		for j, t := range s.terms {
			if counts[i][j] = t.count(text); counts[i][j] > 0 {
				found[j]++
			}
		}
	}
	s.weigh(found, len(entries))
	var hits []Hit
	for i, e := range entries {
		if score, whole := s.score(counts[i], float64(len(e.Text))); score > 0 && (whole || !q.All) {
			hits = append(hits, Hit{e, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.At.Compare(a.At))
	})
	most := q.Max
	if most <= 0 {
		most = defaultMax
	}
	return hits[:min(len(hits), most)]
}

// folded is a text as it is compared.
func folded(text string) string { return strings.ToLower(fold.Plain(text)) }

// weigh makes rare terms count more, as in BM25.
func (s *search) weigh(found []int, entries int) {
	for j := range s.terms {
		n := float64(found[j])
		s.weights = append(s.weights, s.terms[j].weight*math.Log(1+(float64(entries)-n+0.5)/(n+0.5)))
	}
}

// score is BM25 with its usual constants; whole says that every word of the
// query is there.
func (s *search) score(counts []int, length float64) (sum float64, whole bool) {
	const k, b = 1.2, 0.75
	covered := make([]bool, s.groups)
	for j, n := range counts {
		if n == 0 {
			continue
		}
		covered[s.terms[j].group] = covered[s.terms[j].group] || s.terms[j].weight == 1
		f := float64(n)
		sum += s.weights[j] * f * (k + 1) / (f + k*(1-b+b*length/s.mean))
	}
	return sum, !slices.Contains(covered, false)
}

// count counts a term in a text of lower-case letters.
func (t term) count(text string) int {
	if !t.word {
		return strings.Count(text, t.text)
	}
	n, at := 0, 0
	for {
		i := strings.Index(text[at:], t.text)
		if i < 0 {
			return n
		}
		if start := at + i; start == 0 || !isWordByte(text[start-1]) {
			n++
		}
		at += i + len(t.text)
	}
}

// isWordByte: the byte before a word of Latin letters belongs to another
// letter or digit of ASCII; Chinese before it does not make it one word.
func isWordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b == '_'
}

// split makes terms of a query: words of letters and digits, and runs of
// Chinese, those longer than two characters also in pairs, because people
// write no blanks where words end.
func split(query string) (terms []term, groups int) {
	seen := map[string]bool{}
	add := func(t term) {
		if t.text != "" && !seen[t.text] {
			seen[t.text] = true
			terms = append(terms, t)
		}
	}
	for _, run := range runs(folded(query)) {
		if seen[run.text] {
			continue
		}
		group := groups
		groups++
		add(term{text: run.text, word: !run.han, weight: 1, group: group})
		if r := []rune(run.text); run.han && len(r) > 2 {
			for i := range len(r) - 1 {
				add(term{text: string(r[i : i+2]), weight: 0.4, group: group})
			}
		} else if !run.han {
			if stem := singular(run.text); stem != run.text {
				add(term{text: stem, word: true, weight: 0.8, group: group})
			}
		}
	}
	return terms, groups
}

type run struct {
	text string
	han  bool
}

// runs cuts a text where it changes between Chinese, other letters and the
// rest.
func runs(text string) []run {
	var all []run
	kind := func(r rune) int {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			return 2
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			return 1
		}
		return 0
	}
	last := 0
	for _, r := range text {
		k := kind(r)
		if k != 0 && k != last {
			all = append(all, run{han: k == 2})
		}
		if k != 0 {
			all[len(all)-1].text += string(r)
		}
		last = k
	}
	return all
}

// singular takes the ending of an English plural or verb off; what is left is
// looked for as the beginning of a word.
func singular(word string) string {
	for _, ending := range []string{"ies", "ing", "es", "ed", "s"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) >= 3 {
			return stem
		}
	}
	return word
}
