package when

import (
	"maps"
	"math/bits"
	"strings"

	"magpie/cron/grammar"
)

// readers read what the tables cannot say.
func readers() map[string]grammar.Reader {
	type text = *grammar.Text
	const english, numerals = grammar.Digits | grammar.Spoken, grammar.Digits | grammar.Numerals
	all := map[string]grammar.Reader{
		"digits":         {Read: digits, At: grammar.Digits},
		"four-digits":    {Read: long(4), At: grammar.Digits},
		"minute-digits":  {Read: within(0, 59, long(2)), At: grammar.Digits},
		"minute-number":  {Read: within(10, 59, digits), At: grammar.Digits},
		"minute-word":    {Read: within(10, 59, spoken), At: grammar.Spoken},
		"military":       {Read: within(0, 2459, long(4)), At: grammar.Digits},
		"hour":           {Read: hour, At: english},
		"hour-word":      {Read: within(0, 12, spoken), At: grammar.Spoken},
		"early-digits":   {Read: earlyDigits, At: grammar.Digits},
		"run-together":   {Read: runTogether, At: grammar.Digits},
		"digital":        {Read: digital, At: grammar.Digits | grammar.Letters},
		"spoken":         {Read: spoken, At: grammar.Spoken},
		"number":         {Read: number, At: english},
		"amount":         {Read: func(t text, i int) (any, int) { return found(t.Amount(i)) }, At: english},
		"minute":         {Read: minute, At: english},
		"ordinal":        {Read: ordinal, At: english},
		"ordinal-digits": {Read: ordinal, At: grammar.Digits},
		"ordinal-word":   {Read: ordinal, At: grammar.Spoken},
		"day-number":     {Read: dayNumber, At: english},
		"listed-date":    {Read: listedDate, At: grammar.Digits},
		"numbers":        {Read: numbers, At: english},
		"months":         {Read: monthList("month", "list-and"), Like: "month"},
		"cn-months":      {Read: monthList("月份", "zh-list"), At: numerals},
		"year":           {Read: year, At: numerals},
		"cn":             {Read: wholeChinese, At: numerals},
		"cn-day":         {Read: within(1, 99, wholeChinese), At: numerals},
		"cn-lunar":       {Read: within(1, 30, wholeChinese), At: numerals},
		"cn-number":      {Read: chineseNumber, At: numerals},
		"cn-hour":        {Read: chineseHour, At: numerals},
		"cn-minute":      {Read: chineseMinute, At: numerals},
		"cn-days":        {Read: chineseDays, At: numerals},
		"zone-area":      {Read: zoneArea, At: grammar.Letters},
		"zone-word":      {Read: zoneWord, At: grammar.Letters},
		"utc-offset":     {Read: utcOffset, At: grammar.Marks},
		"offset":         {Read: offset, At: grammar.Letters | grammar.Marks},
	}
	maps.Copy(all, listReaders())
	return all
}

// listReaders read several things of a kind, and whole times.
func listReaders() map[string]grammar.Reader {
	type text = *grammar.Text
	const english, numerals = grammar.Digits | grammar.Spoken, grammar.Digits | grammar.Numerals
	return map[string]grammar.Reader{
		"terms":            {Read: func(t text, i int) (any, int) { return terms(t, i, "term", ",", "and", "&", ", and") }, Like: "term"},
		"cn-length":        {Read: func(t text, i int) (any, int) { return terms(t, i, "长", "零", "又", "加") }, Like: "长"},
		"shared":           {Read: sharedUnit, At: english | numerals},
		"weekdays":         {Read: weekdayReader("weekday", "list-and", false), Like: "weekday"},
		"plural-weekdays":  {Read: weekdayReader("plural-weekday", "list-and", false), Like: "plural-weekday"},
		"weekday-range":    {Read: weekdayReader("weekday", "list-and", true), Like: "weekday"},
		"weekday-row":      {Read: weekdayRow, Like: "weekday"},
		"short-weekday":    {Read: shortWeekday, Like: "weekday"},
		"周几s":              {Read: weekdayReader("周几", "zh-list", false), Like: "周几"},
		"几到几":              {Read: weekdayReader("周几", "zh-list", true), Like: "周几"},
		"周几-row":           {Read: weekdaysInARow, Like: "周几"},
		"time":             {Read: bound, At: english, Like: "point"},
		"before-timer":     {Read: beforeTimer, At: grammar.Letters | grammar.Spoken},
		"excepted-list":    {Read: exceptedList("excepted", "list-and")},
		"excepted-kinds":   {Read: exceptedList("excepted-kind", "list-and")},
		"zh-excepted-list": {Read: exceptedList("zh-excepted", "zh-list")},
		"run":              {Read: runTime},
		"when":             {Read: wholeTime},
		"我":                {Read: me, Like: "我字"},
		"moment":           {Read: plainTime},
	}
}

