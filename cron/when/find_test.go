package when

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFindInSentence(t *testing.T) {
	now, zone := testNow(t)
	for _, row := range [][3]string{
		{"in 20 minutes to stretch", "2026-11-23 10:50", "stretch"},
		{"remind me in 20 minutes to stretch", "2026-11-23 10:50", "stretch"},
		{"remind me tomorrow at 3pm to call mum", "2026-11-24 15:00", "call mum"},
		{"remind me to call mum tomorrow at 3pm", "2026-11-24 15:00", "call mum"},
		{"tomorrow at 3pm remind me to call mum", "2026-11-24 15:00", "call mum"},
		{"tomorrow remind me to call mum at 3pm", "2026-11-24 15:00", "call mum"},
		{"at 3pm remind me tomorrow to call mum", "2026-11-24 15:00", "call mum"},
		{"每天早上9点提醒我吃药", "cron 0 9 * * *", "吃药"},
		{"明天下午三点开会提醒我", "2026-11-24 15:00", "开会"},
		{"明天提醒我下午三点开会", "2026-11-24 15:00", "开会"},
		{"明天下午三点的会议提醒我", "2026-11-24 15:00", "会议"},
		{"半小时后提醒我喝水", "2026-11-23 11:00", "喝水"},
		{"next friday 9:30 standup", "2026-12-04 09:30", "standup"},
		{"今晚8点吃饭", "2026-11-23 20:00", "吃饭"},
		{"0 9 * * 1-5 standup", "cron 0 9 * * 1-5", "standup"},
		{"20m stretch", "2026-11-23 10:50", "stretch"},
		{"remind me tomorrow to take the 5pm train to Rome", "2026-11-24 09:00", "take the 5pm train to Rome"},
		{"remind me tomorrow to book a table for friday 7pm", "2026-11-24 09:00", "book a table for friday 7pm"},
		{"每10分钟喝水", "every 10m0s", "喝水"},
		{"wake me up at 7am", "? 2026-11-24 07:00", ""},
		{"明天7点叫我起床", "? 2026-11-24 07:00 | 2026-11-24 19:00", ""},
		{"remind me in 5 minutes", "2026-11-23 10:35", ""},
		{"set a reminder for tomorrow at 5pm to water the plants", "2026-11-24 17:00", "water the plants"},
		{"please remind me to take out the trash every tuesday at 19:30", "cron 30 19 * * 2", "take out the trash"},
		{"can you remind me on friday at 10am about the dentist?", "2026-11-27 10:00", "the dentist"},
		{"remind me to pay the rent on the 1st of every month", "cron 0 9 1 * *", "pay the rent"},
		{"remind me to run 30 minutes tomorrow at 7am", "2026-11-24 07:00", "run 30 minutes"},
		{"remind me that the milk is off tomorrow at 9am.", "2026-11-24 09:00", "the milk is off"},
		{"remind me to buy 2 apples at 5pm and call Bob", "2026-11-23 17:00", "buy 2 apples and call Bob"},
		{"remind me in 2 hours: check the oven", "2026-11-23 12:30", "check the oven"},
		{"remind me to buy a sun hat tomorrow at 10am", "2026-11-24 10:00", "buy a sun hat"},
		{"明天上午十点提醒我给妈妈打电话", "2026-11-24 10:00", "给妈妈打电话"},
		{"提醒我明天上午十点给妈妈打电话", "2026-11-24 10:00", "给妈妈打电话"},
		{"十分钟后提醒我关火", "2026-11-23 10:40", "关火"},
		{"过半小时叫我", "2026-11-23 11:00", ""},
		{"再过一个小时提醒我出门", "2026-11-23 11:30", "出门"},
		{"早上八点半叫我起床", "? 2026-11-24 08:30", ""},
		{"天天晚上9点跑步", "cron 0 21 * * *", "跑步"},
		{"每周五下午5点交周报", "cron 0 17 * * 5", "交周报"},
		{"每个月1号早上9点交房租", "cron 0 9 1 * *", "交房租"},
		{"每隔半小时提醒我起来走走", "every 30m0s", "起来走走"},
		{"请在明天下午3点提醒我开会，谢谢", "2026-11-24 15:00", "开会"},
		{"记得周五下午提醒我交报告", "2026-11-27 15:00", "交报告"},
		{"明天三点半到五点开会提醒我", "2026-11-24 15:30", "开会"},
		{"下午三点的时候提醒我喝水", "2026-11-23 15:00", "喝水"},
		{"明天下午3：30提醒我", "2026-11-24 15:30", ""},
		{"周五提醒我下班前交周报", "2026-11-27 18:00", "交周报"},
		{"tomorrow blah", "2026-11-24 09:00", "blah"},
		{"每天晚上八点到九点", "cron 0 20 * * *", ""},
		{"提醒我明天上午十点", "2026-11-24 10:00", ""},
		{"remind me tomorrow at 3pm that the price is 3.50", "2026-11-24 15:00", "the price is 3.50"},
		{"Could you please remind me in ten minutes to turn off the stove?", "2026-11-23 10:40", "turn off the stove"},
		{"remind me to ask Tom to remind me about X tomorrow at 9am", "2026-11-24 09:00", "ask Tom to remind me about X"},
		{"buy 2 monday tickets tomorrow at 5pm", "2026-11-24 17:00", "buy 2 monday tickets"},
		{"remind me 10m to check the oven", "2026-11-23 10:40", "check the oven"},
		{"tomorrow 14 to call mum", "2026-11-24 14:00", "call mum"},
		{"每周五下午提醒我们组交周报", "cron 0 15 * * 5", "组交周报"},
		{"你能不能明天早上8点提醒我带伞吗？", "2026-11-24 08:00", "带伞"},
		{"remind me yesterday's news tomorrow at 7pm", "2026-11-24 19:00", "yesterday's news"},
		{"三天前说的那件事，明天下午三点提醒我", "2026-11-24 15:00", "三天前说的那件事"},
		{"@daily standup", "cron 0 0 * * *", "standup"},
		{"*/15 9-17 * * 1-5 2 glasses of water", "cron */15 9-17 * * 1-5", "2 glasses of water"},
		{"remind me tomorrow at 8 to call mum", "? 2026-11-24 08:00 | 2026-11-24 20:00", ""},
	} {
		sameInTraditional(t, row[0])
		p, err := Find(row[0], now, zone)
		if got := short(p, err); got != row[1] || p.Rest != row[2] {
			t.Errorf("Find(%q)\n got %s %q\nwant %s %q", row[0], got, p.Rest, row[1], row[2])
		}
		if err == nil && (p.From >= p.To || p.To > len(row[0]) || p.Rest != "" && strings.Contains(p.Rest, row[0][p.From:p.To])) {
			t.Errorf("Find(%q) says the time is at %d:%d", row[0], p.From, p.To)
		}
	}
}

