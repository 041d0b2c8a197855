package when

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// once is a time that comes once: a day, an hour, or both.
func (b *bag) once() (answer, error) {
	if len(b.clocks) > 1 {
		return b.several()
	}
	if len(b.days) == 0 && b.week == nil {
		return b.nextClock()
	}
	if b.week != nil && len(b.days) == 0 {
		return b.someDay(dateOf(b.now).monday().add(7**b.week), "week", "周")
	}
	slices.SortStableFunc(b.days, func(x, y day) int { return x.vague() - y.vague() })
	var first []date
	for i, d := range b.days {
		dates, err := b.dates(d)
		if err != nil {
			return answer{}, err
		}
		if dates == nil {
			return b.openDay(d)
		}
		if i == 0 {
			first = dates
			continue
		}
		both := slices.DeleteFunc(slices.Clone(first), func(o date) bool { return !b.agree(d, dates, o) })
		if len(both) == 0 {
			return b.contradiction()
		}
		first = both
	}
	return b.moments(first)
}

// vague orders dates before days of the week, which several dates share.
func (d day) vague() int {
	if d.kind == weekday {
		return 1
	}
	return 0
}

// agree says whether a day that was named besides a date is that date: the
// friday of "friday, november 27".
func (b *bag) agree(d day, dates []date, o date) bool {
	if d.kind == weekday && d.n == coming {
		return d.week == o.weekday()
	}
	return slices.Contains(dates, o)
}

// dates are the days that d can be, the nearest first; nil when it says too
// little.
func (b *bag) dates(d day) ([]date, error) {
	today := dateOf(b.now)
	switch d.kind {
	case inDays:
		return []date{today.add(d.n)}, nil
	case weekday:
		n := d.n
		if b.week != nil {
			n = *b.week
		}
		if n != coming {
			return []date{today.monday().add(7*n + (int(d.week)+6)%7)}, nil
		}
		next := today.add((int(d.week-today.weekday()) + 7) % 7)
		return []date{next, next.add(7)}, nil
	case weekend:
		return nil, nil
	case monthDay:
		if d.number == 0 {
			return nil, nil
		}
		return monthDays(today, d)
	}
	if d.date.year > 0 {
		return []date{d.date}, nil
	}
	if d.n != coming {
		on := date{today.year + d.n, d.date.month, d.date.day}
		if !on.valid() {
			return nil, invalid("that year has no such day")
		}
		return []date{on}, nil
	}
	var all []date
	for year := today.year; year < today.year+9 && len(all) < 2; year++ { // 29 February
		if on := (date{year, d.date.month, d.date.day}); on.valid() {
			all = append(all, on)
		}
	}
	return all, nil
}

// monthDays are the days of that number in the month that was named, or in the
// coming ones that have it.
func monthDays(today date, d day) ([]date, error) {
	first := date{today.year, today.month, 1}
	from, to := d.n, d.n
	if d.n == coming {
		from, to = 0, 3
	}
	var all []date
	for n := from; n <= to; n++ {
		on := first.months(n)
		last := on.last()
		if on.day = min(d.number, last); d.number <= last || d.number == lastDay {
			all = append(all, on)
		}
	}
	if len(all) == 0 {
		return nil, invalid("that month has no day %d", d.number)
	}
	return all, nil
}

// moments is the hour on the first of the days on which it is still ahead.
func (b *bag) moments(days []date) (answer, error) {
	said := len(b.clocks) == 1
	if !said && b.part == noPart && days[0] == dateOf(b.now) && len(days) == 1 {
		return b.later(days[0])
	}
	if a, ok := b.lately(days); ok {
		return a, nil
	}
	for i, d := range days {
		today := d == dateOf(b.now)
		hours, minute, second := b.hours(today && len(days) == 1)
		a := b.hourQuestion()
		var passed []int
		for _, h := range hours {
			if t := d.at(h, minute, second, b.zone); t.After(b.now) {
				a.phrases = append(a.phrases, Phrase{At: t})
			} else {
				passed = append(passed, h)
			}
		}
		if len(a.phrases) > 0 && i+1 < len(days) { // "monday at 8" at noon: tonight, or in a week
			for _, h := range passed {
				a.phrases = append(a.phrases, Phrase{At: days[i+1].at(h, minute, second, b.zone)})
			}
		}
		if len(a.phrases) == 0 {
			continue
		}
		if !said && today && i+1 < len(days) { // "friday" on a Friday
			a.phrases = append(a.phrases[:1], Phrase{At: days[i+1].at(hours[0], minute, second, b.zone)})
			a.question = Text{"Which day do you mean?", "是哪一天？"}
		}
		return a, nil
	}
	if !said && days[0] == dateOf(b.now) {
		return b.later(days[0])
	}
	return answer{}, fmt.Errorf("%w: %s", ErrPast, b.passed(days[0]))
}