// found is a result of a function that returns 0 behind what it did not find.
func found[T any](v T, next int) (any, int) {
	if next == 0 {
		return nil, 0
	}
	return v, next
}

// sharedUnit reads a number of a list of which only the last has the unit: "10, 20
// and 30 minutes", 5、10、15分钟.
func sharedUnit(t *grammar.Text, i int) (any, int) {
	for _, in := range [][3]string{{"amount", "list-and", "unit"}, {"cn-number", "zh-list", "单位"}} {
		n, end := t.Match(in[0], i)
		for j := end; j > 0; {
			if j = t.At(in[1], j); j == 0 {
				break
			}
			if j = t.At(in[0], j); j == 0 {
				break
			}
			if u, k := t.Match(in[2], j); k > 0 {
				s, _ := Spell(n, u)
				return s, end
			}
		}
	}
	return nil, 0
}

// terms reads the terms of a length in a row: "1 hour and 30 minutes",
// 两小时零五分.
func terms(t *grammar.Text, i int, category string, between ...string) (any, int) {
	total, last, end := Span{}, Span{}, 0
	for range grammar.MaxList {
		v, j := t.Match(category, i)
		if j == 0 || end > 0 && v.(Span).long() >= last.unit() { // 10 minutes and 5 minutes
			break
		}
		last = v.(Span)
		total, end = total.plus(last), j
		i = t.Skip(j, between...)
	}
	return found(total, end)
}

// weekdayReader reads days of the week: "monday, wednesday and friday", "mon-fri", 一、
// 三和周五, 一三五. The value is their bits. Of ranges only what has one in it, or
// is written without anything between, is read.
func weekdayReader(category, joiner string, ranges bool) reading {
	return func(t *grammar.Text, i int) (any, int) {
		week, ranged, next := weekdayList(t, i, category, joiner)
		if ranges && !ranged && !(category == "周几" && t.At("周几-row", i) == next) {
			return nil, 0
		}
		return found(week, next)
	}
}

// weekdaysInARow reads days that are written without anything between them: 一三五.
func weekdaysInARow(t *grammar.Text, i int) (any, int) {
	week, _, next := weekdayList(t, i, "周几", "zh-list")
	if n := bits.OnesCount8(week); n < 2 || next != i+n {
		return nil, 0
	}
	return week, next
}

func weekdayList(t *grammar.Text, i int, category, joiner string) (week uint8, span bool, next int) {
	for range grammar.MaxList {
		v, j := t.Match(category, i)
		if j == 0 || category == "周几" && next > 0 && (t.Is(j, "点", "时", "十", ":") || t.At("一早", i) > 0 || t.Num(i) >= 0 && !t.Is(i-1, "周", "期", "拜")) {
			break // 每周一三点 is Monday at three
		}
		day := v.(int)
		week |= 1 << day
		next, span = j, span || next > 0 && t.Is(i-1, "/") // mon/wed/fri
		if k := t.At("range-to", j); k > 0 {
			k = t.After("every", t.After("周", k))
			if v, l := t.Match(category, k); l > 0 {
				for end := v.(int); day != end; {
					day = (day + 1) % 7
					week |= 1 << day
				}
				span, next = true, l
			}
		}
		i = t.After(joiner, next)
		if k := t.At("周", t.Skip(i, "每")); k > 0 {
			i = k
		} else {
			i = t.Skip(i, "every", "each", "on", "every other")
		}
	}
	return week, span, next
}

// weekdayRow reads several days of the week of which some have nothing between
// them: mon wed fri.
func weekdayRow(t *grammar.Text, i int) (any, int) {
	week, next, row := uint8(0), 0, false
	for v, j := t.Match("weekday", i); j > 0; v, j = t.Match("weekday", i) {
		row = row || next > 0 && i <= t.Skip(next, ".")
		week, next = week|1<<v.(int), j
		i = t.After("list-and", t.Skip(j, "."))
	}
	if !row || bits.OnesCount8(week) < 2 {
		return nil, 0
	}
	return week, next
}

