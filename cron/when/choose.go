package when

import (
	"slices"

	"magpie/cron/grammar"
)

// onOccasion says that the group is a holiday that only names what comes at
// another time: christmas party friday 6pm.
func (s *sentence) onOccasion(g group, all []group) bool {
	return len(g.pieces) == 1 && s.occasion(g.pieces[0]) && slices.ContainsFunc(all, func(o group) bool { return o.names()&(hasDay|hasHour) == hasDay|hasHour })
}

// everyMonth makes a day of the month that is named behind one of every month
// come as often: 每月15号发工资，16号提醒我还款.
func (g *group) everyMonth(told group) {
	monthlies := told.has(func(p piece) bool { return p.repeat != nil && p.repeat.freq == monthly && len(p.repeat.numbers) > 0 })
	for i, p := range g.pieces {
		if monthlies && p.day != nil && p.day.kind == monthDay && p.day.n == coming && p.day.number > 0 {
			g.pieces = slices.Clone(g.pieces)
			g.pieces[i].day, g.pieces[i].repeat = nil, &repeat{freq: monthly, numbers: []int{p.day.number}}
		}
	}
}

// dayFor is what the group says of the day, for an hour that stands elsewhere.
func (g group) dayFor(hour group) (day []piece) {
	parted := hour.parted() || g.has(piece.isHour) && !g.leads(hour)
	for _, p := range g.pieces {
		p.from, p.to = -1, -1-len(day)
		switch {
		case len(day) == 0 && (p.day != nil && p.day.n >= 0 || p.day != nil && p.day.kind != inDays || p.repeat != nil && p.repeat.freq != spaced):
			p.clock = nil
			if parted {
				p.part = noPart
			}
			day = append(day, p)
		case len(day) > 0 && p.day != nil && day[0].day != nil && p.day.kind != inDays && !p.listed && p.clock == nil && p.part == noPart: // thursday 27 november
			day = append(day, p)
		case len(day) == 1 && !parted && p.part != noPart && p.clock == nil:
			day = append(day, p)
		}
	}
	return day
}

// parts are the parts of the day that the pieces name.
func (all pieces) parts() (parts []part) {
	for _, p := range all {
		if p.part != noPart && !slices.Contains(parts, p.part) {
			parts = append(parts, p.part)
		}
	}
	return parts
}

// leads says that an hour without a part of the day comes after that of the group,
// and may be in the part that it names.
func (g group) leads(hour group) bool {
	first, last := g.clocks(), hour.clocks()
	return g.parted() && !hour.parted() && len(first) > 0 && len(last) > 0 && last[0].style <= colon && first[0].hour%12 <= last[0].hour%12
}

// early says that an hour without a part of the day is before that of the group,
// which is in the morning.
func (g group) early(hour group) bool {
	first, last := g.clocks(), hour.clocks()
	if len(first) != 1 || len(last) != 1 || hour.names() != hasHour || hour.parted() || last[0].style > colon {
		return false
	}
	h, c := first[0].hour, first[0]
	return (c.style == fixed || c.part == morning || c.part == dawn || c.style == full) && h < 12 && last[0].hour*60+last[0].minute < h*60+c.minute
}

// meant says that a group is a time: bounds alone are one only beside what they
// bound.
func (s *sentence) meant(g group, all []group) bool {
	begins := func(p piece) bool { return p.limit != nil && p.limit.kind == since }
	if !g.bound() || (s.beginning(g.from) || s.ending(g.to) && g.has(begins)) && g.has(func(p piece) bool { return p.limit != nil && p.limit.days() }) {
		return true
	}
	if l := g.pieces[0].limit; l != nil && len(all) == 1 && len(g.pieces) == 1 && (l.kind == since || l.kind == window || s.Is(g.from, "到", "等")) {
		return l.pieces.names()&hasHour != 0
	}
	return slices.ContainsFunc(all, func(o group) bool {
		return o.repeats() || o.has(func(p piece) bool { return p.limit != nil && p.limit.kind == lasting }) && !o.bound() || g.shifts() && o.from != g.from || g.has(piece.isZone) && !o.bound()
	})
}

// choose takes the group at an edge, and those that complete it.
func (s *sentence) choose(all []group) []group {
	best, rank := 0, -1
	for i, g := range all {
		r := 0
		if g.failed() == nil {
			r++
		}
		if s.edge(g) {
			r += 2
		}
		if !g.bound() {
			r += 4
		}
		if r > rank {
			best, rank = i, r
		}
	}
	g := all[best]
	chosen := []group{g}
	shifted := slices.ContainsFunc(all, group.shifts)
	for i, other := range all {
		if i == best {
			continue
		}
		if other.bound() && s.bounding(g, other) || (shifted || s.edge(other)) && !s.Is(other.from-1, "about", "of", "to") && completes(g, other) || g.shifts() && g.names() == 0 || other.shifts() && (s.eventOf(other, g) || g.repeats() && s.edge(other) || other.names() == hasHour && g.names()&hasDay != 0 && g.to <= other.from) {
			chosen = append(chosen, other)
		}
	}
	if last := all[len(all)-1]; s.Is(last.from-1, "again") && s.ending(last.to) && last.from > g.to && last.names() == hasHour && g.names()&hasHour != 0 {
		last.pieces = slices.Clone(last.pieces)
		last.from, last.pieces[0].listed = last.from-1, true
		chosen = append(chosen, last)
	}
	chosen = append(chosen, s.besides(chosen, all)...)
	if last := all[len(all)-1]; s.comesToo(g, last) {
		chosen = append(chosen, last)
	}
	slices.SortFunc(chosen, func(a, b group) int { return a.from - b.from })
	return chosen
}

