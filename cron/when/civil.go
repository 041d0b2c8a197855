package when

import "time"

// date is a day of the calendar, of no zone.
type date struct {
	year  int
	month time.Month
	day   int
}

func dateOf(t time.Time) date {
	y, m, d := t.Date()
	return date{y, m, d}
}

// utc is the day's noon in UTC, where every day has 24 hours.
func (d date) utc() time.Time { return time.Date(d.year, d.month, d.day, 12, 0, 0, 0, time.UTC) }

// add is n days later.
func (d date) add(n int) date { return dateOf(d.utc().AddDate(0, 0, n)) }

// months is n months later, on the last day of that month if it is shorter.
func (d date) months(n int) date {
	first := dateOf(date{d.year, d.month, 1}.utc().AddDate(0, n, 0))
	first.day = min(d.day, first.last())
	return first
}

func (d date) weekday() time.Weekday { return d.utc().Weekday() }

// monday is the first day of the week.
func (d date) monday() date { return d.add(-(int(d.weekday()) + 6) % 7) }

// last is the number of the month's last day.
func (d date) last() int { return date{d.year, d.month + 1, 0}.utc().Day() }

// valid says whether the calendar has this day.
func (d date) valid() bool {
	return d.year >= 1 && d.year <= 9999 && d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= d.last()
}

// at is the moment of a wall clock on that day. Hours from 24 on are of the
// days after. A time that the zone skips is the first moment after the gap, a
// doubled one the first of the two; [time.Date] promises neither.
func (d date) at(hour, minute, second int, zone *time.Location) time.Time {
	d, hour = d.add(hour/24), hour%24
	t := time.Date(d.year, d.month, d.day, hour, minute, second, 0, zone)
	start, end := t.ZoneBounds()
	want := time.Date(d.year, d.month, d.day, hour, minute, second, 0, time.UTC)
	switch shown := wall(t); {
	case shown.After(want):
		return start.In(zone)
	case shown.Before(want):
		return end.In(zone)
	case start.IsZero():
		return t
	}
	_, now := t.Zone()
	_, before := start.Add(-time.Second).Zone()
	if first := t.Add(time.Duration(now-before) * time.Second); first.Before(start) && wall(first).Equal(want) {
		return first
	}
	return t
}

// wall is what the clock shows, as if it hung in UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