// shortWeekday reads "sat" and "sun" where an hour or a date stands beside it:
// not in "sit in the sun".
func shortWeekday(t *grammar.Text, i int) (any, int) {
	v, j := t.Match("weekday", i)
	if j == 0 || len(t.Tokens[i].Text) > 5 {
		return nil, 0
	}
	k := t.Skip(t.Skip(j, "."), ",")
	if t.Num(k) >= 0 || t.At("list-and", j) > 0 && t.At("weekday", t.At("list-and", j)) > 0 || t.At("month", k) > 0 || t.At("weak-part", k) > 0 || t.Is(k, "at", "@", "noon", "and", "n", "&", "to") || t.Is(i-1, "on", "next", "this", "by", "every", "and", "n", "&") || len(t.Tokens) == 1 {
		return v, j
	}
	return nil, 0
}

// bound reads the time that bounds another one: a day, an hour, or both.
func bound(t *grammar.Text, i int) (any, int) {
	g := group{from: i}
	for j := i; len(g.pieces) < 6; {
		if len(g.pieces) > 0 && t.Is(j, "到", "至") {
			break
		}
		v, next := t.Match("point", j)
		if next == 0 && len(g.pieces) > 0 {
			if k := t.At("bound-joiner", j); k > 0 {
				v, next = t.Match("point", k)
			}
		}
		if next == 0 && len(g.pieces) == 0 {
			v, next = t.Match("lone-hour", j)
		}
		p, ok := v.(piece)
		if ok && p.clock != nil && g.has(func(o piece) bool { return o.clock != nil }) {
			break
		}
		if !ok || p.repeat != nil || p.limit != nil || p.shift != nil || p.nag || p.bare || p.asked || p.weak && len(g.pieces) == 0 && p.day == nil {
			break
		}
		p.from, p.to = j, next
		g.pieces, g.to, j = append(g.pieces, p), next, next
	}
	return found(g, g.to)
}

// beforeTimer reads the "a" of "a pizza timer".
func beforeTimer(t *grammar.Text, i int) (any, int) {
	for j := i + 1; j < i+8 && t.Is(i, "a", "an", "my", "the", "another"); j++ {
		if t.At("timer-noun", j) > 0 {
			return true, i + 1
		}
	}
	return nil, 0
}

// runTime reads a time as Find does, and is the place of its tokens.
func runTime(t *grammar.Text, i int) (any, int) {
	s := &sentence{Text: t, order: make([]bool, len(t.Tokens))}
	g, ok := s.run(i)
	if !ok {
		return nil, 0
	}
	return grammar.Part{From: i, To: g.to}, g.to
}

// plainTime is runTime without what bounds or moves another time, and without
// lengths.
func plainTime(t *grammar.Text, i int) (any, int) {
	s := &sentence{Text: t, order: make([]bool, len(t.Tokens))}
	g, _ := s.run(i)
	to, hour := 0, false
	for _, p := range g.pieces {
		apart := hour && p.clock != nil && strings.ContainsAny(t.Cut(to, p.from), ",，") // …, and what another clause says
		if p.limit != nil || p.shift != nil || p.nag || p.asked || p.span != nil && !p.vague || apart {
			break
		}
		if (group{pieces: []piece{p}}).names() == 0 && !p.isZone() {
			continue // from now
		}
		to, hour = p.to, hour || p.clock != nil
	}
	return found(grammar.Part{From: i, To: to}, to)
}

// wholeTime is runTime, or an hour that is only a number.
func wholeTime(t *grammar.Text, i int) (any, int) {
	if v, j := runTime(t, i); j > 0 {
		return v, j
	}
	_, j := bound(t, i)
	return found(grammar.Part{From: i, To: j}, j)
}

// me reads who is to be reminded: not the 我 of 我妈.
func me(t *grammar.Text, i int) (any, int) {
	_, j := t.Match("我字", i)
	if t.At("我家人", i) > j && !(t.Is(i-1, "醒") && t.Is(j, "妈", "爸", "爷", "奶", "哥", "姐", "弟", "妹", "叔", "舅") && t.Tokens.Text(j) == t.Tokens.Text(j+1)) {
		return nil, 0
	}
	return found(true, j)
}
