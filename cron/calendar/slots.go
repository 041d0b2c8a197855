package calendar

import (
	"cmp"
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

// slots are those of a part from a time on, in their order, none before start.
// Times are those of a wall clock.
func (p *Part) slots(start, from time.Time) iter.Seq[time.Time] {
	if from.Before(start) {
		from = start
	}
	if p.Freq == Hourly || p.Freq == Minutely || p.Freq == Secondly {
		return p.withinDays(start, from)
	}
	return func(yield func(time.Time) bool) {
		clocks := p.clocks(start)
		found := On(from)
		last := found.Add(horizon)
		give := func(day Date, clock time.Duration) bool {
			day = day.Add(p.Shift)
			t := day.utc().Add(clock - 12*time.Hour)
			if t.Before(from) {
				return true
			}
			last = day.Add(horizon)
			return yield(t)
		}
		var days []Date
		period := 0
		flush := func() bool {
			for _, n := range positions(p.BySetPos, len(days)*len(clocks)) {
				if !give(days[n/len(clocks)], clocks[n%len(clocks)]) {
					return false
				}
			}
			days = days[:0]
			return true
		}
		for key, day := range p.days(On(start).Add(-p.Shift), found.Add(-p.Shift)) {
			if last.Before(day) {
				break
			}
			if key != period && !flush() {
				return
			}
			period = key
			if !p.Days.has(day) {
				continue
			}
			if len(p.BySetPos) > 0 {
				days = append(days, day)
				continue
			}
			for _, c := range clocks {
				if !give(day, c) {
					return
				}
			}
		}
		flush()
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
	return work == (d == WorkDays)
}

// clocks are the times of a day, in their order.
func (p *Part) clocks(start time.Time) []time.Duration {
	hours, minutes, seconds := or(p.ByHour, start.Hour()), or(p.ByMinute, start.Minute()), or(p.BySecond, start.Second())
	all := make([]time.Duration, 0, len(hours)*len(minutes)*len(seconds))
	for _, h := range hours {
		for _, m := range minutes {
			for _, s := range seconds {
				all = append(all, time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(s)*time.Second)
			}
		}
	}
	slices.Sort(all)
	return all
}

func or(list []int, other int) []int {
	if len(list) > 0 {
		return list
	}
	return []int{other}
}

// days are the days of a part from the period on in which a day lies, each with
// a number of its period.
func (p *Part) days(start, from Date) iter.Seq2[int, Date] {
	switch {
	case p.Holiday != "":
		return p.holidays(start, from)
	case p.Lunar:
		return p.lunarDays(start, from)
	}
	return p.solarDays(start, from)
}

func (p *Part) holidays(start, from Date) iter.Seq2[int, Date] {
	return func(yield func(int, Date) bool) {
		for year := max(start.Year, from.Year-1); year <= endYear; year++ {
			if (year-start.Year)%max(p.Interval, 1) != 0 {
				continue
			}
			if day, ok := Holiday(p.Holiday, year); ok && !yield(year, day) {
				return
			}
		}
	}
}

// lunarDays has a lunar year or a lunar month as its period.
func (p *Part) lunarDays(start, from Date) iter.Seq2[int, Date] {
	return func(yield func(int, Date) bool) {
		startYear, startMonth, startDay, _, _ := Lunar(start)
		months, days := p.ByMonth, or(p.ByMonthDay, startDay)
		if p.Freq == Yearly {
			months = or(months, startMonth)
		}
		for year := max(startYear, from.Year-1); year <= lastYear; year++ {
			if p.Freq == Yearly && (year-startYear)%max(p.Interval, 1) != 0 {
				continue
			}
			for i, m := range lunarMonths(year) {
				if len(months) > 0 && !slices.Contains(months, m.number) || p.Freq == Yearly && m.leap {
					continue
				}
				key := year
				if p.Freq == Monthly {
					key = year*16 + i
				}
				for _, n := range positions(days, m.days) {
					if !yield(key, m.first.Add(n)) {
						return
					}
				}
			}
		}
	}
}

// The library looks for a slot up to the year 9999. The calendar is the same
// again after 400 years, so it is asked about days so many years ahead that it
// soon ends where there is none.
func ahead(year int) int { return (9999 - year) / 400 * 400 }

// option are what the library wants, from the beginning of the period in which
// a day lies.
func (p *Part) option(start, from Date) (o rrule.ROption, years int) {
	o = rrule.ROption{
		Interval: max(p.Interval, 1), Bymonth: p.ByMonth, Bymonthday: p.ByMonthDay, Byyearday: p.ByYearDay, Byweekno: p.ByWeekNo,
		Byhour: []int{0}, Byminute: []int{0}, Bysecond: []int{0},
	}
	week := [7]rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}
	for _, w := range p.ByDay {
		o.Byweekday = append(o.Byweekday, week[w.Day].Nth(w.N))
	}
	if p.SundayFirst {
		o.Wkst = rrule.SU
	}
	if from.Before(start) {
		from = start
	}
	days := len(p.ByWeekNo)+len(p.ByYearDay)+len(p.ByMonthDay)+len(p.ByDay) > 0
	if !days && p.Days != AllDays { // they are chosen from all days
		o.Byweekday, days = week[:], true
	}
	first := start
	switch p.Freq {
	case Yearly:
		o.Freq = rrule.YEARLY
		if !days {
			o.Bymonthday = []int{start.Day}
			o.Bymonth = or(p.ByMonth, int(start.Month))
		}
		first = Date{from.Year - (from.Year-start.Year)%o.Interval, time.January, 1}
	case Monthly:
		o.Freq = rrule.MONTHLY
		if !days {
			o.Bymonthday = []int{start.Day}
		}
		months := (from.Year-start.Year)*12 + int(from.Month-start.Month)
		first = Date{start.Year, start.Month, 1}.Months(months - months%o.Interval)
	case Weekly:
		o.Freq = rrule.WEEKLY
		if !days {
			o.Byweekday = []rrule.Weekday{week[start.Weekday()]}
		}
		weeks := p.week(from) - p.week(start)
		first = start.Add(7*(p.week(start)+weeks-weeks%o.Interval) + p.weekShift() - number(start))
	case Daily:
		o.Freq = rrule.DAILY
		n := number(from) - number(start)
		first = start.Add(n - n%o.Interval)
	}
	years = ahead(max(first.Year, from.Year))
	o.Dtstart = time.Date(first.Year+years, first.Month, first.Day, 0, 0, 0, 0, time.UTC)
	return o, years
}

// number counts days.
func number(d Date) int { return int(d.utc().Unix() / 86400) }

// weekShift is the number of a day with which a week begins: day 0 was a Thursday.
func (p *Part) weekShift() int {
	if p.SundayFirst {
		return 3
	}
	return 4
}

// week counts weeks.
func (p *Part) week(d Date) int {
	n := number(d) - p.weekShift()
	return (n - ((n%7)+7)%7) / 7
}

func (p *Part) solarDays(start, from Date) iter.Seq2[int, Date] {
	return func(yield func(int, Date) bool) {
		o, years := p.option(start, from)
		for t := range repeated(o) {
			day := On(t)
			day.Year -= years
			key := 0
			switch p.Freq {
			case Yearly:
				key = day.Year
			case Monthly:
				key = day.Year*12 + int(day.Month)
			case Weekly:
				key = p.week(day)
			default:
				key = number(day)
			}
			if !yield(key, day) {
				return
			}
		}
	}
}

// repeated are the results of the library; none for what it refuses.
func repeated(o rrule.ROption) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		r, err := rrule.NewRRule(o)
		if err != nil {
			return
		}
		next := r.Iterator()
		for t, ok := next(); ok && yield(t); t, ok = next() {
		}
	}
}

