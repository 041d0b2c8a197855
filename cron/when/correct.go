package when

import (
	"slices"
	"time"
)

// corrected is the group with what the other says instead.
func (g group) corrected(o group) group {
	both := group{from: g.from, to: o.to, pieces: o.pieces}
	said := o.names()
	for _, p := range g.pieces {
		if only := (pieces{p}).names(); only&said == 0 && only != hasMore || p.part != noPart && p.clock == nil && p.day == nil && said&hasHour != 0 && !o.parted() {
			both.pieces = append(both.pieces, p)
		}
	}
	slices.SortStableFunc(both.pieces, func(a, b piece) int { return a.from - b.from })
	return both
}

// renumbered is the group with another number behind words that correct it: "at
// 5, no, make that 6", 十分钟后，算了，二十.
func (s *sentence) renumbered(g group, i int) (group, bool) {
	j := s.At("correction", i)
	if j == 0 || j == len(s.Tokens) || i > g.to && s.Is(i, "no") { // candidate no 7
		return g, false
	}
	n, end := s.quantity(j)
	if _, whole := s.run(j); end == 0 || whole || i > g.to && !s.ending(end) {
		return g, false
	}
	for k, p := range slices.Backward(g.pieces) {
		if p.clock != nil && n <= 24 {
			c := *p.clock
			if c.style == fixed && c.hour >= 12 && n < 12 { // 5pm, no, 6
				n += 12
			}
			c.hour, c.minute, c.second = n, 0, 0
			p.clock = &c
		} else if old := s.counted(p); p.span != nil && old > 0 {
			p.span = &Span{p.span.Months / old * n, p.span.Days / old * n, p.span.Exact / time.Duration(old) * time.Duration(n)}
		} else {
			continue
		}
		g.pieces = slices.Clone(g.pieces)
		g.pieces[k] = p
		return s.takingBack(g, i, end), true
	}
	return g, false
}

// takingBack is the group with the words up to end that correct it: they belong
// to it, or ask, where the thing stands between.
func (s *sentence) takingBack(g group, i, end int) group {
	if i == g.to {
		g.to = end
		return g
	}
	for ; i < end; i++ {
		s.order[i] = true
	}
	return g
}

// counted is the first number that the piece is written with.
func (s *sentence) counted(p piece) int {
	for i := p.from; i < p.to; i++ {
		if n, j := s.quantity(i); j > 0 {
			return n
		}
	}
	return 0
}

// quantity reads a whole number in digits or words.
func (s *sentence) quantity(i int) (n, next int) {
	for _, name := range []string{"number", "cn"} {
		if v, j := s.Match(name, i); j > 0 {
			return v.(int), j
		}
	}
	return 0, 0
}

// takenBack is where the words begin that stand before i and correct a time
// before them; -1 without any.
func (s *sentence) takenBack(i int) int {
	for k := max(0, i-6); k < i; k++ {
		if s.At("correction", k) == i {
			return k
		}
	}
	return -1
}

// misspoken is where a number begins that the words before a time take back:
// "in forty, no, fifty minutes".
func (s *sentence) misspoken(i int) int {
	k := s.takenBack(i)
	for from := max(0, k-3); from < k; from++ {
		if _, j := s.quantity(from); j == k {
			return from
		}
	}
	return i
}
