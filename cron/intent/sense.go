package intent

import (
	"slices"
	"strings"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// The kinds of marks, besides those that the table of signs names.
const (
	unknown = "unknown"
	fill    = "fill"
	name    = "name"   // of a reminder
	place   = "place"  // a number of the list
	length  = "length" // of time
	clock   = "clock"  // a time
	remind  = "remind" // "remind me"
	stop    = "stop"   // the end of a clause
)

// mark is what some tokens of a message are a sign of.
type mark struct {
	kind, arg string
	from, to  int
	value     any
}

// sense is a message with what its words are signs of.
type sense struct {
	*grammar.Text
	c     Context
	rules rulebook
	names *names
	marks []mark
	turns int  // where 改成 stands, -1 without it
	asks  bool // it ends as a question
	asked bool // it asks for a reminder
}

func newSense(t *grammar.Text, c Context, asked bool) *sense {
	s := &sense{Text: t, c: c, rules: rules(), names: newNames(nil), asked: asked}
	s.asks, s.turns = s.First(0, len(s.Tokens), "end-of-question") >= 0, s.First(0, len(s.Tokens), "turned-to")
	s.label(false)
	if c.Known != nil && (len(s.Tokens) < 10 || slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind != fill && m.kind != unknown })) {
		s.names = newNames(c.Known())
		s.label(false)
	}
	if s.all().has("ask") {
		s.label(true)
	}
	return s
}

func (s *sense) all() some { return some{s, s.marks} }

// label marks all tokens: in a question "from monday to friday" is a time.
// Words that tell little of a name count only beside others of the same one.
func (s *sense) label(asks bool) {
	s.marks = nil
	told := map[int]bool{}
	for i := range s.Tokens {
		for k, tells := range s.nameAt(i).of {
			told[k] = told[k] || tells > 1
		}
	}
	for i := 0; i < len(s.Tokens); {
		m := s.mark(i, told, asks)
		if last := len(s.marks) - 1; m.kind == "break" && s.Is(m.from, "but") && last >= 0 && s.marks[last].kind == "all" {
			m.kind = "but" // everything but the milk
		}
		s.marks, i = append(s.marks, m), m.to
	}
	if len(s.marks) > 1 && s.marks[0].kind == "it" && s.marks[0].to < 3 && s.marks[1].kind == stop {
		s.marks[0].kind = fill // 那个，…
	}
}

// nameAt is the name of a reminder that stands at a token. What is in no table may
// be a slip of one.
func (s *sense) nameAt(i int) mention {
	if len(s.names.words) == 0 {
		return mention{from: i, to: i}
	}
	return s.names.at(s.Text, i, s.Longest(i, "sign", "filler") == 0)
}

// mark is the longest of what can stand at i.
func (s *sense) mark(i int, told map[int]bool, asks bool) mark {
	best := mark{kind: unknown, from: i, to: i + 1}
	if t := s.Tokens[i]; t.Kind == grammar.Mark && (strings.ContainsAny(t.Text, ",.;:!?，。；：！？") || t.Text[0] >= 0xf0) && !(t.Text == "." && s.At("title", i-1) == i) {
		best.kind, best.arg = stop, t.Text
		if t.Text == ":" && s.At("run", i+1) > 0 && len(s.marks) > 0 && s.marks[0].kind == "op" {
			best.kind, best.arg = "to", "" // edit the dentist: 3pm
		}
	} else if t.Kind == grammar.Mark {
		best.kind = fill
	}
	if k := s.turned(i); k > 0 {
		return mark{kind: clock, from: i, to: k}
	} else if n := len(s.marks); s.Is(i, "one") && n > 0 && s.marks[n-1].kind == clock && i+1 < len(s.Tokens) && s.Tokens[i+1].Kind == grammar.Number { // the sunday one 11am
		return mark{kind: "noun-weak", from: i, to: i + 1}
	}
	read := false
	for _, m := range s.readings(i, told, asks) {
		m.from = i
		if m.kind == clock && s.At("noun", i) > 0 && s.all().has("not") {
			continue // no reminder at 6pm
		}
		if m.kind == "to" && s.At("filler", i) <= m.to && (m.arg == "" || s.all().has("op", "text")) {
			return m // and not "until friday", a bound
		}
		if m.to > best.to || m.to == best.to && !read {
			best, read = m, true
		}
	}
	for k := s.At("correction", best.to); k > 0 && best.kind == clock && s.At("moment", k) > 0 && s.At("turned-to", best.to) == 0; k = s.At("correction", best.to) {
		best.to = s.At("moment", k) // 8am, no wait, 8:30am
	}
	return best
}

// turned is where a time of what repeats ends that stands before the one that takes
// its place: "monday to tuesday" is no range then.
func (s *sense) turned(i int) int {
	all := s.all()
	edits := len(all.marks) > 0 && !all.has("to") && all.op("move", "edit", "set", "fix")
	if edits && all.marks[len(all.marks)-1].arg == "set" && s.names.just(Set) && s.At("clock", s.At("each-week", i)) > 0 {
		return s.At("each-week", i) // make monday 7pm
	}
	if !edits && (i >= s.turns || i < s.turns-8) {
		return 0
	}
	if k := s.At("turned", i); k > 0 && (edits && s.At("into", k) > 0 || k == s.turns) {
		return k
	}
	return 0
}

