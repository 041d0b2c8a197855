package when

import "time"

// englishRepeat reads the words that repeat by themselves: "daily",
// "weekdays", "on mondays", "every monday and thursday", "every weekday".
func englishRepeat(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "on")
	if j := ts.any(i, "every full hour", "every hour on the hour", "hourly on the hour"); j > 0 {
		return piece{repeat: &repeat{kind: fullHour}}, j
	}
	if j := ts.any(i, "every hour at minute", "every hour at :", "hourly at minute", "hourly at :"); j > 0 {
		return atMinute(ts.num(j)), j + 1
	}
	switch ts.text(i) {
	case "daily", "everyday":
		return piece{repeat: &repeat{kind: daily}}, i + 1
	case "hourly":
		return piece{repeat: &repeat{kind: spaced, span: unitHour.times(1)}}, i + 1
	case "weekly":
		return piece{repeat: &repeat{kind: weekly}}, i + 1
	case "monthly":
		return piece{repeat: &repeat{kind: monthly}}, i + 1
	case "yearly", "annually":
		return piece{repeat: &repeat{kind: yearly}}, i + 1
	case "nightly":
		return piece{repeat: &repeat{kind: daily}, part: evening}, i + 1
	}
	every := ts.any(i, "every", "each")
	j := max(i, every)
	if ts.is(j, "weekdays", "workdays") || every > 0 && ts.is(j, "weekday", "workday") {
		return piece{repeat: &repeat{kind: weekly, week: workdays, work: true}}, j + 1
	}
	if k := ts.any(j, "working day", "business day"); k > 0 && every > 0 {
		return piece{repeat: &repeat{kind: weekly, week: workdays, work: true}}, k
	}
	if ts.is(j, "weekends") || every > 0 && ts.is(j, "weekend") {
		return piece{repeat: &repeat{kind: weekly, week: weekends}}, j + 1
	}
	_, first := englishWeekday(ts, j, true)
	span := first > 0 && ts.is(first, "to", "through", "-", "–") // "mon-fri" repeats without "every"
	week, k := englishWeek(ts, j, every > 0 || span)
	if k == 0 || k == first && every == 0 && span {
		return piece{}, 0
	}
	return weekdays(week), k
}

// weekdays repeats on days of the week.
func weekdays(week uint8) piece {
	return piece{repeat: &repeat{kind: weekly, week: week, work: week == workdays}}
}

// atMinute repeats every hour, at that minute.
func atMinute(n int) piece {
	if n < 0 || n > 59 {
		return piece{err: invalid("no hour has this minute")}
	}
	return piece{repeat: &repeat{kind: fullHour, minute: n}}
}

// englishWeek reads days of the week: "monday, wednesday and friday", "mon-fri".
// Without "every" the first must be a plural.
func englishWeek(ts tokens, i int, every bool) (week uint8, next int) {
	for range maxList {
		w, j := englishWeekday(ts, i, next > 0 || every)
		if j == 0 {
			break
		}
		week |= 1 << w
		next = j
		if k := ts.any(j, "to", "through", "until", "-", "–"); k > 0 {
			if end, l := englishWeekday(ts, k, true); l > 0 {
				for ; w != end; w = (w + 1) % 7 {
					week |= 1 << w
				}
				week |= 1 << end
				next = l
			}
		}
		i = ts.skip(next, ", and", "and", ",", "&", "/", "+")
		i = ts.skip(i, "every", "on")
	}
	return week, next
}

func englishWeekday(ts tokens, i int, singular bool) (time.Weekday, int) {
	text := ts.text(i)
	if w, ok := englishWeekdays[text]; ok && singular {
		return w, i + 1
	}
	if n := len(text); n > 6 && text[n-1] == 's' {
		if w, ok := englishWeekdays[text[:n-1]]; ok {
			return w, i + 1
		}
	}
	return 0, 0
}

// englishEvery reads "every 2 hours", "every other day", "every half hour",
// "every day", "every morning", "every month", "every december 24".
func englishEvery(ts tokens, i int) (piece, int) {
	j := ts.any(i, "once every", "every", "each", "once a", "once an")
	if j == 0 {
		return piece{}, 0
	}
	switch {
	case ts.is(j, "morning"):
		return piece{repeat: &repeat{kind: daily}, part: morning}, j + 1
	case ts.is(j, "noon"):
		return piece{repeat: &repeat{kind: daily}, part: noon}, j + 1
	case ts.is(j, "afternoon"):
		return piece{repeat: &repeat{kind: daily}, part: afternoon}, j + 1
	case ts.is(j, "evening", "night"):
		return piece{repeat: &repeat{kind: daily}, part: evening}, j + 1
	}
	if p, k := englishDate(ts, j); k > 0 && p.day != nil && p.day.date.year == 0 {
		return piece{repeat: &repeat{kind: yearly}, day: p.day}, k
	}
	n, k := 1, j
	if ts.is(j, "other") {
		n, k = 2, j+1
	} else if o, l := ts.ordinal(j); l > 0 {
		n, k = o, l
	}
	if u, l := englishUnit(ts, k); l > 0 && ts.text(k) != "s" && ts.text(k) != "m" {
		if end := ts.lit(l, "and a half"); end > 0 {
			return every(u.times(float64(n) + 0.5)), end
		}
		if n == 1 && u == unitWeek {
			return piece{repeat: &repeat{kind: weekly}}, l
		}
		return every(u.times(float64(n))), l
	}
	if ts.is(j, "second") {
		return every(unitSecond.times(1)), j + 1
	}
	s, l := englishLength(ts, j)
	if l == 0 {
		return piece{}, 0
	}
	return every(s), l
}

// every repeats by a span; one day, month or year is of the calendar. "Every
// week" is too, "every 7 days" is not.
func every(s span) piece {
	r := repeat{kind: spaced, span: s}
	switch s {
	case unitDay.times(1):
		r.kind = daily
	case unitMonth.times(1):
		r.kind = monthly
	case unitYear.times(1):
		r.kind = yearly
	}
	return piece{repeat: &r}
}

// englishMonthly reads "on the 1st of every month", "every 1st of the month",
// "the 1st and 15th of each month", "on the last day of every month", "on the
// 31st of every month that has one".
func englishMonthly(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "at the", "on the", "at", "on", "the")
	each := ts.any(i, "every", "each")
	i = max(i, each)
	var numbers []int
	j := i
	if k := ts.any(i, "last day of", "end of"); k > 0 {
		numbers, j = []int{lastDay}, k
	} else {
		numbers, j = ts.ordinals(i)
		if j = ts.any(j, "of", "day of"); j == 0 || len(numbers) == 0 {
			return piece{}, 0
		}
	}
	k := ts.any(j, "every month", "each month")
	if k == 0 && each > 0 {
		k = ts.any(j, "the month", "month")
	}
	if k == 0 {
		return piece{}, 0
	}
	r := repeat{kind: monthly, numbers: numbers}
	if l := ts.any(k, "that has one", "that has it"); l > 0 {
		r.sure, k = true, l
	}
	return piece{repeat: &r}, k
}

// ordinals reads "1st", "1st, 10th and the 20th".
func (ts tokens) ordinals(i int) (all []int, next int) {
	for range maxList {
		n, j := ts.ordinal(i)
		if j == 0 {
			break
		}
		all, next = append(all, n), j
		i = ts.skip(j, ", and", "and", ",", "&")
		i = ts.skip(i, "on the", "the")
	}
	return all, next
}
