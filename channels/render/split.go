package render

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Split cuts md into parts of which each measures at most limit by size (nil
// counts runes) and stands alone as Markdown. It breaks between blocks if it
// can, else between list items, lines, sentences, words and graphemes. Code
// that is cut is closed and opened again in the same language, a table that is
// cut repeats its header; links, inline code and emphasis are cut only when
// one alone is over the limit. A grapheme is cut only when it alone is over
// the limit, and a single rune over the limit is a part of its own.
//
// White space at the seams is dropped, nothing else is; Join undoes it. Blank
// text gives no part. What a part cannot know from its own text is not carried
// over: a reference link whose definition stands in another part is shown as
// written, and a list numbered 1. 1. 1. begins again.
func Split(md string, limit int, size func(string) int) []string {
	md = clean(md)
	if strings.TrimSpace(md) == "" {
		return nil
	}
	if size == nil {
		size = utf8.RuneCountInString
	}
	if limit <= 0 || size(md) <= limit {
		return []string{md}
	}
	s := &splitter{layout: newLayout(md), limit: limit, size: size, bytes: limit}
	s.dropWide()
	var parts []string
	for from := s.skip(0); from < len(md); {
		to := s.next(from)
		if p := s.part(from, to); strings.TrimSpace(p) != "" {
			parts = append(parts, p)
		}
		from = s.skip(to)
	}
	return parts
}

type splitter struct {
	*layout
	limit int
	size  func(string) int
	bytes int // how long a full part was: a first guess for the next
}

// dropWide forgets regions whose wrapping alone would fill half a part: they
// are cut like text.
func (s *splitter) dropWide() {
	kept, wide := s.regions[:0], map[string]bool{}
	for _, r := range s.regions {
		wrapped := r.open + "x\n" + r.shut + joinInside
		if _, known := wide[wrapped]; !known {
			wide[wrapped] = s.size(wrapped) > s.limit/2
		}
		if !wide[wrapped] {
			kept = append(kept, r)
		}
	}
	s.regions = kept
}

func (s *splitter) measure(from, to int) int { return s.size(s.part(from, to)) }

// next chooses the end of the part that starts at from.
func (s *splitter) next(from int) int {
	most := s.fit(from)
	if most == len(s.src) {
		return most
	}
	for tries := 0; most > from; tries++ {
		to := s.best(from, most)
		if to <= from {
			break
		}
		if s.measure(from, to) <= s.limit {
			return to
		}
		most = to - 1
		if tries > 8 { // sizes are not always growing with the text; do not creep
			most = from + (most-from)/2
		}
	}
	return s.smallest(from)
}

// smallest is the end of the first grapheme, or of the first rune when the
// grapheme is over the limit.
func (s *splitter) smallest(from int) int {
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s.src[from:], -1)
	if s.measure(from, from+len(cluster)) <= s.limit {
		return from + len(cluster)
	}
	_, n := utf8.DecodeRuneInString(s.src[from:])
	return from + n
}

// near is what part of a limit fit may leave unused: to come closer costs
// another rendering, and the place to cut is mostly farther back anyway.
const near = 32

// fit finds, up to a small rest, how far the part that starts at from can
// reach. It guesses by the ratio of bytes to size found so far, so that a
// part is measured a few times only.
func (s *splitter) fit(from int) int {
	bound := s.bound(from)
	low, high := from, bound+1 // low fits, high does not
	guess := min(bound, from+s.bytes)
	for high-low > 1+(low-from)/near {
		guess = s.runeStart(guess)
		if guess <= low {
			guess = min(s.runeEnd(low+1), high-1)
			if guess <= low || s.runeStart(guess) <= low {
				break
			}
		}
		size := s.measure(from, guess)
		aim := from + int(int64(guess-from)*int64(s.limit)/int64(max(size, 1)))
		s.bytes = min(max(aim-from-(aim-from)/(2*near), 16), 8*(guess-from))
		if size <= s.limit {
			low = guess
			if s.limit-size <= s.limit/near && s.limit > 100 {
				break
			}
		} else {
			high = guess
		}
		switch {
		case high > bound: // still looking for an upper end
			guess = min(bound, max(aim, low+(low-from)/2+1), from+8*(guess-from))
		default:
			margin := (high - low) / 8
			guess = min(max(aim, low+margin), high-max(margin, 1))
		}
	}
	return low
}

// bound is the farthest that a part starting at from may reach: a part that
// starts inside a row of a table ends with the row, so that the header can
// come back.
func (s *splitter) bound(from int) int {
	if r := s.regionAt(from); r != nil && r.table && !s.atLineStart(from) {
		return s.lineEnd(from)
	}
	return len(s.src)
}

