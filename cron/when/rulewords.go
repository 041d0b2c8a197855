package when

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/cron/calendar"
)

// cronWords says an expression in words, and one that has none as it is.
func cronWords(expr string) Text {
	if c, err := ParseCron(expr); err == nil {
		if expr = c.String(); expr == "0 * * * *" {
			return Text{"every full hour", "每小时整点"}
		}
		days := len(c.fields[cronDay])+len(c.fields[cronMonth])+len(c.fields[cronWeekday]) > 0
		for i := range 2 { // every minute, every hour
			if f := &c.fields[cronMinute+i]; len(*f) == 0 && (days || i == 0 || len(c.fields[cronMinute]) > 1) {
				*f = every(0, cronBounds[cronMinute+i].last, 1)
			}
		}
		parts := c.Parts()
		if text, ok := partsWords(parts); ok && len(parts) == 1 {
			return text
		}
	}
	return Text{"cron " + expr, "cron " + expr}
}

// ruleWords says a rule: "every 2 weeks on Friday at 17:00, until Friday 11
// December 2026", 每2周周五 17:00，到2026年12月11日.
func ruleWords(text string) Text {
	r, err := calendar.ParseRule(text)
	if err != nil {
		return Text{text, text}
	}
	words, ok := partsWords(r.Parts)
	if !ok {
		var own []string
		for _, p := range r.Parts {
			own = append(own, p.String())
		}
		words = Text{"by the rule %s", "按规则 %s"}.with(strings.Join(own, ", "))
	}
	extra := listOf(r.Extra, dateWords)
	switch {
	case len(r.Parts) == 0:
		return Text{"on %s", "%s"}.with(extra)
	case len(r.Extra) > 0:
		words = Text{"%s and on %s", "%s以及%s"}.with(words, extra)
	}
	if len(r.ExceptDays)+len(r.Except) > 0 {
		words = Text{"%s, except on %s", "%s，除了%s"}.with(words, leftOutWords(r))
	}
	first := r.Parts[0]
	switch {
	case first.Count > 0:
		words = Text{"%s, %s", "%s，共%s"}.with(words, counted(first.Count, Text{"time", "次"}))
	case !first.Until.IsZero():
		words = Text{"%s, until %s", "%s，到%s"}.with(words, dateWords(first.Until))
	}
	since, counts := r.Start, len(first.Byhour) == 0 && (first.Freq < calendar.Hourly || len(first.Byminute) == 0)
	if counts || first.Interval > 1 || since.Equal(since.Truncate(24*time.Hour)) { // it is in UTC
		if !counts {
			since = calendar.On(since).At(23, 59, 59, time.UTC)
		}
		words = Text{"%s, from %s", "%s，从%s起"}.with(words, dateWords(since))
	}
	return words
}

// dateWords say a moment of the wall clock; the last second of a day is the day.
func dateWords(t time.Time) Text {
	clock := clockWords(t)
	day := Text{t.Format("2 January 2006"), t.Format("2006年1月2日")}
	if clock == "23:59:59" {
		return day
	}
	return Text{"%s at %s", "%s %s"}.with(day, clock)
}

// partsWords says the days and the hours; false when words cannot.
func partsWords(parts []calendar.Part) (Text, bool) {
	var all []Text
	for i, p := range parts {
		days, ok := partDays(p)
		if !ok {
			return Text{}, false
		}
		same := func(o calendar.Part) bool { other, _ := partDays(o); return other == days }
		if slices.ContainsFunc(parts[:i], same) {
			continue
		}
		all = append(all, days)
		hours := slices.DeleteFunc(slices.Clone(parts), func(o calendar.Part) bool { return !same(o) })
		if all[len(all)-1], ok = atHours(days, hours); !ok {
			return Text{}, false
		}
	}
	return listOf(all, func(t Text) Text { return t }), true
}

// maxListed is how many hours are listed where even steps can be said by their
// ends, and maxUneven where they cannot.
const (
	maxListed = 6
	maxUneven = 12
)

