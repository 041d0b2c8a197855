package calendar

import (
	"iter"
	"slices"
	"time"

	"github.com/teambition/rrule-go"
)

// horizon is how far a search without success goes: a 29 February that is a
// Monday, say, may be 40 years away.
const horizon = 41 * 366 // days

// Rules begin from beginYear to lastStart; there are no holidays after endYear.
const (
	beginYear = 1970
	lastStart = 2200
	endYear   = 2400
)

// slots are those of a part from a time on, in their order, none before start
// nor after its end. Times are those of a wall clock.
func (p *Part) slots(start, from time.Time) iter.Seq[time.Time] {
	if from.Before(start) {
		from = start
	}
	start, from = start.AddDate(0, 0, -p.Shift), from.AddDate(0, 0, -p.Shift)
	return func(yield func(time.Time) bool) {
		last := On(from).Add(horizon)
		for days := range p.periods(On(start), On(from)) {
			if last.Before(days[0]) {
				return
			}
			days = slices.DeleteFunc(days, func(d Date) bool { return !p.Days.has(d) })
			for t := range p.times(days, start, from) {
				slot := t.AddDate(0, 0, p.Shift)
				if !p.end.IsZero() && slot.After(p.end) || !yield(slot) {
					return
				}
				last = On(t).Add(horizon)
			}
		}
	}
}