// some are marks of a message, all of it or a clause.
type some struct {
	*sense
	marks []mark
}

func (s some) index(kind string, args ...string) int {
	return slices.IndexFunc(s.marks, func(m mark) bool {
		return m.kind == kind && (len(args) == 0 || slices.Contains(args, m.arg))
	})
}

func (s some) has(kind string, args ...string) bool { return s.index(kind, args...) >= 0 }

// op says that the words name an operation, which no "don't" stands before.
func (s some) op(args ...string) bool {
	for i, m := range s.marks {
		if m.kind == "op" && slices.Contains(args, m.arg) && !s.denied(i) && s.At("i-did", m.from-1) < m.to {
			return true
		}
	}
	return false
}

// only says that nothing is said but marks of some kinds.
func (s some) only(kinds []string) bool {
	return !slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind != fill && !slices.Contains(kinds, m.kind) })
}

// no says that "don't", or else "any more", stands before one of some kinds.
func (s some) no(kinds []string) bool {
	i := s.index("not", "")
	if i < 0 {
		i = s.index("no-more")
	}
	kind, _ := s.next(i)
	return i >= 0 && slices.Contains(kinds, kind)
}

// denied says that a "don't" stands right before the i-th mark.
func (s some) denied(i int) bool {
	for i--; i >= 0 && slices.Contains([]string{fill, "already", "to", "all"}, s.marks[i].kind); i-- {
	}
	return i >= 0 && s.marks[i].kind == "not"
}

// next is the kind of what follows the i-th mark, without what says nothing.
func (s some) next(i int) (kind string, at int) {
	for i++; i < len(s.marks); i++ {
		if s.marks[i].kind != fill {
			return s.marks[i].kind, i
		}
	}
	return "", i
}

// before is the kind of what stands before the i-th mark.
func (s some) before(i int) string {
	for i--; i >= 0; i-- {
		if s.marks[i].kind != fill {
			return s.marks[i].kind
		}
	}
	return ""
}

// part are the marks from i up to j.
func (s some) part(i, j int) some { return some{s.sense, s.marks[i:j]} }

// unknown are the rows of tokens that are not understood.
func (s some) unknown() (all []grammar.Part) {
	last := ""
	for _, m := range s.marks {
		switch {
		case m.kind == fill:
			continue
		case m.kind == unknown && last == unknown:
			all[len(all)-1].To = m.to
		case m.kind == unknown:
			all = append(all, grammar.Part{From: m.from, To: m.to})
		}
		last = m.kind
	}
	return all
}

// mentions are the names that are said. Of several those do not count that are
// taken back: "no, not the gym, the milk".
func (s some) mentions() (kept []mention) {
	var all []mention
	denied := map[int]bool{}
	for i, m := range s.marks {
		if m.kind != name {
			continue
		}
		said := m.value.(mention)
		all = append(all, said)
		for k := range said.of {
			denied[k] = denied[k] || s.before(i) == "not" || s.before(i) == "old" || s.takenBack(i)
		}
	}
	for _, m := range all {
		for k := range m.of {
			if !denied[k] {
				kept = append(kept, m)
				break
			}
		}
	}
	if len(kept) == 0 {
		return all
	}
	return kept
}

// takenBack says that another name takes the place of the i-th mark: "the gym,
// no wait, the milk".
func (s some) takenBack(i int) bool {
	k := s.At("correction", s.marks[i].to)
	return k > 0 && slices.ContainsFunc(s.marks[i+1:], func(m mark) bool { return m.kind == name && (m.from == k || m.from == k+1) })
}

// clauses cuts the marks where clauses end.
func (s *sense) clauses() (all []some) {
	c := some{sense: s}
	for _, m := range append(slices.Clone(s.marks), mark{kind: stop}) {
		if m.kind != stop && m.from > 0 && s.Tokens[m.from].Gap && s.Tokens[m.from].Kind == grammar.Han && s.Tokens[m.from-1].Kind == grammar.Han && len(c.marks) > 0 {
			all, c.marks = append(all, c), nil // who writes no comma
		}
		if m.kind != stop && m.kind != "break" {
			c.marks = append(c.marks, m)
			continue
		}
		if len(c.marks) > 0 {
			all = append(all, c)
		}
		c.marks = nil
	}
	return all
}

// alone says that only one clause says anything: "hey, resume the swimming one".
func (s *sense) alone() bool {
	n := 0
	for _, c := range s.clauses() {
		if slices.ContainsFunc(c.marks, func(m mark) bool { return m.kind != fill }) {
			n++
		}
	}
	return n == 1
}

// span is the first length of time that is said.
func (s some) span() when.Span {
	if i := s.index(length); i >= 0 {
		return s.marks[i].value.(when.Span)
	}
	return when.Span{}
}
