package when

import (
	"fmt"
	"slices"
	"time"
)

// bag holds what was said of a time, in any order.
type bag struct {
	days   []day
	week   *int
	clocks []clock
	part   part
	span   *span
	repeat *repeat
	zone   *time.Location
	whole  *Phrase
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

// bag sorts the pieces. Two that exclude each other are an error.
func (g group) bag(s *sentence) (*bag, error) {
	if err := g.failed(); err != nil {
		return nil, err
	}
	b := &bag{zone: s.zone, shown: s.zone, source: s}
	for _, p := range g.pieces {
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
		if p.span != nil {
			if b.span != nil {
				return nil, invalid("two lengths of time at once")
			}
			b.span = p.span
		}
		if p.repeat != nil && !b.addRepeat(*p.repeat) {
			return nil, invalid("two ways to repeat at once; make one reminder for each")
		}
	}
	b.clocks = g.clocks()
	b.now = s.now.In(b.zone)
	return b, nil
}

// clocks are the hours with the part of the day that belongs to each: the one
// before it ("早上9点和晚上9点") or, when the first stands behind its hour, the
// one after it ("9 in the morning and 9 in the evening").
func (g group) clocks() []clock {
	before := func(i int) part {
		for i--; i >= 0; i-- {
			if p := g.pieces[i].part; p != noPart {
				return p
			}
		}
		return noPart
	}
	behind := func(i int) part {
		for i++; i < len(g.pieces); i++ {
			if p := g.pieces[i].part; p != noPart {
				return p
			}
		}
		return noPart
	}
	var all []clock
	for i, p := range g.pieces {
		if p.clock == nil {
			continue
		}
		if len(all) == 0 && before(i) == noPart {
			before, behind = behind, before
		}
		c := *p.clock
		if c.part = before(i); c.part == noPart {
			c.part = behind(i)
		}
		if c.style == colon && g.digits() {
			c.style = full
		}
		all = append(all, c)
	}
	return listed(all)
}

// listed reads a list of hours by one clock: with an hour above 12 in it, all
// are of 24.
func listed(all []clock) []clock {
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
	for _, p := range g.pieces {
		if p.day != nil && p.day.digits {
			return true
		}
	}
	return false
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
	case o == nil || o.kind == daily && r.kind != spaced:
		b.repeat = &r
	case r.kind == daily && o.kind != spaced:
	case o.kind == r.kind && r.kind == weekly:
		both := *o
		both.week |= r.week
		both.work = o.work && r.work
		b.repeat = &both
	case o.kind == r.kind && r.kind == monthly:
		both := *o
		both.numbers = append(append([]int{}, o.numbers...), r.numbers...)
		b.repeat = &both
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
	a.phrases = distinct(a.phrases)
	for _, p := range a.phrases {
		if !p.At.IsZero() && p.At.Year() > 9999 || p.Every > 200*365*24*time.Hour {
			return a, invalid("this is too far away")
		}
		if p.Cron != "" && b.foreign() {
			return a, fmt.Errorf("%w: what repeats needs a zone by its name, as Asia/Shanghai, not %s", ErrBadZone, b.zone)
		}
	}
	return a, nil
}

// distinct drops what was there before.
func distinct(all []Phrase) []Phrase {
	var kept []Phrase
	for _, p := range all {
		if !slices.ContainsFunc(kept, func(o Phrase) bool { return o.Cron == p.Cron && o.Every == p.Every && o.At.Equal(p.At) }) {
			kept = append(kept, p)
		}
	}
	return kept
}

func (b *bag) meaning() (answer, error) {
	others := len(b.days) > 0 || b.week != nil || len(b.clocks) > 0 || b.part != noPart
	switch {
	case b.whole != nil:
		if others || b.span != nil || b.repeat != nil {
			return answer{}, invalid("an expression and another time at once")
		}
		return sole(*b.whole), nil
	case b.repeat != nil && b.span != nil:
		return answer{}, invalid("both a length of time and a repetition")
	case b.repeat != nil:
		return b.repeating()
	case b.span != nil:
		return b.after()
	case len(b.days) == 0 && b.week == nil && !others:
		return answer{}, ErrNone
	}
	return b.once()
}

// after is a span from now. With an hour it names the day.
func (b *bag) after() (answer, error) {
	s := *b.span
	hours := len(b.clocks) > 0 || b.part != noPart
	if len(b.days) > 0 || b.week != nil || hours && s.exact > 0 {
		return answer{}, invalid("two times at once: a length of time and another one")
	}
	if s == (span{}) {
		return answer{}, invalid("the length of time must be one second or more")
	}
	if s.months > 12*9999 || s.days > 366*9999 {
		return answer{}, invalid("this is too far away")
	}
	day := dateOf(b.now).months(s.months).add(s.days)
	if hours {
		return b.moments([]date{day})
	}
	t := b.now
	if s.months > 0 || s.days > 0 {
		t = day.at(t.Hour(), t.Minute(), t.Second(), b.zone)
	}
	t = t.Add(s.exact).Truncate(time.Second)
	if !t.After(b.now) {
		return answer{}, invalid("the length of time must be one second or more")
	}
	return sole(Phrase{At: t}), nil
}
