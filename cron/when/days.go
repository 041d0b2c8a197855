package when

import (
	"fmt"
	"slices"
	"time"

	"magpie/cron/calendar"
	"magpie/cron/grammar"
)

var dayActions = map[string]grammar.Action{
	"in": func(a grammar.Args) any {
		return piece{day: &day{kind: inDays, n: a.Num(0, 0), work: a.Word(1) == "work"}, part: partOf(a.Arg(1))}
	},
	"week-day": func(a grammar.Args) any {
		return onDay(day{kind: weekday, week: weekOf(a, 0), n: a.Num(1, coming), early: a.Num(2, 0)})
	},
	"weekend": func(a grammar.Args) any { return onDay(day{kind: weekend, n: a.Num(0, coming)}) },
	"week":    func(a grammar.Args) any { n := a.Num(0, 0); return piece{week: &n} },
	"date": func(a grammar.Args) any {
		p := calendarDay(max(a.Num(0, 0), 0), a.Num(1, 0), a.Num(2, 0), a.Num(3, coming))
		if p.day != nil {
			p.day.digits = a.Word(4) == "digits"
		}
		return p
	},
	"last-of": func(a grammar.Args) any {
		m := a.Num(0, 0)
		if m < 1 || m > 12 {
			return invalidPiece("no year has a month %d", m)
		}
		return calendarDay(0, m, calendar.Date{Year: 2027, Month: time.Month(m), Day: 1}.Last(), a.Num(1, coming))
	},
	"month-day": func(a grammar.Args) any { // 0 is any; not before what the last argument names: 3号楼
		n, not := a.Num(0, 0), a.Word(2)
		if not != "" && a.T.At(not, a.To) > 0 {
			return nil
		}
		if n < 0 || n > 31 && n != lastDay {
			return invalidPiece("no month has a day %d", n)
		}
		return onDay(day{kind: monthDay, n: a.Num(1, coming), number: n})
	},
	"month-open": func(a grammar.Args) any {
		if m := a.Num(0, 0); m >= 1 && m <= 12 && (!a.T.Is(a.From, "may", "march", "mar", "sun") || a.T.At("month-lead", a.From-1) == a.From) {
			return piece{day: &day{kind: onDate, n: a.Num(1, coming), date: calendar.Date{Year: max(a.Num(2, 0), 0), Month: time.Month(m)}}, weak: true}
		}
		return nil
	},
	"nth": func(a grammar.Args) any {
		d := day{kind: nthDay, number: a.Num(0, 1), n: a.Num(2, coming)}
		if d.work = a.Word(1) == "work"; !d.work {
			d.week = weekOf(a, 1)
		}
		if a.Word(3) == "month" {
			d.date.Month, d.n = time.Month(d.n), coming
			if d.date.Month < 1 || d.date.Month > 12 {
				return nil
			}
		}
		if d.number == 0 || d.number > 5 && !d.work {
			return nil
		}
		return onDay(d)
	},
	"holiday": func(a grammar.Args) any {
		return onDay(day{kind: holiday, key: a.Word(0), n: a.Num(1, coming), date: calendar.Date{Year: max(a.Num(2, 0), 0)}, early: a.Num(3, 0)})
	},
	"lunar": func(a grammar.Args) any { // the day of a month, or of the one that comes
		m, d := a.Num(0, 0), a.Num(1, 0)
		if m < 0 || m > 12 || d == 0 || d > 30 || a.Word(3) != "" && d <= 3 && a.T.At(a.Word(3), a.To) > 0 {
			return nil
		}
		return onDay(day{kind: lunarDay, n: a.Num(2, coming), date: calendar.Date{Month: time.Month(m), Day: d}})
	},
	"either-calendar": func(a grammar.Args) any { // the date, or the lunar one
		p := calendarDay(0, a.Num(0, 0), a.Num(1, 0), coming)
		p.other = &day{kind: lunarDay, n: coming, date: p.day.date}
		return p
	},
	"slashed": slashed,
	"slashed-day-first": func(a grammar.Args) any {
		if a.T.Num(a.To) >= 0 && a.T.Close(a.To) {
			return nil // 1.2.3
		}
		return dateOrder(a, a.Num(1, 0), a.Num(0, 0), false)
	},
	"day-before": func(a grammar.Args) any {
		s := Span{Days: -a.Num(0, 1)}
		return piece{shift: &s, part: partOf(a.Arg(1))}
	},
	"day-later": func(a grammar.Args) any { // two weeks from tomorrow
		s, p := a.Arg(0).(Span), a.Arg(1).(piece)
		if p.day == nil || s.Months != 0 || s.Exact != 0 {
			return nil
		}
		d := *p.day
		d.early -= s.Days
		p.day = &d
		return p
	},
	"before": func(a grammar.Args) any {
		s := a.Arg(0).(Span).Negative()
		if s.Days != 0 && s.Exact != 0 { // 1 day and 1 hour before: both, or their sum
			for i := a.From; i < a.To; i++ {
				if a.T.Is(i, "and", "&") {
					return piece{asked: true}
				}
			}
		}
		return piece{shift: &s, weak: a.Word(1) == "weak"}
	},
	"ahead": func(a grammar.Args) any { // of what was said, not before what the argument names
		if not := a.Word(0); not != "" && a.T.At(not, a.To) > 0 {
			return nil
		}
		return piece{shift: &Span{}, ahead: true, weak: true}
	},
	"ahead-of": func(a grammar.Args) any {
		p := a.Arg(0).(piece)
		p.ahead = p.day != nil
		return p
	},
	"part-unless": func(a grammar.Args) any { // behind a day, not before what the argument names
		if a.T.At(a.Word(1), a.To) > 0 || a.T.Is(a.From-1, "点", "钟", "半", "分", "刻", "整") {
			return nil
		}
		return piece{part: partNames[a.Word(0)], weak: true}
	},
	"after": func(a grammar.Args) any { s := a.Arg(0).(Span); return piece{shift: &s} },
}

