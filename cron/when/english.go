package when

import "time"

// englishClock reads "at 8", "3pm", "8 o'clock", "half past nine", "noon".
// Behind no "at", a bare number is no hour.
func englishClock(ts tokens, i int) (piece, int) {
	from := i
	i = ts.skip(i, "at about", "at around", "at", "around", "about", "by", "@")
	at := i > from
	if j := ts.any(i, "noon", "midday", "12 noon"); j > 0 {
		return clock{hour: 12, style: fixed}.checked(), j
	}
	if j := ts.any(i, "midnight", "12 midnight"); j > 0 {
		return clock{style: midnight}.checked(), j
	}
	if p, j := englishPast(ts, i); j > 0 {
		return p, j
	}
	c := clock{from: from, style: bare}
	hour, j := ts.num(i), i+1
	if hour < 0 || len(ts[i].text) > 2 {
		if hour, j = ts.spoken(i); j == 0 || hour > 12 || ts.is(i, "a", "an") {
			return piece{}, 0
		}
		if minute, k := ts.spoken(j); k > 0 && minute >= 10 {
			c.minute, j = minute, k
		}
	} else if ts.is(j, ".") && ts.close(j) && ts.close(j+1) && ts.num(j+1) >= 0 && len(ts[j+1].text) == 2 {
		c.minute = ts.num(j + 1)
		j += 2
		if _, k := meridiem(ts, j); k == 0 {
			return piece{}, 0 // 1.50 is a number
		}
	}
	c.hour, c.to = hour, j
	if half, k := meridiem(ts, j); k > 0 {
		return c.meridiem(half), k
	}
	spelled := ts.any(j, "o'clock", "oclock", "o clock")
	at = at || ts.any(j, "in the morning", "in the afternoon", "in the evening", "at night") > 0
	if spelled == 0 && (!at || ts.countsOn(j)) {
		return piece{}, 0
	}
	if hour == 0 || hour > 12 {
		c.style = full
	}
	return c.checked(), max(j, spelled)
}

// countsOn says that the number before j counts something, or goes on.
func (ts tokens) countsOn(j int) bool {
	if ts.is(j, "%", "$", "€", "°", "/", ":", "-", ".", ",") && ts.close(j) && j+1 < len(ts) && ts.close(j+1) {
		return true
	}
	_, unit := englishUnit(ts, j)
	return unit > 0 || ts.is(j, "%", "°", "st", "nd", "rd", "th", "people", "percent", "per")
}

// englishPast reads "half past 9", "quarter to ten", "20 past 3".
func englishPast(ts tokens, i int) (piece, int) {
	minute, j := 0, ts.any(i, "half past")
	if j > 0 {
		minute = 30
	} else if k := ts.any(i, "a quarter", "quarter"); k > 0 {
		minute, j = 15, k
	} else if n, k := ts.amount(i); k > 0 && n < 60 {
		minute, j = int(n), ts.skip(k, "minutes", "minute")
	}
	if j == 0 {
		return piece{}, 0
	}
	if minute != 30 || !ts.is(j-1, "past") {
		switch {
		case ts.is(j, "past", "after"):
		case ts.is(j, "to", "before"):
			minute = -minute
		default:
			return piece{}, 0
		}
		j++
	}
	hour := ts.num(j)
	if hour < 0 {
		var k int
		if hour, k = ts.spoken(j); k == 0 || ts.is(j, "a", "an") {
			return piece{}, 0
		}
	}
	if hour < 1 || hour > 12 || ts.is(j+1, ":") || ts.countsOn(j+1) {
		return piece{}, 0
	}
	if minute < 0 {
		hour, minute = hour-1, minute+60
		if hour == 0 {
			hour = 12
		}
	}
	c := clock{hour: hour, minute: minute, from: i, to: j + 1}
	if half, k := meridiem(ts, j+1); k > 0 {
		return c.meridiem(half), k
	}
	return c.checked(), j + 1
}