// times are the slots on the days of a period.
func (p *Part) times(days []Date, start, from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if len(days) > 0 && len(p.Bysetpos) > 0 {
			clocks := slices.Collect(p.clocks(days[0], start, time.Time{})) // as on the others
			for _, n := range positions(p.Bysetpos, len(days)*len(clocks)) {
				t := clocks[n%len(clocks)].AddDate(0, 0, days[n/len(clocks)].Sub(days[0]))
				if !t.Before(from) && !yield(t) {
					return
				}
			}
			return
		}
		for _, day := range days {
			for t := range p.clocks(day, start, from) {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// positions are the chosen places of a set of so many, from 0, in their order.
func positions(chosen []int, of int) []int {
	var all []int
	for _, n := range chosen {
		if n < 0 {
			n += of + 1
		}
		if n >= 1 && n <= of {
			all = append(all, n-1)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d Days) has(day Date) bool {
	if d == AllDays {
		return true
	}
	work, _ := Workday(day)
	return work == (d == WorkDays) || d == OpenDays && !PublicHoliday(day)
}

// clocks are the times of a day, in their order.
func (p *Part) clocks(day Date, start, from time.Time) iter.Seq[time.Time] {
	hours := clock(p.Byhour, p.Freq >= Hourly, start.Hour(), 24)
	minutes := clock(p.Byminute, p.Freq >= Minutely, start.Minute(), 60)
	seconds := clock(p.Bysecond, p.Freq >= Secondly, start.Second(), 60)
	return func(yield func(time.Time) bool) {
		if !p.steps(start, day.midnight(), 24*time.Hour) {
			return
		}
		for _, h := range hours {
			hour := day.midnight().Add(time.Duration(h) * time.Hour)
			if hour.Add(time.Hour).Before(from) || !p.steps(start, hour, time.Hour) {
				continue
			}
			for _, m := range minutes {
				for _, s := range seconds {
					t := hour.Add(time.Duration(60*m+s) * time.Second)
					if !t.Before(from) && p.steps(start, t.Truncate(p.unit()), p.unit()) && !yield(t) {
						return
					}
				}
			}
		}
	}
}

// clock are the values of a hand of the clock: what is named, else all of them
// or the one of the start.
func clock(named []int, all bool, start, of int) []int {
	if len(named) > 0 || !all {
		return or(named, start)
	}
	for n := range of {
		named = append(named, n)
	}
	return named
}

func or(list []int, other int) []int {
	if len(list) > 0 {
		return list
	}
	return []int{other}
}

// unit is the length of a period within the day, 0 of all others.
func (p *Part) unit() time.Duration {
	return [...]time.Duration{Hourly: time.Hour, Minutely: time.Minute, Secondly: time.Second}[p.Freq]
}

// steps says whether an interval within the day ends in a span of time.
func (p *Part) steps(start, from time.Time, span time.Duration) bool {
	unit := int64(p.unit() / time.Second)
	if unit == 0 {
		return true
	}
	first, step := start.Unix()/unit*unit, unit*int64(p.every())
	last := from.Unix() + int64(span/time.Second) - 1
	return first+(last-first)/step*step >= from.Unix()
}

func (p *Part) every() int { return max(p.Interval, 1) }

// reachable says whether the interval ever meets BYHOUR, BYMINUTE and BYSECOND.
func (p *Part) reachable(start time.Time) bool {
	// On some day it is as far from a clock as on the next one an interval
	// that divides the day.
	one := *p
	rest := int(24 * time.Hour / p.unit())
	for one.Interval = p.every(); rest > 0; {
		one.Interval, rest = rest, one.Interval%rest
	}
	for range one.clocks(On(start).Add(1), start, time.Time{}) {
		return true
	}
	return false
}

// periods are the days of a part in each of its periods, from the one on in
// which a day lies; each has at least one.
func (p *Part) periods(start, from Date) iter.Seq[[]Date] {
	switch {
	case p.Holiday != "":
		return p.holidays(start, from)
	case p.Lunar:
		return p.lunar(start, from)
	}
	return p.solar(start, from)
}

func (p *Part) holidays(start, from Date) iter.Seq[[]Date] {
	return func(yield func([]Date) bool) {
		for year := max(start.Year, from.Year-1); year <= endYear; year++ {
			day, ok := Holiday(p.Holiday, year)
			if ok && (year-start.Year)%p.every() == 0 && !yield([]Date{day}) {
				return
			}
		}
	}
}

// lunar has a lunar year or a lunar month as its period.
func (p *Part) lunar(start, from Date) iter.Seq[[]Date] {
	return func(yield func([]Date) bool) {
		startYear, startMonth, startDay, _, _ := Lunar(start)
		months := p.Bymonth
		if p.Freq == Yearly {
			months = or(months, startMonth)
		}
		for year := max(startYear, from.Year-1); year <= lastYear; year++ {
			if (year-startYear)%p.every() != 0 {
				continue
			}
			var days []Date
			for _, m := range lunarMonths(year) {
				if len(months) > 0 && !slices.Contains(months, m.number) || p.Freq == Yearly && m.leap {
					continue
				}
				for _, n := range positions(or(p.Bymonthday, startDay), m.days) {
					days = append(days, m.first.Add(n))
				}
				if p.Freq == Monthly && len(days) > 0 {
					if !yield(days) {
						return
					}
					days = nil
				}
			}
			if len(days) > 0 && !yield(days) {
				return
			}
		}
	}
}

// period is the number of the period in which a day lies; its first day is that
// of begin.
func (p *Part) period(d Date) int {
	switch p.Freq {
	case Yearly:
		return d.Year
	case Monthly:
		return 12*d.Year + int(d.Month) - 1
	case Weekly:
		return d.Sub(p.firstWeek()) / 7
	}
	return d.Sub(Date{})
}

func (p *Part) begin(period int) Date {
	switch p.Freq {
	case Yearly:
		return Date{period, time.January, 1}
	case Monthly:
		return Date{period / 12, time.Month(period%12 + 1), 1}
	case Weekly:
		return p.firstWeek().Add(7 * period)
	}
	return Date{}.Add(period)
}

// firstWeek is where weeks are counted from: 1 January of the year 1 was a Monday.
func (p *Part) firstWeek() Date {
	if p.Wkst == rrule.SU {
		return Date{1, time.January, 7}
	}
	return Date{1, time.January, 1}
}

// solar asks the library, from the beginning of the period on in which a day
// lies. It looks for a slot up to the year 9999. But for Easter the calendar is
// the same again after 400 years, so it is asked about days so many years ahead
// that it soon ends where there is none.
func (p *Part) solar(start, from Date) iter.Seq[[]Date] {
	if from.Before(start) {
		from = start
	}
	o := p.days(start)
	n := p.period(from) - p.period(start)
	first := p.begin(p.period(from) - n%max(o.Interval, 1))
	years := (9900 - max(first.Year, from.Year)) / 400 * 400
	if len(o.Byeaster) > 0 {
		years = 0
	}
	o.Dtstart = time.Date(first.Year+years, first.Month, first.Day, 0, 0, 0, 0, time.UTC)
	return func(yield func([]Date) bool) {
		r, err := rrule.NewRRule(o)
		if err != nil {
			return
		}
		var days []Date
		next := r.Iterator()
		for t, ok := next(); ok; t, ok = next() {
			day := On(t)
			day.Year -= years
			if len(days) > 0 && p.period(day) != p.period(days[0]) {
				if !yield(days) {
					return
				}
				days = nil
			}
			days = append(days, day)
		}
		if len(days) > 0 {
			yield(days)
		}
	}
}

// days is the part as the library has it, for the days alone, with those of the
// start where it names none.
func (p *Part) days(start Date) rrule.ROption {
	o := p.ROption
	o.Byhour, o.Byminute, o.Bysecond, o.Bysetpos = []int{0}, []int{0}, []int{0}, nil
	o.Count, o.Until = 0, time.Time{}
	if o.Freq > Daily {
		o.Freq, o.Interval = Daily, 1
	}
	switch {
	case p.named() || len(o.Byeaster) > 0 || o.Freq == Daily:
	case p.Days != AllDays: // they are chosen from all days
		o.Byweekday = Week[:]
	case o.Freq == Weekly:
		o.Byweekday = []Weekday{Week[start.Weekday()]}
	case o.Freq == Monthly:
		o.Bymonthday = []int{start.Day}
	default:
		o.Bymonthday, o.Bymonth = []int{start.Day}, or(o.Bymonth, int(start.Month))
	}
	return o
}
