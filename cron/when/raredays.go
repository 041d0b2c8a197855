package when

import (
	"fmt"
	"slices"
	"strings"

	"magpie/cron/calendar"
)

// rareDays are those that only rules of others have: the 100th day of the year, a
// day of its 20th week, friday the 13th, and days of some months.
func rareDays(p calendar.Part) (Text, bool) {
	days, week := p.Bymonthday, listOf(p.Byweekday, weekdayWords)
	counted := func(zh string) func(int) Text {
		return func(n int) Text { return Text{ordinalWord(n), fmt.Sprintf(zh, n)} }
	}
	positive := func(all []int) bool { return len(all) > 0 && slices.Min(all) > 0 }
	named := len(p.Byweekday) > 0 && !slices.ContainsFunc(p.Byweekday, func(d calendar.Weekday) bool { return d.N() != 0 })
	in, every := Text{}, Text{"every day", "每天"}
	switch {
	case p.Interval > 1 || p.Lunar || p.Days != calendar.AllDays || len(p.Bysetpos) > 0 || p.Freq >= calendar.Hourly || p.Holiday != "":
		return in, false
	case positive(p.Byyearday) && len(days)+len(p.Byweekday)+len(p.Byweekno)+len(p.Bymonth) == 0:
		return Text{"on the %s day of every year", "每年%s"}.with(listOf(p.Byyearday, counted("第%d天"))), true
	case positive(p.Byweekno) && named && len(days)+len(p.Byyearday)+len(p.Bymonth) == 0:
		return Text{"on %s of the %s week of every year", "每年%[2]s的%[1]s"}.with(week, listOf(p.Byweekno, counted("第%d周"))), true
	case len(p.Byyearday)+len(p.Byweekno) > 0 || len(days) > 0 && !positive(days) || !named && len(p.Byweekday) > 0 || len(p.Bymonth) == 0 && !(named && len(days) > 0):
		return in, false
	case !named && (len(days) > 0 || p.Freq != calendar.Daily):
		return in, false
	}
	if len(p.Bymonth) > 0 {
		in = Text{" in %s", "每年%s"}.with(listOf(p.Bymonth, monthWords))
	}
	switch {
	case named && len(days) > 0:
		every = Text{"every %s that is the %s", "每个%s（逢%s）"}.with(week, listOf(days, monthDayWords))
		every.English = strings.ReplaceAll(every.English, " and ", " or ")
	case named:
		every = Text{"every %s", "每%s"}.with(week)
	}
	if len(p.Bymonth) > 0 && len(days) == 0 {
		every.English = "every year " + every.English
	}
	return Text{"%[1]s%[2]s", "%[2]s%[1]s"}.with(every, in), true
}
