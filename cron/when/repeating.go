package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// repeating is a time that comes again.
func (b *bag) repeating() (answer, error) {
	r := b.repeat
	if b.week != nil {
		return answer{}, invalid("a repetition and one week at once")
	}
	if r.kind == spaced {
		return b.spaced()
	}
	if r.kind == fullHour {
		if len(b.clocks)+len(b.days) > 0 || b.part != noPart {
			return answer{}, invalid("each full hour and another time at once")
		}
		return sole(Phrase{Cron: strconv.Itoa(r.minute) + " * * * *"}), nil
	}
	days, a, err := b.repeatDays()
	if err != nil || a.open {
		return a, err
	}
	a = answer{}
	slots := b.repeatHours()
	for _, at := range slots {
		for _, d := range days {
			expr, err := d.cron(at)
			if err != nil {
				return a, err
			}
			a.phrases = append(a.phrases, Phrase{Cron: expr})
		}
	}
	switch {
	case len(days) > 1:
		a.question = Text{"Not every month has this day. Only in the months that have it, or on the last day of every month?", "不是每个月都有这一天。只在有这一天的月份，还是每月最后一天？"}
	case len(b.clocks) > 1 && len(slots[0].hours) > 1:
		a.question = Text{"Which hours do you mean?", "是哪几个时间？"}
	case len(b.clocks) > 1:
		a.question = Text{"These hours cannot be one reminder. Which one?", "这些时间不能合为一个提醒，是哪一个？"}
	default:
		a.question = b.hourQuestion().question
	}
	return a, nil
}

// slot is a time of day of a repetition: hours with one minute and second.
type slot struct {
	hours          []int
	minute, second int
}

// maxReadings bounds how many readings of a list of hours are offered.
const maxReadings = 4

// repeatHours are the readings of the hours. Hours with one minute are one slot
// for each reading of the list; others are told one by one.
func (b *bag) repeatHours() []slot {
	if len(b.clocks) == 0 {
		var all []slot
		for _, h := range b.part.usual() {
			all = append(all, slot{hours: []int{h}})
		}
		return all
	}
	var all []slot
	joint := []slot{{minute: b.clocks[0].minute, second: b.clocks[0].second}}
	for _, c := range b.clocks {
		one := *b
		one.clocks = []clock{c}
		hours, minute, second := one.hours(false)
		if c.style == midnight {
			hours = []int{0} // every day at midnight; of other days it is the beginning
		}
		for _, h := range hours {
			all = append(all, slot{[]int{h}, minute, second})
		}
		var longer []slot
		for _, at := range joint {
			for _, h := range hours {
				if len(longer) <= maxReadings && minute == at.minute && second == at.second && (len(at.hours) == 0 || at.hours[0]/24 == h/24) {
					longer = append(longer, slot{append(slices.Clone(at.hours), h), minute, second})
				}
			}
		}
		joint = longer
	}
	if len(joint) > 0 && len(joint) <= maxReadings {
		return joint
	}
	return all
}

// days of a repetition, as the last three fields of an expression.
type days struct {
	numbers []int
	month   time.Month // 0: every
	week    uint8      // 0: every
}

// repeatDays are the readings of the days; an open answer asks for them.
func (b *bag) repeatDays() ([]days, answer, error) {
	d := days{week: b.repeat.week, numbers: slices.Clone(b.repeat.numbers)}
	for _, o := range b.days {
		switch {
		case b.repeat.kind == weekly && o.kind == weekday && o.n == coming:
			d.week |= 1 << o.week
		case b.repeat.kind == monthly && o.kind == monthDay && o.number > 0 && o.n <= 0:
			d.numbers = append(d.numbers, o.number)
		case b.repeat.kind == yearly && o.kind == calendar && o.date.year == 0 && d.month == 0:
			d.month, d.numbers = o.date.month, []int{o.date.day}
		default:
			return nil, answer{}, invalid("a repetition and one day at once; say either")
		}
	}
	at := slot{hours: []int{9}}
	if all := b.repeatHours(); len(all) == 1 {
		at = all[0]
	}
	today := dateOf(b.now)
	choice := func(d days) Phrase {
		expr, _ := d.cron(at) // without one, ParseCron has refused it
		return Phrase{Cron: expr}
	}
	var a answer
	switch {
	case b.repeat.kind == weekly && d.week == 0:
		week := []Phrase{choice(days{week: 1 << time.Monday}), choice(days{week: 1 << time.Friday})}
		a, _ = ask("On which day of the week?", "每周的哪一天？", week...)
	case b.repeat.kind == monthly && len(d.numbers) == 0:
		a, _ = ask("On which day of the month?", "每月的哪一天？", choice(days{numbers: []int{1}}), choice(days{numbers: []int{15}}), choice(days{numbers: []int{lastDay}}))
	case b.repeat.kind == yearly && d.month == 0:
		a, _ = ask("On which day of the year?", "每年的哪一天？", choice(days{month: 1, numbers: []int{1}}), choice(days{month: today.month, numbers: []int{min(today.day, 28)}}))
	}
	if a.open {
		return nil, a, nil
	}
	all, err := d.lacking(b.repeat.sure)
	return all, a, err
}

