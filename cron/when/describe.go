package when

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// Describe repeats what was understood, with the next time and the zone:
// "every weekday at 09:00 (Asia/Shanghai); next: Mon 2026-11-23 09:00". A
// language that begins with "zh" is Chinese, every other English. Parse reads
// the text again as the same time, while it lies ahead.
func Describe(p Phrase, now time.Time, lang string) string {
	text := Words(p, lang)
	switch {
	case p.Cron != "":
		c, err := ParseCron(p.Cron)
		if err != nil {
			return text
		}
		next, ok := c.Next(now, p.Zone)
		if !ok {
			return text
		}
		return text + after(lang) + moment(next, p.Zone, lang)
	case p.Rule != "":
		r, err := calendar.ParseRule(p.Rule)
		if err != nil {
			return text
		}
		if next, ok := r.Next(now, located(p.Zone)); ok {
			return text + after(lang) + moment(next, p.Zone, lang)
		}
		return text
	case p.Every > 0:
		return text + after(lang) + Moment(now.Add(p.Every).In(located(p.Zone)), lang)
	}
	return text
}

func after(lang string) string { return Text{"; next: ", "；下次："}.In(lang) }

// Words is the phrase without the next time: "every 10 minutes", "每周一
// 09:00（Asia/Shanghai）", "Sun 2026-11-22 15:00 (Asia/Shanghai)".
func Words(p Phrase, lang string) string {
	zone := located(p.Zone)
	switch {
	case p.Every > 0:
		return everyWords(p.Every, lang)
	case p.Cron != "":
		return cronWords(p.Cron, lang) + zoneWordsOf(zoneLabel(zone, time.Time{}), lang)
	case p.Rule != "":
		return ruleWords(p.Rule, zone, lang)
	case p.At.IsZero():
		return ""
	}
	return Moment(p.At.In(zone), lang)
}

// Moment writes a moment in its own zone, with the weekday and the zone: "Sun
// 2026-11-22 15:00 (Asia/Shanghai)", "2026-11-22 周日 15:00（Asia/Shanghai）".
func Moment(t time.Time, lang string) string {
	return moment(t, t.Location(), lang) + zoneWordsOf(zoneLabel(t.Location(), t), lang)
}

// moment is without the zone. The second of two equal local times is told by
// its offset.
func moment(t time.Time, zone *time.Location, lang string) string {
	zone = located(zone)
	t = t.In(zone)
	clock := t.Format("15:04")
	if t.Second() != 0 {
		clock = t.Format("15:04:05")
	}
	d := calendar.On(t)
	if first := d.At(t.Hour(), t.Minute(), t.Second(), zone); first.Before(t.Truncate(time.Second)) {
		return Text{t.Format("Mon "), ""}.In(lang) + t.Format("2006-01-02T15:04:05-07:00")
	}
	if chinese(lang) {
		return t.Format("2006-01-02 ") + "周" + weekdayNames[t.Weekday()].Chinese + " " + clock
	}
	return t.Format("Mon 2006-01-02 ") + clock
}

func chinese(lang string) bool { return strings.HasPrefix(strings.ToLower(lang), "zh") }

func located(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

// zoneLabel is the zone's name; of one without a usable name its offset.
func zoneLabel(zone *time.Location, t time.Time) string {
	name := zone.String()
	if strings.HasPrefix(name, "UTC") || strings.Contains(name, "/") {
		return name
	}
	if _, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
		return name
	}
	return "UTC" + t.In(zone).Format("-07:00")
}

func zoneWordsOf(name, lang string) string {
	return Text{" (" + name + ")", "（" + name + "）"}.In(lang)
}

