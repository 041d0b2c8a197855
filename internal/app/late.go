package app

import (
	"fmt"
	"strings"
	"time"

	"magpie/cron"
)

// lateness says that a delivery is late, and how much, or that it stands for
// several; "" when it is an ordinary one. at is when it was due, as dueAt words
// it.
func lateness(due cron.Fired, at string, now time.Time, lang string) string {
	n := due.Missed + 1
	en, zh := "", ""
	if due.Late {
		late := now.Sub(due.Slot)
		en = "Due " + at + ", " + span(late, "en") + " late"
		zh = "原定" + at + "，晚了" + span(late, "zh")
	}
	switch {
	case due.Late && n > 1:
		en += fmt.Sprintf("; this stands for %d times", n)
		zh += fmt.Sprintf("；这一条代表 %d 次", n)
	case n > 1:
		en, zh = fmt.Sprintf("This stands for %d times", n), fmt.Sprintf("这一条代表 %d 次", n)
	}
	if en == "" {
		return ""
	}
	return pickLang(lang, en+".", zh+"。")
}

// dueAt says when something was due, seen from now, in the zone of slot: "at
// 9:00", "yesterday at 9:00". The zone is named where the clocks of the chat
// show something else.
func dueAt(slot, now time.Time, chat *time.Location, lang string) string {
	now = now.In(slot.Location())
	clock := slot.Format("15:04")
	if slot.Second() != 0 {
		clock = slot.Format("15:04:05")
	}
	if slot.Hour() > 0 {
		clock = strings.TrimPrefix(clock, "0")
	}
	en, zh := "at "+clock, " "+clock
	switch midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, slot.Location()); {
	case !slot.Before(midnight):
	case !slot.Before(midnight.AddDate(0, 0, -1)):
		en, zh = "yesterday at "+clock, "昨天 "+clock
	case slot.Year() != now.Year():
		en, zh = slot.Format("Mon 2 Jan 2006 ")+en, slot.Format("2006年1月2日")+zh
	default:
		en, zh = slot.Format("Mon 2 Jan ")+en, slot.Format("1月2日")+zh
	}
	_, here := slot.Zone()
	if _, there := slot.In(chat).Zone(); here != there {
		name := slot.Location().String()
		en, zh = en+" ("+name+")", zh+"（"+name+"）"
	}
	return pickLang(lang, en, zh)
}

// span is a length of time in the largest units that say enough.
func span(d time.Duration, lang string) string {
	count := func(n int, en, zh string) string {
		if n != 1 {
			en += "s"
		}
		return pickLang(lang, fmt.Sprintf("%d %s", n, en), fmt.Sprintf(" %d %s", n, zh))
	}
	hours, minutes := int(d.Hours()), int(d.Minutes())
	switch {
	case minutes < 1:
		return pickLang(lang, "less than a minute", "不到一分钟")
	case hours < 1:
		return count(minutes, "minute", "分钟")
	case hours < 6 && minutes%60 > 0:
		return count(hours, "hour", "小时") + pickLang(lang, " ", "") + count(minutes%60, "minute", "分钟")
	case hours < 48:
		return count(hours, "hour", "小时")
	}
	return count(hours/24, "day", "天")
}
