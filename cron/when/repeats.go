package when

import (
	"cmp"
	"math"
	"slices"
	"time"

	"magpie/cron/grammar"
)

var repeatActions = map[string]grammar.Action{
	"daily":      func(grammar.Args) any { return repeated(repeat{freq: daily}) },
	"every-days": func(a grammar.Args) any { return apart(a, 0) },
	"every-part": func(a grammar.Args) any {
		return piece{repeat: &repeat{freq: daily}, part: partNames[a.Word(0)]}
	},
	"every-part-of": func(a grammar.Args) any { p, _ := a.Arg(0).(part); return piece{repeat: &repeat{freq: daily}, part: p} },
	"every-clock": func(a grammar.Args) any {
		return piece{repeat: &repeat{freq: daily}, clock: &clock{hour: a.Num(0, 0), style: fixed, from: a.From, to: a.To}}
	},
	"weekly": func(a grammar.Args) any {
		week, _ := a.Arg(0).(uint8)
		return repeated(repeat{freq: weekly, week: week, every: a.Num(1, 1), work: week == workdays})
	},
	"weekly-one": func(a grammar.Args) any { return repeated(repeat{freq: weekly, week: bit(a, 0), every: a.Num(1, 1)}) },
	"weekly-asked": func(a grammar.Args) any {
		p := repeated(repeat{freq: weekly, week: a.Arg(0).(uint8), every: a.Num(1, 1)})
		p.asked = true
		return p
	},
	"weekly-days": func(a grammar.Args) any {
		week := uint8(0)
		for n := range 3 {
			week |= bit(a, n)
		}
		return repeated(repeat{freq: weekly, week: week})
	},
	"weekly-work": func(a grammar.Args) any {
		p, _ := a.Arg(0).(piece)
		return piece{repeat: &repeat{freq: weekly, week: workdays, work: true}, part: p.part}
	},
	"weekly-ends": func(a grammar.Args) any {
		p, _ := a.Arg(0).(piece)
		return piece{repeat: &repeat{freq: weekly, week: weekends}, part: p.part}
	},
	"weekly-cn": func(a grammar.Args) any {
		if a.Word(0) == "rest" {
			return repeated(repeat{freq: weekly, week: weekends, rest: true, days: true})
		}
		return repeated(repeat{freq: weekly, week: workdays, work: true, days: true})
	},
	"daily-except": func(a grammar.Args) any {
		week, _ := a.Arg(0).(uint8)
		return repeated(repeat{freq: weekly, week: allWeek &^ week})
	},
	"every-weeks":  func(a grammar.Args) any { return repeated(repeat{freq: weekly, every: a.Num(0, 1)}) },
	"every-months": func(a grammar.Args) any { return repeated(repeat{freq: monthly, every: a.Num(0, 1)}) },
	"every-years":  func(a grammar.Args) any { return repeated(repeat{freq: yearly, every: a.Num(0, 1)}) },
	"weeks-apart": func(a grammar.Args) any {
		return repeated(repeat{freq: spaced, span: Span{Days: 7 * a.Num(0, 1)}, apart: true})
	},
	"days-apart": func(a grammar.Args) any {
		if n := a.Num(0, 1); n > 1 {
			return repeated(repeat{freq: spaced, span: Span{Days: n}, apart: true})
		}
		return repeated(repeat{freq: spaced, span: Span{Days: 2}})
	},
	"spaced":      func(a grammar.Args) any { return spacing(a.Arg(0).(Span)) },
	"spaced-unit": func(a grammar.Args) any { return spacing(units[a.Word(1)].times(float64(a.Num(0, 1)))) },
	"full-hour": func(a grammar.Args) any {
		n := a.Num(0, 0)
		if n < 0 || n > 59 {
			return invalidPiece("no hour has this minute")
		}
		return repeated(repeat{freq: fullHour, minute: n})
	},
	"monthly": func(a grammar.Args) any {
		n, _ := a.Arg(0).([]int)
		return repeated(repeat{freq: monthly, numbers: n, every: a.Num(1, 1)})
	},
	"monthly-sure": func(a grammar.Args) any {
		return repeated(repeat{freq: monthly, numbers: a.Arg(0).([]int), sure: true})
	},
	"monthly-last": func(a grammar.Args) any {
		return repeated(repeat{freq: monthly, numbers: []int{lastDay}, every: a.Num(0, 1)})
	},
	"monthly-one": func(a grammar.Args) any { return repeated(repeat{freq: monthly, numbers: []int{a.Num(0, 1)}}) },
	"monthly-nth": func(a grammar.Args) any {
		return repeated(repeat{freq: monthly, nth: a.Num(0, 1), week: bit(a, 1), also: a.Num(2, 0)})
	},
	"monthly-listed": func(a grammar.Args) any { // every 1st and 15th; not every second, every third friday
		n := a.Arg(0).([]int)
		if len(n) < 2 || a.T.Num(a.To-2) < 0 || a.T.At("weekday", a.To) > 0 || a.T.At("unit", a.To) > 0 {
			return nil
		}
		return repeated(repeat{freq: monthly, numbers: n})
	},
	"monthly-work": func(a grammar.Args) any {
		return repeated(repeat{freq: monthly, nth: a.Num(0, 1), work: true, days: true})
	},
	"monthly-lunar-one": func(a grammar.Args) any {
		return repeated(repeat{freq: monthly, lunar: true, numbers: []int{a.Num(0, 1)}})
	},
	"lunar-both": func(grammar.Args) any { return repeated(repeat{freq: monthly, lunar: true, numbers: []int{1, 15}}) },
	"quarter-day": func(a grammar.Args) any {
		r := repeat{freq: monthly, months: "1,4,7,10", numbers: []int{a.Num(0, 1)}}
		if r.numbers[0] == lastDay {
			r.months = "3,6,9,12"
		}
		return repeated(r)
	},
	"quarter-nth": func(a grammar.Args) any {
		return repeated(repeat{freq: monthly, months: "1,4,7,10", nth: a.Num(0, 1), week: bit(a, 1)})
	},
	"yearly": func(a grammar.Args) any {
		p, _ := a.Arg(0).(piece)
		if p.err == nil && (p.day == nil || p.day.kind != onDate || p.day.date.Year > 0 || p.day.date.Day == 0) {
			return nil
		}
		p.repeat = &repeat{freq: yearly}
		return p
	},
	"years-apart": func(a grammar.Args) any {
		p, _ := a.Arg(1).(piece)
		if p.err == nil && (p.day == nil || p.day.kind != onDate || p.day.date.Year > 0 || p.day.date.Day == 0) {
			return nil
		}
		p.repeat = &repeat{freq: yearly, every: a.Num(0, 1)}
		return p
	},
	"yearly-holiday": func(a grammar.Args) any {
		return piece{repeat: &repeat{freq: yearly}, day: &day{kind: holiday, key: a.Word(0), n: coming}}
	},
	"yearly-lunar": func(a grammar.Args) any {
		p, ok := lunarOn(a.Num(0, 0), a.Num(1, 0), coming).(piece)
		if !ok {
			return nil
		}
		p.repeat = &repeat{freq: yearly, lunar: true}
		return p
	},
	"three-parts":      func(grammar.Args) any { return parts(true, 9, 12, 20) },
	"two-parts":        func(grammar.Args) any { return parts(true, 9, 20) },
	"three-parts-once": func(grammar.Args) any { return parts(false, 9, 12, 20) },
	"two-parts-once":   func(grammar.Args) any { return parts(false, 9, 20) },
	"often":            func(a grammar.Args) any { return many(a.Num(0, 1)) },
	"spaced-half":      func(a grammar.Args) any { return spacing(a.Arg(0).(unit).times(1.5)) },
}

