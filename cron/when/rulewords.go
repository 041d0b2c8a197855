package when

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// ruleWords says a rule: "every 2 weeks on Friday at 17:00, until Fri
// 2026-12-11", 每两周周五 17:00，到2026年12月11日.
func ruleWords(text string, zone *time.Location, lang string) string {
	r, err := calendar.ParseRule(text)
	if err != nil || len(r.Parts) == 0 {
		return text
	}
	first := r.Parts[0]
	words := partDays(first).In(lang)
	if clock := ruleClock(r, lang); clock != "" {
		words += Text{" at ", " "}.In(lang) + clock
	}
	if days := len(r.ExceptDays); days > 0 {
		var all []string
		for _, d := range r.ExceptDays {
			all = append(all, d.String())
		}
		words += Text{", except on ", "，除了"}.In(lang) + list(all, lang)
	}
	switch {
	case first.Count > 0:
		words += Text{", " + counted(first.Count, "time", "次", "en"), fmt.Sprintf("，共%d次", first.Count)}.In(lang)
	case !first.Until.IsZero():
		words += Text{", until ", "，到"}.In(lang) + moment(first.Until, time.UTC, lang)
	}
	if start := calendar.On(r.Start); start != (calendar.Date{}) && first.Interval > 1 {
		words += Text{", from " + start.String(), "，从" + start.String() + "起"}.In(lang)
	}
	return words + zoneWordsOf(zoneLabel(zone, time.Time{}), lang)
}

// ruleClock says the hours of all parts; a row of even steps by its ends.
func ruleClock(r *calendar.Rule, lang string) string {
	var minutes []int
	for _, p := range r.Parts {
		for _, h := range p.ByHour {
			for _, m := range p.ByMinute {
				minutes = append(minutes, h*60+m)
			}
		}
	}
	slices.Sort(minutes)
	clock := func(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }
	if n := len(minutes); n > 3 {
		step := minutes[1] - minutes[0]
		even := true
		for i := 2; i < n; i++ {
			even = even && minutes[i]-minutes[i-1] == step
		}
		if even {
			every := lengthWords(time.Duration(step)*time.Minute, lang)
			return Text{fmt.Sprintf("%s to %s, every %s", clock(minutes[0]), clock(minutes[n-1]), every), fmt.Sprintf("%s到%s，每%s", clock(minutes[0]), clock(minutes[n-1]), every)}.In(lang)
		}
	}
	var all []string
	for _, m := range minutes {
		all = append(all, clock(m))
	}
	return list(all, lang)
}

// partDays says on which days a part comes, or how often.
func partDays(p calendar.Part) Text {
	n := max(p.Interval, 1)
	days := weekWords(p.ByDay)
	switch {
	case p.Holiday != "":
		return Text{"every year on " + strings.ReplaceAll(p.Holiday, "-", " "), "每年" + holidayName(p.Holiday)}
	case p.Lunar && p.Freq == calendar.Yearly && len(p.ByMonth) == 1:
		return Text{fmt.Sprintf("every year on day %d of lunar month %d", firstOf(p.ByMonthDay), p.ByMonth[0]), fmt.Sprintf("每年农历%s月%s", chineseNumeral(p.ByMonth[0]), lunarDayName(firstOf(p.ByMonthDay)))}
	case p.Lunar:
		var english, zh []string
		for _, d := range p.ByMonthDay {
			english, zh = append(english, fmt.Sprint(d)), append(zh, lunarDayName(d))
		}
		return Text{"on day " + list(english, "en") + " of every lunar month", "每月农历" + list(zh, "zh")}
	case p.Days == calendar.WorkDays && p.Freq == calendar.Monthly:
		return Text{"on the " + nthWords(firstOf(p.BySetPos)).English + " working day of every month", "每月" + nthWords(firstOf(p.BySetPos)).Chinese + "个工作日"}
	case p.Days == calendar.WorkDays:
		return Text{"every working day", "每个工作日"}
	case p.Days == calendar.RestDays:
		return Text{"every day off", "每个休息日"}
	}
	unit := map[calendar.Freq]Text{
		calendar.Secondly: {"second", "秒"}, calendar.Minutely: {"minute", "分钟"}, calendar.Hourly: {"hour", "小时"},
		calendar.Daily: {"day", "天"}, calendar.Weekly: {"week", "周"}, calendar.Monthly: {"month", "个月"}, calendar.Yearly: {"year", "年"},
	}[p.Freq]
	every := Text{"every " + unit.English, "每" + unit.Chinese}
	if n > 1 {
		every = Text{fmt.Sprintf("every %d %ss", n, unit.English), fmt.Sprintf("每%d%s", n, unit.Chinese)}
	}
	months := Text{}
	for _, m := range p.ByMonth {
		months = Text{months.English + ", " + time.Month(m).String(), months.Chinese + fmt.Sprintf("、%d月", m)}
	}
	switch {
	case p.Freq == calendar.Weekly && n == 1 && days.English != "":
		return Text{"every " + days.English, "每" + days.Chinese}
	case days.English != "" && p.Freq == calendar.Monthly:
		return Text{"on the " + days.English + " of " + every.English, every.Chinese + days.Chinese}
	case days.English != "":
		return Text{every.English + " on " + days.English, every.Chinese + days.Chinese}
	case len(p.ByMonthDay) > 0:
		day := monthDayWords(p.ByMonthDay)
		if months.English != "" {
			return Text{every.English + " on the " + day.English + " of " + strings.TrimPrefix(months.English, ", "), every.Chinese + strings.TrimPrefix(months.Chinese, "、") + day.Chinese}
		}
		return Text{"on the " + day.English + " of " + every.English, every.Chinese + day.Chinese}
	}
	return every
}

func firstOf(all []int) int {
	if len(all) == 0 {
		return 1
	}
	return all[0]
}

// weekWords says days of the week, in the order of a week that begins on
// Monday.
func weekWords(all []calendar.Weekday) Text {
	var english, zh []string
	for n := range 7 {
		d := time.Weekday((n + 1) % 7)
		for _, w := range all {
			if w.Day != d {
				continue
			}
			name, short := weekdayNames[d].English, "周"+weekdayNames[d].Chinese
			if w.N != 0 {
				nth := nthWords(w.N)
				name, short = nth.English+" "+name, nth.Chinese+"个"+short
			}
			english, zh = append(english, name), append(zh, short)
		}
	}
	return Text{list(english, "en"), list(zh, "zh")}
}

func nthWords(n int) Text {
	if n < 0 {
		return Text{"last", "最后一"}
	}
	return Text{fmt.Sprintf("%d%s", n, ordinalEnd(n)), "第" + chineseNumeral(n)}
}

func monthDayWords(all []int) Text {
	var english, zh []string
	for _, n := range all {
		if n < 0 {
			english, zh = append(english, "last day"), append(zh, "最后一天")
			continue
		}
		english, zh = append(english, fmt.Sprintf("%d%s", n, ordinalEnd(n))), append(zh, fmt.Sprintf("%d号", n))
	}
	return Text{list(english, "en"), list(zh, "zh")}
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

func lunarDayName(n int) string {
	switch {
	case n < 0:
		return "最后一天"
	case n <= 10:
		return "初" + chineseNumeral(n)
	}
	return chineseNumeral(n)
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
