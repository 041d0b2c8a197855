package when

import (
	"errors"
	"testing"
)

// Words that belong to a time and are no piece of it are asked about, wherever
// they stand.
func TestLeftOverWordsOfATimeAreAskedAbout(t *testing.T) {
	now, zone := testNow(t)
	for _, text := range []string{
		// dates and numbers in digits

		"remind me 24 20:00 to sing", "remind me in 1 hour 30 to x", "remind me in one hour thirty to x",
		"1小时30提醒我", "一小时三十后提醒我", "remind me tomorrow 9-11 meeting",
		// not a day, but another

		"not tomorrow but on friday at 5pm", "remind me on friday, not tomorrow, at 5pm to x", "不是明天，是周五下午5点提醒我", "remind me at 5pm, not monday",
		// for how long

		"remind me tomorrow at 9am for 3 days",
		// how often
		"每周三次提醒我跑步", "三次提醒我明天9:00",
		"remind me three times a day at 9am", "twice tomorrow remind me",
		// rare ways to repeat
		"every third friday at 9am",

		"remind me the second friday at 9am",
		// other times that are meant by this one
		"remind me the day before my exam at 9am",
	} {
		sameInTraditional(t, text)
		p, err := Find(text, now, zone)
		if asked, ok := errors.AsType[*Ambiguous](err); !ok || len(asked.Choices) > 0 || asked.Question.Chinese == "" {
			t.Errorf("%q is %s %q, want a question", text, short(p, err), p.Rest)
		}
	}
}

// The same words in what one is reminded of are no reason to ask.
func TestWordsOfTheThingAreNotAskedAbout(t *testing.T) {
	now, zone := testNow(t)
	for _, row := range [][3]string{
		{"remind me in 1 hour 30 people arrive", "2026-11-23 11:30", "30 people arrive"},
		{"remind me at 9am 2 eggs to buy", "? 2026-11-24 09:00", ""},
		{"every day at 09:00 two", "cron 0 9 * * *", "two"},
		{"remind me in one hour one thing", "2026-11-23 11:30", "one thing"},
		{"remind me at 3pm 9-11 memorial", "2026-11-23 15:00", "9-11 memorial"},
		{"1. tomorrow at 9am call mum", "2026-11-24 09:00", "1. call mum"},
		{"明天下午三点 5个人开会提醒我", "2026-11-24 15:00", "5个人开会"},
		{"下午三点开始开会提醒我", "2026-11-23 15:00", "开会"},
		{"明天起床后提醒我喝水", "2026-11-24 09:00", "起床后喝水"},
		{"每天8:00提醒我从公司走", "cron 0 8 * * *", "从公司走"},
		{"remind me to not forget tomorrow at 9am", "2026-11-24 09:00", "not forget"},
		{"remind me every day at 9am to be nothing but kind", "cron 0 9 * * *", "be nothing but kind"},
		{"remind me tomorrow to book a hotel for 3 days", "2026-11-24 09:00", "book a hotel for 3 days"},
		{"remind me every day at 9am to run for 30 minutes", "cron 0 9 * * *", "run for 30 minutes"},
		{"每天早上8点提醒我看未来三天的天气", "cron 0 8 * * *", "看未来三天的天气"},
		{"明天提醒我准备未来三天的行程", "2026-11-24 09:00", "准备未来三天的行程"},
		{"每天早上9点提醒我吃三次药", "cron 0 9 * * *", "吃三次药"},
		{"remind me to call 3 times tomorrow at 9am", "? ", ""},
		{"每两天一次提醒我浇花", "every 48h0m0s", "浇花"},
		{"每天一次提醒我浇花", "cron 0 9 * * *", "浇花"},
		{"remind me tomorrow to send the biweekly report", "2026-11-24 09:00", "send the biweekly report"},
		{"remind me tomorrow to call every customer", "2026-11-24 09:00", "call every customer"},
		{"明天前往北京提醒我", "2026-11-24 09:00", "前往北京"},
	} {
		sameInTraditional(t, row[0])
		p, err := Find(row[0], now, zone)
		if got := short(p, err); got != row[1] || p.Rest != row[2] {
			t.Errorf("Find(%q)\n got %s %q\nwant %s %q", row[0], got, p.Rest, row[1], row[2])
		}
	}
}

