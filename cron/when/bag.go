package when

import (
	"fmt"
	"slices"
	"time"
)

// bag holds what was said of one time, in any order.
type bag struct {
	days   []day
	week   *int
	clocks []clock
	part   part
	span   *Span
	repeat *repeat
	spaced *repeat // beside another repetition: every hour on weekdays
	limits []limit
	shift  *Span
	zone   *time.Location
	whole  *Phrase
	vague  bool
	asked  *piece
	now    time.Time
	shown  *time.Location // the zone of the phrase: what people call a zone, not an offset
	fixed  bool           // zone is an offset
	source *sentence
}

// answer is every meaning; with more than one, the question that chooses.
type answer struct {
	phrases  []Phrase
	question Text
	open     bool // to be asked whatever the number of choices
}

// sole is an answer without a question.
func sole(p Phrase) answer { return answer{phrases: []Phrase{p}} }

// ask is an answer that needs one.
func ask(english, chinese string, choices ...Phrase) (answer, error) {
	return answer{question: Text{english, chinese}, phrases: choices, open: true}, nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// newBag sorts the pieces. Two that exclude each other are an error.
func (s *sentence) newBag(pieces []piece) (*bag, error) {
	if i := slices.IndexFunc(pieces, func(p piece) bool { return p.shift != nil && p.part != noPart }); i >= 0 { // the night before
		shift := pieces[i]
		pieces = append(slices.Clone(pieces[:i]), pieces[i+1:]...)
		for k, p := range pieces {
			if p.from < shift.from {
				pieces[k] = unhoured(pieces[k : k+1])[0]
			}
		}
		pieces = append([]piece{{part: shift.part, shift: shift.shift}}, pieces...)
	}
	g := group{pieces: pieces}
	if err := g.failed(); err != nil {
		return nil, err
	}
	b := &bag{zone: s.zone, shown: s.zone, source: s}
	for _, p := range pieces {
		if p.day != nil {
			b.addDay(*p.day)
		}
		if p.week != nil {
			b.week = p.week
		}
		if p.part != noPart {
			b.part = p.part
		}
		b.place(p)
		if p.whole != nil {
			b.whole = p.whole
		}
		if p.span != nil && !(p.vague && g.names()&hasHour != 0) {
			if b.span != nil {
				return nil, invalid("two lengths of time at once")
			}
			b.span = p.span
		}
		if p.shift != nil {
			b.shift = p.shift
		}
		if p.limit != nil {
			b.limits = append(b.limits, *p.limit)
		}
		b.vague = b.vague || p.vague
		if p.asked && b.asked == nil {
			b.asked = &p
		}
		if p.repeat != nil && !b.addRepeat(*p.repeat) {
			return nil, invalid("two ways to repeat at once; make one reminder for each")
		}
	}
	b.takeHour(&g)
	b.clocks = g.clocks()
	for i, c := range b.clocks {
		if c.part == noPart && c.style <= colon && c.hour >= 4 && (c.hour < 12 && s.asksFor("wake") || c.hour < 7 && s.rises()) {
			b.clocks[i].part = morning
		}
	}
	b.now = s.now.In(b.zone)
	return b, nil
}

// takeHour gives the hour of a bound of days to the times that it bounds, where
// they have none: every thursday, starting tomorrow at 6pm.
func (b *bag) takeHour(g *group) {
	if b.repeat != nil && b.repeat.freq == spaced || g.has(piece.isHour) {
		return
	}
	for i := range b.limits {
		l := &b.limits[i]
		days := (group{pieces: l.pieces}).names()&hasDay != 0
		if !(l.kind == since && b.repeat != nil || l.kind == until && (l.start != nil || b.repeat != nil && days)) {
			continue
		}
		g.pieces = append(slices.Clone(g.pieces), l.pieces...)
		if l.pieces = unhoured(l.pieces); (group{pieces: l.pieces}).names() == 0 {
			b.limits = slices.Delete(b.limits, i, i+1)
			return
		}
	}
}

// unhoured are the pieces without their hours.
func unhoured(pieces []piece) []piece {
	pieces = slices.Clone(pieces)
	for i := range pieces {
		pieces[i].clock, pieces[i].more, pieces[i].part = nil, nil, noPart
	}
	return pieces
}

// clocks are the hours with the part of the day that belongs to each: the one
// before it ("早上9点和晚上9点") or, when the first stands behind its hour, the
// one after it ("9 in the morning and 9 in the evening").
func (g group) clocks() []clock {
	before := func(i int) part {
		for i--; i >= 0; i-- {
			if p := g.pieces[i].part; p != noPart && g.pieces[i].clock == nil {
				return p
			}
		}
		return noPart
	}
	behind := func(i int) part {
		for i++; i < len(g.pieces); i++ {
			if p := g.pieces[i].part; p != noPart && g.pieces[i].clock == nil {
				return p
			}
		}
		return noPart
	}
	var all []clock
	for i, p := range g.pieces {
		for _, c := range p.more {
			if c.style == bare && c.part == noPart {
				c.part = before(i)
			}
			all = append(all, c)
		}
		if p.clock == nil {
			continue
		}
		if len(all) == 0 && before(i) == noPart {
			before, behind = behind, before
		}
		c := *p.clock
		if c.part = p.part; c.part == noPart {
			c.part = before(i)
		}
		if c.part == noPart {
			c.part = behind(i)
		}
		if c.style == colon && g.digits() {
			c.style = full
		}
		all = append(all, c)
	}
	return sameStyle(all)
}

// sameStyle reads a list of hours by one clock: with an hour above 12 in it, all
// are of 24.
func sameStyle(all []clock) []clock {
	if !slices.ContainsFunc(all, func(c clock) bool { return c.style == full && c.hour > 12 }) {
		return all
	}
	for i, c := range all {
		if c.part == noPart && (c.style == bare || c.style == colon) {
			all[i].style = full
		}
	}
	return all
}

func (g group) digits() bool {
	return g.has(func(p piece) bool { return p.day != nil && p.day.digits })
}

// place sets the zones. A moment is meant by the offset, if there is one; it is
// shown in the zone that was named, else in the caller's.
func (b *bag) place(p piece) {
	switch {
	case p.zone == nil:
	case p.offset:
		b.zone, b.fixed = p.zone, true
	default:
		b.shown = p.zone
		if !b.fixed {
			b.zone = p.zone
		}
	}
}

// foreign says that the offset is not the one of the zone in which a repetition
// would be kept.
func (b *bag) foreign() bool {
	_, said := b.source.now.In(b.zone).Zone()
	_, kept := b.source.now.In(b.shown).Zone()
	return said != kept
}

// addDay joins "next month" with "the 1st", and drops what was said twice.
func (b *bag) addDay(d day) {
	for i := range b.days {
		o := &b.days[i]
		if *o == d {
			return
		}
		if o.kind == monthDay && d.kind == monthDay && (o.number == 0) != (d.number == 0) {
			if d.number == 0 {
				o.n = d.n
			} else {
				o.number = d.number
			}
			return
		}
	}
	b.days = append(b.days, d)
}

// addRepeat joins "every morning" with "on weekdays" and "every monday" with
// "every thursday"; false when they exclude each other.
func (b *bag) addRepeat(r repeat) bool {
	switch o := b.repeat; {
	case o == nil || o.freq == daily && o.often == 0 && r.freq != spaced && r.freq != fullHour:
		b.repeat = &r
	case r.freq == daily && r.often == 0 && o.freq != spaced && o.freq != fullHour:
	case o.freq == r.freq && r.freq == weekly:
		both := *o
		if both.week == 0 || r.week == 0 || both.every < r.every { // biweekly on fridays
			both.every = max(both.every, r.every)
		}
		both.week |= r.week
		both.work, both.days, both.rest = (o.work || o.week == 0) && r.work, o.days || r.days, o.rest || r.rest
		b.repeat = &both
	case o.freq == r.freq && r.freq == monthly && o.lunar == r.lunar && (o.nth == 0 || r.nth == 0):
		both := *o
		both.every = max(both.every, r.every)
		both.numbers = append(slices.Clone(o.numbers), r.numbers...)
		if o.nth == 0 {
			both.nth, both.week = r.nth, r.week
		}
		b.repeat = &both
	case (o.freq == spaced || o.freq == fullHour) && (r.freq == weekly || r.freq == daily || r.freq == monthly):
		b.repeat, b.spaced = &r, o
	case (r.freq == spaced || r.freq == fullHour) && (o.freq == weekly || o.freq == daily || o.freq == monthly):
		b.spaced = &r
	default:
		return false
	}
	return true
}

// resolve finds what the bag means.
func (b *bag) resolve() (answer, error) {
	a, err := b.meaning()
	if err != nil {
		return a, err
	}
	if len(a.phrases) == 0 && !a.open {
		return a, ErrPast
	}
	if slices.ContainsFunc(b.clocks, clock.contradicts) {
		a.question, a.open = b.hourQuestion().question, true
	}
	a.phrases = distinct(a.phrases)
	for i, p := range a.phrases {
		if !p.At.IsZero() && p.At.Year() > 9999 || p.Every > 200*365*24*time.Hour {
			return a, invalid("this is too far away")
		}
		if (p.Cron != "" || p.Rule != "") && b.foreign() {
			return a, badZone(": what repeats needs a name, as Asia/Shanghai, not %s", b.zone)
		}
		a.phrases[i].Zone, a.phrases[i].Vague = b.shown, b.vague
		if !p.At.IsZero() {
			a.phrases[i].At = p.At.In(b.shown)
		}
	}
	return a, nil
}

// distinct drops what was there before.
func distinct(all []Phrase) []Phrase {
	var kept []Phrase
	for _, p := range all {
		if !slices.ContainsFunc(kept, p.same) {
			kept = append(kept, p)
		}
	}
	return kept
}

// same says that both come at the same times.
func (p Phrase) same(o Phrase) bool {
	return o.Cron == p.Cron && o.Every == p.Every && o.At.Equal(p.At) && o.Rule == p.Rule
}

func (b *bag) meaning() (answer, error) {
	if b.asked != nil {
		return b.unclear(*b.asked)
	}
	if l := b.limited(window); l != nil && (b.repeat == nil || b.repeat.freq < fullHour && b.spaced == nil && b.repeat.often == 0) && len(b.clocks) == 0 { // an event from 3 to 5
		b.clocks = group{pieces: l.start}.clocks()
		for i, c := range b.clocks {
			if c.part == noPart {
				b.clocks[i].part = b.part
			}
		}
		*b = *b.without(window)
	}
	if len(b.limits) == 1 && b.repeat == nil && b.limits[0].opens() {
		return b.source.begins(*b, b.limits[0])
	}
	if l := b.limited(count); l != nil && b.repeat != nil && b.repeat.freq == daily && len(b.clocks) == 0 {
		b.repeat.often = l.count
		*b = *b.without(count)
	}
	if b.shift != nil {
		return b.shifted()
	}
	if b.repeat == nil && b.daily() {
		b.repeat = &repeat{freq: daily}
	}
	others := len(b.days) > 0 || b.week != nil || len(b.clocks) > 0 || b.part != noPart
	if b.repeat == nil && len(b.limits) > 0 && b.whole == nil {
		return ask("Once, or again and again? Please say how often, as every day at 9", "只提醒一次还是重复？请说清楚多久一次，例如每天9点")
	}
	switch {
	case b.whole != nil:
		if others || b.span != nil || b.repeat != nil {
			return answer{}, invalid("an expression and another time at once")
		}
		return sole(*b.whole), nil
	case b.repeat != nil && b.span != nil && b.repeat.freq != spaced:
		return answer{}, invalid("both a length of time and a repetition")
	case b.repeat != nil:
		return b.repeating()
	case b.span != nil:
		return b.after()
	case b.vague && !others || b.vague && len(b.clocks) == 0 && b.part == noPart:
		return b.sometime()
	case !others:
		return answer{}, ErrNone
	}
	return b.once()
}

// unclear asks about a piece that has no one meaning.
func (b *bag) unclear(p piece) (answer, error) {
	said := b.source.Cut(p.from, p.to)
	return ask("“"+said+"”: I am not sure which time this is. Please say the exact time, as 2026-12-24 16:50",
		"“"+said+"”：没看懂这是什么时间。请直接说准确的时间，例如 2026-12-24 16:50")
}
