package when

import (
	"cmp"
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
	past     bool // it was today, and has passed
}

// sole is an answer without a question.
func sole(p Phrase) answer { return answer{phrases: []Phrase{p}} }

// ask is an answer that needs one.
func ask(english, chinese string, choices ...Phrase) (answer, error) {
	return answer{question: Text{english, chinese}, phrases: choices, open: true}, nil
}

func invalid(format string, args ...any) error {
	return wrong(ErrInvalid, ": ", format, args...)
}

// newBag sorts the pieces. Two that exclude each other are an error.
func (s *sentence) newBag(all pieces) (*bag, error) {
	if i := slices.IndexFunc(all, func(p piece) bool { return p.shift != nil && p.part != noPart }); i >= 0 { // the night before
		shift := all[i]
		all = slices.Delete(slices.Clone(all), i, i+1).unhouredBefore(shift)
		all = append(pieces{{part: shift.part, shift: shift.shift}}, all...)
	}
	if err := all.failed(); err != nil {
		return nil, err
	}
	b := &bag{zone: s.zone, shown: s.zone, source: s}
	for _, p := range all {
		if p.day != nil {
			b.addDay(*p.day)
		}
		if p.other != nil {
			b.days = append(b.days, *p.other)
		}
		b.place(p)
		b.week = cmp.Or(p.week, b.week)
		b.part = cmp.Or(p.part, b.part)
		b.shift = cmp.Or(p.shift, b.shift)
		b.whole = cmp.Or(p.whole, b.whole)
		if p.span != nil && !(p.vague && all.names()&hasHour != 0) {
			if b.span != nil {
				return nil, invalid("two lengths of time at once")
			}
			b.span = p.span
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
	b.clocks = b.withHour(all).clocks()
	if parts := all.parts(); b.repeat != nil && b.repeat.freq < fullHour && len(parts) > 1 { // every day in the morning and in the evening
		for _, p := range parts {
			if !slices.ContainsFunc(b.clocks, func(c clock) bool { return c.part == p }) {
				b.clocks = append(b.clocks, clock{hour: p.usual()[0], style: fixed})
			}
		}
		b.part = noPart
	}
	for i, c := range b.clocks {
		if c.part == noPart && c.style <= colon && c.hour >= 4 && (c.hour < 12 && (s.asksFor("wake") || s.First(0, len(s.Tokens), "getting-up") >= 0) || c.hour < 7 && (s.rises() || s.asksFor("alarm-noun"))) {
			b.clocks[i].part = morning
		}
	}
	b.now = s.now.In(b.zone)
	return b, nil
}

// withHour are the pieces with the hour of a bound of days, where they have none:
// every thursday, starting tomorrow at 6pm.
func (b *bag) withHour(all pieces) pieces {
	if b.repeat != nil && b.repeat.freq >= fullHour || all.has(piece.isHour) {
		return all
	}
	for i := range b.limits {
		l := &b.limits[i]
		days := l.pieces.names()&hasDay != 0
		if !(l.kind == since && b.repeat != nil || l.kind == until && (l.start != nil || b.repeat != nil && days)) {
			continue
		}
		all = append(slices.Clone(all), l.pieces...)
		l.pieces = slices.Clone(l.pieces)
		for k, p := range l.pieces {
			l.pieces[k] = p.unhoured()
		}
		if l.pieces.names() == 0 {
			b.limits = slices.Delete(b.limits, i, i+1)
			break
		}
	}
	return all
}

// unhoured is the piece without its hour.
func (p piece) unhoured() piece {
	p.clock, p.more, p.part = nil, nil, noPart
	return p
}

// clocks are the hours with the part of the day that belongs to each: the one
// before it ("早上9点和晚上9点") or, when the first stands behind its hour, the
// one after it ("9 in the morning and 9 in the evening").
func (all pieces) clocks() []clock {
	near := func(i, step int) part {
		for i += step; i >= 0 && i < len(all); i += step {
			if p := all[i]; p.part != noPart && p.clock == nil {
				if step > 0 && i+1 < len(all) && all[i+1].clock != nil && all[i+1].from == p.to {
					return noPart // 八点和晚上八点: of the hour behind it
				}
				return p.part
			}
		}
		return noPart
	}
	before, behind := -1, 1
	digits := all.has(func(p piece) bool { return p.day != nil && p.day.digits })
	var clocks []clock
	for i, p := range all {
		for _, c := range p.more {
			if c.style == bare && c.part == noPart {
				c.part = near(i, before)
			}
			clocks = append(clocks, c)
		}
		if p.clock == nil {
			continue
		}
		if len(clocks) == 0 && near(i, before) == noPart {
			before, behind = behind, before
		}
		c := *p.clock
		c.part = cmp.Or(p.part, near(i, before), near(i, behind))
		if c.style == colon && digits {
			c.style = full
		}
		clocks = append(clocks, c)
	}
	return sameHalf(sameStyle(clocks))
}

// sameHalf reads a list of hours of which only the last has its half of the day:
// "5, 6 and 7 am".
func sameHalf(all []clock) []clock {
	for i := len(all) - 2; i >= 0; i-- {
		c, next := &all[i], all[i+1]
		if h, ok := next.part.hour(next.hour); ok && next.part >= noon && c.hour < h && c.hour+12 > h { // 八点和下午两点
			next.hour, next.style = h, fixed
		}
		if next.style != fixed || c.part != noPart || c.style > colon || c.hour > 12 {
			continue
		}
		for _, h := range []int{c.hour%12 + 12, c.hour % 12} {
			if h*60+c.minute < next.hour*60+next.minute {
				c.hour, c.style = h, fixed
				break
			}
		}
	}
	return all
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
	case o == nil || o.freq == daily && o.often == 0 && r.freq < fullHour:
		b.repeat = &r
	case r.freq == daily && r.often == 0 && o.freq < fullHour:
	case o.freq == r.freq && r.freq == weekly:
		both := *o
		both.every = max(both.every, r.every) // biweekly on fridays
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
	case o.freq >= fullHour && r.freq <= monthly:
		b.repeat, b.spaced = &r, o
	case r.freq >= fullHour && o.freq <= monthly:
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
	b.farEnd(&a)
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
		b.clocks = l.start.clocks()
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
	if b.repeat == nil && len(b.days) == 0 && b.week == nil && b.span == nil && slices.ContainsFunc(b.limits, limit.days) {
		b.repeat = &repeat{freq: daily} // for the next three days at 8
	}
	others := len(b.days) > 0 || b.week != nil || len(b.clocks) > 0 || b.part != noPart
	if b.repeat == nil && len(b.limits) > 0 && b.whole == nil {
		return askHowOften()
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
	case b.vague && len(b.clocks) == 0 && b.part == noPart:
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
