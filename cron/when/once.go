package when

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"magpie/cron/calendar"
)

// once is a time that comes once: a day, an hour, or both.
func (b *bag) once() (answer, error) {
	if len(b.days) == 0 && b.week == nil {
		return b.nextClock()
	}
	if b.week != nil && len(b.days) == 0 {
		return b.someDay(calendar.On(b.now).Monday().Add(7**b.week), "week", "周")
	}
	slices.SortStableFunc(b.days, func(x, y day) int { return x.unsure() - y.unsure() })
	var first []calendar.Date
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
		both := slices.DeleteFunc(slices.Clone(first), func(o calendar.Date) bool { return !b.agree(d, dates, o) })
		if len(both) == 0 || b.days[0].kind == onDate && both[0] != first[0] {
			return b.contradiction()
		}
		first = both
	}
	if d := b.days[0]; d.kind == onDate && d.number == 1 && len(b.days) == 1 {
		return b.eitherOrder(d)
	}
	return b.moments(first)
}

// eitherOrder asks which order of 03/04 is meant.
func (b *bag) eitherOrder(d day) (answer, error) {
	a := answer{question: Text{"Which date do you mean?", "是哪一天？"}, open: true}
	for _, on := range []calendar.Date{d.date, {Year: d.date.Year, Month: time.Month(d.date.Day), Day: int(d.date.Month)}} {
		one := *b
		one.days = []day{{kind: onDate, n: coming, date: on}}
		if got, err := one.once(); err == nil {
			a.phrases = append(a.phrases, got.phrases...)
		}
	}
	return a, nil
}

// moments is the hour on the first of the days on which it is still ahead.
func (b *bag) moments(days []calendar.Date) (answer, error) {
	said := len(b.clocks) == 1
	if !said && b.part == noPart && days[0] == calendar.On(b.now) && len(days) == 1 {
		return b.later(days[0])
	}
	if a, ok := b.lately(days); ok {
		return a, nil
	}
	for i, d := range days {
		today := d == calendar.On(b.now)
		hours, minute, second := b.hours(today && len(days) == 1)
		a := b.hourQuestion()
		var passed []int
		for _, h := range hours {
			if t := d.At(h, minute, second, b.zone); t.After(b.now) {
				a.phrases = append(a.phrases, Phrase{At: t})
			} else {
				passed = append(passed, h)
			}
		}
		if len(a.phrases) > 0 && i+1 < len(days) { // "monday at 8" at noon: tonight, or in a week
			for _, h := range passed {
				a.phrases = append(a.phrases, Phrase{At: days[i+1].At(h, minute, second, b.zone)})
			}
		}
		if len(a.phrases) == 0 {
			continue
		}
		if !said && b.part == noPart && today && i+1 < len(days) { // "friday" on a Friday
			a.phrases = append(a.phrases[:1], Phrase{At: days[i+1].At(hours[0], minute, second, b.zone)})
			a.question = Text{"Which day do you mean?", "是哪一天？"}
		}
		return a, nil
	}
	if !said && days[0] == calendar.On(b.now) {
		return b.later(days[0])
	}
	return answer{}, fmt.Errorf("%w: %s", ErrPast, b.passed(days[0]))
}

// lately asks about a date without a year that has just passed: nobody who says
// "november 22" the day after is sure to mean the next year.
func (b *bag) lately(days []calendar.Date) (answer, bool) {
	if len(days) < 2 || b.days[0].kind != onDate || days[0].Add(60).Before(calendar.On(b.now)) {
		return answer{}, false
	}
	a := answer{question: Text{"This date has passed this year. Next year?", "今年的这一天已经过了。是明年吗？"}, open: true}
	hours, minute, second := b.hours(false)
	for _, h := range hours {
		if days[0].At(h, minute, second, b.zone).After(b.now) {
			return answer{}, false
		}
		a.phrases = append(a.phrases, Phrase{At: days[1].At(h, minute, second, b.zone)})
	}
	return a, true
}

// passed names the time that has passed.
func (b *bag) passed(d calendar.Date) string {
	hours, minute, second := b.hours(false)
	return Moment(d.At(hours[len(hours)-1], minute, second, b.zone), "en")
}

