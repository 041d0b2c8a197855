package intent

import (
	"slices"
	"strings"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// The kinds of marks, besides those that the table of signs names.
const (
	unknown = "?"
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
	names *names
	marks []mark
	asks  bool // it ends as a question
}

// sign makes the value of a line of the table of signs.
func sign(a grammar.Args) any { return mark{kind: a.Word(0), arg: a.Word(1)} }

func newSense(t *grammar.Text, c Context) *sense {
	s := &sense{Text: t, c: c, names: newNames(nil)}
	for i := range t.Tokens { // and thanks may follow
		if j := s.At("question", i); j > 0 && (j == len(t.Tokens) || t.Tokens[j].Kind == grammar.Mark || s.At("particle", j) > 0 || s.At("polite-end", j) > 0) {
			s.asks = true
		}
	}
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
// Words that tell little of a name count only beside
// others of the same one.
func (s *sense) label(asks bool) {
	s.marks = nil
	told := map[int]bool{}
	for i := range s.Tokens {
		for k, tells := range s.names.at(s.Text, i, s.strange(i)).of {
			told[k] = told[k] || tells > 1
		}
	}
	for i := 0; i < len(s.Tokens); {
		m := s.mark(i, told, asks)
		s.marks, i = append(s.marks, m), m.to
	}
	if len(s.marks) > 1 && s.marks[0].kind == "it" && s.marks[1].kind == stop {
		s.marks[0].kind = fill // 那个，…
	}
}

// onlyFill says that nothing has been said yet.
func (s *sense) onlyFill() bool {
	return !slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind != fill })
}

// strange says that a token is in no table.
func (s *sense) strange(i int) bool { return s.At("sign", i) == 0 && s.At("filler", i) == 0 }

// mark is the longest of what can stand at i.
func (s *sense) mark(i int, told map[int]bool, asks bool) mark {
	best := mark{kind: unknown, from: i, to: i + 1}
	take := func(m mark, to int) {
		if to > best.to || to == best.to && best.kind == unknown {
			m.from, m.to = i, to
			best = m
		}
	}
	last := mark{}
	if len(s.marks) > 0 {
		last = s.marks[len(s.marks)-1]
	}
	if v, j := s.Match("delta", i); j > 0 {
		d := v.(delta)
		take(mark{kind: length, arg: map[int]string{1: "later", -1: "earlier", 0: "again"}[d.sign], value: d.Span}, j)
	}
	timed := func() {
		v, j := s.Match("when", i)
		if k := s.At("moment", i); k > 0 && strings.ContainsAny(s.Cut(i, j), ",，") {
			j = k
		}
		if j > 0 && (last.kind == "to" || last.arg == "set" || last.kind == "old" || last.kind == "not") {
			take(mark{kind: clock, value: v}, j)
		}
	}
	if s.At("sign", i) == 0 {
		timed() // "to noon", whatever is called so
	}
	m := s.names.at(s.Text, i, s.strange(i))
	for k, tells := range m.of {
		if tells == 1 && !told[k] {
			delete(m.of, k)
		}
	}
	if len(m.of) > 0 {
		take(mark{kind: name, value: m}, m.to)
	}
	if v, j := s.Match("place", i); j > 0 {
		take(mark{kind: place, value: v}, j)
	}
	if v, j := s.Match("号", i); j > 0 && !asks && (s.onlyFill() || last.kind == "op") && s.At("moment", j) == 0 {
		take(mark{kind: place, value: v}, j) // 删掉4号, and not a date
	}
	if v, j := s.Match("sign", i); j > 0 {
		if take(v.(mark), j); best.kind == "to" && s.At("filler", i) <= j && (best.arg == "" || s.all().has("op", "text")) {
			return best // and not "until friday", a bound
		}
	}
	if j := s.At("remind", i); j > 0 {
		take(mark{kind: remind}, j)
	}
	if j := s.order(i); j > 0 {
		take(mark{kind: remind, arg: "order"}, j)
	}
	timed()
	if v, j := s.Match("span", i); j > 0 {
		take(mark{kind: length, value: v}, j)
	}
	for _, category := range []string{"moment", "days", "range"} {
		if j := s.At(category, i); j > 0 && (asks || category != "range") {
			take(mark{kind: clock}, j)
		}
	}
	if j := s.At("filler", i); j > 0 {
		take(mark{kind: fill}, j)
	}
	if t := s.Tokens[i]; t.Kind == grammar.Mark && best.kind == unknown {
		best.kind = fill
		if strings.ContainsAny(t.Text, ",.;:!?，。；：！？") || t.Text[0] >= 0xf0 {
			best.kind = stop
		}
	}
	return best
}

// order is where words end that ask for a reminder without "remind me".
func (s *sense) order(i int) int {
	if s.At("not-order", i) > 0 || s.At("remind", i) > 0 {
		return 0
	}
	return max(s.At("ask-verb", i), s.At("zh-ask-verb", i))
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
		if m.kind == "op" && slices.Contains(args, m.arg) && !s.denied(i) {
			return true
		}
	}
	return false
}

// denied says that a "don't" stands right before the i-th mark.
func (s some) denied(i int) bool {
	for i--; i >= 0 && slices.Contains([]string{fill, "already", "to"}, s.marks[i].kind); i-- {
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

// strange are the rows of tokens that are not understood.
func (s some) unknown() (all []grammar.Part) {
	open := false
	for i, m := range s.marks {
		if m.kind != unknown && (!open || m.kind != fill) {
			open = false
			continue
		}
		if m.kind == fill {
			if k, _ := s.next(i); k != unknown {
				open = false
			}
			continue
		}
		if open {
			all[len(all)-1].To = m.to
		} else {
			all = append(all, grammar.Part{From: m.from, To: m.to})
		}
		open = true
	}
	return all
}

func (s some) mentions() (all []mention) {
	for _, m := range s.marks {
		if m.kind == name {
			all = append(all, m.value.(mention))
		}
	}
	return all
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

// span is the first length of time that is said.
func (s some) span() when.Span {
	if i := s.index(length); i >= 0 {
		return s.marks[i].value.(when.Span)
	}
	return when.Span{}
}