func (s *splitter) runeStart(i int) int {
	for i > 0 && i < len(s.src) && !utf8.RuneStart(s.src[i]) {
		i--
	}
	return i
}

func (s *splitter) runeEnd(i int) int {
	for i < len(s.src) && !utf8.RuneStart(s.src[i]) {
		i++
	}
	return i
}

// The ranks of places to cut, best first, and how much of the possible part
// (in percent) must be used for a place of that rank to be taken.
const (
	atBlock = iota
	atItem
	atLine
	atSentence
	atWord
	atGrapheme
	ranks
)

var fills = [ranks]int{35, 50, 50, 50, 25, 0}

// best returns the best place to cut in (from, most], or from.
func (s *splitter) best(from, most int) int {
	if s.src[most] == '\n' { // dropped at the seam, or with the line
		most++
	}
	if pos := s.lastBlock(from, most); pos > from {
		return pos
	}
	var strict, loose, desperate [ranks]int
	text, state := s.src[from:s.window(most)], -1
	for pos := from; len(text) > 0; {
		var cluster string
		var bounds int
		cluster, text, bounds, state = uniseg.StepString(text, state)
		pos += len(cluster)
		if pos > most {
			break
		}
		if pos < len(s.src) && s.src[pos] == '\n' {
			continue
		}
		rank := s.rank(pos, bounds)
		desperate[rank] = pos
		if within(s.firm, pos) || (pos-from)*100 < fills[rank]*(most-from) {
			continue
		}
		loose[rank] = pos
		if !within(s.soft, pos) && !s.inPrefix(pos) && !s.misleads(pos) {
			strict[rank] = pos
		}
	}
	for _, places := range [...][ranks]int{strict, loose, desperate} {
		for _, pos := range places {
			if pos > from {
				return pos
			}
		}
	}
	return from
}

// lastBlock is what best would return if a block begins at a good place, found
// without looking at every character.
func (s *splitter) lastBlock(from, most int) int {
	end, _ := slices.BinarySearch(s.starts, most+1)
	for i := end - 1; i >= 0; i-- {
		pos := s.starts[i]
		if (pos-from)*100 < fills[atBlock]*(most-from) {
			break
		}
		if s.src[pos] != '\n' && s.seams[pos] == atBlock && !within(s.firm, pos) && !within(s.soft, pos) && !s.inPrefix(pos) {
			return pos
		}
	}
	return from
}

// window looks a little past most, so that the last boundary found there is a
// true one.
func (s *splitter) window(most int) int { return s.runeStart(min(len(s.src), most+64)) }

func (s *splitter) rank(pos, bounds int) int {
	if rank, ok := s.seams[pos]; ok {
		return rank
	}
	switch {
	case s.src[pos-1] == '\n':
		return atLine
	case bounds&uniseg.MaskSentence != 0:
		return atSentence
	case bounds&uniseg.MaskLine != uniseg.LineDontBreak:
		return atWord
	}
	return atGrapheme
}

// startsBlock matches what means a heading, list, quote, fence, rule, HTML
// block or link definition at the start of a line.
var startsBlock = regexp.MustCompile("^(#{1,6}(\\s|$)|>|[-+*](\\s|$)|```|~~~|---|\\*\\*\\*|___|\\d{1,9}[.)](\\s|$)|<[^h]|\\[[^\\]]*\\]:)")

// misleads reports whether the text at pos, now in the middle of a paragraph,
// would mean something else at the start of one.
func (s *splitter) misleads(pos int) bool {
	if _, ok := s.seams[pos]; ok || s.fenced(pos) {
		return false
	}
	rest := strings.TrimLeft(s.src[pos:min(len(s.src), pos+80)], " \t")
	if rest == "" || !strings.ContainsRune("#>-+*`~_<[0123456789", rune(rest[0])) {
		return false
	}
	if c := s.containerAt(pos); c != nil && c.quote && s.atLineStart(pos) {
		rest = strings.TrimLeft(strings.TrimPrefix(rest, ">"), " \t")
	}
	return startsBlock.MatchString(rest)
}

// inPrefix reports whether only quote signs and indentation stand between the
// start of the line and pos.
func (s *splitter) inPrefix(pos int) bool {
	i := pos
	for i > 0 && strings.IndexByte(" \t>", s.src[i-1]) >= 0 {
		i--
	}
	return i < pos && s.atLineStart(i)
}

// within reports whether pos lies strictly inside one of the sorted,
// non-overlapping intervals.
func within(in [][2]int, pos int) bool {
	i := sort.Search(len(in), func(i int) bool { return in[i][1] > pos })
	return i < len(in) && in[i][0] < pos
}