// lacking adds the last day of the month as another reading of a number that
// some months lack.
func (d days) lacking(sure bool) ([]days, error) {
	last := slices.Clone(d.numbers)
	for i, n := range d.numbers {
		if n < 1 || n > 31 && n != lastDay {
			return nil, invalid("no month has a day %d", n)
		}
		if n > 28 {
			last[i] = lastDay
		}
	}
	if sure || d.month != 0 || slices.Equal(last, d.numbers) {
		return []days{d}, nil
	}
	return []days{d, {numbers: last, week: d.week}}, nil
}

// cron writes the expression. Hours from 24 on are of the day after.
func (d days) cron(at slot) (string, error) {
	hours := make([]string, len(at.hours))
	for i, h := range at.hours {
		hours[i] = strconv.Itoa(h % 24)
	}
	numbers, month, week := "*", "*", "*"
	next := len(at.hours) > 0 && at.hours[0] >= 24
	if len(d.numbers) > 0 {
		parts := make([]string, len(d.numbers))
		for i, n := range d.numbers {
			switch {
			case next && n == lastDay:
				n = 1
			case next && n >= 28:
				return "", invalid("midnight after the %dth is another day in each month; name the day after it", n)
			case next:
				n++
			}
			parts[i] = strconv.Itoa(n)
			if n == lastDay {
				parts[i] = "L"
			}
		}
		numbers = strings.Join(parts, ",")
	}
	if d.month != 0 {
		month = strconv.Itoa(int(d.month))
	}
	if d.week != 0 {
		w := d.week
		if next {
			w = shift(w)
		}
		var parts []string
		for n := range 7 {
			if w&(1<<n) != 0 {
				parts = append(parts, strconv.Itoa(n))
			}
		}
		week = strings.Join(parts, ",")
		if w == allWeek {
			week = "*"
		}
	}
	c, err := ParseCron(fmt.Sprintf("%d %d %s %s %s %s", at.second, at.minute, strings.Join(hours, ","), numbers, month, week))
	return c.String(), err
}

// spaced repeats by a length of time from now on.
func (b *bag) spaced() (answer, error) {
	s := b.repeat.span
	if s.months > 0 {
		return b.months(s)
	}
	if s.days > 200*366 {
		return answer{}, invalid("this is too far away")
	}
	every := Phrase{Every: time.Duration(s.days)*24*time.Hour + s.exact}
	if every.Every < time.Second {
		return answer{}, invalid("the shortest repetition is one second")
	}
	if b.repeat.apart {
		step := 1
		if s.days%7 == 0 {
			step = 7
		}
		more := Phrase{Every: every.Every + time.Duration(step)*24*time.Hour}
		return ask("Which one do you mean?", "是哪一种？", every, more)
	}
	if len(b.days) == 0 && len(b.clocks) == 0 && b.part == noPart {
		return sole(every), nil
	}
	choices := []Phrase{every}
	other := *b
	other.repeat = &repeat{kind: daily}
	if len(b.days) > 0 {
		other.repeat = &repeat{kind: weekly}
	}
	if a, err := other.repeating(); err == nil && !a.open {
		choices = append(choices, a.phrases...)
	}
	return ask("A repetition by a length of time counts from now and has no hour of its own. Which one?", "按间隔重复从现在算起，不能指定钟点。是哪一种？", choices...)
}

// months repeats every so many months, which no expression says from any month
// on; it offers what can be said.
func (b *bag) months(s span) (answer, error) {
	other := *b
	other.repeat = &repeat{kind: monthly}
	if s.months%12 == 0 {
		return ask("I can repeat every year, not every so many years. On which day of every year?", "可以每年重复，不能隔几年重复。每年的哪一天？")
	}
	a, err := other.repeating()
	if err != nil {
		return ask("I can repeat every month, not every so many months.", "可以每月重复，不能隔几个月重复。")
	}
	return ask("I can repeat every month, not every so many months. Every month?", "可以每月重复，不能隔几个月重复。每个月吗？", a.phrases...)
}