// lately asks about a date without a year that has just passed: nobody who says
// "november 22" the day after is sure to mean the next year.
func (b *bag) lately(days []date) (answer, bool) {
	if len(days) < 2 || b.days[0].kind != calendar || days[0].add(60).utc().Before(dateOf(b.now).utc()) {
		return answer{}, false
	}
	a := answer{question: Text{"This date has passed this year. Next year?", "今年的这一天已经过了。是明年吗？"}, open: true}
	hours, minute, second := b.hours(false)
	for _, h := range hours {
		if days[0].at(h, minute, second, b.zone).After(b.now) {
			return answer{}, false
		}
		a.phrases = append(a.phrases, Phrase{At: days[1].at(h, minute, second, b.zone)})
	}
	return a, true
}

// passed names the time that has passed.
func (b *bag) passed(d date) string {
	hours, minute, second := b.hours(false)
	return Moment(d.at(hours[len(hours)-1], minute, second, b.zone), "en")
}

// nextClock is an hour without a day: the next time that a clock shows it.
func (b *bag) nextClock() (answer, error) {
	today := dateOf(b.now)
	hours, minute, second := b.hours(true)
	var all []time.Time
	for _, h := range hours {
		for n := -1; n <= 2; n++ { // the day before has an hour 25 today
			if t := today.add(n).at(h, minute, second, b.zone); t.After(b.now) && (n >= 0 || h >= 24) {
				all = append(all, t)
				break
			}
		}
	}
	sort.Slice(all, func(a, b int) bool { return all[a].Before(all[b]) })
	all = slices.Compact(all)
	if len(b.clocks) == 0 && b.part == noPart || len(all) == 0 {
		return answer{}, ErrNone
	}
	if len(all) == 2 && dateOf(all[0]) == today && dateOf(all[1]) != today || len(b.clocks) == 1 && b.clocks[0].style == midnight {
		all = all[:1] // clear by now: only one is ahead today
	}
	if len(all) == 2 && len(b.clocks) == 1 && b.clocks[0].style == colon && b.clocks[0].hour >= 7 {
		all = all[:1]
	}
	a := b.hourQuestion()
	for _, t := range all {
		a.phrases = append(a.phrases, Phrase{At: t})
	}
	return a, nil
}

// later asks for the hour of a day that has begun.
func (b *bag) later(d date) (answer, error) {
	from, to := 0, 23
	switch b.part {
	case dawn, morning:
		to = 11
	case noon:
		to = 13
	case afternoon:
		to = 18
	case evening:
		from = 18
	}
	a := answer{question: Text{"At what time?", "几点？"}}
	for _, h := range []int{9, 12, 15, 18, 20, 21, 22, 23} {
		if t := d.at(h, 0, 0, b.zone); h >= from && h <= to && t.After(b.now) && len(a.phrases) < 3 {
			a.phrases = append(a.phrases, Phrase{At: t})
		}
	}
	a.open = len(a.phrases) > 0
	return a, nil
}

// openDay asks which day of a weekend or a month is meant.
func (b *bag) openDay(d day) (answer, error) {
	today := dateOf(b.now)
	if d.kind == monthDay {
		return b.someDay(date{today.year, today.month, 1}.months(d.n), "month", "月")
	}
	n := max(d.n, 0)
	if d.n == -1 {
		n = -1
	}
	saturday := today.monday().add(7*n + 5)
	return b.each([]date{saturday, saturday.add(1)}, Text{"Which day of the weekend?", "周末的哪一天？"})
}

// someDay asks for the day of a week or month, beginning with its first.
func (b *bag) someDay(first date, english, chinese string) (answer, error) {
	days := []date{first, first.add(4), first.add(5)}
	if english == "month" {
		days = []date{first, {first.year, first.month, 15}, {first.year, first.month, first.last()}}
	}
	return b.each(days, Text{"Which day of that " + english + "?", "那" + chinese + "的哪一天？"})
}

// each asks which of the days is meant; the hour is the one that was said.
func (b *bag) each(days []date, question Text) (answer, error) {
	a := answer{question: question}
	for _, d := range days {
		hours, minute, second := b.hours(false)
		for _, h := range hours {
			if t := d.at(h, minute, second, b.zone); t.After(b.now) {
				a.phrases = append(a.phrases, Phrase{At: t})
			}
		}
	}
	a.open = len(a.phrases) > 0
	return a, nil
}

// contradiction asks which of several days is meant: friday, or the 28th?
func (b *bag) contradiction() (answer, error) {
	a := answer{question: Text{"These are different days. Which one?", "这些是不同的日子，是哪一个？"}, open: true}
	for _, d := range b.days {
		one := *b
		one.days = []day{d}
		got, err := one.once()
		if err != nil {
			return answer{}, err
		}
		a.phrases = append(a.phrases, got.phrases...)
	}
	return a, nil
}

// several asks which of several hours is meant: one reminder comes once.
func (b *bag) several() (answer, error) {
	a := answer{question: Text{"One reminder has one time. Which one?", "一个提醒只有一个时间，是哪一个？"}}
	for _, c := range b.clocks {
		one := *b
		one.clocks = []clock{c}
		got, err := one.once()
		if err != nil {
			return answer{}, err
		}
		a.phrases = append(a.phrases, got.phrases...)
	}
	return a, nil
}