// atHours is the days with the hours of all parts.
func atHours(days Text, parts []calendar.Part) (Text, bool) {
	var all []time.Time
	for _, p := range parts {
		if len(p.Bysecond) > 1 {
			return days, false
		}
		for _, h := range p.Byhour {
			for _, m := range p.Byminute {
				all = append(all, time.Date(1, 1, 1, h, m, max(0, append(p.Bysecond, 0)[0]), 0, time.UTC))
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	all = slices.CompactFunc(all, time.Time.Equal)
	clock := func(t time.Time) Text { return Text{clockWords(t), clockWords(t)} }
	switch last := len(all) - 1; {
	case last < 0:
		return days, true
	case last >= maxListed:
		step := all[1].Sub(all[0])
		for i := range last {
			if all[i+1].Sub(all[i]) != step || all[i].Second() > 0 {
				if last >= maxUneven {
					return days, false
				}
				return Text{"%s at %s", "%s %s"}.with(days, listOf(all, clock)), true
			}
		}
		row := Text{"%s from %s to %s", "从%[2]s到%[3]s%[1]s"}.with(everyWords(step), clock(all[0]), clock(all[last]))
		if days.English == "every day" {
			return Text{"%s", "每天%s"}.with(row), true
		}
		return Text{"%[2]s, %[1]s", "%[1]s%[2]s"}.with(days, row), true
	}
	return Text{"%s at %s", "%s %s"}.with(days, listOf(all, clock)), true
}

// partDays says on which days a part comes, or how often; false when words
// cannot.
func partDays(p calendar.Part) (Text, bool) {
	if p.Shift != 0 {
		early := p
		early.Shift = 0
		days, ok := partDays(early)
		lead := Text{"%s before ", "前%s"}
		if p.Shift > 0 {
			lead = Text{"%s after ", "后%s"}
		}
		lead = lead.with(counted(max(p.Shift, -p.Shift), unitWords[calendar.Daily]))
		each, day, yearly := strings.Cut(days.English, "every year on ")
		if !yearly || each != "" {
			day = strings.TrimPrefix(days.English, "on ")
		} else {
			lead.English = "every year " + lead.English
		}
		return Text{lead.English + day, days.Chinese + lead.Chinese}, ok
	}
	days, plain := p.Bymonthday, len(p.Byweekday) == 0
	if words, ok := rareDays(p); ok {
		return words, true
	}
	if p.Freq == calendar.Daily && p.Interval <= 1 && len(days) > 0 {
		p.Freq = calendar.Monthly
	}
	switch {
	case p.Holiday != "":
		return Text{"every year on %s", "每年%s"}.with(Text{festival(p.Holiday), cmp.Or(named("chinese.txt", p.Holiday, true), p.Holiday)}), p.Interval <= 1
	case len(p.Byyearday)+len(p.Byweekno) > 0 || len(days) > maxUneven || len(p.Bysetpos) > 1 || plain && len(p.Bysetpos) > 0 && p.Days == calendar.AllDays || !plain && len(days) > 0 || len(days) > 0 && slices.Min(days) < -1 || len(p.Bysetpos) == 1 && p.Bysetpos[0] < -1:
		return Text{}, false
	case p.Freq < calendar.Daily && p.Freq != calendar.Weekly && len(days) == 0 && plain && p.Days == calendar.AllDays, p.Freq >= calendar.Hourly && (len(p.Byhour) > 0 || len(p.Byminute) > 1 || len(p.Bysecond) > 1 || len(p.Byminute) == 1 && (p.Interval > 1 || p.Freq > calendar.Hourly) || len(days)+len(p.Bymonth) > 0):
		return Text{}, false
	case p.Freq >= calendar.Weekly && len(p.Bymonth) > 0 || p.Freq == calendar.Yearly && p.Interval > 1 && len(p.Bymonth) != 1 || p.Freq == calendar.Yearly && !plain && len(p.Bymonth) == 0:
		return Text{}, false
	case p.Lunar && p.Freq == calendar.Yearly && len(p.Bymonth) == 1:
		month := Text{ordinalWord(p.Bymonth[0]), chineseNumeral(p.Bymonth[0])}
		return Text{"every year on the %s of the %s lunar month", "每年农历%[2]s月%[1]s"}.with(lunarDayWords(firstOf(days)), month), p.Interval <= 1
	case p.Lunar:
		return Text{"on the %s of every lunar month", "每月农历%s"}.with(listOf(days, lunarDayWords)), p.Freq == calendar.Monthly && len(p.Bymonth) == 0
	case p.Days == calendar.WorkDays && p.Freq == calendar.Monthly:
		return Text{"on the %s working day of every month", "每月%s个工作日"}.with(nthWords(firstOf(p.Bysetpos))), p.Interval <= 1
	case p.Days == calendar.OpenDays || p.Days == calendar.WorkDays && len(p.Byweekday) > 0 && len(p.Bysetpos) == 0 && (len(p.Byweekday) > 5 || !slices.ContainsFunc(p.Byweekday, func(d calendar.Weekday) bool { return d.Day() > 4 })):
		return openDays(p)
	case p.Days != calendar.AllDays && !plain:
		kind := map[calendar.Days]Text{calendar.WorkDays: {"a working day", "工作日"}, calendar.RestDays: {"a day off", "休息日"}}[p.Days]
		return Text{"every %s that is %s", "每个是%[2]s的%[1]s"}.with(listOf(p.Byweekday, weekdayWords), kind), p.Freq == calendar.Daily && p.Interval <= 1
	case p.Days == calendar.WorkDays:
		return Text{"every working day", "每个工作日"}, p.Freq == calendar.Daily && p.Interval <= 1
	case p.Days == calendar.RestDays:
		return Text{"every day off", "每个休息日"}, p.Freq == calendar.Daily && p.Interval <= 1
	}
	return solarDays(p), true
}

// solarDays are the days of a part without a calendar of its own.
func solarDays(p calendar.Part) Text {
	unit := unitWords[p.Freq]
	every := Text{"every " + unit.English, "每" + strings.TrimPrefix(unit.Chinese, "个")}
	if p.Interval > 1 {
		every = Text{"every %d %ss", "每%d%s"}.with(p.Interval, unit)
	}
	lastly := slices.Clone(p.Bymonthday) // the 15th and the last day
	slices.Sort(lastly)
	for len(lastly) > 0 && lastly[0] < 0 && lastly[len(lastly)-1] > 0 {
		lastly = append(lastly[1:], lastly[0])
	}
	days, months := listOf(lastly, monthDayWords), listOf(p.Bymonth, monthWords)
	quarter := p.Interval <= 1 && (slices.Equal(p.Bymonth, []int{1, 4, 7, 10}) && (len(p.Byweekday) > 0 || slices.Min(p.Bymonthday) > 0) || slices.Equal(p.Bymonth, []int{3, 6, 9, 12}) && slices.Equal(p.Bymonthday, []int{-1}))
	if quarter {
		every, p.Freq, p.Bymonth = Text{"every quarter", "每季度"}, calendar.Monthly, nil
	}
	week := listOf(p.Byweekday, weekdayWords)
	rest := listOf(without(p.Byweekday), weekdayWords)
	switch {
	case p.Freq >= calendar.Hourly && len(p.Byweekday) > 0:
		return Text{"%s except on %s", "除了%[2]s%[1]s"}.with(every, rest)
	case p.Freq == calendar.Hourly && len(p.Byminute) == 1:
		return Text{"%s at minute %d", "%s%d分"}.with(every, p.Byminute[0])
	case p.Freq == calendar.Weekly && p.Interval <= 1 && len(p.Byweekday) == 7:
		return Text{"every day", "每天"}
	case p.Freq == calendar.Weekly && p.Interval <= 1 && len(p.Byweekday) > 0:
		switch {
		case slices.Equal(p.Byweekday, calendar.Week[1:6]):
			week = Text{"weekday", "周一到周五"}
		case slices.Equal(p.Byweekday, []calendar.Weekday{calendar.Week[6], calendar.Week[0]}):
			week = Text{"weekend", "周末"}
		case len(p.Byweekday) > 4:
			return Text{"every day except %s", "除了%s每天"}.with(rest)
		}
		return Text{"every %s", "每%s"}.with(week)
	case len(p.Byweekday) > 0 && len(p.Bysetpos) == 1:
		return Text{"on the %s %s of %s", "%[3]s%[1]s个%[2]s"}.with(nthWords(p.Bysetpos[0]), anyOf(p.Byweekday), every)
	case len(p.Byweekday) > 0 && len(p.Bymonth) > 0:
		return Text{"every year on the %s of %s", "每年%[2]s%[1]s"}.with(week, months)
	case len(p.Byweekday) > 0 && p.Freq == calendar.Monthly && p.Byweekday[0].N() == 0:
		return Text{"every %s", "每%s"}.with(week)
	case len(p.Byweekday) > 0 && p.Freq == calendar.Monthly:
		return Text{"on the %s of %s", "%[2]s%[1]s"}.with(week, every)
	case len(p.Byweekday) > 0:
		return Text{"%s on %s", "%s%s"}.with(every, week)
	case len(p.Bymonth) == 1 && len(p.Bymonthday) == 1 && p.Bymonthday[0] > 0 && p.Freq == calendar.Yearly:
		return Text{"%s on %s %d", "%s%s%d日"}.with(every, months, p.Bymonthday[0])
	case len(p.Bymonth) > 0 && len(p.Bymonthday) > 0:
		return Text{"every year on the %s of %s", "每年%[2]s%[1]s"}.with(days, months)
	case len(p.Bymonthday) > 0 && slices.Max(p.Bymonthday) > 28 && p.Interval <= 1 && !quarter:
		return Text{"on the %s of every month that has one", "有%[1]s的月份每月%[1]s"}.with(days)
	case len(p.Bymonthday) > 0 && slices.Max(p.Bymonthday) > 28 && p.Freq == calendar.Monthly && !quarter:
		return Text{"on the %s of %s that have one", "有%[1]s的月份%[2]s%[1]s"}.with(days, every)
	case len(p.Bymonthday) > 0:
		return Text{"on the %s of %s", "%[2]s%[1]s"}.with(days, every)
	}
	return every
}

func firstOf(all []int) int {
	if len(all) == 0 {
		return 1
	}
	return all[0]
}

func weekdayWords(w calendar.Weekday) Text {
	name := weekdayNames[(w.Day()+1)%7]
	if w.N() == 0 {
		return Text{name.English, "周" + name.Chinese}
	}
	return Text{"%s %s", "%s个周%s"}.with(nthWords(w.N()), name)
}

// anyOf is one of several days of the week.
func anyOf(week []calendar.Weekday) Text {
	switch {
	case slices.Equal(week, calendar.Week[1:6]):
		return Text{"weekday", "工作日（周一到周五）"}
	case len(week) == 2 && slices.Contains(week, calendar.Week[6]) && slices.Contains(week, calendar.Week[0]):
		return Text{"day of the weekend", "周末的日子"}
	}
	return listOf(week, weekdayWords)
}

func nthWords(n int) Text {
	if n < 0 {
		return Text{"last", "最后一"}
	}
	return Text{ordinalWord(n), "第" + chineseNumeral(n)}
}

func monthDayWords(n int) Text {
	if n < 0 {
		return Text{"last day", "最后一天"}
	}
	return Text{ordinalWord(n), fmt.Sprintf("%d号", n)}
}

func ordinalWord(n int) string {
	end := "th"
	if n/10 != 1 && n%10 > 0 && n%10 < 4 {
		end = [...]string{"", "st", "nd", "rd"}[n%10]
	}
	return strconv.Itoa(n) + end
}

func monthWords(n int) Text {
	return Text{time.Month(n).String(), fmt.Sprintf("%d月", n)}
}

func chineseNumeral(n int) string {
	digits := []string{"", "一", "二", "三", "四", "五", "六", "七", "八", "九"}
	switch {
	case n < 10:
		return digits[max(n, 0)]
	case n < 20:
		return "十" + digits[n%10]
	}
	return digits[n/10%10] + "十" + digits[n%10]
}

func lunarDayWords(n int) Text {
	name := chineseNumeral(n)
	switch {
	case n < 0:
		return Text{"last day", "最后一天"}
	case n <= 10:
		name = "初" + name
	}
	return Text{ordinalWord(n), name}
}

// named is the first name that a table has for a key, in Chinese or in English;
// "" when it has none.
func named(file, key string, han bool) string {
	text, err := tables.ReadFile("grammar/" + file)
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		names, k, ok := strings.Cut(line, " = key ")
		if !ok || k != key {
			continue
		}
		for name := range strings.SplitSeq(strings.TrimSpace(names), "/") {
			if first, _ := utf8.DecodeRuneInString(name); unicode.Is(unicode.Han, first) == han {
				return strings.ReplaceAll(name, "_", " ")
			}
		}
	}
	return ""
}

// festival is a holiday as an English sentence has it: the Mid-Autumn Festival.
func festival(key string) string {
	name := []rune(cmp.Or(named("english.txt", key, false), strings.ReplaceAll(key, "-", " ")))
	for i, r := range name {
		if i == 0 || name[i-1] == ' ' || name[i-1] == '-' {
			name[i] = unicode.ToUpper(r)
		}
	}
	for _, end := range []string{"Festival", "Solstice", "Equinox"} {
		if strings.HasSuffix(string(name), end) {
			return "the " + string(name)
		}
	}
	return string(name)
}

// There is what a moment is in another zone, where that shows another time:
// "17:00 in Tokyo", 东京时间17:00.
func There(t time.Time, zone, here *time.Location, lang string) string {
	there, shown := t.In(located(zone)), t.In(located(here))
	if calendar.Wall(there).Equal(calendar.Wall(shown)) {
		return ""
	}
	clock := Text{clockWords(there), clockWords(there)}
	if calendar.On(there) != calendar.On(shown) {
		day := weekdayNames[there.Weekday()]
		clock = Text{day.English + " " + clock.English, "周" + day.Chinese + clock.Chinese}
	}
	name := zone.String()
	if !strings.Contains(name, "/") {
		return Text{"%s %s", "%[2]s时间%[1]s"}.with(clock, name).In(lang)
	}
	place := Text{strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " "), cmp.Or(named("zones.txt", name, true), name)}
	return Text{"%s in %s", "%[2]s时间%[1]s"}.with(clock, place).In(lang)
}
