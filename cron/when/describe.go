package when

import (
	"fmt"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// Text is said in two languages.
type Text struct{ English, Chinese string }

// In is the text in a language: Chinese for "zh" and what begins so, else
// English.
func (t Text) In(lang string) string {
	if chinese(lang) {
		return t.Chinese
	}
	return t.English
}

// with fills the verbs of both texts; what is a Text itself is said in the
// language of each.
func (t Text) with(all ...any) Text {
	in := func(lang string) string {
		said := make([]any, len(all))
		for i, one := range all {
			if text, ok := one.(Text); ok {
				one = text.In(lang)
			}
			said[i] = one
		}
		return fmt.Sprintf(t.In(lang), said...)
	}
	return Text{in("en"), in("zh")}
}

// listOf lists what a function says of each, with commas and a last "and".
func listOf[T any](all []T, words func(T) Text) Text {
	var english, zh []string
	for _, one := range all {
		text := words(one)
		english, zh = append(english, text.English), append(zh, text.Chinese)
	}
	text := Text{strings.Join(english, ", "), strings.Join(zh, "、")}
	if last := len(english) - 1; last > 0 {
		text.English = strings.Join(english[:last], ", ") + " and " + english[last]
	}
	return text
}

func chinese(lang string) bool { return strings.HasPrefix(strings.ToLower(lang), "zh") }

// Describe repeats what was understood, with the next time and the zone:
// "every weekday at 09:00 (Asia/Shanghai); next: Mon 2026-11-23 09:00". A
// language that begins with "zh" is Chinese, every other English. Parse reads
// the text again as the same time, while it lies ahead.
func Describe(p Phrase, now time.Time, lang string) string {
	text := Words(p, lang)
	next, ok := p.Next(now)
	if !ok || !p.At.IsZero() {
		return text
	}
	text += Text{"; next: ", "；下次："}.In(lang) + moment(next, p.Zone).In(lang)
	if p.Every > 0 { // which names no zone
		text += zoneLabel(p.Zone, next).In(lang)
	}
	return text
}

// Words is the phrase without the next time: "every 10 minutes", "每周一
// 09:00（Asia/Shanghai）", "Sun 2026-11-22 15:00 (Asia/Shanghai)".
func Words(p Phrase, lang string) string {
	switch {
	case p.Every > 0:
		return everyWords(p.Every).In(lang)
	case p.Cron != "":
		return cronWords(p.Cron).In(lang) + zoneLabel(p.Zone, time.Time{}).In(lang)
	case p.Rule != "":
		return ruleWords(p.Rule).In(lang) + zoneLabel(p.Zone, time.Time{}).In(lang)
	case p.At.IsZero():
		return ""
	}
	return Moment(p.At.In(located(p.Zone)), lang)
}

// Moment writes a moment in its own zone, with the weekday and the zone: "Sun
// 2026-11-22 15:00 (Asia/Shanghai)", "2026-11-22 周日 15:00（Asia/Shanghai）".
func Moment(t time.Time, lang string) string {
	return moment(t, t.Location()).In(lang) + zoneLabel(t.Location(), t).In(lang)
}

// moment is without the zone. The second of two equal local times is told by
// its offset.
func moment(t time.Time, zone *time.Location) Text {
	zone = located(zone)
	t = t.In(zone)
	if first := calendar.On(t).At(t.Hour(), t.Minute(), t.Second(), zone); first.Before(t.Truncate(time.Second)) {
		exact := t.Format("2006-01-02T15:04:05-07:00")
		return Text{t.Format("Mon ") + exact, exact}
	}
	date := Text{t.Format("Mon 2006-01-02"), t.Format("2006-01-02 周") + weekdayNames[t.Weekday()].Chinese}
	return Text{"%s %s", "%s %s"}.with(date, clockWords(t))
}

func clockWords(t time.Time) string { return strings.TrimSuffix(t.Format("15:04:05"), ":00") }

func located(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

// zoneLabel is the zone's name; of one without a usable name its offset.
func zoneLabel(zone *time.Location, t time.Time) Text {
	name := located(zone).String()
	if !strings.HasPrefix(name, "UTC") && !strings.Contains(name, "/") {
		if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
			name = "UTC" + t.In(zone).Format("-07:00")
		}
	}
	return Text{" (%s)", "（%s）"}.with(name)
}

// everyWords says a duration; one day is 24 hours, because "every day" is of
// the calendar.
func everyWords(d time.Duration) Text {
	const day = 24 * time.Hour
	if d > day && d%day == 0 {
		return Text{"every %d days", "每%d天"}.with(d / day)
	}
	var all Text
	for i, length := range []time.Duration{time.Hour, time.Minute, time.Second} {
		unit := unitWords[calendar.Hourly+calendar.Frequency(i)]
		switch n := d / length; {
		case d == length && all.English == "":
			if all = (Text{" " + unit.English, "1" + unit.Chinese}); d == length {
				all.Chinese = unit.Chinese
			}
		case n > 0:
			all = Text{"%s %s", "%s%s"}.with(all, counted(int(n), unit))
		}
		d %= length
	}
	return Text{"every%s", "每%s"}.with(all)
}

var unitWords = [...]Text{
	calendar.Secondly: {"second", "秒"}, calendar.Minutely: {"minute", "分钟"}, calendar.Hourly: {"hour", "小时"},
	calendar.Daily: {"day", "天"}, calendar.Weekly: {"week", "周"}, calendar.Monthly: {"month", "个月"}, calendar.Yearly: {"year", "年"},
}

var weekdayNames = [7]Text{
	{"Sunday", "日"}, {"Monday", "一"}, {"Tuesday", "二"}, {"Wednesday", "三"}, {"Thursday", "四"}, {"Friday", "五"}, {"Saturday", "六"},
}

// Soon says a moment as people do: "in 20 minutes (04:18)", "today at 18:00",
// "tomorrow at 09:00", "Friday 27 November at 17:00". The zone is named where it
// is not that of now.
func Soon(t, now time.Time, zone *time.Location, lang string) string {
	here := now.In(located(zone))
	at := t.In(here.Location())
	clock, weekday := clockWords(at), weekdayNames[at.Weekday()]
	day := Text{at.Format("Mon 2 January 2006"), at.Format("2006年1月2日周") + weekday.Chinese + " "}
	ahead, days := t.Sub(now), calendar.On(at).Sub(calendar.On(here))
	switch {
	case ahead >= 0 && ahead < time.Hour:
		return Text{"in %s (%s)", "%s后（%s）"}.with(lengthWords(ahead), clock).In(lang)
	case days == -1:
		day = Text{"yesterday", "昨天"}
	case days == 0:
		day = Text{"today", "今天"}
	case days == 1:
		day = Text{"tomorrow", "明天"}
	case days == 2:
		day = Text{weekday.English, "后天（周" + weekday.Chinese + "）"}
	case days > 0 && days < 7:
		day = Text{at.Format("Monday 2 January"), at.Format("1月2日周") + weekday.Chinese + " "}
	case at.Year() == here.Year():
		day = Text{at.Format("Mon 2 January"), at.Format("1月2日周") + weekday.Chinese + " "}
	}
	return Text{"%s at %s", "%s%s"}.with(day, clock).In(lang)
}

// lengthWords says a length of time, in minutes or, below two, in seconds.
func lengthWords(d time.Duration) Text {
	d = d.Round(time.Second)
	if d < 2*time.Minute && d%time.Minute != 0 {
		return counted(int(d/time.Second), unitWords[calendar.Secondly])
	}
	return counted(int(d.Round(time.Minute)/time.Minute), unitWords[calendar.Minutely])
}

func counted(n int, unit Text) Text {
	if n != 1 {
		unit.English += "s"
	}
	return Text{"%d %s", "%d%s"}.with(n, unit)
}