// A day may be said twice with "is" between; when the two differ, it is asked
// which one is meant, at the hour that was said.
func TestADayThatIsAnother(t *testing.T) {
	now, zone := testNow(t)
	for _, row := range []struct {
		days       int
		text, want string
	}{
		{3, "明天是周五，下午三点提醒我", "2026-11-27 15:00"},
		{3, "tomorrow is friday, remind me at 3pm", "2026-11-27 15:00"},
		{0, "明天是周五，下午三点提醒我", "? 2026-11-24 15:00 | 2026-11-27 15:00"},
	} {
		if got := short(Find(row.text, now.AddDate(0, 0, row.days), zone)); got != row.want {
			t.Errorf("%q after %d days is %s, want %s", row.text, row.days, got, row.want)
		}
	}
}

// An hour above 12 fixes how the others of its list are read; without one, each
// reading of the whole list is offered once.
func TestListsOfHours(t *testing.T) {
	phrases(t, [][2]string{
		{"每天9点和21点", "cron 0 9,21 * * *"},
		{"每天9、13、21点", "cron 0 9,13,21 * * *"},
		{"every day at 9 and 21", "cron 0 9,21 * * *"},
		{"every day at 9, 13 and 21", "cron 0 9,13,21 * * *"},
		{"every day at 3:30 and 15:30", "cron 30 3,15 * * *"},
		{"每天9点和11点", "cron 0 9,11 * * *"},
		{"every day at 9 and 10", "? cron 0 9,10 * * * | cron 0 9,22 * * * | cron 0 21,22 * * *"},
		{"every day at 9 and 10 and 21:30", "rule FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0 FREQ=DAILY;BYHOUR=21;BYMINUTE=30"},
		{"every day at 9am and 9am", "cron 0 9 * * *"},
		{"明天9点和21点", "2026-11-24 09:00 and 2026-11-24 21:00"},
		{"tomorrow at 9am and 9am", "2026-11-24 09:00"},
	})
	now, zone := testNow(t)
	for _, row := range [][3]string{
		{"每天9点和21点提醒我吃药", "cron 0 9,21 * * *", "吃药"},
		{"每天9和21点提醒我吃药", "cron 0 9,21 * * *", "吃药"},
		{"every day at 9 and 21 to take pills", "cron 0 9,21 * * *", "take pills"},
		{"every day at 9, 13 and 21 to take pills", "cron 0 9,13,21 * * *", "take pills"},
	} {
		sameInTraditional(t, row[0])
		p, err := Find(row[0], now, zone)
		if got := short(p, err); got != row[1] || p.Rest != row[2] {
			t.Errorf("Find(%q)\n got %s %q\nwant %s %q", row[0], got, p.Rest, row[1], row[2])
		}
	}
}

// By then: before it, or then.
func TestByThen(t *testing.T) {
	now, zone := testNow(t)
	for _, row := range [][3]string{
		{"周五之前提醒我交报告", "? 2026-11-26 09:00 | 2026-11-27 09:00", ""},
		{"月底前提醒我报销", "? 2026-11-29 09:00 | 2026-11-30 09:00", ""},
		{"提醒我12月20号前续保", "? 2026-12-19 09:00 | 2026-12-20 09:00", ""},
		{"下午五点之前提醒我回电话", "? 2026-11-23 16:00 | 2026-11-23 17:00", ""},
		{"明天中午之前提醒我下单", "? 2026-11-24 11:00 | 2026-11-24 12:00", ""},
		{"remind me before friday to x", "? 2026-11-26 09:00 | 2026-11-27 09:00", ""},
		{"remind me to submit it before the 5th of december", "? 2026-12-04 09:00 | 2026-12-05 09:00", ""},
		{"周五前台值班提醒我", "2026-11-27 09:00", "前台值班"},
		{"周五前两天提醒我收拾行李", "2026-11-25 09:00", "收拾行李"},
		{"周五下班前提醒我关灯", "2026-11-27 18:00", "关灯"},
	} {
		p, err := Find(row[0], now, zone)
		if got := short(p, err); got != row[1] || p.Rest != row[2] {
			t.Errorf("%q is %s %q, want %s %q", row[0], got, p.Rest, row[1], row[2])
		}
	}
}
