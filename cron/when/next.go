package when

import (
	"slices"
	"time"

	"magpie/cron/calendar"
)

// Next is the first slot after a moment, by the wall clock of the zone (nil
// means UTC); false when there is none.
//
// Daylight saving: with fixed hours, a slot that the zone skips is the first
// moment after the gap (several skipped slots are one), and a doubled one is
// the first of the two. An expression whose hour is * goes by what the clock
// shows in every hour that passes, the doubled one included: "every ten
// minutes" has no pause of an hour.
func (c Cron) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	zone = located(zone)
	today := calendar.On(after.In(zone)).At(0, 0, 0, time.UTC)
	r := calendar.Rule{Start: today, Parts: c.Parts(), Running: len(c.fields[cronHour]) == 0}
	return r.Next(after, zone)
}

// Parts are the expression as recurrences that begin at midnight: one, or two
// where days of the month and days of the week are named, as either suffices.
func (c Cron) Parts() []calendar.Part {
	if c.fields[cronSecond] == nil {
		return nil
	}
	p := calendar.Part{}
	p.Bysecond, p.Byminute, p.Byhour = c.fields[cronSecond], c.fields[cronMinute], c.fields[cronHour]
	p.Bymonthday, p.Bymonth = c.fields[cronDay], c.fields[cronMonth]
	for n := range 7 { // from Monday
		if d := (n + 1) % 7; slices.Contains(c.fields[cronWeekday], d) {
			p.Byweekday = append(p.Byweekday, calendar.Week[d])
		}
	}
	if len(p.Byweekday) == 0 || len(p.Bymonthday) == 0 {
		return []calendar.Part{withFreq(p)}
	}
	other := p
	p.Byweekday, other.Bymonthday = nil, nil
	return []calendar.Part{withFreq(p), withFreq(other)}
}

// cronOf is the expression for a part that names no more than one can.
func cronOf(p calendar.Part) Cron {
	c := Cron{[cronFields]field{p.Bysecond, p.Byminute, p.Byhour, p.Bymonthday, p.Bymonth}}
	for n, day := range calendar.Week {
		if len(p.Byweekday) < len(calendar.Week) && slices.Contains(p.Byweekday, day) {
			c.fields[cronWeekday] = append(c.fields[cronWeekday], n)
		}
	}
	for i, f := range c.fields {
		c.fields[i] = f.sorted()
	}
	return c
}

// withFreq adds the period in which what a part names is, and leaves out the
// second of midnight.
func withFreq(p calendar.Part) calendar.Part {
	switch {
	case len(p.Bysecond) == 0:
		p.Freq = calendar.Secondly
	case len(p.Byminute) == 0:
		p.Freq = calendar.Minutely
	case len(p.Byhour) == 0:
		p.Freq = calendar.Hourly
	case len(p.Bymonthday) > 0 && len(p.Bymonth) > 0:
		p.Freq = calendar.Yearly
	case len(p.Bymonthday) > 0:
		p.Freq = calendar.Monthly
	case len(p.Byweekday) > 0:
		p.Freq = calendar.Weekly
	default:
		p.Freq = calendar.Daily
	}
	if slices.Equal(p.Bysecond, []int{0}) {
		p.Bysecond = nil
	}
	return p
}
