package when

import (
	"math"
	"math/bits"
	"slices"

	"magpie/cron/grammar"
)

var repeatActions = map[string]grammar.Action{
	"repeat": repeatOf,
	"spaced": func(a grammar.Args) any {
		p := spacing(span(a))
		if a.Word(2) == "part" {
			p.part = partOf(a.Arg(3))
		}
		return p
	},
	"apart": func(a grammar.Args) any { // 每隔两天: every two days, or with two days between
		n := a.Num(0, 1)
		if n <= 1 && a.Word(1) == "day" {
			return spacing(Span{Days: 2})
		}
		return repeated(repeat{freq: spaced, span: units[a.Word(1)].times(float64(n)), apart: true})
	},
	"monthly-listed": func(a grammar.Args) any { // every 1st and 15th; not every second, every third friday
		n := a.Arg(0).([]int)
		switch follows := a.To < len(a.T.Tokens); {
		case a.T.Num(a.To-2) < 0 || a.T.At("weekday", a.To) > 0 || a.T.At("unit", a.To) > 0 || a.T.At("not-nth", a.To) > 0:
			return nil
		case len(n) == 1 && n[0] < 5 && follows && a.T.Longest(a.To, "clock", "part", "order", "behind-nth") == 0: // every 3rd egg
			return nil
		}
		return repeated(repeat{freq: monthly, numbers: n})
	},
	"often": func(a grammar.Args) any { // so many times a day, and at least so many
		n := a.Num(0, 1)
		switch {
		case n < a.Num(1, 0):
			return nil
		case n == 1:
			n = 0
		}
		return repeated(repeat{freq: daily, often: n})
	},
}

var frequencies = map[string]frequency{"daily": daily, "weekly": weekly, "monthly": monthly, "yearly": yearly, "hourly": fullHour}

// repeatOf is what the tables write as "repeat monthly nth $1 week $2": how
// often, and what else is said, each by its name.
func repeatOf(a grammar.Args) any {
	r, p := repeat{freq: frequencies[a.Word(0)]}, piece{}
	for n := 1; a.Word(n) != ""; n += 2 {
		v := a.Arg(n + 1)
		switch a.Word(n) {
		case "is":
			r.is(a.Word(n + 1))
			p.asked = p.asked || v == "asked"
		case "every":
			r.every = a.Num(n+1, 1)
		case "week":
			r.week |= weekOf(a, n+1)
			r.work = r.week == workdays
		case "except":
			r.week = allWeek &^ weekOf(a, n+1)
		case "on":
			if list, ok := v.([]int); ok {
				r.numbers = list
			} else {
				r.numbers = append(r.numbers, a.Num(n+1, 1))
			}
		case "months":
			r.months = v.([]int)
		case "month":
			r.months = append(r.months, a.Num(n+1, 1))
		case "nth":
			r.nth = a.Num(n+1, 1)
		case "also":
			r.also = a.Num(n+1, 0)
		case "minute":
			if r.minute = a.Num(n+1, 0); r.minute > 59 {
				return invalidPiece("no hour has this minute")
			}
		case "hour":
			p.more = append(p.more, clock{hour: a.Num(n+1, 0), style: fixed})
		case "clock":
			p.clock = &clock{hour: a.Num(n+1, 0), style: fixed, from: a.From, to: a.To}
		case "part":
			p.part = partOf(v)
		case "holiday":
			p = onDay(day{kind: holiday, key: a.Word(n + 1), n: coming})
		case "day":
			p = v.(piece)
		case "date":
			if p = v.(piece); p.err == nil && (p.day == nil || p.other != nil || p.day.kind != onDate || p.day.date.Year > 0 || p.day.date.Day == 0) {
				return nil
			}
		}
	}
	p.repeat = &r
	return p
}

