package intent

import (
	"maps"
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
	return !slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind != fill && m.kind != stop && m.kind != "it" })
}

// strange says that a token is in no table.
func (s *sense) strange(i int) bool { return s.At("sign", i) == 0 && s.At("filler", i) == 0 }

// mark is the longest of what can stand at i.
func (s *sense) mark(i int, told map[int]bool, asks bool) mark {
	best := mark{kind: unknown, from: i, to: i + 1}
	if t := s.Tokens[i]; t.Kind == grammar.Mark && (strings.ContainsAny(t.Text, ",.;:!?，。；：！？") || t.Text[0] >= 0xf0) {
		best.kind = stop
	} else if t.Kind == grammar.Mark {
		best.kind = fill
	}
	read := false
	for _, m := range s.readings(i, told, asks) {
		m.from = i
		if m.kind == "to" && s.At("filler", i) <= m.to && (m.arg == "" || s.all().has("op", "text")) {
			return m // and not "until friday", a bound
		}
		if m.to > best.to || m.to == best.to && !read {
			best, read = m, true
		}
	}
	return best
}

// readings is what can stand at i. Of equally long ones the first counts.
func (s *sense) readings(i int, told map[int]bool, asks bool) (all []mark) {
	add := func(kind, arg string, value any, to int) {
		if to > i {
			all = append(all, mark{kind: kind, arg: arg, value: value, to: to})
		}
	}
	last := mark{}
	if len(s.marks) > 0 {
		last = s.marks[len(s.marks)-1]
	}
	if v, j := s.Match("delta", i); j > 0 {
		d := v.(delta)
		add(length, map[int]string{1: "later", -1: "earlier", 0: "again"}[d.sign], d.Span, j)
	}
	time := 0
	if last.kind == "to" || last.arg == "set" || last.kind == "old" || last.kind == "not" {
		time = s.At("when", i)
		if k := s.At("moment", i); k > 0 && strings.ContainsAny(s.Cut(i, time), ",，") && s.At("午", k+1) != time {
			time = k
		}
	}
	sign, signed := s.Match("sign", i)
	if signed == 0 {
		add(clock, "", nil, time) // "to noon", whatever is called so
	}
	m := s.names.at(s.Text, i, s.strange(i))
	maps.DeleteFunc(m.of, func(k, tells int) bool { return tells == 1 && !told[k] })
	if len(m.of) > 0 {
		add(name, "", m, m.to)
	}
	v, j := s.Match("place", i)
	add(place, "", v, j)
	if v, j := s.Match("号", i); j > 0 && !asks && (s.onlyFill() || last.kind == "op") && s.At("moment", j) == 0 {
		add(place, "", v, j) // 删掉4号, and not a date
	}
	if signed > 0 {
		add(sign.(mark).kind, sign.(mark).arg, nil, signed)
	}
	add(remind, "", nil, s.At("remind", i))
	add(remind, "order", nil, s.order(i))
	add(clock, "", nil, time)
	v, j = s.Match("span", i)
	add(length, "", v, j)
	add(clock, "", nil, s.upToIt(i, max(s.At("moment", i), s.At("days", i))))
	if asks {
		add(clock, "", nil, s.At("range", i))
	}
	add(fill, "", nil, s.At("filler", i))
	return all
}

// upToIt is where a time ends that goes on behind 那个: 明早那个和周五那个.
func (s *sense) upToIt(i, end int) int {
	for k := i + 1; k < end; k++ {
		if s.Is(k, "那") && s.Is(k+1, "个", "条") {
			return k
		}
	}
	return end
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
		if m.kind == "op" && slices.Contains(args, m.arg) && !s.denied(i) && s.At("i-did", m.from-1) < m.to {
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

// unknown are the rows of tokens that are not understood.
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
