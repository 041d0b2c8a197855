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
	r := calendar.Rule{Start: today, Parts: c.Parts(), Running: c.fields[cronHour].star}
	return r.Next(after, zone)
}

// Parts are the expression as recurrences that begin at midnight: one, or two
// where days of the month and days of the week are named, as either suffices.
func (c Cron) Parts() []calendar.Part {
	if c == (Cron{}) {
		return nil
	}
	p := calendar.Part{}
	p.Bysecond, p.Byminute, p.Byhour = c.named(cronSecond), c.named(cronMinute), c.named(cronHour)
	p.Bymonthday, p.Bymonth = c.named(cronDay), c.named(cronMonth)
	if c.last && !c.fields[cronDay].star {
		p.Bymonthday = append(p.Bymonthday, -1)
	}
	for n := range 7 { // from Monday
		if d, f := (n+1)%7, c.fields[cronWeekday]; !f.star && f.has(d) {
			p.Byweekday = append(p.Byweekday, calendar.Week[d])
		}
	}
	if p.Byweekday == nil || p.Bymonthday == nil {
		return []calendar.Part{withFreq(p)}
	}
	other := p
	p.Byweekday, other.Bymonthday = nil, nil
	return []calendar.Part{withFreq(p), withFreq(other)}
}

// named are the values of a field; none when it is open.
func (c Cron) named(i int) (all []int) {
	for n := range 64 {
		if f := c.fields[i]; !f.star && f.has(n) {
			all = append(all, n)
		}
	}
	return all
}

// withFreq adds the period in which what a part names is, and leaves out the
// second of midnight.
func withFreq(p calendar.Part) calendar.Part {
	switch {
	case p.Bysecond == nil:
		p.Freq = calendar.Secondly
	case p.Byminute == nil:
		p.Freq = calendar.Minutely
	case p.Byhour == nil:
		p.Freq = calendar.Hourly
	case p.Bymonthday != nil && p.Bymonth != nil:
		p.Freq = calendar.Yearly
	case p.Bymonthday != nil:
		p.Freq = calendar.Monthly
	case p.Byweekday != nil:
		p.Freq = calendar.Weekly
	default:
		p.Freq = calendar.Daily
	}
	if slices.Equal(p.Bysecond, []int{0}) {
		p.Bysecond = nil
	}
	return p
}
