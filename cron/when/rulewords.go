package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// cronWords says the common expressions in words, and others as they are.
func cronWords(expr string) Text {
	c, err := ParseCron(expr)
	if err == nil {
		expr = c.String()
		switch parts := c.Parts(); {
		case expr == "0 * * * *":
			return Text{"every full hour", "每小时整点"}
		case len(parts) == 1 && common(parts[0]):
			return partsWords(parts)
		}
	}
	return Text{"cron " + expr, "cron " + expr}
}

// common says whether words tell all that a part of an expression does.
func common(p calendar.Part) bool {
	days := p.Bymonthday
	switch {
	case p.Freq > calendar.Daily || len(p.Byhour) > maxListed || len(p.Byminute) > 1 || len(p.Bysecond) > 1 || len(p.Byweekday) == 7:
		return false
	case len(p.Bymonth) > 0:
		return len(p.Bymonth) == 1 && len(days) == 1 && days[0] > 0
	case len(days) > 1:
		return len(days) <= 4 && slices.Min(days) > 0 && slices.Max(days) <= 28
	}
	return true
}

// ruleWords says a rule: "every 2 weeks on Friday at 17:00, until Fri
// 2026-12-11", 每2周周五 17:00，到2026年12月11日.
func ruleWords(text string) Text {
	r, err := calendar.ParseRule(text)
	if err != nil || len(r.Parts) == 0 {
		return Text{text, text}
	}
	first := r.Parts[0]
	words := partsWords(r.Parts)
	if len(r.ExceptDays) > 0 {
		words = Text{"%s, except on %s", "%s，除了%s"}.with(words, listOf(r.ExceptDays, func(d calendar.Date) Text { return Text{d.String(), d.String()} }))
	}
	switch {
	case first.Count > 0:
		words = Text{"%s, %s", "%s，共%s"}.with(words, counted(first.Count, Text{"time", "次"}))
	case first.Until.Format(time.TimeOnly) == "23:59:59" && calendar.On(first.Until) != calendar.On(r.Start): // all of the day
		words = Text{"%s, until %s", "%s，到%s为止"}.with(words, dateWords(first.Until))
	case !first.Until.IsZero():
		words = Text{"%s, until %s", "%s，到%s"}.with(words, moment(first.Until, time.UTC))
	}
	if first.Interval > 1 || r.Start.Equal(r.Start.Truncate(24*time.Hour)) { // it is in UTC
		words = Text{"%s, from %s", "%s，从%s起"}.with(words, calendar.On(r.Start))
	}
	return words
}

// partsWords says the days and the hours.
func partsWords(parts []calendar.Part) Text {
	days, clock := partDays(parts[0]), clocks(parts)
	if clock.English == "" {
		return days
	}
	return Text{"%s at %s", "%s %s"}.with(days, clock)
}

// maxListed is how many hours are listed.
const maxListed = 6

