package calendar

import (
	"iter"
	"slices"
	"time"

	"github.com/teambition/rrule-go"
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
	// Running goes by what the clock shows in every hour that passes, one that
	// it shows twice included; nothing comes for what it skips.
	Running bool
}

// Frequency is the period of a Part.
type Frequency = rrule.Frequency

// The periods of a Part.
const (
	Yearly   = rrule.YEARLY
	Monthly  = rrule.MONTHLY
	Weekly   = rrule.WEEKLY
	Daily    = rrule.DAILY
	Hourly   = rrule.HOURLY
	Minutely = rrule.MINUTELY
	Secondly = rrule.SECONDLY
)

// Days are the days that a Part is kept to, after China's official calendar.
type Days string

// The kinds of days.
const (
	AllDays  Days = ""
	WorkDays Days = "WORK"
	RestDays Days = "REST"
	OpenDays Days = "OPEN" // all but public holidays
)

// Weekday is a day of the week: every one, or the N-th of its month or year,
// counted from the end when N is negative. Its Day counts from Monday.
type Weekday = rrule.Weekday

// Week are the days of the week, by [time.Weekday].
var Week = [7]Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}

// Part is one RRULE of a Rule, as the library has it, and what Magpie adds. What
// it does not name is that of Rule.Start: the hour, the day of the week or of
// the month.
type Part struct {
	rrule.ROption // Until is by the wall clock, Dtstart is not used

	Lunar   bool   // months and days are those of the Chinese lunar calendar
	Days    Days   // applied before Bysetpos
	Holiday string // a key of Holiday
	Shift   int    // days after what all the rest says

	end time.Time // the last slot that Count or Until leaves; zero for no end
}

// Every is a part that comes again and again after a time in whole seconds.
func Every(d time.Duration) (p Part) {
	p.Freq, p.Interval = Secondly, int(d/time.Second)
	for _, longer := range []struct {
		freq Frequency
		unit time.Duration
	}{{Minutely, time.Minute}, {Hourly, time.Hour}, {Daily, 24 * time.Hour}} {
		if d%longer.unit == 0 {
			p.Freq, p.Interval = longer.freq, int(d/longer.unit)
		}
	}
	return p
}

// Next is the first slot after a time, by the wall clock of the zone. One that
// daylight saving skips is at the next valid minute, one that it doubles the
// first time only. False when there is none within 41 years of what was found
// last.
func (r *Rule) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	after = after.In(zone).Truncate(time.Second)
	if r.Running {
		return r.running(after)
	}
	from := Wall(after)
	if at(from, zone).Before(after) {
		// The clock shows this for the second time: what comes next is past
		// the doubled hour.
		start, _ := after.ZoneBounds()
		from = Wall(start.Add(-time.Second))
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

// running is Next from one change of the clock to the next.
func (r *Rule) running(after time.Time) (time.Time, bool) {
	from, changed := Wall(after), false
	for {
		shown, ok := r.next(from)
		if !ok {
			return time.Time{}, false
		}
		// Behind a change, no other one shows again what is before the slot.
		if near := at(shown.AddDate(0, 0, -1), after.Location()); changed && near.After(after) {
			after = near
		}
		slot := after.Add(shown.Sub(Wall(after)))
		_, end := after.ZoneBounds()
		if end.IsZero() || slot.Before(end) {
			return slot, true
		}
		after, from, changed = end, Wall(end).Add(-time.Second), true
	}
}

// at is the moment when the clock of a zone shows a time.
func at(shown time.Time, zone *time.Location) time.Time {
	hour, minute, second := shown.Clock()
	return On(shown).At(hour, minute, second, zone)
}

// next is the first time after one that the wall clock shows.
func (r *Rule) next(after time.Time) (first time.Time, ok bool) {
	sources := []iter.Seq[time.Time]{slices.Values(r.Extra)}
	for _, p := range r.Parts {
		sources = append(sources, p.slots(r.Start, after.Add(time.Second)))
	}
	for _, source := range sources {
		for t := range source {
			if ok && !t.Before(first) {
				break
			}
			if t.After(after) && !r.excepted(t) {
				first, ok = t, true
				break
			}
		}
	}
	return first, ok
}

func (r *Rule) excepted(t time.Time) bool {
	return slices.ContainsFunc(r.Except, t.Equal) || slices.Contains(r.ExceptDays, On(t))
}

// ends is the last slot that Count or Until leaves; zero for no end.
func (p *Part) ends(start time.Time) time.Time {
	if p.Count == 0 {
		return p.Until
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
