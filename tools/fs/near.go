package fs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/fold"
	"magpie/tools"
)

// The bounds of the look for what was meant by a text that is not there. They
// hold its time to a moment whatever the file is.
const (
	nearRunes   = 400     // of a line that are compared
	nearLines   = 60      // of the text looked for that are compared
	nearClose   = 40      // lines of the file that are compared letter by letter
	nearWork    = 4 << 20 // letters that are compared with letters
	nearestRun  = 3       // places shown
	mostShown   = 12      // lines of one of them
	leastAlike  = 50      // of 100: less is something else
	mostPlaces  = 4000    // of the file that are tried for several lines
	shownOfLine = 200     // runes
)

// notThere shows the places of a text that are most like one that is not in it,
// and how they differ.
func notThere(text, find string) error {
	lines, want := numbered(text, find), cutLines(find)
	for len(want) > 1 && strings.TrimSpace(want[0]) == "" {
		want = want[1:]
	}
	for len(want) > 1 && strings.TrimSpace(want[len(want)-1]) == "" {
		want = want[:len(want)-1]
	}
	spots := nearest(lines, want[:min(len(want), nearLines)])
	if len(spots) == 0 {
		return tools.Errorf(tools.InvalidArgs, "old_text is not in the file, and nothing like it; read the file again")
	}
	var b strings.Builder
	for i, s := range spots {
		if i > 0 && len(want) > 1 {
			b.WriteString("\n   --")
		}
		s.write(&b, lines, want)
	}
	return tools.Errorf(tools.InvalidArgs, "old_text is not in the file as it is; blanks and line ends count. The nearest lines:%s", b.String())
}

// piece is a line of the file, or a stretch of a long one.
type piece struct {
	text string
	line int  // its number
	part bool // of a longer line
}

// numbered are the lines of a text. When one line is looked for, long ones come in
// stretches that overlap, since it may be a part of them.
func numbered(text, find string) (all []piece) {
	for i, line := range cutLines(text) {
		const step = nearRunes // bytes; a stretch has twice as many
		if len(line) <= 2*step || strings.Contains(strings.Trim(find, "\n"), "\n") {
			all = append(all, piece{line, i + 1, false})
			continue
		}
		for at := 0; at < len(line); at += step {
			all = append(all, piece{strings.ToValidUTF8(line[at:min(len(line), at+2*step)], ""), i + 1, true})
		}
	}
	return all
}

// cutLines are the lines of a text without their ends.
func cutLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// spot is a place of the file and how much it is like the text looked for.
type spot struct {
	line  int // the first, from 0
	score int // of 100 for each line
}

// nearest finds the places at which most of the lines fit, the best first.
func nearest(lines []piece, want []string) (best []spot) {
	c := comparer{want: make([][]rune, len(want)), left: nearWork}
	weight := 0
	for i, w := range want {
		c.want[i] = squeezed(w)
		weight += len(c.want[i])
	}
	if weight == 0 {
		return nil
	}
	have := make([][]rune, len(lines))
	for i, l := range lines {
		have[i] = squeezed(l.text)
	}
	for _, at := range c.candidates(have) {
		sum := 0
		for i, w := range c.want {
			if at+i < len(have) && at+i >= 0 {
				sum += c.alike(have[at+i], w) * len(w)
			}
		}
		if score := sum / weight; score >= leastAlike || len(want) > 1 && score >= leastAlike/2 {
			best = append(best, spot{max(at, 0), score})
		}
	}
	slices.SortStableFunc(best, func(a, b spot) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.line, b.line)) })
	best = slices.CompactFunc(best, func(a, b spot) bool { return a.line == b.line })
	if len(best) > 0 { // places that are much worse than the best help nobody
		least := best[0].score - 20
		best = slices.DeleteFunc(best, func(s spot) bool { return s.score < least })
	}
	return best[:min(len(best), nearestRun)]
}

// squeezed is a line as it is compared: without blanks, accents and case, with
// curly quotes and wide letters as the usual ones, as far as it is looked at.
func squeezed(line string) []rune {
	line = line[:min(len(line), 4*nearRunes)]
	line = strings.ToLower(fold.Plain(line))
	r := []rune(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.Is(unicode.Cf, r):
			return -1
		case strings.ContainsRune("“”„«»「」", r):
			return '"'
		case strings.ContainsRune("‘’‚′", r):
			return '\''
		case strings.ContainsRune("–—−‐", r):
			return '-'
		}
		return r
	}, line))
	return r[:min(len(r), nearRunes)]
}

// comparer compares lines, with bounded work.
type comparer struct {
	want [][]rune
	left int
}

