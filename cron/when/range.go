package when

import (
	"time"

	"magpie/cron/calendar"
)

// partHours are when parts of the day begin and end.
var partHours = map[part][2]int{dawn: {0, 7}, morning: {0, 12}, noon: {11, 14}, afternoon: {12, 18}, evening: {17, 24}}

// Range is the days that a text names, "tomorrow", "this week", 周五, as a half
// open range; false when it names none.
func Range(text string, now time.Time, zone *time.Location) (from, to time.Time, ok bool) {
	s := newSentence(text, now, zone)
	all := s.groups()
	if v, _ := s.Match("time", 0); len(all) == 0 && v != nil { // a month alone
		all = append(all, v.(group))
	}
	for _, g := range all {
		var limits pieces
		for _, p := range g.pieces {
			if p.limit != nil && p.limit.kind == until && p.limit.start != nil {
				limits = p.limit.start
				limits = append(limits[:len(limits):len(limits)], p.limit.pieces...)
			}
		}
		b, err := s.newBag(append(limits, g.pieces...))
		if err != nil {
			continue
		}
		today := calendar.On(b.now)
		first, n := today, 0
		switch {
		case b.week != nil && len(b.days) == 0:
			first, n = today.Monday().Add(7**b.week), 7
		case len(b.days) > 0:
			first, n = b.firstDays(b.days[0])
		case b.part != noPart:
			n = 1
		}
		if n == 0 {
			continue
		}
		last := first.Add(n)
		if len(b.days) > 1 {
			if other, m := b.firstDays(b.days[len(b.days)-1]); first.Before(other) {
				last = other.Add(m)
			}
		}
		from, to = first.At(0, 0, 0, b.zone), last.At(0, 0, 0, b.zone)
		if hours, ok := partHours[b.part]; ok && n == 1 {
			from, to = first.At(hours[0], 0, 0, b.zone), first.At(hours[1], 0, 0, b.zone)
		}
		return from, to, true
	}
	return from, to, false
}

// Days are the days that a text lists, "tomorrow and saturday", 周四周五; none of a
// range.
func Days(text string, now time.Time, zone *time.Location) (all []time.Time) {
	s := newSentence(text, now, zone)
	for _, g := range s.groups() {
		b, err := s.newBag(g.pieces)
		if err != nil || g.has(func(p piece) bool { return p.limit != nil }) {
			return nil
		}
		for _, d := range b.days {
			first, n := b.firstDays(d)
			for k := range n {
				all = append(all, first.Add(k).At(0, 0, 0, b.zone))
			}
		}
	}
	return all
}

// PartOfDay says that a text names a day and a part of it, but no hour: 明早, 周五下午.
func PartOfDay(text string, now time.Time, zone *time.Location) bool {
	for _, g := range newSentence(text, now, zone).groups() {
		if g.parted() && !g.has(piece.isHour) && g.has(func(p piece) bool { return p.day != nil }) {
			return true
		}
	}
	return false
}

// firstDays are the first of the days that d can be, and how many they are.
func (b *bag) firstDays(d day) (calendar.Date, int) {
	if first, n := b.open(d); n > 0 {
		return first, n
	}
	dates, err := b.dates(d)
	if err != nil || len(dates) == 0 {
		return calendar.On(b.now), 0
	}
	return dates[0], 1
}
