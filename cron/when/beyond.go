package when

import (
	"slices"

	"magpie/cron/grammar"
)

// beyond looks beside the times for what changes them and was not understood:
// a bound, an exception, a place whose time is unknown. To leave it out would be
// a guess, so it is asked about.
func (s *sentence) beyond(chosen, all []group) error {
	for _, g := range chosen {
		for _, i := range []int{s.Skip(g.to, ", in", "in", "(", ","), g.from - 3} {
			if i >= g.to || i >= 0 && s.beginning(i) {
				if err := s.strangeZone(i); err != nil {
					return err
				}
			}
		}
		if s.taken(chosen, g.to) {
			continue
		}
		if j := s.After("behind", g.to); j > g.to && s.At("not-behind", j) == 0 && !s.order[g.to] {
			return s.unclear(g.to, j)
		}
		if j := s.lone(g); j > 0 {
			return s.unclear(g.to, j)
		}
		if j := s.dangling(g); j > 0 && !g.shifts() && !chosen[0].shifts() {
			return s.unclear(g.to, j)
		}
		if i := s.leading(g); i >= 0 && !s.taken(chosen, i) {
			return s.unclear(i, g.to)
		}
	}
	if crossed(all) {
		return s.unclear(all[0].from, all[len(all)-1].to)
	}
	for _, i := range []int{0, s.lastOrder()} {
		if j := s.At("times-word", i); j > 0 && !s.taken(chosen, i) {
			return s.unclear(i, j)
		}
	}
	for _, g := range all {
		if s.taken(chosen, g.from) {
			continue
		}
		if err := g.failed(); err != nil {
			if s.edge(g) && s.At("date", s.After("on", g.from)) > 0 && chosen[0].names() == hasHour {
				return err // 30 February, at 6pm
			}
			continue
		}
		if last := chosen[len(chosen)-1].to; s.another(last, g) && chosen[0].names()&hasHour != 0 && !s.words(0, chosen[0].from) {
			return s.unclear(last, g.to) // at 8, 9, and go to bed at 11
		}
		if s.At("not", g.from-1) == g.from && g.from-1 == s.After("joiner", chosen[len(chosen)-1].to) {
			return s.unclear(g.from-1, g.to)
		}
		if !s.edge(g) || s.quotes(chosen, g) {
			continue
		}
		// two whole times, of which neither stands in the text
		if g.repeats() != slices.ContainsFunc(chosen, group.repeats) && (g.repeats() || g.has(func(p piece) bool { return p.asked })) || g.from == 0 || g.from > 0 && s.order[g.from-1] && !s.Is(g.from-1, "to") {
			return s.unclear(g.from, g.to)
		}
	}
	return nil
}

// crossed says that there are several events and several times before them: which
// belongs to which?
func crossed(all []group) bool {
	hours, shifts := 0, 0
	for _, g := range all {
		if g.shifts() {
			shifts++
		} else if g.has(piece.isHour) {
			hours++
		}
	}
	return hours > 1 && shifts > 1
}

// another says that something else and its hour follow at i, to the end.
func (s *sentence) another(i int, g group) bool {
	j := s.At("separator", i)
	return j > 0 && j < g.from && g.names() == hasHour && s.ending(g.to) && s.Tokens[j].Kind == grammar.Word && !s.order[j] && s.words(j, g.from)
}

// quotes says that the time is of what is to be said at another one: "tomorrow
// at 2 to ask whether it is every 6 hours".
func (s *sentence) quotes(chosen []group, g group) bool {
	last := chosen[len(chosen)-1]
	if n := last.names(); n&(hasDay|hasHour) != hasDay|hasHour && n&hasMore == 0 || last.repeats() {
		return false
	}
	for i := last.to + 1; i < g.from; i++ {
		if s.At("that-clause", i) > 0 && s.words(last.to, i) {
			return true
		}
	}
	return false
}

// lone is where a number ends that stands behind the time and may be part of it:
// 1h30, 1小时30提醒我, "tomorrow 9-11 meeting".
func (s *sentence) lone(g group) int {
	n, j := s.Chinese(g.to)
	if j == 0 {
		return 0
	}
	last := g.pieces[len(g.pieces)-1]
	switch {
	case s.Num(g.to) >= 0 && s.Close(g.to) && s.Tokens[g.to-1].Kind != grammar.Han:
		return j
	case last.span != nil && (j == len(s.Tokens) || s.order[j] || s.Is(j, "后", "to", ",")):
		return j
	case n <= 24 && g.names()&hasHour == 0 && s.Is(j, "-", "–", "到", "至") && s.Num(j+1) >= 0:
		return j + 2
	}
	return 0
}

// lastOrder is the place behind the last words that ask.
func (s *sentence) lastOrder() int {
	last := len(s.order)
	for last > 0 && !s.order[last-1] {
		last--
	}
	return last
}

// taken says that the token belongs to one of the times.
func (s *sentence) taken(chosen []group, i int) bool {
	return slices.ContainsFunc(chosen, func(g group) bool { return i >= g.from && i < g.to })
}

// leading is where a word begins that stands before the time and changes it; -1
// without one.
func (s *sentence) leading(g group) int {
	for i := max(g.from-5, 0); i < g.from; i++ {
		if s.At("before-time", i) == g.from && !s.order[i] || g.repeats() && s.At("before-repeat", i) == g.from {
			return i
		}
	}
	if i := g.from - 1; i >= 0 && s.Tokens[i].Kind == grammar.Number && !s.order[i] && !s.Close(g.from) && (i == 0 || s.order[i-1]) {
		return i // "24 20:00"
	}
	return -1
}

// dangling is where words end that stand between the time and the "to" before
// what is to be done: "at 5pm Narnia time to call".
func (s *sentence) dangling(g group) int {
	if g.from == 0 || !s.order[g.from-1] || s.At("link", g.to) > 0 || s.Num(g.to) >= 0 {
		return 0
	}
	for j := g.to + 1; j < g.to+5; j++ {
		if s.Is(j, "to") && !s.order[j-1] && (s.Is(j-1, "time", "zone") || s.At("number", j-1) == j) {
			return j
		}
	}
	return 0
}

func (s *sentence) unclear(from, to int) error {
	said := s.Cut(from, min(to, len(s.Tokens)))
	return &Ambiguous{Question: Text{
		"“" + said + "”: I am not sure what this does to the time. Please say the exact time, as 2026-12-24 16:50, and a zone by its name, as Europe/Berlin",
		"“" + said + "”这部分没看懂。请直接说准确的时间，例如 2026-12-24 16:50；时区请写名称，例如 Europe/Berlin",
	}}
}