// withinDays are the slots of what repeats by hours, minutes or seconds.
func (p *Part) withinDays(start, from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if !p.meets && !p.reachable(start) {
			return
		}
		last := On(from).Add(horizon)
		for {
			resume := Date{}
			for t := range p.clockwork(start, from) {
				day := On(t)
				switch {
				case last.Before(day):
					return
				case !p.Days.has(day):
					resume = day.Add(1)
				case !yield(t):
					return
				default:
					last = day.Add(horizon)
				}
				if resume.Year > 0 {
					break
				}
			}
			if resume.Year == 0 {
				return
			}
			from = resume.At(0, 0, 0, time.UTC)
		}
	}
}

// unit is the length of a period within a day.
func (p *Part) unit() (time.Duration, rrule.Frequency) {
	switch p.Freq {
	case Hourly:
		return time.Hour, rrule.HOURLY
	case Minutely:
		return time.Minute, rrule.MINUTELY
	}
	return time.Second, rrule.SECONDLY
}

// clockwork starts at the period in which from lies.
func (p *Part) clockwork(start, from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		unit, freq := p.unit()
		step := unit * time.Duration(max(p.Interval, 1))
		first := start.Truncate(unit)
		first = first.Add(from.Sub(first) / step * step)
		o, years := p.option(On(first), On(from))
		o.Freq, o.Dtstart = freq, first.AddDate(years, 0, 0)
		o.Byhour, o.Byminute, o.Bysecond = p.ByHour, p.ByMinute, p.BySecond
		if freq == rrule.HOURLY {
			o.Byminute = or(p.ByMinute, start.Minute())
		}
		if freq != rrule.SECONDLY {
			o.Bysecond = or(p.BySecond, start.Second())
		}
		for t := range repeated(o) {
			t = t.AddDate(-years, 0, 0)
			if !t.Before(from) && !yield(t) {
				return
			}
		}
	}
}

// reachable says whether the interval ever meets BYHOUR, BYMINUTE and BYSECOND:
// else the library would count for ever.
func (p *Part) reachable(start time.Time) bool {
	unit, _ := p.unit()
	step := unit * time.Duration(max(p.Interval, 1)) % (24 * time.Hour)
	met := func(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }
	first := start.Truncate(unit).Sub(start.Truncate(24 * time.Hour))
	for clock := first; ; {
		h, m, s := int(clock.Hours()), int(clock.Minutes())%60, int(clock.Seconds())%60
		if met(p.ByHour, h) && (p.Freq == Hourly || met(p.ByMinute, m)) && (p.Freq != Secondly || met(p.BySecond, s)) {
			return true
		}
		if clock = (clock + step) % (24 * time.Hour); clock == first {
			return false
		}
	}
}

// compareWeekdays sorts by number and day, Monday first.
func compareWeekdays(a, b Weekday) int {
	return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare((a.Day+6)%7, (b.Day+6)%7))
}
