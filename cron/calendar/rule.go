package calendar

import (
	"time"
)

// Rule says when something repeats, as a recurrence of RFC 5545 by the clock on
// the wall: of the zone in which it is asked. Its times are what that clock
// shows, written as UTC. What ParseRule returned is not to be changed.
type Rule struct {
	// Start is what intervals and counts begin at; it is a slot only if a part
	// says so.
	Start time.Time
	Parts []Part
	// Extra are single slots besides, Except slots that are left out, ExceptDays
	// days of which all are.
	Extra, Except []time.Time
	ExceptDays    []Date
}

// Freq is the period of a Part.
type Freq string

// The periods.
const (
	Yearly   Freq = "YEARLY"
	Monthly  Freq = "MONTHLY"
	Weekly   Freq = "WEEKLY"
	Daily    Freq = "DAILY"
	Hourly   Freq = "HOURLY"
	Minutely Freq = "MINUTELY"
	Secondly Freq = "SECONDLY"
)

// Days are the days that a Part is kept to, after China's official calendar.
type Days string

// The kinds of days.
const (
	AllDays  Days = ""
	WorkDays Days = "WORK"
	RestDays Days = "REST"
)

// Weekday is a day of the week: every one, or the N-th of its month or year,
// counted from the end when N is negative.
type Weekday struct {
	N   int
	Day time.Weekday
}

// Part is one RRULE of a Rule. What it does not name is that of Rule.Start:
// the hour, the day of the week or of the month.
type Part struct {
	Freq     Freq
	Interval int       // 0 is 1
	Count    int       // slots from Rule.Start on; 0 = no end
	Until    time.Time // the last slot at the latest; zero = no end
	// SundayFirst counts weeks from Sunday instead of Monday.
	SundayFirst bool

	ByMonth    []int
	ByWeekNo   []int
	ByYearDay  []int
	ByMonthDay []int
	ByDay      []Weekday
	ByHour     []int
	ByMinute   []int
	BySecond   []int
	BySetPos   []int

	Lunar   bool   // months and days are those of the Chinese lunar calendar
	Days    Days   // applied before BySetPos
	Holiday string // a key of Holiday
	Shift   int    // days after what all the rest says

	last  time.Time // of Count; see end
	meets bool      // see reachable
}

// Next is the first slot after a time, by the wall clock of the zone. One that
// daylight saving skips is at the next valid minute, one that it doubles the
// first time only. False when there is none within 41 years of what was found
// last.
func (r *Rule) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	after = after.In(zone).Truncate(time.Second)
	from := wall(after)
	if at(from, zone).Before(after) {
		// The clock shows this for the second time: what comes next is past
		// the doubled hour.
		start, _ := after.ZoneBounds()
		from = wall(start.Add(-time.Second))
	}
	for {
		shown, ok := r.next(from)
		if !ok {
			return time.Time{}, false
		}
		if slot := at(shown, zone); slot.After(after) {
			return slot, true
		}
		from = shown
	}
}

// at is the moment when the clock of a zone shows a time.
func at(shown time.Time, zone *time.Location) time.Time {
	hour, minute, second := shown.Clock()
	return On(shown).At(hour, minute, second, zone)
}

// next is the first time after one that the wall clock shows.
func (r *Rule) next(after time.Time) (first time.Time, ok bool) {
	take := func(t time.Time) {
		if t.After(after) && !r.excepted(t) && (!ok || t.Before(first)) {
			first, ok = t, true
		}
	}
	for _, t := range r.Extra {
		take(t)
	}
	for _, p := range r.Parts {
		end := p.end(r.Start)
		for t := range p.slots(r.Start, after.Add(time.Second)) {
			if !end.IsZero() && t.After(end) || ok && !t.Before(first) {
				break
			}
			if !r.excepted(t) {
				take(t)
				break
			}
		}
	}
	return first, ok
}

func (r *Rule) excepted(t time.Time) bool {
	for _, e := range r.Except {
		if e.Equal(t) {
			return true
		}
	}
	day := On(t)
	for _, d := range r.ExceptDays {
		if d == day {
			return true
		}
	}
	return false
}

// end is the last slot that Count or Until leaves; zero for no end.
func (p *Part) end(start time.Time) time.Time {
	switch {
	case p.Count == 0:
		return p.Until
	case !p.last.IsZero():
		return p.last
	}
	last, left := start.Add(-time.Second), p.Count
	for t := range p.slots(start, start) {
		last, left = t, left-1
		if left == 0 {
			break
		}
	}
	return last
}