// englishPart reads "in the morning", "this evening", "tonight", and behind
// a day "morning".
func englishPart(ts tokens, i int) (piece, int) {
	today := &day{kind: inDays}
	switch {
	case ts.is(i, "tonight"):
		return piece{day: today, part: evening}, i + 1
	case ts.lit(i, "at night") > 0:
		return piece{part: evening}, i + 2
	case ts.lit(i, "last night") > 0:
		return piece{day: &day{kind: inDays, n: -1}, part: evening}, i + 2
	}
	j := ts.skip(i, "in the early", "in the late", "in the", "this", "early", "late")
	p := piece{}
	switch {
	case ts.is(j, "morning", "mornings"):
		p.part = morning
	case ts.is(j, "afternoon", "afternoons"):
		p.part = afternoon
	case ts.is(j, "evening", "evenings", "night"):
		p.part = evening
	case ts.is(j, "noon", "lunchtime"):
		p.part = noon
	default:
		return piece{}, 0
	}
	if ts.is(j-1, "this") && j > i {
		p.day = today
	} else {
		p.weak = !ts.is(i, "in")
	}
	return p, j + 1
}

// englishUnit reads the name of a unit.
func englishUnit(ts tokens, i int) (unit, int) {
	switch {
	case ts.is(i, "s", "sec", "secs", "second", "seconds"):
		return unitSecond, i + 1
	case ts.is(i, "m", "min", "mins", "minute", "minutes"):
		return unitMinute, i + 1
	case ts.is(i, "h", "hr", "hrs", "hour", "hours"):
		return unitHour, i + 1
	case ts.is(i, "d", "day", "days"):
		return unitDay, i + 1
	case ts.is(i, "w", "wk", "wks", "week", "weeks"):
		return unitWeek, i + 1
	case ts.is(i, "fortnight", "fortnights"):
		return unit{days: 14}, i + 1
	case ts.is(i, "month", "months"):
		return unitMonth, i + 1
	case ts.is(i, "y", "yr", "yrs", "year", "years"):
		return unitYear, i + 1
	}
	return unit{}, 0
}

// englishLength reads "1h30m", "an hour and a half", "2 and a half hours",
// "half an hour", "three quarters of an hour".
func englishLength(ts tokens, i int) (span, int) {
	total, end := span{}, 0
	for range maxList {
		s, j := englishTerm(ts, i)
		if j == 0 {
			break
		}
		total, end = total.plus(s), j
		i = ts.skip(j, ", and", "and", ",")
	}
	return total, end
}

func englishTerm(ts tokens, i int) (span, int) {
	if j := ts.any(i, "half an", "half a", "a half", "half"); j > 0 {
		u, k := englishUnit(ts, j)
		return u.times(0.5), k
	}
	if j := ts.any(i, "three quarters of an hour", "a quarter of an hour", "quarter of an hour", "a quarter hour"); j > 0 {
		if ts.is(i, "three") {
			return unitMinute.times(45), j
		}
		return unitMinute.times(15), j
	}
	n, j := ts.amount(i)
	if j == 0 {
		return span{}, 0
	}
	if k := ts.lit(j, "and a half"); k > 0 {
		u, end := englishUnit(ts, k)
		return u.times(n + 0.5), end
	}
	u, k := englishUnit(ts, ts.skip(j, "-"))
	if k == 0 {
		return span{}, 0
	}
	if end := ts.lit(k, "and a half"); end > 0 {
		if _, longer := englishUnit(ts, end); longer == 0 {
			return u.times(n + 0.5), end
		}
	}
	return u.times(n), k
}

// englishSpan reads "in 20 minutes", "2 hours later", "a week from now".
// A span alone is bare.
func englishSpan(ts tokens, i int) (piece, int) {
	start := ts.skip(i, "within the next", "in about", "in another", "in the next", "in", "after about", "after", "+")
	s, j := englishLength(ts, start)
	if j == 0 {
		return piece{}, 0
	}
	if k := ts.any(j, "ago", "before now"); k > 0 {
		return piece{err: ErrPast}, k
	}
	if ts.is(j, "before", "long") {
		return piece{}, 0 // "20 minutes before the meeting" is not a time from now
	}
	end := ts.skip(j, "from now", "from today", "later", "' time", "time", "hence")
	return piece{span: &s, bare: start == i && end == j}, end
}

var englishWeekdays = map[string]time.Weekday{
	"sunday": 0, "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6,
	"sun": 0, "mon": 1, "tue": 2, "tues": 2, "wed": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5, "sat": 6,
}

var englishMonths = map[string]time.Month{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
	"october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
	"sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}