// candidates are the places that are worth a closer look: those where a line is
// the same, and those where letters stand as they do in the most telling line.
func (c *comparer) candidates(have [][]rune) []int {
	votes := map[int]int{}
	byText := map[string][]int{}
	longest := 0
	for i, w := range c.want {
		if len(w) > 0 && len(byText[string(w)]) < nearLines {
			byText[string(w)] = append(byText[string(w)], i)
		}
		if len(w) > len(c.want[longest]) {
			longest = i
		}
	}
	type close struct{ line, common int }
	var closest []close
	pairs := pairsOf(c.want[longest])
	for n, h := range have {
		for _, i := range byText[string(h)] {
			if len(votes) < mostPlaces {
				votes[n-i] += len(h)
			}
		}
		if common := commonPairs(pairs, h); common > 0 {
			closest = append(closest, close{n, common*1000 - abs(len(h)-len(c.want[longest]))})
		}
	}
	slices.SortStableFunc(closest, func(a, b close) int { return cmp.Compare(b.common, a.common) })
	for _, l := range closest[:min(len(closest), nearClose)] {
		votes[l.line-longest]++
	}
	places := make([]int, 0, len(votes))
	for at := range votes {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
	return places[:min(len(places), 2*nearClose)]
}

// pairsOf counts the letters of a line, and each two that stand together.
func pairsOf(line []rune) map[[2]rune]int {
	pairs := map[[2]rune]int{}
	for i, r := range line {
		pairs[[2]rune{r}]++
		if i > 0 {
			pairs[[2]rune{line[i-1], r}]++
		}
	}
	return pairs
}

func commonPairs(pairs map[[2]rune]int, line []rune) (n int) {
	used := map[[2]rune]int{}
	take := func(p [2]rune, weight int) {
		if used[p] < pairs[p] {
			used[p]++
			n += weight
		}
	}
	for i, r := range line {
		take([2]rune{r}, 1)
		if i > 0 {
			take([2]rune{line[i-1], r}, 2)
		}
	}
	return n
}

// alike says how much of a line is as in another one, of 100.
func (c *comparer) alike(line, want []rune) int {
	longer := max(len(line), len(want))
	switch {
	case slices.Equal(line, want):
		return 100
	case longer == 0 || len(want) == 0:
		return 0
	case strings.Contains(string(line), string(want)): // a part of a line was looked for
		return 90
	}
	if c.left -= len(line) * len(want); c.left < 0 {
		return 0
	}
	// What the line has more on its sides is no difference: old_text may begin and
	// end within a line.
	return 100 * (len(want) - min(len(want), within(line, want))) / len(want)
}

// within is how many letters are to be inserted, removed or replaced to make want
// of some part of line.
func within(line, want []rune) int {
	last, row := make([]int, len(line)+1), make([]int, len(line)+1)
	for i, w := range want {
		row[0] = i + 1
		for j, h := range line {
			cost := 1
			if w == h {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
		}
		last, row = row, last
	}
	return slices.Min(last)
}

func abs(n int) int { return max(n, -n) }

// write shows the lines of the place. One that is not what was looked for is
// marked, and what differs is named where the eye does not see it.
func (s spot) write(b *strings.Builder, lines []piece, want []string) {
	n, differs := min(len(want), len(lines)-s.line), false
	from := 0
	for i := range n { // of many lines those around the first that differs
		if lines[s.line+i].text != want[i] {
			from = max(0, i-mostShown/2)
			break
		}
	}
	for i := from; i < min(n, from+mostShown); i++ {
		have := lines[s.line+i].text
		mark, note := ' ', ""
		if !standsIn(have, want, i) {
			mark, note = '>', difference(have, want[i])
			differs = true
		}
		if len(want) == 1 {
			mark = ' '
		}
		fmt.Fprintf(b, "\n%c%5d  %s%s", mark, lines[s.line+i].line, lines[s.line+i].shown(want[i]), note)
	}
	if !differs {
		b.WriteString("\n       [these lines are the same; what stands around them, or how they end, differs]")
	}
	if left := n - from - mostShown; left > 0 {
		fmt.Fprintf(b, "\n       … %d more lines", left)
	}
}

// standsIn says whether a line of the file is the i-th of those looked for; the
// first may begin within it, and the last may end within it.
func standsIn(have string, want []string, i int) bool {
	switch last := len(want) - 1; {
	case last == 0:
		return strings.Contains(have, want[0])
	case i == 0:
		return strings.HasSuffix(have, want[0])
	case i == last:
		return strings.HasPrefix(have, want[last])
	}
	return have == want[i]
}

// difference names what cannot be seen.
func difference(have, want string) string {
	trimmed := strings.TrimSpace(want)
	switch {
	case trimmed == "":
		return ""
	case strings.HasSuffix(have, "\r") && strings.TrimSuffix(have, "\r") == want:
		return "  [it ends with CR LF]"
	case strings.Contains(have, trimmed):
		return fmt.Sprintf("  [only blanks differ: the line begins with %s, not %s]", ends(have), ends(want))
	case strings.Contains(blankless(have), blankless(want)):
		return "  [only blanks differ]"
	case strings.Contains(strings.ToLower(have), strings.ToLower(trimmed)):
		return "  [only upper and lower case differ]"
	case strings.Contains(string(squeezed(have)), string(squeezed(want))):
		return "  [letters that look alike differ, such as quotes, wide letters or accents]"
	}
	return ""
}

func blankless(s string) string { return strings.Join(strings.Fields(s), "") }

// ends tells the blanks at the ends of a line.
func ends(line string) string {
	rest := strings.TrimLeftFunc(line, unicode.IsSpace)
	lead, tail := line[:len(line)-len(rest)], rest[len(strings.TrimRightFunc(rest, unicode.IsSpace)):]
	return fmt.Sprintf("%q and ends with %q", cut(lead, 24), cut(tail, 24))
}

// shown is the line, and of a long one the part that holds what was looked for.
func (p piece) shown(want string) string {
	text := strings.TrimSuffix(p.text, "\r")
	if i := strings.Index(strings.ToLower(text), strings.ToLower(strings.TrimSpace(want))); i > shownOfLine && i < len(text) {
		text = "…" + strings.ToValidUTF8(text[i-shownOfLine/4:], "")
	} else if p.part {
		text = "…" + text
	}
	if p.part {
		return cut(text, 2*nearRunes) + "…"
	}
	return cut(text, shownOfLine)
}

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}