// is takes a word of the tables for what a repetition is.
func (r *repeat) is(word string) {
	switch word {
	case "work":
		r.work, r.days = true, true
	case "rest":
		r.rest, r.days = true, true
	case "lunar":
		r.lunar = true
	case "sure":
		r.sure = true
	case "loose":
		r.loose = true
	case "once-or-more": // but monday to friday is every week
		r.loose = r.week != workdays && bits.OnesCount8(r.week&^shift(r.week)) == 1 // no tue/thu
	}
}

// weekOf is an argument as days of the week: their bits, the number of one, or a
// word for several.
func weekOf(a grammar.Args, n int) uint8 {
	if week, ok := a.Arg(n).(uint8); ok {
		return week
	}
	switch a.Word(n) {
	case "workdays":
		return workdays
	case "weekends":
		return weekends
	}
	return 1 << a.Num(n, 0)
}

func repeated(r repeat) piece { return piece{repeat: &r} }

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
		if a.T.At("not-behind", a.To) > 0 || a.T.Is(a.To-1, "起") && !a.T.Is(a.From, "从", "自", "打") && a.Arg(0).(group).names()&hasHour != 0 && a.T.At("zh-repeat", a.To) == 0 {
			return nil // 明天起床, 明天五点起
		}
		return limited(limit{kind: since, pieces: a.Arg(0).(group).pieces})
	},
	"lasting": func(a grammar.Args) any { return limited(limit{kind: lasting, span: a.Arg(0).(Span)}) },
	"counted": counting,
	"never":   func(grammar.Args) any { return limited(limit{kind: count}) },
	"counted-often": func(a grammar.Args) any {
		if a.Num(0, 0) < 2 || a.To-a.From < 3 {
			return nil // 提醒我一次
		}
		return counting(a)
	},
	"window": func(a grammar.Args) any {
		from, to := a.Arg(0).(group), a.Arg(1).(group)
		switch begins, ends := from.names(), to.names(); {
		case begins == hasDay && (ends == hasDay || ends&hasDay != 0 && !from.pieces.onWeekday()):
			return fromTo(from, to)
		case begins&(hasHour|hasDay) == hasHour && ends&^hasDay == hasHour:
			p := fromTo(from, to)
			if a.Word(2) == "daily" {
				p.repeat = &repeat{freq: daily}
			}
			return p
		}
		return nil
	},
	"days-to": func(a grammar.Args) any { // next tuesday to thursday at 8
		from, to := a.Arg(0).(group), a.Arg(1).(group)
		if from.names() != hasDay || to.names()&hasDay == 0 || from.pieces.onWeekday() || a.T.Is(a.To, "-") {
			return nil
		}
		return fromTo(from, to)
	},
	"dates-to": func(a grammar.Args) any { // dec 1-5
		from, to := calendarDay(0, a.Num(0, 0), a.Num(1, 0), coming), calendarDay(0, a.Num(0, 0), a.Num(2, 0), coming)
		if from.err != nil || to.err != nil || a.Num(1, 0) >= a.Num(2, 0) {
			return nil
		}
		return limited(limit{kind: until, start: pieces{from}, pieces: pieces{to}})
	},
	"from-to": func(a grammar.Args) any {
		if a.T.At("weekday-range", a.From+1) > 0 { // from monday to friday: every week
			return nil
		}
		return fromTo(a.Arg(0).(group), a.Arg(1).(group))
	},
	"window-bare": func(a grammar.Args) any { // 3到5点
		to := a.Arg(1).(piece)
		n := a.Num(0, 0)
		if to.clock == nil || n < 1 || n > 24 {
			return nil
		}
		from := clock{hour: n, from: a.From, to: a.From + 1, style: to.clock.style}
		return limited(limit{kind: window, start: pieces{{clock: &from, part: to.part}}, pieces: pieces{to}})
	},
	"except": func(a grammar.Args) any {
		if a.Word(0) == "holidays" {
			return limited(limit{kind: except, free: true})
		}
		return limited(limit{kind: except, week: weekOf(a, 0)})
	},
	"excepted": func(a grammar.Args) any { // 周三不用, and nothing behind
		if p := a.Arg(0).(piece); p.limit != nil && p.limit.week == 0 && a.T.First(0, len(a.T.Tokens), "repeat", "zh-repeat") < 0 || a.To < len(a.T.Tokens) && a.T.Tokens[a.To].Kind != grammar.Mark && a.T.At("particle", a.To) == 0 && !a.T.Tokens[a.To].Gap && a.T.At("zh-list", a.To) == 0 {
			return nil
		}
		return a.Arg(0)
	},
	"whole": func(a grammar.Args) any { // in december, 整个12月
		p := a.Arg(0).(piece)
		if a.Word(1) == "led" && a.T.At("zh-repeat", a.To) == 0 {
			return nil
		}
		return limited(limit{kind: until, start: pieces{p}, pieces: pieces{p}, loose: a.Word(1) != ""})
	},
	"from-now-on": func(a grammar.Args) any { // 九点那个以后都不用响了
		if a.T.Is(a.From-1, "个", "条") && a.From > 2 {
			return nil
		}
		return piece{}
	},
	"except-told": func(a grammar.Args) any { // 周四她来，那天不用叫我
		if told := a.Arg(1).(grammar.Part); a.T.First(told.From, told.To, "zh-ask") >= 0 {
			return nil
		}
		return limited(limit{kind: except, week: weekOf(a, 0)})
	},
	"except-time": func(a grammar.Args) any {
		g := a.Arg(0).(group)
		if (pieces{g.pieces[0]}).names()&hasDay == 0 || g.names()&hasHour != 0 && g.has(func(p piece) bool { return p.day != nil && p.day.kind == weekday }) {
			return nil // every weekday except friday, at 8am
		}
		if last, ok := a.Arg(1).(group); ok {
			p := limited(limit{start: g.pieces, pieces: following(g.pieces, last.pieces)})
			return limited(limit{kind: except, spare: []pieces{{p}}})
		}
		return limited(limit{kind: except, spare: []pieces{g.pieces}})
	},
	"rest-of": func(a grammar.Args) any { // for the rest of the day, or up to its last one
		end := a.Arg(0).(piece)
		l, today := limit{kind: until, pieces: pieces{end}}, onDay(day{kind: inDays})
		if *end.day != *today.day {
			l.start = pieces{today}
		}
		return limited(l)
	},
}