// parts are the usual hours of parts of the day.
func parts(daily bool, hours ...int) piece {
	p := piece{}
	for _, h := range hours {
		p.more = append(p.more, clock{hour: h, style: fixed})
	}
	if daily {
		p.repeat = &repeat{}
	}
	return p
}

// many is so many times a day.
func many(n int) piece {
	if n == 1 {
		n = 0
	}
	return repeated(repeat{freq: daily, often: n})
}

func repeated(r repeat) piece { return piece{repeat: &r} }

func apart(a grammar.Args, n int) piece { return spacing(Span{Days: a.Num(n, 1)}) }

// spacing repeats by a span; one day, week, month or year is of the calendar.
func spacing(s Span) piece {
	r := repeat{freq: spaced, span: s}
	switch {
	case s == Span{Days: 1}:
		r = repeat{freq: daily}
	case s.Months > 0 && s.Days == 0 && s.Exact == 0:
		r = repeat{freq: monthly, every: s.Months}
		if s.Months%12 == 0 {
			r = repeat{freq: yearly, every: s.Months / 12}
		}
	}
	return repeated(r)
}

var limitActions = map[string]grammar.Action{
	"until": func(a grammar.Args) any { return limited(limit{kind: until, pieces: a.Arg(0).(group).pieces}) },
	"since": func(a grammar.Args) any {
		if a.T.At("not-behind", a.To) > 0 {
			return nil // 明天起床
		}
		return limited(limit{kind: since, pieces: a.Arg(0).(group).pieces})
	},
	"lasting": func(a grammar.Args) any { return limited(limit{kind: lasting, span: a.Arg(0).(Span)}) },
	"counted": func(a grammar.Args) any { return counting(a) },
	"counted-often": func(a grammar.Args) any {
		if a.Num(0, 0) < 2 || a.To-a.From < 3 {
			return nil // 提醒我一次
		}
		return counting(a)
	},
	"counted-weak": func(a grammar.Args) any {
		p := counting(a)
		p.weak = true
		return p
	},
	"window": func(a grammar.Args) any {
		from, to := a.Arg(0).(group), a.Arg(1).(group)
		if from.names()&hasHour == 0 && to.names()&hasHour == 0 && from.names()&hasDay != 0 && to.names()&hasDay != 0 {
			return limited(limit{kind: until, pieces: following(from.pieces, to.pieces), start: from.pieces})
		}
		if from.names()&hasHour == 0 || to.names() != hasHour || from.names()&hasDay != 0 {
			return nil
		}
		return limited(limit{kind: window, start: from.pieces, pieces: to.pieces})
	},
	"from-to": func(a grammar.Args) any {
		from, to := a.Arg(0).(group), a.Arg(1).(group)
		if a.T.At("weekday-range", a.From+1) > 0 { // from monday to friday: every week
			return nil
		}
		if from.names() == hasHour && to.names() == hasHour {
			return limited(limit{kind: window, start: from.pieces, pieces: to.pieces})
		}
		p := limited(limit{kind: until, pieces: following(from.pieces, to.pieces), start: from.pieces})
		if i := slices.IndexFunc(to.pieces, func(p piece) bool { return p.day != nil && p.clock == nil }); i >= 0 && from.names() == hasHour { // from 9 to 5 tomorrow
			p = limited(limit{kind: window, start: from.pieces, pieces: slices.Delete(slices.Clone(to.pieces), i, i+1)})
			p.day = to.pieces[i].day
		}
		return p
	},
	"window-bare": func(a grammar.Args) any { // 3到5点
		to := a.Arg(1).(piece)
		n := a.Num(0, 0)
		if to.clock == nil || n < 1 || n > 24 {
			return nil
		}
		from := clock{hour: n, from: a.From, to: a.From + 1, style: to.clock.style}
		return limited(limit{kind: window, start: []piece{{clock: &from, part: to.part}}, pieces: []piece{to}})
	},
	"except": func(a grammar.Args) any {
		week, _ := a.Arg(0).(uint8)
		return limited(limit{kind: except, week: week})
	},
	"from-now-on": func(a grammar.Args) any { // 九点那个以后都不用响了
		if a.T.Is(a.From-1, "个", "条") && a.From > 2 {
			return nil
		}
		return piece{}
	},
	"except-told": func(a grammar.Args) any { // 周四她来，那天不用叫我
		for p, i := a.Arg(1).(grammar.Part), 0; p.From+i < p.To; i++ {
			if a.T.At("zh-ask", p.From+i) > 0 {
				return nil
			}
		}
		return limited(limit{kind: except, week: a.Arg(0).(uint8)})
	},
	"except-ends": func(grammar.Args) any { return limited(limit{kind: except, week: weekends}) },
	"except-time": func(a grammar.Args) any {
		if g := a.Arg(0).(group); g.names()&hasHour != 0 && g.has(func(p piece) bool { return p.day != nil && p.day.kind == weekday }) {
			return nil // every weekday except friday, at 8am
		}
		return limited(limit{kind: except, pieces: a.Arg(0).(group).pieces})
	},
	"rest-of": func(a grammar.Args) any { return restOf(a) },
}

