package when

import "time"

// englishDay reads "today", "the day after tomorrow", "on friday", "next
// friday", "next week", "this weekend".
func englishDay(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "on the", "on", "by", "the")
	relative := func(n, next int) (piece, int) { return piece{day: &day{kind: inDays, n: n}}, next }
	if j := ts.any(i, "day after tomorrow"); j > 0 {
		return relative(2, j)
	}
	if j := ts.any(i, "day before yesterday"); j > 0 {
		return relative(-2, j)
	}
	switch ts.text(i) {
	case "today":
		return relative(0, i+1)
	case "tomorrow", "tmr", "tmrw", "tomorow", "tommorow", "tommorrow":
		return relative(1, i+1)
	case "yesterday":
		return relative(-1, i+1)
	}
	if j := ts.any(i, "week after next"); j > 0 {
		two := 2
		return piece{week: &two}, j
	}
	on := ts.is(i-1, "on", "by")
	n, j := coming, i
	switch {
	case ts.is(i, "next"):
		n, j = 1, i+1
	case ts.is(i, "this"):
		n, j = 0, i+1
	case ts.is(i, "last"):
		n, j = -1, i+1
	case ts.is(i, "coming", "upcoming"):
		j = i + 1
	}
	if w, ok := englishWeekdays[ts.text(j)]; ok {
		if short := len(ts[j].text) < 5; short && !on && i == j && !ts.isDay(j) {
			return piece{}, 0 // "sit in the sun"
		}
		return piece{day: &day{kind: weekday, n: n, week: w}}, ts.skip(j+1, ".")
	}
	switch {
	case ts.is(j, "week") && n != coming:
		return piece{week: &n}, j + 1
	case ts.is(j, "weekend"):
		return piece{day: &day{kind: weekend, n: n}}, j + 1
	case ts.is(j, "month") && n != coming:
		return piece{day: &day{kind: monthDay, n: n}}, j + 1
	}
	return piece{}, 0
}

// isDay says that the short name of a day at j is one: an hour or a date stands
// beside it.
func (ts tokens) isDay(j int) bool {
	k := ts.skip(j+1, ".")
	k = ts.skip(k, ",")
	_, month := englishMonths[ts.text(k)]
	return ts.num(k) >= 0 || month || ts.is(k, "at", "@", "morning", "afternoon", "evening", "night", "noon") || len(ts) == 1
}

// englishDate reads "november 22", "22 nov 2026", "the 22nd of november".
func englishDate(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "on the", "on", "by", "the")
	d := date{}
	j := i
	if m, ok := englishMonths[ts.text(i)]; ok {
		d.month = m
		j = ts.skip(i+1, ".")
		j = ts.skip(j, "the")
		n, k := ts.monthNumber(j)
		if k == 0 {
			return piece{}, 0
		}
		d.day, j = n, k
	} else {
		n, k := ts.monthNumber(i)
		if k == 0 {
			return piece{}, 0
		}
		k = ts.skip(k, "of")
		m, ok := englishMonths[ts.text(k)]
		if !ok {
			return piece{}, 0
		}
		d.day, d.month, j = n, m, ts.skip(k+1, ".")
	}
	if k := ts.skip(j, ","); ts.num(k) >= 1900 && len(ts[k].text) == 4 {
		d.year, j = ts.num(k), k+1
	}
	return calendarDay(d), j
}

// monthNumber reads the number of a day: "22", "22nd", "first"; not the 9 of
// 9:30 or 9am.
func (ts tokens) monthNumber(i int) (n, next int) {
	if n, j := ts.ordinal(i); j > 0 {
		return n, j
	}
	n = ts.num(i)
	if n < 0 || len(ts[i].text) > 2 || ts.is(i+1, ":", "am", "pm") {
		return 0, 0
	}
	return n, i + 1
}

// englishMonthDay reads "on the 1st", "the first of next month", "end of
// month", "the last day of this month", "the end of the year".
func englishMonthDay(ts tokens, i int) (piece, int) {
	from := i
	i = ts.skip(i, "at the", "on the", "by the", "at", "on", "by", "the")
	if j := ts.any(i, "end of the year", "end of year", "end of this year"); j > 0 {
		return calendarDay(date{0, time.December, 31}), j
	}
	n, j := 0, ts.any(i, "last day of", "end of")
	if j == 0 && ts.is(i-1, "the") && ts.is(i-2, "on") {
		if k := ts.any(i, "last day"); k > 0 {
			return monthNumberDay(coming, lastDay), k
		}
	}
	if j > 0 {
		n = lastDay
	} else if n, j = ts.ordinal(i); j == 0 || n < 1 {
		return piece{}, 0
	}
	if n == lastDay || ts.is(j, "of") {
		k := ts.skip(j, "of")
		if end := ts.any(k, "next month"); end > 0 {
			return monthNumberDay(1, n), end
		}
		if end := ts.any(k, "this month", "the month", "month"); end > 0 {
			return monthNumberDay(0, n), end
		}
		if m, ok := englishMonths[ts.text(k)]; ok && n == lastDay {
			return calendarDay(date{0, m, date{2026, m, 1}.last()}), k + 1
		}
		return piece{}, 0
	}
	if !ts.is(i-1, "the") || i == from || englishOrdinals[ts.text(i)] > 0 {
		return piece{}, 0 // "the first" counts something; "the 1st" is a day
	}
	return monthNumberDay(coming, n), j
}

// monthNumberDay is a day of a month by its number.
func monthNumberDay(months, n int) piece {
	if n < 1 || n > 31 && n != lastDay {
		return piece{err: invalid("no month has a day %d", n)}
	}
	return piece{day: &day{kind: monthDay, n: months, number: n}}
}