// clocks says the hours of all parts; a long row of even steps by its ends.
func clocks(parts []calendar.Part) Text {
	var all []time.Time
	for _, p := range parts {
		for _, h := range p.Byhour {
			for _, m := range p.Byminute {
				second := 0
				if len(p.Bysecond) > 0 {
					second = p.Bysecond[0]
				}
				all = append(all, time.Date(1, 1, 1, h, m, second, 0, time.UTC))
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	clock := func(t time.Time) Text { return Text{clockWords(t), clockWords(t)} }
	if last := len(all) - 1; last >= maxListed {
		step := all[1].Sub(all[0])
		even := true
		for i := range last {
			even = even && all[i+1].Sub(all[i]) == step
		}
		if even {
			return Text{"%s to %s, every %s", "%s到%s，每%s"}.with(clock(all[0]), clock(all[last]), lengthWords(step))
		}
	}
	return listOf(all, clock)
}

// partDays says on which days a part comes, or how often.
func partDays(p calendar.Part) Text {
	switch {
	case p.Holiday != "" && p.Shift < 0:
		return Text{"every year %[2]s before %[1]s", "每年%s前%s"}.with(Text{strings.ReplaceAll(p.Holiday, "-", " "), holidayName(p.Holiday)}, counted(-p.Shift, unitWords[calendar.Daily]))
	case p.Holiday != "":
		return Text{"every year on %s", "每年%s"}.with(Text{strings.ReplaceAll(p.Holiday, "-", " "), holidayName(p.Holiday)})
	case p.Lunar && p.Freq == calendar.Yearly && len(p.Bymonth) == 1:
		month := Text{fmt.Sprint(p.Bymonth[0]), chineseNumeral(p.Bymonth[0])}
		return Text{"every year on day %s of lunar month %s", "每年农历%[2]s月%[1]s"}.with(lunarDayWords(firstOf(p.Bymonthday)), month)
	case p.Lunar:
		return Text{"on day %s of every lunar month", "每月农历%s"}.with(listOf(p.Bymonthday, lunarDayWords))
	case p.Days == calendar.WorkDays && p.Freq == calendar.Monthly:
		return Text{"on the %s working day of every month", "每月%s个工作日"}.with(nthWords(firstOf(p.Bysetpos)))
	case p.Days == calendar.WorkDays:
		return Text{"every working day", "每个工作日"}
	case p.Days == calendar.RestDays:
		return Text{"every day off", "每个休息日"}
	}
	unit := unitWords[p.Freq]
	every := Text{"every " + unit.English, "每" + strings.TrimPrefix(unit.Chinese, "个")}
	if p.Interval > 1 {
		every = Text{"every %d %ss", "每%d%s"}.with(p.Interval, unit)
	}
	days, months := listOf(p.Bymonthday, monthDayWords), listOf(p.Bymonth, monthWords)
	week := listOf(p.Byweekday, weekdayWords)
	switch {
	case p.Freq == calendar.Weekly && p.Interval <= 1 && len(p.Byweekday) > 0:
		switch {
		case slices.Equal(p.Byweekday, calendar.Week[1:6]):
			week = Text{"weekday", "周一到周五"}
		case slices.Equal(p.Byweekday, []calendar.Weekday{calendar.Week[6], calendar.Week[0]}):
			week = Text{"weekend", "周末"}
		}
		return Text{"every %s", "每%s"}.with(week)
	case len(p.Byweekday) > 0 && len(p.Bysetpos) == 1:
		return Text{"on the %s %s of %s", "%[3]s%[1]s个%[2]s"}.with(nthWords(p.Bysetpos[0]), anyOf(p.Byweekday), every)
	case len(p.Byweekday) > 0 && len(p.Bymonth) > 0:
		return Text{"every year on the %s of %s", "每年%[2]s%[1]s"}.with(week, months)
	case len(p.Byweekday) > 0 && p.Freq == calendar.Monthly:
		return Text{"on the %s of %s", "%[2]s%[1]s"}.with(week, every)
	case len(p.Byweekday) > 0:
		return Text{"%s on %s", "%s%s"}.with(every, week)
	case len(p.Bymonth) == 1 && len(p.Bymonthday) == 1 && p.Bymonthday[0] > 0 && p.Freq == calendar.Yearly:
		return Text{"%s on %s %d", "%s%s%d日"}.with(every, months, p.Bymonthday[0])
	case len(p.Bymonth) > 0 && len(p.Bymonthday) > 0:
		return Text{"every year on the %s of %s", "每年%[2]s%[1]s"}.with(days, months)
	case len(p.Bymonthday) == 1 && p.Bymonthday[0] > 28 && p.Interval <= 1:
		return Text{"on the %s of every month that has one", "有%[1]s的月份每月%[1]s"}.with(days)
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
		name = "最后一天"
	case n <= 10:
		name = "初" + name
	}
	return Text{fmt.Sprint(n), name}
}

// holidayName is the first name that the Chinese table has for a holiday.
func holidayName(key string) string {
	text, err := tables.ReadFile("grammar/chinese.txt")
	if err != nil {
		return key
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if names, k, ok := strings.Cut(line, " = key "); ok && k == key {
			first, _, _ := strings.Cut(strings.TrimSpace(names), "/")
			return first
		}
	}
	return key
}
