package when

import (
	"math/bits"
	"time"

	"magpie/cron/calendar"
)

// maxSearch bounds the search for the next slot: 29 February on a given day of
// the week of a given kind may be 40 years away over a century without a leap
// day.
const maxSearch = 41 * 366

// Next is the first slot after a moment, by the wall clock of the zone (nil
// means UTC); false when there is none.
//
// Daylight saving: with fixed hours, a slot that the zone skips is the first
// moment after the gap (several skipped slots are one), and a doubled one is
// the first of the two. An expression whose hour is * goes by what the clock
// shows in every hour that passes, the doubled one included: "every ten
// minutes" has no pause of an hour.
func (c Cron) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	if zone == nil {
		zone = time.UTC
	}
	local := after.In(zone)
	day := calendar.On(local)
	for range maxSearch {
		if day.Year > 9999 {
			break
		}
		if c.matches(day) {
			if t, ok := c.onDay(day, after, zone); ok {
				return t, true
			}
		}
		day = day.Add(1)
	}
	return time.Time{}, false
}

func (c Cron) matches(d calendar.Date) bool {
	if !c.fields[cronMonth].has(int(d.Month)) {
		return false
	}
	days, week := c.fields[cronDay], c.fields[cronWeekday]
	onDay := days.has(d.Day) || c.last && d.Day == d.Last()
	onWeek := week.has(int(d.Weekday()))
	if days.star || week.star {
		return onDay && onWeek
	}
	return onDay || onWeek
}

func (c Cron) onDay(d calendar.Date, after time.Time, zone *time.Location) (time.Time, bool) {
	if c.fields[cronHour].star {
		return c.running(d, after, zone)
	}
	for h := range c.fields[cronHour].values() {
		if !d.At(h, 59, 59, zone).After(after) {
			continue
		}
		for m := range c.fields[cronMinute].values() {
			if !d.At(h, m, 59, zone).After(after) {
				continue
			}
			for s := range c.fields[cronSecond].values() {
				if t := d.At(h, m, s, zone); t.After(after) {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// running goes through the day as it passes, minute by minute of the clock.
func (c Cron) running(d calendar.Date, after time.Time, zone *time.Location) (time.Time, bool) {
	t := d.At(0, 0, 0, zone)
	if !t.After(after) {
		t = after.Truncate(time.Second).Add(time.Second).In(zone)
	}
	for calendar.On(t) == d {
		if c.fields[cronMinute].has(t.Minute()) {
			if rest := c.fields[cronSecond].set >> t.Second(); rest != 0 {
				return t.Add(time.Duration(bits.TrailingZeros64(rest)) * time.Second), true
			}
		}
		t = t.Add(time.Duration(60-t.Second()) * time.Second)
	}
	return time.Time{}, false
}

// values goes through the set upwards.
func (f field) values() func(func(int) bool) {
	return func(yield func(int) bool) {
		for set := f.set; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}
