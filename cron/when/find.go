package when

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/cron/grammar"
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
	n, end := s.quantity(j)
	if _, whole := s.run(j); j == 0 || end == 0 || whole || i > g.to && !s.ending(end) {
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

// find chooses the times among all that the sentence holds, joins an hour with
// its day when they stand apart, and cuts a sentence that asks for several
// things.
func (s *sentence) find() (Phrase, error) {
	if p, ok, err := s.lines(); ok || err != nil {
		return p, err
	}
	if cut := s.cut(); cut > 0 {
		return s.both(cut)
	}
	return s.one(nil)
}

// lines reads a list of which every line has a time and a thing; what stands in
// the line before them is of all.
func (s *sentence) lines() (Phrase, bool, error) {
	lines := strings.FieldsFunc(s.Source, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) < 2 || len(lines) > maxLines {
		return Phrase{}, false, nil
	}
	var before []group
	var all []*sentence
	for n, line := range lines {
		one := newSentence(bullet.ReplaceAllString(line, ""), s.now, s.zone)
		groups := one.groups()
		switch {
		case len(groups) > 0 && one.rest(groups) != "" && !(n == 0 && one.firstAsk() >= 0):
			all = append(all, one)
		case n == 0:
			before = groups
		default:
			return Phrase{}, false, nil
		}
	}
	if len(all) < 2 {
		return Phrase{}, false, nil
	}
	var sum []Phrase
	for _, one := range all {
		p, err := one.one(before)
		if err != nil {
			return p, false, err
		}
		sum = append(sum, p.All()...)
	}
	p := sum[0]
	p.And = sum[1:]
	return p, true, nil
}

// maxLines bounds a list of times.
const maxLines = 20

// bullet is what stands before the items of a list.
var bullet = regexp.MustCompile(`^[ \t*•·-]*([0-9]{1,3}[.、)）][.、)） ]*)?`)

// cut is where a second thing with a time of its own begins, 0 without one:
// "remind me at 1 to call, and at 3 to post the parcel".
func (s *sentence) cut() int {
	all := s.groups()
	for k := 1; k < len(all); k++ {
		if s.notes(all[k-1], all[k]) {
			return all[k].from
		}
		for i := all[k-1].to; i <= all[k].from; i++ {
			j := s.At("separator", i)
			if j == 0 || j > all[k].from {
				continue
			}
			if from, _ := s.askingClause(); s.firstAsk() >= i && !s.asking(from, len(s.Tokens)) {
				continue // what is told before it is asked
			}
			left := s.words(all[k-1].to, i) || s.words(0, all[0].from)
			leads := j == all[k].from || s.asking(j, all[k].from)
			ends := i == all[k-1].to && s.ending(all[len(all)-1].to) && s.words(j, all[k].from) && all[k].to == all[len(all)-1].to
			if left && (leads && s.words(all[k].to, len(s.Tokens)) || ends) && !all[k].bound() && !all[k-1].bound() {
				return i
			}
		}
	}
	return 0
}

// notes says that two clauses, each with a day, an hour and a thing, stand before
// one that only asks: 周四七点游泳课，周六十点钢琴课，都提醒我.
func (s *sentence) notes(a, b group) bool {
	full := func(g group) bool {
		return g.names() == hasDay|hasHour && !g.repeats() && !g.bound() && g.has(piece.isHour)
	}
	from, to := s.askingClause()
	return full(a) && full(b) && b.to < from && s.clauseBegins(b.from) && s.words(a.to, b.from) && s.words(b.to, from) && s.ending(to) && s.asking(from, to)
}

// firstAsk is where the sentence first asks for a reminder; -1 where it does
// not.
func (s *sentence) firstAsk() int {
	for i := range s.Tokens {
		if s.order[i] && max(s.At("ask-verb", i), s.At("zh-ask-verb", i)) > 0 {
			return i
		}
	}
	return -1
}

// asking says that only words that ask stand between two places.
func (s *sentence) asking(i, j int) bool {
	for ; i < j; i++ {
		if !s.silent(i) && s.At("joiner", i) == 0 {
			return false
		}
	}
	return true
}

// words says that something to be reminded of stands between two places.
func (s *sentence) words(i, j int) bool { return s.trim(i, j) != "" }

// eventOf says that the time is of the event that a shift names: 40 minutes
// before my 7pm dinner, two hours before dinner at seven.
func (s *sentence) eventOf(shift, g group) bool {
	for i := shift.to; i < g.from; i++ {
		if s.order[i] || s.Is(i, "to") || s.Tokens[i].Kind != grammar.Word {
			return false
		}
	}
	return shift.to <= g.from && (s.At("noun-before", shift.to) > 0 || g.from < shift.to+5 && !g.repeats())
}

// both reads the two parts of a sentence. What the second does not say of its
// day is that of the first.
func (s *sentence) both(cut int) (Phrase, error) {
	first := newSentence(s.Source[:s.Tokens[cut].From], s.now, s.zone)
	p, err := first.one(nil)
	if err != nil {
		return p, err
	}
	next := cut
	for next < len(s.Tokens) && (s.mark(next) || next < s.At("separator", cut)) {
		next++
	}
	second := newSentence(s.Source[s.Tokens[next].From:], s.now, s.zone)
	var q Phrase
	if more := second.cut(); more > 0 {
		q, err = second.both(more)
	} else {
		q, err = second.one(first.groups())
	}
	p.And = append(p.And, q.All()...)
	return p, err
}

// one reads a sentence that asks for one thing; before are the times of the
// sentence before it.
func (s *sentence) one(before []group) (Phrase, error) {
	all := s.groups()
	all = slices.DeleteFunc(all, func(g group) bool { return !s.meant(g, all) || s.onOccasion(g, all) })
	if len(all) == 0 {
		return Phrase{}, ErrNone
	}
	all, told := s.toldBefore(all)
	before = append(before, told...)
	chosen := s.choose(all)
	if err := s.beyond(chosen, all); err != nil {
		return Phrase{}, err
	}
	if n := len(before); n > 0 {
		chosen[0].everyMonth(before[n-1])
	}
	for _, g := range slices.Backward(before) {
		if g.names()&hasDay != 0 && (completes(chosen[0], g) || chosen[0].names() == hasHour) {
			chosen[0].pieces = append(g.dayFor(chosen[0]), chosen[0].pieces...)
			break
		}
	}
	return s.finish(chosen, s.rest(chosen))
}

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
	parted := hour.parted()
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

// toldBefore are the times that count, and those that are only told of before
// the clause that asks and has a time of its own: "I have a meeting at 3, remind
// me at 2".
func (s *sentence) toldBefore(all []group) (kept, told []group) {
	full := func(g group) bool {
		return !g.bound() && g.has(func(p piece) bool { return !p.vague && !p.asked }) && g.names()&(hasHour|hasMore) != 0
	}
	from, to := s.askingClause()
	if from == to {
		return all, nil
	}
	han := s.Tokens[to-1].Kind == grammar.Han
	own := slices.ContainsFunc(all, func(g group) bool {
		return g.from >= from && (full(g) && (han || s.edge(g)) || han && s.leads(g, from) || !han && !g.bound() && g.from > 0 && s.order[g.from-1])
	})
	var led names // what is said before the words that ask
	for _, g := range all {
		if g.from >= from && g.to <= to && !g.bound() {
			led |= g.names()
		}
	}
	for _, g := range all {
		switch {
		case han && led != 0 && g.from >= to && (!g.bound() || g.shifts() && !s.ending(g.to)) && (led&hasHour != 0 || g.names()&^led == 0) && s.told(to, g): // 三点提醒我跟老师说五点不去了
		case own && g.to <= from && !g.bound() && (han || s.words(0, g.from) || s.words(g.to, from)):
			told = append(told, g)
		case !han || !slices.ContainsFunc(all, full) || g.has(func(p piece) bool { return !p.vague && !p.asked }):
			kept = append(kept, g)
		default: // 等一下，明天三点提醒我
			for i := g.from; i < g.to; i++ {
				s.order[i] = true
			}
		}
	}
	return kept, told
}

// leads says that a day stands right before the words that ask, in their clause:
// 周五考试，周四提醒我复习.
func (s *sentence) leads(g group, clause int) bool {
	asked := s.firstAsk()
	return asked >= g.to && g.names()&hasDay != 0 && !g.bound() && s.asking(clause, g.from) && s.asking(g.to, asked)
}

// told says that the group is of what is to be done, in the clause that asks.
func (s *sentence) told(from int, g group) bool {
	for i := from; i < g.to; i++ {
		if s.clauseEnds(i) {
			return false
		}
	}
	return s.At("zh-ask", g.to) == 0 && s.Tokens[g.from].Kind != grammar.Word
}

func (s *sentence) clauseEnds(i int) bool {
	t := s.Tokens[i]
	if t.Text == "." && i > 0 && i+1 < len(s.Tokens) && s.Tokens[i+1].Gap {
		return s.order[i+1] || len(s.Tokens[i-1].Text) > 4 // and not "dr. "
	}
	return s.Is(i, "so") || s.oneOf(i, ",;。!?…") && !s.order[i]
}

// clauseBegins says that a clause begins at i: who writes Chinese without commas
// puts a space there.
func (s *sentence) clauseBegins(i int) bool {
	return i > 0 && (s.clauseEnds(i-1) || i < len(s.Tokens) && s.Tokens[i].Gap && s.Tokens[i].Kind == grammar.Han && s.Tokens[i-1].Kind == grammar.Han)
}

// askingClause is where the clause begins that asks first, and where the words
// end that do.
func (s *sentence) askingClause() (from, to int) {
	to = max(s.firstAsk(), 0)
	from = s.clause(to)
	for to < len(s.Tokens) && s.order[to] {
		to++
	}
	return from, to
}

// clause is where the clause begins in which i stands.
func (s *sentence) clause(i int) int {
	for i > 0 && !s.clauseBegins(i) {
		i--
	}
	return i
}

// meant says that a group is a time: bounds alone are one only beside what they
// bound.
func (s *sentence) meant(g group, all []group) bool {
	if !g.bound() || s.beginning(g.from) && g.has(func(p piece) bool { return p.limit != nil && p.limit.days() }) {
		return true
	}
	if l := g.pieces[0].limit; l != nil && len(all) == 1 && len(g.pieces) == 1 && (l.kind == since || l.kind == window || s.Is(g.from, "到", "等")) {
		return l.pieces.names()&hasHour != 0
	}
	return slices.ContainsFunc(all, func(o group) bool {
		return o.repeats() || o.has(func(p piece) bool { return p.limit != nil && p.limit.kind == lasting }) && !o.bound() || g.shifts() && o.from != g.from || g.has(func(p piece) bool { return p.zone != nil }) && !o.bound()
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
		if other.bound() && s.bounding(g, other) || (shifted || s.edge(other)) && !s.Is(other.from-1, "about", "of", "to") && completes(g, other) || g.shifts() && g.names() == 0 || other.shifts() && s.eventOf(other, g) {
			chosen = append(chosen, other)
		}
	}
	if last := all[len(all)-1]; s.Is(last.from-1, "again") && s.ending(last.to) && last.from > g.to && last.names() == hasHour && g.names()&hasHour != 0 {
		last.pieces = slices.Clone(last.pieces)
		last.from, last.pieces[0].listed = last.from-1, true
		chosen = append(chosen, last)
	}
	chosen = append(chosen, s.besides(chosen, all)...)
	slices.SortFunc(chosen, func(a, b group) int { return a.from - b.from })
	return chosen
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
		a == hasDay && b == hasHour || a == hasHour && b == hasDay
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