// Words that look like times and are none.
func TestFindNothing(t *testing.T) {
	now, zone := testNow(t)
	for _, text := range []string{
		"", " ", "hello world", "call mum", "at 5%", "sit in the sun", "I may go", "cron jobs are nice", "the second floor",
		"提醒我买三点水饮料", "提醒我去3号楼", "我想早一点睡", "这件事十分重要", "三点名", "有一点贵", "坐2号线", "morning", "at", "???",
		"today's news", "20 minutes before the meeting", "run for 30 minutes", "2 * 3", "and/or", "\xff\xfe", "remind me", "提醒我",
		"UTC", "(Asia/Shanghai)", "1.50", "version 1.2.3", "@someone hello",
	} {
		if p, err := Find(text, now, zone); !errors.Is(err, ErrNone) {
			t.Errorf("Find(%q) = %s %v, want ErrNone", text, short(p, err), err)
		}
		if p, err := Parse(text, now, zone); !errors.Is(err, ErrNone) && !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(%q) = %s %v, want an error", text, short(p, err), err)
		}
	}
}

// Parse wants the whole text to be a time, and says what it did not read.
func TestParseRefusesRest(t *testing.T) {
	now, zone := testNow(t)
	for text, want := range map[string]string{
		"tomorrow at 3pm to call mum":  `"to call mum"`,
		"stretch in 20 minutes":        `"stretch"`,
		"明天下午三点开会":                     `"开会"`,
		"every day at 09:00 and so on": `"and so on"`,
	} {
		_, err := Parse(text, now, zone)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want ErrInvalid with %s", text, err, want)
		}
	}
	if _, err := Parse("tomorrow at 3pm Mars/Phobos", now, zone); !errors.Is(err, ErrBadZone) {
		t.Errorf("zone of Mars: %v", err)
	}
}

// The choices of a question are complete: nothing has to be asked again.
func TestChoicesKeepTheThing(t *testing.T) {
	now, zone := testNow(t)
	_, err := Find("remind me tomorrow at 8 to call mum", now, zone)
	var asked *Ambiguous
	if !errors.As(err, &asked) || len(asked.Choices) != 2 {
		t.Fatalf("%v", err)
	}
	for _, c := range asked.Choices {
		if c.Rest != "call mum" || c.Zone != zone || c.From != 10 || c.To != 23 {
			t.Errorf("choice %+v", c)
		}
	}
	if want := "“at 8”: in the morning or in the evening?"; asked.Question.In("en") != want {
		t.Errorf("asked %q", asked.Question.In("en"))
	}
	if want := "“at 8”是上午还是下午（晚上）？"; asked.Question.In("zh-CN") != want {
		t.Errorf("asked %q", asked.Question.In("zh-CN"))
	}
	want := "ambiguous time: “at 8”: in the morning or in the evening? (1) Tue 2026-11-24 08:00 (Asia/Shanghai) (2) Tue 2026-11-24 20:00 (Asia/Shanghai)"
	if err.Error() != want {
		t.Errorf("error says %q", err)
	}
}

func TestNilZoneIsUTC(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 30, 0, 0, time.UTC)
	p, err := Parse("tomorrow at 3pm", now, nil)
	if err != nil || !p.At.Equal(time.Date(2026, 11, 24, 15, 0, 0, 0, time.UTC)) || p.Zone != time.UTC {
		t.Errorf("%+v %v", p, err)
	}
}