// everyWords says a duration; one day is 24 hours, because "every day" is of
// the calendar.
func everyWords(d time.Duration, lang string) string {
	const day = 24 * time.Hour
	if d > day && d%day == 0 {
		return Text{fmt.Sprintf("every %d days", d/day), fmt.Sprintf("每%d天", d/day)}.In(lang)
	}
	parts := []struct {
		n    int
		unit Text
	}{
		{int(d / time.Hour), Text{"hour", "小时"}},
		{int(d / time.Minute % 60), Text{"minute", "分钟"}},
		{int(d / time.Second % 60), Text{"second", "秒"}},
	}
	var english, zh []string
	for _, p := range parts {
		if p.n == 0 {
			continue
		}
		zh = append(zh, fmt.Sprint(p.n)+p.unit.Chinese)
		if p.n == 1 {
			english = append(english, "1 "+p.unit.English)
		} else {
			english = append(english, fmt.Sprintf("%d %ss", p.n, p.unit.English))
		}
	}
	text := strings.TrimPrefix(strings.Join(english, " "), "1 ")
	if len(english) > 1 {
		text = strings.Join(english, " ")
	}
	return Text{"every " + text, "每" + strings.Join(zh, "")}.In(lang)
}

var weekdayNames = [7]Text{
	{"Sunday", "日"}, {"Monday", "一"}, {"Tuesday", "二"}, {"Wednesday", "三"}, {"Thursday", "四"}, {"Friday", "五"}, {"Saturday", "六"},
}

// cronWords says the common expressions in words, and others as they are.
func cronWords(expr, lang string) string {
	c, err := ParseCron(expr)
	if err != nil {
		return "cron " + expr
	}
	if c.String() == "0 * * * *" {
		return Text{"every full hour", "每小时整点"}.In(lang)
	}
	clock, ok := c.clockWords(lang)
	if !ok {
		return "cron " + c.String()
	}
	dayWords, ok := c.dayWords()
	if !ok {
		return "cron " + c.String()
	}
	return Text{dayWords.English + " at " + clock, dayWords.Chinese + " " + clock}.In(lang)
}

// clockWords says up to six hours with one minute.
func (c Cron) clockWords(lang string) (string, bool) {
	hours, minutes, seconds := c.fields[cronHour], c.fields[cronMinute], c.fields[cronSecond]
	if hours.star || bits.OnesCount64(hours.set) > 6 || bits.OnesCount64(minutes.set) != 1 || bits.OnesCount64(seconds.set) != 1 {
		return "", false
	}
	var all []string
	for h := range hours.values() {
		text := fmt.Sprintf("%02d:%02d", h, bits.TrailingZeros64(minutes.set))
		if s := bits.TrailingZeros64(seconds.set); s > 0 {
			text += fmt.Sprintf(":%02d", s)
		}
		all = append(all, text)
	}
	return list(all, lang), true
}