// onWeekday says that a day of the week is named alone, which may be every one.
func (all pieces) onWeekday() bool {
	return all[0].day != nil && all[0].day.kind == weekday && all[0].day.n == coming
}

// fromTo is a window of hours where only the end names a day, else the time from
// one day to another.
func fromTo(from, to group) piece {
	if from.names() == hasHour {
		if to.names() == hasHour {
			return limited(limit{kind: window, start: from.pieces, pieces: to.pieces})
		}
		if rest, day := undated(to.pieces); day != nil { // from 9 to 5 tomorrow
			p := limited(limit{kind: window, start: from.pieces, pieces: rest})
			p.day = day
			return p
		}
	}
	return limited(limit{kind: until, pieces: following(from.pieces, to.pieces), start: from.pieces})
}

// undated are the pieces without their day.
func undated(all pieces) (pieces, *day) {
	for i, p := range all {
		if p.day == nil {
			continue
		}
		rest := slices.Clone(all)
		if rest[i].day = nil; p.clock == nil {
			rest = slices.Delete(rest, i, i+1)
		}
		return rest, p.day
	}
	return all, nil
}

// following reads the end of 下周一到周五 and 12月1号到7号 with what its beginning
// says of the week or month.
func following(from, to pieces) pieces {
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
	return append(pieces{{day: &d}}, to[1:]...)
}

func limited(l limit) piece { return piece{limit: &l} }

func counting(a grammar.Args) any {
	n := a.Num(0, 0)
	if n < 1 || n > math.MaxInt16 {
		return invalidPiece("it must come between 1 and %d times", math.MaxInt16)
	}
	return limited(limit{kind: count, count: n})
}