// comesToo says that the last group is another time of what comes at the first: a
// day and an hour behind it that are all of a clause. "On mondays at 7pm remind me
// to run, and on fridays at 8pm".
func (s *sentence) comesToo(first, last group) bool {
	for _, g := range []group{first, last} {
		if g.names()&hasHour == 0 || g.bound() || g.shifts() || !g.has(piece.isHour) {
			return false
		}
	}
	end := max(last.to, s.At("too", last.to))
	too := end > last.to
	if !first.repeats() || first.names() != hasDay|hasHour || !too && last.names() == hasHour || first.to > last.from || !s.ending(end) && !s.asking(end, len(s.Tokens)) {
		return false
	}
	for i := last.to; i < end; i++ {
		s.order[i] = true
	}
	return too || s.asking(first.to, last.from) || s.clauseBegins(last.from) || s.At("and", last.from-1) == last.from || s.At("and", last.from-2) == last.from
}

// besides are groups that belong to those that are chosen: 开会前一小时和开会前十分钟;
// 十点二十提醒我，要上午.
func (s *sentence) besides(chosen, all []group) (more []group) {
	from, to := s.askingClause()
	shifts := slices.ContainsFunc(chosen, func(g group) bool { return g.shifts() && g.from >= from && g.to <= to })
	bare := len(chosen) == 1 && !chosen[0].parted() && chosen[0].has(func(p piece) bool { return p.clock != nil && p.clock.style == bare })
	for _, g := range all {
		part := len(g.pieces) == 1 && g.parted() && !g.has(piece.isDay) && !g.has(piece.isHour)
		again := shifts && g.shifts() && g.from >= from && g.to <= to || bare && part && s.Tokens[g.from].Kind == grammar.Han && s.ending(g.to) && s.clauseBegins(g.from)
		if again && !slices.ContainsFunc(chosen, func(o group) bool { return o.from == g.from }) {
			more = append(more, g)
		}
	}
	return more
}

// bounding says that a group that only bounds is of the time, and not of the
// thing: 看未来三天的天气; "every day at 9 to run for 30 minutes".
func (s *sentence) bounding(g, bounds group) bool {
	if !s.edge(bounds) || s.Is(bounds.to, "的") {
		return false
	}
	return !bounds.has(func(p piece) bool {
		return p.limit != nil && p.limit.kind == lasting && !p.limit.span.calendar()
	}) || g.has(func(p piece) bool { return p.repeat != nil && p.repeat.freq == spaced && !p.repeat.span.calendar() })
}

// completes says that one group names the day and the other the hour.
func completes(g, other group) bool {
	a, b := g.names(), other.names()
	if a == hasDay|hasHour && !g.has(piece.isHour) && !other.parted() { // tomorrow morning … at nine
		a = hasDay
	}
	if b == hasDay|hasHour && !other.has(piece.isHour) && !g.parted() {
		b = hasDay
	}
	either := func(is, and func(p piece) bool) bool {
		return g.has(is) && other.has(and) || other.has(is) && g.has(and)
	}
	return either(piece.openWeek, piece.ofWeek) || // "biweekly to … on friday"
		either(piece.isDaily, piece.ofWeeks) && (a == hasDay || b == hasDay) || // every day at 9, monday to friday
		!(g.repeats() && other.repeats()) && either(piece.openMonth, piece.isDate) ||
		a == hasDay && b == hasHour || a == hasHour && b == hasDay ||
		a == hasHour && b == hasHour && (g.holds(other) || other.holds(g))
}

// holds says that the group is a part of the day in which the other is an hour:
// in the evening to … at eight.
func (g group) holds(other group) bool {
	if len(g.pieces) != 1 || len(other.pieces) != 1 || other.parted() || other.pieces[0].clock == nil {
		return false
	}
	about := partsOfDay[g.pieces[0].part]
	h, ok := g.pieces[0].part.hour(other.pieces[0].clock.hour)
	return ok && g.parted() && !g.has(piece.isHour) && about.from <= h && h <= about.to
}

func (p piece) isDaily() bool {
	return p.repeat != nil && p.repeat.freq == daily && p.repeat.often == 0
}

func (p piece) ofWeeks() bool {
	return p.repeat != nil && p.repeat.freq == weekly && p.repeat.week != 0
}

// openWeek says that the piece repeats by weeks and does not tell the day, as
// ofWeek ones do.
func (p piece) openWeek() bool { return p.open() && p.repeat.freq == weekly }

func (p piece) ofWeek() bool {
	return p.day != nil && p.day.kind == weekday && p.day.n == coming || p.ofWeeks()
}

// openMonth says that the piece repeats by months or years and does not tell the
// day.
func (p piece) openMonth() bool {
	r := p.repeat
	return r != nil && (r.freq == monthly && r.nth == 0 || r.freq == yearly && p.day == nil) && len(r.numbers) == 0
}

func (p piece) isDate() bool {
	return p.day != nil && p.day.kind != inDays && p.day.kind != weekday
}
