// Package calendar knows days: those of the solar and the lunar calendar,
// holidays, China's official working days, and rules for what repeats. It is
// pure: no clock of its own, no goroutines, nothing kept between calls.
package calendar

import (
	"fmt"
	"time"
)

// Date is a day of the calendar, of no zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// On is the day that the calendar of t's zone shows.
func On(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// utc is the day's noon in UTC, where every day has 24 hours.
func (d Date) utc() time.Time { return time.Date(d.Year, d.Month, d.Day, 12, 0, 0, 0, time.UTC) }

// midnight is the beginning of the day, by a clock that hangs in UTC.
func (d Date) midnight() time.Time { return d.utc().Add(-12 * time.Hour) }

// Add is n days later.
func (d Date) Add(n int) Date { return On(d.utc().AddDate(0, 0, n)) }

// Sub is how many days d is later than o.
func (d Date) Sub(o Date) int { return int(d.utc().Unix()-o.utc().Unix()) / 86400 }

// Months is n months later, on the last day of that month if it is shorter.
func (d Date) Months(n int) Date {
	first := On(Date{d.Year, d.Month, 1}.utc().AddDate(0, n, 0))
	first.Day = min(d.Day, first.Last())
	return first
}

// Weekday is the day of the week.
func (d Date) Weekday() time.Weekday { return d.utc().Weekday() }

// Monday is the first day of the week.
func (d Date) Monday() Date { return d.Add(-(int(d.Weekday()) + 6) % 7) }

// Last is the number of the month's last day.
func (d Date) Last() int { return Date{d.Year, d.Month + 1, 0}.utc().Day() }

// Valid says whether the calendar has this day.
func (d Date) Valid() bool {
	return d.Year >= 1 && d.Year <= 9999 && d.Month >= 1 && d.Month <= 12 && d.Day >= 1 && d.Day <= d.Last()
}

// Before says whether d comes before o.
func (d Date) Before(o Date) bool { return d.utc().Before(o.utc()) }

// String writes the day as 2006-01-02.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// At is the moment of a wall clock on that day. Hours from 24 on are of the
// days after. A time that the zone skips is the first moment after the gap, a
// doubled one the first of the two; [time.Date] promises neither.
func (d Date) At(hour, minute, second int, zone *time.Location) time.Time {
	d, hour = d.Add(hour/24), hour%24
	t := time.Date(d.Year, d.Month, d.Day, hour, minute, second, 0, zone)
	start, end := t.ZoneBounds()
	want := time.Date(d.Year, d.Month, d.Day, hour, minute, second, 0, time.UTC)
	switch shown := Wall(t); {
	case shown.After(want):
		return start.In(zone)
	case shown.Before(want):
		return end.In(zone)
	case start.IsZero():
		return t
	}
	_, now := t.Zone()
	_, before := start.Add(-time.Second).Zone()
	if first := t.Add(time.Duration(now-before) * time.Second); first.Before(start) && Wall(first).Equal(want) {
		return first
	}
	return t
}

// Wall is what the clock shows, as if it hung in UTC.
func Wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
