package when

import (
	"fmt"
	"slices"
	"time"

	"magpie/cron/calendar"
)

// once is a time that comes once: a day, an hour, or both.
func (b *bag) once() (answer, error) {
	if len(b.days) == 0 && b.week == nil {
		return b.nextClock()
	}
	if a := b.elsewhere(); len(a.phrases) > 0 {
		return a, nil
	}
	if b.week != nil && len(b.days) == 0 {
		return b.openDay(calendar.On(b.now).Monday().Add(7**b.week), 7)
	}
	slices.SortStableFunc(b.days, func(x, y day) int { return x.unsure() - y.unsure() })
	var first []calendar.Date
	for i, d := range b.days {
		dates, err := b.dates(d)
		if err != nil {
			return answer{}, err
		}
		if dates == nil {
			return b.openDay(b.open(d))
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

// elsewhere asks whether tomorrow is that of the person, or of the place of which
// the hour is, where it is another day now.
func (b *bag) elsewhere() (a answer) {
	here, there := calendar.On(b.source.now.In(b.source.zone)), calendar.On(b.now)
	if len(b.days) != 1 || b.days[0].kind != inDays || b.days[0].work || here == there || b.source.First(0, len(b.source.Tokens), "zone-area") >= 0 {
		return a
	}
	for _, today := range []calendar.Date{here, there} {
		if one, err := b.only(day{kind: onDate, n: coming, date: today.Add(b.days[0].n - b.days[0].early)}); err == nil && !one.past {
			a.phrases = append(a.phrases, one.phrases...)
		}
	}
	a.question, a.open = Text{"It is another day there now. Which one do you mean?", "那边现在是另一天。是哪一个？"}, len(a.phrases) > 1
	return a
}

// only is the answer if the day were the only one.
func (b *bag) only(d day) (answer, error) {
	one := *b
	one.days = []day{d}
	return one.once()
}

// eitherOrder asks which order of 03/04 is meant.
func (b *bag) eitherOrder(d day) (answer, error) {
	a := answer{question: Text{"Which date do you mean?", "是哪一天？"}, open: true}
	for _, on := range []calendar.Date{d.date, {Year: d.date.Year, Month: time.Month(d.date.Day), Day: int(d.date.Month)}} {
		if one, err := b.only(day{kind: onDate, n: coming, date: on}); err == nil {
			a.phrases = append(a.phrases, one.phrases...)
		}
	}
	return a, nil
}

// contradiction asks which of several days is meant: friday, or the 28th?
func (b *bag) contradiction() (answer, error) {
	a := answer{question: Text{"These are different days. Which one?", "这些是不同的日子，是哪一个？"}, open: true}
	for _, d := range b.days {
		one, err := b.only(d)
		if err != nil {
			return answer{}, err
		}
		a.phrases = append(a.phrases, one.phrases...)
	}
	return a, nil
}

// on are the readings of the hour on a day; today as in hours.
func (b *bag) on(d calendar.Date, today bool) (all []time.Time) {
	hours, minute, second := b.hours(today)
	for _, h := range hours {
		all = append(all, d.At(h, minute, second, b.zone))
	}
	return all
}

// ahead are those of the times that have not passed.
func (b *bag) ahead(all []time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(all), func(t time.Time) bool { return !t.After(b.now) })
}

// at is the answer with the times.
func (a answer) at(all ...time.Time) answer {
	for _, t := range all {
		a.phrases = append(a.phrases, Phrase{At: t})
	}
	return a
}

// moments is the hour on the first of the days on which it is still ahead.
func (b *bag) moments(days []calendar.Date) (answer, error) {
	said, now := len(b.clocks) == 1, calendar.On(b.now)
	if !said && b.part == noPart && days[0] == now && len(days) == 1 {
		return b.later(days[0])
	}
	if a, ok := b.lately(days); ok {
		return a, nil
	}
	for i, d := range days {
		times := b.on(d, d == now && len(days) == 1)
		ahead := b.ahead(times)
		if len(ahead) == 0 {
			continue
		}
		a := b.hourQuestion()
		if i+1 == len(days) {
			return a.at(ahead...), nil
		}
		next := b.on(days[i+1], false)
		if !said && b.part == noPart && d == now { // "friday" on a Friday
			a.question = Text{"Which day do you mean?", "是哪一天？"}
			return a.at(ahead[0], next[0]), nil
		}
		for k, t := range times { // "monday at 8" at noon: tonight, or in a week
			if !t.After(b.now) {
				ahead = append(ahead, next[k])
			}
		}
		return a.at(ahead...), nil
	}
	if !said && days[0] == now {
		return b.later(days[0])
	}
	if days[0] == now && len(days) == 1 {
		return answer{question: passedToday, open: true, past: true}.at(b.on(now.Add(1), false)...), nil
	}
	times := b.on(days[0], false)
	return answer{}, fmt.Errorf("%w: %s", ErrPast, Moment(times[len(times)-1], "en"))
}

var passedToday = Text{"That hour has passed today. Tomorrow?", "今天这个时间已经过了。是明天吗？"}

// lately asks about a date without a year that has just passed: nobody who says
// "november 22" the day after is sure to mean the next year.
func (b *bag) lately(days []calendar.Date) (answer, bool) {
	if len(days) < 2 || b.days[0].kind != onDate || days[0].Add(60).Before(calendar.On(b.now)) || len(b.ahead(b.on(days[0], false))) > 0 {
		return answer{}, false
	}
	a := answer{question: Text{"This date has passed this year. Next year?", "今年的这一天已经过了。是明年吗？"}, open: true}
	return a.at(b.on(days[1], false)...), true
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
	slices.SortFunc(all, time.Time.Compare)
	all = slices.CompactFunc(all, time.Time.Equal)
	is := len(b.clocks) == 1
	if len(all) == 2 && calendar.On(all[0]) == today && calendar.On(all[1]) != today || is && b.clocks[0].style == midnight {
		all = all[:1] // clear by now: only one is ahead today
	}
	if len(all) == 2 && is && b.clocks[0].style == colon && b.clocks[0].hour >= 7 {
		all = all[:1]
	}
	a := b.hourQuestion()
	if passed := calendar.On(all[0]) != today && len(hours) == 1 && hours[0] >= 5 && hours[0] < 24 && hours[0] < b.now.Hour()+1 && b.now.Hour() < 20; passed && is {
		a.question, a.open = passedToday, true
	}
	return a.at(all...), nil
}

// later asks for the hour of a day that has begun.
func (b *bag) later(d calendar.Date) (answer, error) {
	a := answer{question: Text{"At what time?", "几点？"}}
	about := partsOfDay[b.part]
	for _, h := range []int{9, 12, 15, 18, 20, 21, 22, 23} {
		if t := d.At(h, 0, 0, b.zone); h >= about.from && h <= about.to && t.After(b.now) && len(a.phrases) < 3 {
			a = a.at(t)
		}
	}
	a.open = len(a.phrases) > 0
	return a, nil
}

// openDay asks which of so many days is meant, a weekend, a week or a month; the
// hour is the one that was said.
func (b *bag) openDay(first calendar.Date, n int) (answer, error) {
	days, a := []calendar.Date{first}, answer{}
	switch n {
	case 2:
		days, a.question = append(days, first.Add(1)), Text{"Which day of the weekend?", "周末的哪一天？"}
	case 7:
		days, a.question = append(days, first.Add(4), first.Add(5)), Text{"Which day of that week?", "那周的哪一天？"}
	default:
		days, a.question = append(days, first.Add(14), first.Add(n-1)), Text{"Which day of that month?", "那月的哪一天？"}
	}
	for _, d := range days {
		a = a.at(b.ahead(b.on(d, false))...)
	}
	a.open = len(a.phrases) > 0
	return a, nil
}
