package tools

import (
	"cmp"
	"slices"
	"strings"
)

// These bound the work of Nearest: names of people's tools and files are
// shorter, and a longer list helps no model.
const (
	nearRunes   = 128
	nearChoices = 2000
	nearResults = 3
)

// Nearest returns up to three of the choices that somebody who wrote word most
// likely meant, the best first; none when nothing is close.
func Nearest(word string, choices []string) []string {
	type hit struct {
		name string
		far  int
	}
	var hits []hit
	w := fold(word)
	for _, c := range choices[:min(len(choices), nearChoices)] {
		f := fold(c)
		far, part := distance(w, f), within(w, f) || within(f, w)
		if far <= max(1, min(len(w), len(f))/3) || part {
			hits = append(hits, hit{c, far})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.name, b.name))
	})
	var names []string
	for _, h := range hits[:min(len(hits), nearResults)] {
		names = append(names, h.name)
	}
	return names
}

// within says whether a is a part of b that is long enough to mean something.
func within(a, b []rune) bool {
	return len(a) >= 3 && strings.Contains(string(b), string(a))
}

// fold makes readFile, read-file and READ_FILE the same.
func fold(s string) []rune {
	r := []rune(strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s)))
	return r[:min(len(r), nearRunes)]
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that lead from a to b.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// quoted writes `"a", "b" or "c"`.
func quoted(names []string) string {
	var b strings.Builder
	for i, n := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(`"` + n + `"`)
	}
	return b.String()
}
