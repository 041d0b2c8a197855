package when

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// Moved reads a new time for something that has one: what the text does not
// say (the day, the hour, how it repeats) stays as it was. next is when the old
// one comes. Errors as Parse.
func Moved(text string, old Phrase, next, now time.Time) (Phrase, error) {
	zone := located(old.Zone)
	next = next.In(zone)
	s := newSentence(text, now, zone)
	g, ok := s.movedGroup()
	if !ok {
		return Parse(text, now, zone)
	}
	if err := g.failed(); err != nil {
		return Phrase{}, err
	}
	g.pieces = slices.DeleteFunc(slices.Clone(g.pieces), func(p piece) bool { return p.clock != nil && p.clock.now && p.day == nil }) // 改到明天同一时间
	for i, p := range g.pieces {
		if p.clock != nil && p.clock.now {
			g.pieces[i].clock = nil // tomorrow same time
		}
	}
	names := g.names()
	for _, p := range g.pieces {
		if p.repeat != nil {
			p.repeat.loose = false // there is one reminder
		}
	}
	g.sameDay(calendar.On(next))
	switch {
	case g.repeats() && names&hasHour == 0 && !g.has(func(p piece) bool { return p.repeat != nil && p.repeat.freq == spaced && p.repeat.span.Exact > 0 }),
		names == hasDay && !g.has(func(p piece) bool { return p.week != nil }):
		hour := clock{hour: next.Hour(), minute: next.Minute(), second: next.Second(), style: fixed}
		g.pieces = append(g.pieces, piece{clock: &hour})
	case names == hasHour:
		if old.At.IsZero() && old.Every == 0 {
			return rehoured(s, g, old, next)
		}
		on := calendar.On(next)
		if !on.At(23, 59, 59, zone).After(now) {
			on = calendar.On(now.In(zone))
		}
		g.pieces = append(pieces{onDay(day{kind: onDate, n: coming, date: on})}, s.nearHour(g.pieces, next)...)
	}
	return s.finish([]group{g}, "")
}

// movedGroup is the time that the text is; a bare number is an hour.
func (s *sentence) movedGroup() (group, bool) {
	if all := s.groups(); len(all) > 0 {
		return all[0], s.ending(all[0].to) && s.asking(0, all[0].from)
	}
	if v, j := s.Match("time", 0); j > 0 && s.ending(j) {
		return v.(group), true
	}
	return group{}, false
}

// sameDay gives what repeats by weeks, months or years without a day that of
// the old time.
func (all pieces) sameDay(d calendar.Date) {
	if all.has(func(p piece) bool { return p.day != nil }) {
		return
	}
	for _, p := range all {
		switch r := p.repeat; {
		case r == nil || r.week != 0 || r.nth != 0 || len(r.numbers) > 0 || r.days:
		case r.freq == weekly:
			r.week = 1 << d.Weekday()
		case r.freq == monthly:
			r.numbers = []int{d.Day}
		case r.freq == yearly:
			r.numbers, r.months = []int{d.Day}, []int{int(d.Month)}
		}
	}
}

// nearHour reads "5:30" for something at 5 in the afternoon as half past five in
// the afternoon.
func (s *sentence) nearHour(all pieces, old time.Time) pieces {
	if all.parted() {
		return all
	}
	all = slices.Clone(all)
	for i, p := range all {
		if p.clock != nil && p.clock.style == colon && p.clock.hour <= 12 {
			c := *p.clock
			if c.style = fixed; c.hour < 12 && old.Hour() >= 12 {
				c.hour += 12
			}
			all[i].clock = &c
		}
	}
	return all
}

// rehoured is what repeats at another hour.
func rehoured(s *sentence, g group, old Phrase, next time.Time) (Phrase, error) {
	on := piece{day: &day{kind: onDate, n: coming, date: calendar.On(s.now).Add(1)}}
	p, err := s.finish([]group{{pieces: append(pieces{on}, s.nearHour(g.pieces, next)...), from: g.from, to: g.to}}, "")
	if unsure, ok := errors.AsType[*Ambiguous](err); ok {
		for i, c := range unsure.Choices {
			unsure.Choices[i] = old.at(c.All())
		}
		return Phrase{}, unsure
	}
	if err != nil {
		return p, err
	}
	return old.at(p.All()), nil
}

// at is the repetition at other hours.
func (p Phrase) at(hours []Phrase) Phrase {
	zone := located(p.Zone)
	t := hours[0].At.In(zone)
	p.Rest, p.From, p.To, p.And = "", 0, 0, nil
	if p.Cron != "" && len(hours) == 1 {
		fields := strings.Fields(p.Cron)
		if len(fields) == 6 {
			fields = fields[1:]
		}
		p.Cron = fmt.Sprintf("%d %d %s", t.Minute(), t.Hour(), strings.Join(fields[2:], " "))
		return p
	}
	r, err := calendar.ParseRule(p.Rule)
	if c, failed := ParseCron(p.Cron); failed == nil {
		r, err = &calendar.Rule{Start: calendar.Wall(t.AddDate(0, 0, -1)), Parts: c.Parts()}, nil
	}
	if err != nil {
		return p
	}
	all := r.Parts
	r.Parts = nil
	for _, part := range all {
		for _, one := range hours {
			t = one.At.In(zone)
			part.Byhour, part.Byminute, part.Bysecond = []int{t.Hour()}, []int{t.Minute()}, []int{t.Second()}
			if !slices.ContainsFunc(r.Parts, func(o calendar.Part) bool { return o.String() == part.String() }) {
				r.Parts = append(r.Parts, part)
			}
		}
	}
	p.Cron, p.Rule = "", r.String()
	return p
}