// nextClock is an hour without a day: the next time that a clock shows it. One
// that has passed today is asked: tomorrow?
func (b *bag) nextClock() (answer, error) {
	today := calendar.On(b.now)
	hours, minute, second := b.hours(true)
	var all []time.Time
	for _, h := range hours {
		for n := -1; n <= 2; n++ { // the day before has an hour 25 today
			if t := today.Add(n).At(h, minute, second, b.zone); t.After(b.now) && (n >= 0 || h >= 24) {
				all = append(all, t)
				break
			}
		}
	}
	sort.Slice(all, func(a, b int) bool { return all[a].Before(all[b]) })
	all = slices.CompactFunc(all, time.Time.Equal)
	if len(b.clocks) == 0 && b.part == noPart || len(all) == 0 {
		return answer{}, ErrNone
	}
	is := len(b.clocks) == 1
	if len(all) == 2 && calendar.On(all[0]) == today && calendar.On(all[1]) != today || is && b.clocks[0].style == midnight {
		all = all[:1] // clear by now: only one is ahead today
	}
	if len(all) == 2 && is && b.clocks[0].style == colon && b.clocks[0].hour >= 7 {
		all = all[:1]
	}
	a := b.hourQuestion()
	if passed := calendar.On(all[0]) != today && len(hours) == 1 && hours[0] >= 5 && hours[0] < 24 && hours[0] < b.now.Hour()+1 && b.now.Hour() < 20; passed && is {
		a.question, a.open = Text{"That hour has passed today. Tomorrow?", "今天这个时间已经过了。是明天吗？"}, true
	}
	for _, t := range all {
		a.phrases = append(a.phrases, Phrase{At: t})
	}
	return a, nil
}

// later asks for the hour of a day that has begun.
func (b *bag) later(d calendar.Date) (answer, error) {
	from, to := 0, 23
	switch b.part {
	case dawn, morning:
		to = 11
	case noon:
		to = 13
	case afternoon:
		to = 18
	case dusk, workEnd:
		from, to = 17, 19
	case evening:
		from = 18
	}
	a := answer{question: Text{"At what time?", "几点？"}}
	for _, h := range []int{9, 12, 15, 18, 20, 21, 22, 23} {
		if t := d.At(h, 0, 0, b.zone); h >= from && h <= to && t.After(b.now) && len(a.phrases) < 3 {
			a.phrases = append(a.phrases, Phrase{At: t})
		}
	}
	a.open = len(a.phrases) > 0
	return a, nil
}

// openDay asks which day of a weekend or a month is meant.
func (b *bag) openDay(d day) (answer, error) {
	today := calendar.On(b.now)
	switch d.kind {
	case monthDay:
		return b.someDay(calendar.Date{Year: today.Year, Month: today.Month, Day: 1}.Months(d.n), "month", "月")
	case onDate:
		first := calendar.Date{Year: today.Year, Month: d.date.Month, Day: 1}
		if first.Month < today.Month {
			first.Year++
		}
		return b.someDay(first, "month", "月")
	}
	n := max(d.n, 0)
	if d.n == -1 {
		n = -1
	}
	saturday := today.Monday().Add(7*n + 5)
	return b.each([]calendar.Date{saturday, saturday.Add(1)}, Text{"Which day of the weekend?", "周末的哪一天？"})
}

// someDay asks for the day of a week or month, beginning with its first.
func (b *bag) someDay(first calendar.Date, english, chinese string) (answer, error) {
	days := []calendar.Date{first, first.Add(4), first.Add(5)}
	if english == "month" {
		days = []calendar.Date{first, {Year: first.Year, Month: first.Month, Day: 15}, {Year: first.Year, Month: first.Month, Day: first.Last()}}
	}
	return b.each(days, Text{"Which day of that " + english + "?", "那" + chinese + "的哪一天？"})
}

// each asks which of the days is meant; the hour is the one that was said.
func (b *bag) each(days []calendar.Date, question Text) (answer, error) {
	a := answer{question: question}
	for _, d := range days {
		hours, minute, second := b.hours(false)
		for _, h := range hours {
			if t := d.At(h, minute, second, b.zone); t.After(b.now) {
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
