package when

import (
	"math/bits"
	"slices"

	"magpie/cron/calendar"
)

// unsure orders dates before days of the week, which several dates share.
func (d day) unsure() int {
	if d.kind == weekday {
		return 1
	}
	return 0
}

// agree says whether a day that was named besides a date is that date: the
// friday of "friday, november 27".
func (b *bag) agree(d day, dates []calendar.Date, o calendar.Date) bool {
	if d.kind == weekday && d.n == coming {
		return d.week&(1<<o.Weekday()) != 0
	}
	return slices.Contains(dates, o)
}

// dates are the days that d can be, the nearest first; nil when it says too
// little.
func (b *bag) dates(d day) ([]calendar.Date, error) {
	if _, n := b.open(d); n > 0 {
		return nil, nil
	}
	all, err := b.datesOf(d)
	for i := range all {
		all[i] = all[i].Add(-d.early)
	}
	return all, err
}

func (b *bag) datesOf(d day) ([]calendar.Date, error) {
	today := calendar.On(b.now)
	switch d.kind {
	case inDays:
		on := today.Add(d.n)
		for work, _ := calendar.Workday(on); d.work && !work; work, _ = calendar.Workday(on) {
			on = on.Add(1)
		}
		return []calendar.Date{on}, nil
	case weekday:
		n := d.n
		if b.week != nil {
			n = *b.week
		}
		w := bits.TrailingZeros8(d.week)
		if n != coming {
			return []calendar.Date{today.Monday().Add(7*n + (w+6)%7)}, nil
		}
		next := today.Add((w - int(today.Weekday()) + 7) % 7)
		return []calendar.Date{next, next.Add(7)}, nil
	case monthDay:
		return monthDays(today, d)
	case nthDay:
		return nthDays(today, d)
	case holiday:
		return years(today, d, func(year int) (calendar.Date, bool) { return calendar.Holiday(d.key, year) })
	case lunarDay:
		return lunarDays(today, d)
	}
	return years(today, d, func(year int) (calendar.Date, bool) {
		on := calendar.Date{Year: year, Month: d.date.Month, Day: d.date.Day}
		return on, on.Valid()
	})
}

// open are the days that a weekend or a month has, of which none is named; none
// of another day.
func (b *bag) open(d day) (first calendar.Date, n int) {
	today := calendar.On(b.now)
	first = calendar.Date{Year: today.Year, Month: today.Month, Day: 1}
	switch {
	case d.kind == weekend:
		return today.Monday().Add(7*max(d.n, 0) + 5), 2
	case d.kind == monthDay && d.number == 0:
		first = first.Months(max(d.n, 0))
	case d.kind == onDate && d.date.Day == 0:
		switch first.Month = d.date.Month; {
		case d.date.Year > 0:
			first.Year = d.date.Year
		case d.n != coming:
			first.Year += d.n
		case first.Month < today.Month:
			first.Year++
		}
	default:
		return first, 0
	}
	return first, first.Last()
}

// years are a day of the year that was named, or of the coming ones that have
// it.
func years(today calendar.Date, d day, of func(int) (calendar.Date, bool)) ([]calendar.Date, error) {
	if d.date.Year > 0 || d.n != coming {
		year := d.date.Year
		if year == 0 {
			year = today.Year + d.n
		}
		on, ok := of(year)
		if !ok {
			return nil, invalid("that year has no such day")
		}
		return []calendar.Date{on}, nil
	}
	var all []calendar.Date
	for year := today.Year; year < today.Year+9 && len(all) < 2; year++ { // 29 February
		if on, ok := of(year); ok && !(d.kind != onDate && on.Before(today)) {
			all = append(all, on)
		}
	}
	if len(all) == 0 {
		return nil, invalid("the calendar does not tell when that is")
	}
	return all, nil
}

// lunarDays are a day of the lunar year that comes; without a month, of the
// lunar months that come.
func lunarDays(today calendar.Date, d day) ([]calendar.Date, error) {
	if d.date.Month == 0 {
		var all []calendar.Date
		for on := today; len(all) < 2 && on.Before(today.Add(70)); on = on.Add(1) {
			if _, _, n, _, ok := calendar.Lunar(on); ok && n == d.date.Day {
				all = append(all, on)
			}
		}
		if len(all) == 0 {
			return nil, invalid("the calendar does not tell when that is")
		}
		return all, nil
	}
	of := func(year int) (calendar.Date, bool) {
		return calendar.FromLunar(year, int(d.date.Month), d.date.Day, false)
	}
	if d.n == coming { // the last months of a lunar year lie in the next one
		if on, ok := of(today.Year - 1); ok && !on.Before(today) {
			return []calendar.Date{on}, nil
		}
	}
	return years(today, d, of)
}

// months are a day of the month that was named, or of the coming ones that have
// it.
func months(today calendar.Date, d day, of func(first calendar.Date) (calendar.Date, bool)) (all []calendar.Date) {
	first := calendar.Date{Year: today.Year, Month: today.Month, Day: 1}
	from, to := d.n, d.n
	switch {
	case d.date.Month > 0:
		from = (int(d.date.Month-today.Month) + 12) % 12
		to = from
	case d.n == coming:
		from, to = 0, 3
	}
	for n := from; n <= to; n++ {
		if on, ok := of(first.Months(n)); ok {
			all = append(all, on)
		}
	}
	return all
}

// monthDays are the days of that number.
func monthDays(today calendar.Date, d day) ([]calendar.Date, error) {
	all := months(today, d, func(on calendar.Date) (calendar.Date, bool) {
		last := on.Last()
		on.Day = min(d.number, last)
		return on, d.number <= last || d.number == lastDay
	})
	if len(all) == 0 {
		return nil, invalid("that month has no day %d", d.number)
	}
	return all, nil
}

// nthDays are the second friday, or the last working day.
func nthDays(today calendar.Date, d day) ([]calendar.Date, error) {
	all := months(today, d, func(first calendar.Date) (calendar.Date, bool) {
		on, ok := nthOf(first, d)
		return on, ok && !on.Before(today)
	})
	if len(all) == 0 {
		return nil, invalid("that month has no such day, or it has passed")
	}
	return all, nil
}

func nthOf(first calendar.Date, d day) (calendar.Date, bool) {
	var all []calendar.Date
	for n := range first.Last() {
		on := first.Add(n)
		if d.work {
			if work, _ := calendar.Workday(on); work {
				all = append(all, on)
			}
		} else if d.week&(1<<on.Weekday()) != 0 {
			all = append(all, on)
		}
	}
	n := d.number - 1
	if d.number < 0 {
		n = len(all) - 1
	}
	if n < 0 || n >= len(all) {
		return calendar.Date{}, false
	}
	return all[n], true
}