// list joins with commas and a last "and".
func list(all []string, lang string) string {
	if chinese(lang) {
		return strings.Join(all, "、")
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// dayWords says the days; false when only the expression does.
func (c Cron) dayWords() (Text, bool) {
	days, months, week := c.fields[cronDay], c.fields[cronMonth], c.fields[cronWeekday]
	switch {
	case !months.star && week.star && !days.star && !c.last && bits.OnesCount64(months.set) == 1 && bits.OnesCount64(days.set) == 1:
		m, d := bits.TrailingZeros64(months.set), bits.TrailingZeros64(days.set)
		return Text{fmt.Sprintf("every year on %s %d", time.Month(m), d), fmt.Sprintf("每年%d月%d日", m, d)}, true
	case !months.star:
		return Text{}, false
	case days.star && week.star:
		return Text{"every day", "每天"}, true
	case days.star && week.set == workdays:
		return Text{"every weekday", "每周一到周五"}, true
	case days.star && week.set == weekends:
		return Text{"every weekend", "每周末"}, true
	case days.star && week.set != allWeek:
		var english, zh []string
		for n := range 7 {
			if d := (n + 1) % 7; week.has(d) {
				english, zh = append(english, weekdayNames[d].English), append(zh, "周"+weekdayNames[d].Chinese)
			}
		}
		return Text{"every " + list(english, "en"), "每" + list(zh, "zh")}, true
	case c.last && days.set == 0 && week.star:
		return Text{"on the last day of every month", "每月最后一天"}, true
	case !c.last && week.star:
		return c.numberWords()
	}
	return Text{}, false
}

// numberWords says up to four days of the month.
func (c Cron) numberWords() (Text, bool) {
	var english, zh []string
	late := 0
	for n := range c.fields[cronDay].values() {
		english = append(english, fmt.Sprintf("%d%s", n, ordinalEnd(n)))
		zh = append(zh, fmt.Sprintf("%d号", n))
		late = max(late, n)
	}
	switch {
	case len(english) > 4 || len(english) > 1 && late > 28:
		return Text{}, false
	case late > 28:
		return Text{"on the " + english[0] + " of every month that has one", "有" + zh[0] + "的月份每月" + zh[0]}, true
	}
	return Text{"on the " + list(english, "en") + " of every month", "每月" + list(zh, "zh")}, true
}

func ordinalEnd(n int) string {
	switch {
	case n%10 == 1 && n != 11:
		return "st"
	case n%10 == 2 && n != 12:
		return "nd"
	case n%10 == 3 && n != 13:
		return "rd"
	}
	return "th"
}

// Explain says in both languages what an error of Parse or Find means for the
// person.
func Explain(err error) Text {
	switch {
	case errors.Is(err, ErrPast):
		return Text{"That time has passed. Please say a time to come", "这个时间已经过了，请说一个将来的时间"}
	case errors.Is(err, ErrBadZone):
		return Text{"I do not know that time zone. Please write it as Europe/Berlin", "不认识这个时区，请写成 Asia/Shanghai 这样的名称"}
	}
	return Text{"I do not understand that time. Say for example: tomorrow at 3pm", "没听懂时间，可以这样说：明天下午三点"}
}

// Soon says a moment as people do: "in 20 minutes (04:18)", "today at 18:00",
// "tomorrow at 09:00", "Friday 27 November at 17:00". The zone is named where it
// is not that of now.
func Soon(t, now time.Time, zone *time.Location, lang string) string {
	here := now.In(located(zone))
	at := t.In(here.Location())
	clock := at.Format("15:04")
	if at.Second() != 0 {
		clock = at.Format("15:04:05")
	}
	ahead := t.Sub(now)
	switch days := daysBetween(here, at); {
	case ahead >= 0 && ahead < time.Hour:
		return Text{"in " + lengthWords(ahead, "en") + " (" + clock + ")", lengthWords(ahead, "zh") + "后（" + clock + "）"}.In(lang)
	case days == 0:
		return Text{"today at " + clock, "今天" + clock}.In(lang)
	case days == 1:
		return Text{"tomorrow at " + clock, "明天" + clock}.In(lang)
	case days == 2:
		return Text{at.Format("Monday") + " at " + clock, "后天（周" + weekdayNames[at.Weekday()].Chinese + "）" + clock}.In(lang)
	case days == -1:
		return Text{"yesterday at " + clock, "昨天" + clock}.In(lang)
	case days > 0 && days < 7:
		return Text{at.Format("Monday 2 January") + " at " + clock, at.Format("1月2日") + "周" + weekdayNames[at.Weekday()].Chinese + " " + clock}.In(lang)
	case at.Year() == here.Year():
		return Text{at.Format("Mon 2 January") + " at " + clock, at.Format("1月2日") + "周" + weekdayNames[at.Weekday()].Chinese + " " + clock}.In(lang)
	}
	return Text{at.Format("Mon 2 January 2006") + " at " + clock, at.Format("2006年1月2日") + "周" + weekdayNames[at.Weekday()].Chinese + " " + clock}.In(lang)
}

func daysBetween(from, to time.Time) int {
	return int(calendar.On(to).At(12, 0, 0, time.UTC).Sub(calendar.On(from).At(12, 0, 0, time.UTC)) / (24 * time.Hour))
}

// lengthWords says a length of time, in minutes or, below two, in seconds.
func lengthWords(d time.Duration, lang string) string {
	d = d.Round(time.Second)
	if d < 2*time.Minute && d%time.Minute != 0 {
		return counted(int(d/time.Second), "second", "秒", lang)
	}
	return counted(int((d+30*time.Second)/time.Minute), "minute", "分钟", lang)
}

func counted(n int, english, chinese, lang string) string {
	if n != 1 {
		english += "s"
	}
	return Text{fmt.Sprintf("%d %s", n, english), fmt.Sprintf("%d%s", n, chinese)}.In(lang)
}