// following reads the end of 下周一到周五 and 12月1号到7号 with what its beginning
// says of the week or month.
func following(from, to []piece) []piece {
	first, last := from[0].day, to[0].day
	if first == nil || last == nil || last.n != coming {
		return to
	}
	d := *last
	switch {
	case first.kind == d.kind && (d.kind == weekday || d.kind == monthDay):
		d.n = first.n
	case first.kind == onDate && d.kind == monthDay && d.number >= first.date.Day && d.number <= 31:
		d = day{kind: onDate, n: first.n, date: first.date}
		d.date.Day = last.number
	}
	return append([]piece{{day: &d}}, to[1:]...)
}

func limited(l limit) piece { return piece{limit: &l} }

func counting(a grammar.Args) piece {
	n := a.Num(0, 0)
	if n < 1 || n > math.MaxInt16 {
		return invalidPiece("it must come between 1 and %d times", math.MaxInt16)
	}
	return limited(limit{kind: count, count: n})
}

// restOf is "for the rest of the day", week, month or year.
func restOf(a grammar.Args) any {
	last := cmp.Or(a.Word(0), a.T.Tokens.Text(a.To-1))
	zero := 0
	end := map[string]piece{
		"day": onDay(day{kind: inDays}), "week": onDay(day{kind: weekday, week: 1 << time.Sunday, n: zero}),
		"month": onDay(day{kind: monthDay, number: lastDay}), "year": calendarDay(0, 12, 31, coming),
	}[last]
	l := limit{kind: until, pieces: []piece{end}}
	if last != "day" {
		l.start = []piece{onDay(day{kind: inDays})}
	}
	return limited(l)
}