func onDay(d day) piece { return piece{day: &d} }

func invalidPiece(format string, args ...any) piece { return piece{err: invalid(format, args...)} }

// calendarDay is a day by its date, or the error that there is none. Without a
// year, 29 February is a day.
func calendarDay(y, m, d, ahead int) piece {
	on := calendar.Date{Year: y, Month: time.Month(m), Day: d}
	check := on
	if y == 0 {
		check.Year = 2028
	}
	if !check.Valid() {
		name := fmt.Sprintf("%02d-%02d", m, d)
		if y > 0 {
			name = fmt.Sprintf("%04d-", y) + name
		}
		return invalidPiece("the calendar has no %s", name)
	}
	return onDay(day{kind: onDate, n: ahead, date: on})
}

// slashed reads a date in digits, of which countries write the month first or
// the day: 12/24 has one reading, 03/04 two.
func slashed(a grammar.Args) any {
	first, second := a.Num(0, 0), a.Num(1, 0)
	hour := max(a.T.At("digital", a.T.After("at", a.To)), a.T.At("午", a.To), a.T.At("zh-clock", a.To)) > 0
	if a.T.Is(a.From+1, "-", ".") && !a.T.Is(a.From-1, "on") && !hour && a.T.At("digital", a.From-3) != a.From || a.T.Is(a.To, ".") && a.T.Close(a.To) {
		return nil
	}
	return dateOrder(a, first, second, first <= 12 && second <= 12 && first != second && !han(a.T))
}

// han says that the text is Chinese, where the month comes first.
func han(t *grammar.Text) bool {
	return slices.ContainsFunc(t.Tokens, func(k grammar.Token) bool { return k.Kind == grammar.Han })
}

func dateOrder(a grammar.Args, m, d int, unsure bool) any {
	if m < 1 || d < 1 || m > 31 || d > 31 || a.T.Is(a.To, "/", "%") && a.T.Close(a.To) {
		return nil
	}
	if m > 12 {
		m, d = d, m
	}
	year := a.Num(2, 0)
	if year > 0 && year < 20 || year > 99 && year < 1900 {
		return nil
	}
	if year > 0 && year < 100 {
		year += 2000
	}
	p := calendarDay(year, m, d, coming)
	if unsure && p.day != nil {
		p.day.number = 1 // the other order is a reading too
	}
	if p.day == nil && year == 0 {
		return nil
	}
	return p
}

// eachOf are pieces for each of the days of a week that p tells, from the first on.
func (p piece) eachOf(week uint8, n int, first time.Weekday) (days pieces) {
	for i := range 7 {
		if one := uint8(1 << ((int(first) + i) % 7)); week&one != 0 {
			days = append(days, piece{day: &day{kind: weekday, n: n, week: one}, part: p.part, listed: len(days) > 0, from: p.from, to: p.to})
		}
	}
	return days
}
