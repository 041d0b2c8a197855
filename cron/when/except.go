package when

import (
	"cmp"
	"slices"
	"time"

	"magpie/cron/calendar"
	"magpie/cron/grammar"
)

// exceptedList reads what is left out, one or several: weekends and public
// holidays, 12月24号和25号.
func exceptedList(item, joiner string) reading {
	return func(t *grammar.Text, i int) (any, int) {
		all, next := limit{kind: except}, 0
		for range grammar.MaxList {
			v, j := t.Match(item, i)
			p, _ := v.(piece)
			if n := t.Num(i); j == 0 && len(all.spare) > 0 && n > 0 && n < 32 && t.At("digital", i) == 0 { // dec 24 and 25
				p, j = limited(limit{spare: []pieces{{onDay(day{kind: monthDay, n: coming, number: n})}}}), i+1
			}
			switch {
			case j > 0 && p.limit == nil && next == 0:
				return p, j
			case j == 0 || p.limit == nil:
				return found(limited(all), next)
			}
			for _, one := range p.limit.spare {
				if n := len(all.spare); n > 0 {
					one = following(all.spare[n-1], one)
				}
				all.spare = append(all.spare, one)
			}
			all.week, all.free, next = all.week|p.limit.week, all.free || p.limit.free, j
			if i = t.At(joiner, j); i == 0 || joiner == "zh-list" && t.Is(j, ",") {
				break
			}
			i = t.After("but", i)
		}
		return found(limited(all), next)
	}
}

// leaveOut takes the kinds of days that are excepted out of those on which it
// repeats.
func (b *bag) leaveOut() {
	r := *b.repeat
	b.repeat, b.limits = &r, slices.Clone(b.limits)
	for i := range b.limits {
		l := &b.limits[i]
		if l.week > 0 && r.freq <= weekly {
			if r.freq == daily || r.week == 0 {
				r.freq, r.week = weekly, allWeek
			}
			r.week &^= l.week
			r.out |= l.week
			l.week = 0
		}
		if l.free && r.freq <= yearly && !r.rest {
			if r.kept = calendar.OpenDays; r.freq == weekly && r.week&^workdays == 0 {
				r.kept = calendar.WorkDays
			}
			l.free = false
		}
	}
	b.limits = slices.DeleteFunc(b.limits, func(l limit) bool { return l.kind == except && l.week == 0 && !l.free && len(l.spare) == 0 })
}

// leftOut leaves the days out of a rule that an exception names.
func (b *bag) leftOut(r *calendar.Rule, l limit) error {
	unsure := &Ambiguous{Question: Text{"Which days are left out? Please say their dates, as except on 24 December", "哪些天不提醒？请说出日期，例如12月24日除外"}}
	if l.week > 0 || l.free {
		return unsure
	}
	for _, one := range l.spare {
		first, last := one, one
		if both := one[0].limit; both != nil {
			first, last = both.start, both.pieces
		}
		all, n := calendar.Date{}, 0
		if len(one) == 1 && one[0].day != nil {
			all, n = b.open(*one[0].day) // this weekend
		}
		open := n > 0
		from, day, err := b.bound(first, false)
		to, _, bad := b.bound(last, true)
		if err = cmp.Or(err, bad); err != nil && !open {
			return err
		}
		begin, end := calendar.On(from), calendar.On(to)
		if open {
			begin, end, day = all, all.Add(n-1), true
		}
		if end.Before(calendar.On(b.now)) || end.Before(begin) || end.Sub(begin) > 62 {
			return unsure
		}
		for d := begin; day && !end.Before(d); d = d.Add(1) {
			r.ExceptDays = append(r.ExceptDays, d)
		}
		if !day {
			r.Except = append(r.Except, b.shows(from))
		}
	}
	return nil
}

// leftOutWords say the exceptions, days in a row by their ends.
func leftOutWords(r *calendar.Rule) Text {
	var all []Text
	day := func(d calendar.Date) Text { return dateWords(d.At(23, 59, 59, time.UTC)) }
	for days := r.ExceptDays; len(days) > 0; {
		n := 1
		for n < len(days) && days[n] == days[n-1].Add(1) {
			n++
		}
		if n < 3 {
			n = 1
		}
		if all = append(all, day(days[0])); n > 1 {
			all[len(all)-1] = Text{"%s to %s", "%s到%s"}.with(day(days[0]), day(days[n-1]))
		}
		days = days[n:]
	}
	for _, t := range r.Except {
		all = append(all, dateWords(t))
	}
	return listOf(all, func(t Text) Text { return t })
}

// openDays says the days of a part that leaves out public holidays, or some of the
// working days.
func openDays(p calendar.Part) (Text, bool) {
	if p.Days == calendar.WorkDays && len(p.Byweekday) > 5 {
		return Text{"every working day except %s", "除了%s每个工作日"}.with(listOf(without(p.Byweekday), weekdayWords)), p.Interval <= 1
	}
	if p.Freq == calendar.Daily && len(p.Byweekday) > 0 {
		p.Freq = calendar.Weekly
	}
	p.Days = calendar.AllDays
	days, ok := partDays(p)
	return Text{"%s except public holidays", "除了法定节假日%s"}.with(days), ok
}

// without are the other days of the week.
func without(week []calendar.Weekday) []calendar.Weekday {
	return slices.DeleteFunc(slices.Clone(calendar.Week[:]), func(d calendar.Weekday) bool { return slices.Contains(week, d) })
}

// openMonth says that they are a month, and no day of it.
func (all pieces) openMonth() bool {
	if len(all) != 1 || all[0].day == nil {
		return false
	}
	d := all[0].day
	return d.kind == onDate && d.date.Day == 0 || d.kind == monthDay && d.number == 0
}
