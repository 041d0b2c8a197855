package when

import (
	"slices"

	"magpie/cron/calendar"
)

// slot are the hours of one reading of a repetition.
type slot []clock

// lacking adds the last day of the month as another reading of a number that
// some months lack.
func (r repeat) lacking() ([]repeat, error) {
	last := slices.Clone(r.numbers)
	for i, n := range r.numbers {
		if n == 0 || n > 31 && n != lastDay {
			return nil, invalid("no month has a day %d", n)
		}
		if n > 28 {
			last[i] = lastDay
		}
	}
	if r.sure || len(r.months) > 0 || r.lunar || slices.Equal(last, r.numbers) {
		return []repeat{r}, nil
	}
	other := r
	other.numbers = last
	return []repeat{r, other}, nil
}

// recurrence is what repeats at the hours: an expression where that says it,
// else a rule.
func (b *bag) recurrence(r repeat, at slot) (Phrase, error) {
	var groups []slot // those of one minute
	at = slices.SortedStableFunc(slices.Values(at), func(s, t clock) int { return s.hour*60 + s.minute - t.hour*60 - t.minute })
	for _, c := range at {
		same := func(g slot) bool {
			return g[0].minute == c.minute && g[0].second == c.second && g[0].hour/24 == c.hour/24
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i] = append(groups[i], c)
		} else {
			groups = append(groups, slot{c})
		}
	}
	var parts []calendar.Part
	for _, g := range groups {
		on := r
		if g[0].hour >= 24 {
			if len(groups) > 1 && r.freq != daily {
				return Phrase{}, invalid("some of these hours are after midnight, on the day after; say them apart")
			}
			var err error
			if on, err = r.after(); err != nil {
				return Phrase{}, err
			}
		}
		p := on.part()
		for _, c := range g {
			p.Byhour = append(p.Byhour, c.hour%24)
		}
		p.Byminute, p.Bysecond = []int{g[0].minute}, []int{g[0].second}
		parts = append(parts, p)
	}
	for i := 0; i < len(parts); i++ { // those of the same hours
		for k := len(parts) - 1; k > i; k-- {
			if slices.Equal(parts[i].Byhour, parts[k].Byhour) && groups[i][0].hour/24 == groups[k][0].hour/24 && slices.Equal(parts[i].Bysecond, parts[k].Bysecond) {
				parts[i].Byminute = append(parts[i].Byminute, parts[k].Byminute...)
				parts, groups = slices.Delete(parts, k, k+1), slices.Delete(groups, k, k+1)
			}
		}
	}
	plain := r.every <= 1 && r.nth == 0 && len(b.repeat.months) == 0 && !r.lunar && r.kept == "" && r.holiday == "" && r.early == 0
	if plain && len(parts) == 1 && len(b.limits) == 0 {
		c := cronOf(parts[0])
		if len(c.fields[cronHour]) == 24 {
			c.fields[cronHour] = nil
		}
		if len(c.fields[cronMinute]) == 60 {
			c.fields[cronMinute] = nil
		}
		return Phrase{Cron: c.String()}, nil
	}
	return b.ruled(parts, r.every > 1)
}

// after is the repetition a day later, of which an hour from 24 on is.
func (r repeat) after() (repeat, error) {
	if len(r.months) > 0 || r.nth != 0 || r.lunar || r.kept != "" || r.holiday != "" {
		return r, invalid("midnight is the beginning or the end of a day; say 00:00 and the day")
	}
	r.week, r.numbers = shift(r.week), slices.Clone(r.numbers)
	for i, n := range r.numbers {
		switch {
		case n == lastDay:
			r.numbers[i] = 1
		case n >= 28:
			return r, invalid("midnight after the %dth is another day in each month; name the day after it", n)
		default:
			r.numbers[i]++
		}
	}
	return r, nil
}

// part is the repetition as a RRULE has it, without its hours.
func (r repeat) part() calendar.Part {
	p := calendar.Part{Lunar: r.lunar, Days: r.kept, Holiday: r.holiday}
	p.Freq = [...]calendar.Frequency{daily: calendar.Daily, weekly: calendar.Weekly, monthly: calendar.Monthly, yearly: calendar.Yearly}[r.freq]
	if r.kept != calendar.AllDays && r.freq == weekly {
		p.Freq = calendar.Daily
	}
	p.Interval, p.Bymonth = r.every, r.months
	p.Shift = -r.early
	for _, n := range r.numbers {
		if n == lastDay {
			n = -1
		}
		p.Bymonthday = append(p.Bymonthday, n)
	}
	p.Byweekday = weekdays(r.week)
	switch {
	case r.nth == 0:
	case r.kept != calendar.AllDays || len(p.Byweekday) > 1: // the first working day
		p.Bysetpos = []int{r.nth}
	case len(p.Byweekday) == 1:
		day := p.Byweekday[0]
		p.Byweekday = []calendar.Weekday{day.Nth(r.nth)}
		if r.also != 0 {
			p.Byweekday = append(p.Byweekday, day.Nth(r.also))
		}
	}
	return p
}

// weekdays are a set of days of the week.
func weekdays(week uint8) (all []calendar.Weekday) {
	for n, day := range calendar.Week {
		if week&(1<<n) != 0 {
			all = append(all, day)
		}
	}
	return all
}
