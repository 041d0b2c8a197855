package tools

import (
	"cmp"
	"slices"
	"strings"

	"magpie/internal/near"
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
		far, part := near.Distance(string(w), string(f)), within(w, f) || within(f, w)
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
