package desk_test

import "testing"

// TestTalksOfTimes holds times as people write them in chat against what becomes
// of them.
func TestTalksOfTimes(t *testing.T) {
	for _, c := range []conversation{
		// several things with nothing between them
		{"zh", "", "五分钟后提醒我关火十分钟后提醒我出门", "+关火 @ 2026-11-25T10:05 +出门 @ 2026-11-25T10:10"},
		{"zh", "", "周一到周五早上七点起床周末早上九点起床|工作日早上七点起床周末早上九点起床", "周末的哪一天？"},
		{"zh", "", "明天早上八点提醒我吃药九点开会十点去银行", "+去银行 @ 2026-11-26T10:00 +吃药 @ 2026-11-26T08:00 +开会 @ 2026-11-26T09:00"},
		{"zh", "", "明天八点提醒我吃药九点开会十点去银行", "明天08:00，明天09:00，明天10:00"},
		{"zh", "明天八点提醒我吃药九点开会十点去银行", "1", "+去银行 @ 2026-11-26T10:00 +吃药 @ 2026-11-26T08:00 +开会 @ 2026-11-26T09:00"},
		{"zh", "", "下午三点提醒我开会四点接孩子", "+开会 @ 2026-11-25T15:00 +接孩子 @ 2026-11-25T16:00"},
		{"zh", "", "明早七点叫我起床八点出门九点开会", "+出门 @ 2026-11-26T08:00 +开会 @ 2026-11-26T09:00 +起床 @ 2026-11-26T07:00"},
		{"zh", "", "明天上午十点提醒我开会两点接孩子", "+开会 @ 2026-11-26T10:00 +接孩子 @ 2026-11-26T14:00"},
		{"zh", "", "提醒我每天早上七点起床八点吃药", "+吃药 @ 2026-11-26T08:00 +起床 @ 2026-11-26T07:00"},
		{"zh", "", "八点半叫我起来九点叫我出门", "+出门 @ 2026-11-25T21:00 +起来 @ 2026-11-25T20:30"},
		{"zh", "", "提醒我明天三点告诉小王四点集合", "+告诉小王四点集合 @ 2026-11-26T15:00"},
		{"zh", "", "今晚八点提醒我看九点半开始的球赛", "+看九点半开始的球赛 @ 2026-11-25T20:00"},
		{"zh", "", "晚上八点提醒我定明早七点闹钟", "+定明早七点闹钟 @ 2026-11-25T20:00"},
		{"zh", "", "周五晚上七点吃饭六点叫我出门", "+出门 @ 2026-11-27T18:00"},
		{"zh", "", "明天上午十点开会上午九点半提醒我", "+开会 @ 2026-11-26T09:30"},
		// before an event, and on its day
		{"zh", "", "周五九点体检，前一天晚上八点提醒我别吃东西", "+别吃东西 @ 2026-11-26T20:00"},
		{"zh", "", "周五九点体检前一天晚上八点提醒我别吃东西", "+别吃东西 @ 2026-11-26T20:00"},
		{"zh", "", "体检前一天晚上八点提醒我别吃东西", "那是哪一天"},
		{"zh", "", "国庆前一晚提醒我收拾行李", "+收拾行李 @ 2027-09-30T20:00"},
		{"zh", "", "周五上午九点的飞机，前一天晚上和提前两小时提醒我", "+飞机 @ 2026-11-26T20:00 +飞机 @ 2026-11-27T07:00"},
		{"en", "", "remind me the night before thanksgiving to brine the turkey", "+brine the turkey @ 2026-11-25T20:00"},
		{"en", "", "remind me at 9pm the night before christmas to wrap presents", "+wrap presents @ 2026-12-24T21:00"},
		{"en", "", "my exam is on Dec 14 at 9am, remind me the night before and again one hour before", "+my exam @ 2026-12-13T20:00 +my exam @ 2026-12-14T08:00"},
		{"en", "", "remind me about the exam on dec 10 a week before and on the day", "+the exam @ 2026-12-03T09:00 +the exam @ 2026-12-10T09:00"},
		{"zh", "", "12月10号妈妈生日，提前一周和当天都提醒我", "+妈妈生日 @ 2026-12-03T09:00 +妈妈生日 @ 2026-12-10T09:00"},
		// a part of the day, and its hour elsewhere
		{"zh", "", "提醒我下午去拿药四点", "+去拿药 @ 2026-11-25T16:00"},
		{"zh", "", "明天下午提醒我去拿药四点", "+去拿药 @ 2026-11-26T16:00"},
		{"zh", "", "明天晚上提醒我跟老师说五点不去了", "+跟老师说五点不去了 @ 2026-11-26T20:00"},
		{"en", "", "remind me in the evening to take pills at 8", "+take pills @ 2026-11-25T20:00"},
		{"en", "", "remind me in the afternoon to buy tickets for the show at 8", "+buy tickets for the show at 8 @ 2026-11-25T15:00"},
		{"zh", "", "八点和下午两点提醒我吃药|今天八点和下午两点提醒我吃药", "明天08:00，今天14:00"},
		// at the latest
		{"en", "", "remind me to send it no later than 5pm|remind me by 5pm at the latest to send it", "+send it @ 2026-11-25T17:00"},
		{"zh", "", "最晚五点提醒我交报告|提醒我最迟下午五点交报告", "+交报告 @ 2026-11-25T17:00"},
		// days and their ranges
		{"en", "", "remind me every school day at 7am to pack lunch", "+pack lunch @ 2026-11-26T07:00"},
		{"en", "", "remind me tuesday through thursday at 6:30am to run", "Every week, or only once?"},
		{"zh", "", "周二到周四早上六点半提醒我跑步", "每周都要，还是只这一次？"},
		{"en", "", "remind me mon-fri at 7am to run|remind me every tuesday through thursday at 7am to run", "+run @ 2026-11-26T07:00"},
		{"en", "", "next tuesday to thursday at 8am remind me to feed the cat|remind me dec 1-5 at 8am to feed the cat|remind me dec 1 to dec 5 at 8am to feed the cat", "+feed the cat @ 2026-12-01T08:00"},
		{"zh", "", "下周二到周四早上八点提醒我喂猫|12月1号到5号早上八点提醒我喂猫|12月1-5号早上八点提醒我喂猫", "+喂猫 @ 2026-12-01T08:00"},
		{"zh", "", "初一早上八点提醒我上香", "+上香 @ 2026-12-09T08:00"},
		{"zh", "", "每月初一提醒我上香", "+上香 @ 2026-12-09T09:00"},
		{"zh", "", "初三家长会明天提醒我", "+初三家长会 @ 2026-11-26T09:00"},
		{"zh", "", "二月二提醒我理发", "2027年2月2日周二 09:00"},
		{"zh", "", "二月二号提醒我理发", "+理发 @ 2027-02-02T09:00"},
		{"zh", "", "每年二月二提醒我理发", "+理发 @ 2027-03-09T09:00"},
		{"zh", "", "每逢双号早上七点提醒我别开车", "没看懂这是什么时间"},
		{"en", "", "remind me tomorrow at 11pm EST to call Bob", "It is another day there now."},
		{"en", "", "remind me tomorrow at 9am tokyo time to call Bob", "+call Bob @ 2026-11-26T08:00"},
		// hours
		{"zh", "", "午饭后提醒我吃药|每天午饭后提醒我吃药|午饭后一点提醒我吃药", "+吃药 @ 2026-11-25T13:00"},
		{"zh", "", "一天三顿饭后提醒我吃药|每天三餐后提醒我吃药|每天饭后提醒我吃药", "分别在几点？"},
		{"zh", "", "后半夜两点提醒我换药", "+换药 @ 2026-11-26T02:00"},
		{"zh", "", "每天早上和晚上提醒我吃药|每天早晚提醒我吃药", "+吃药 @ 2026-11-25T20:00"},
		{"en", "", "remind me sat morn at 9 to call", "+call @ 2026-11-28T09:00"},
		{"en", "", "remind me thurs arvo to call", "+call @ 2026-11-26T15:00"},
		{"en", "", "remind me tomorrow 9-10am to go", "+go @ 2026-11-26T09:00"},
		{"en", "", "remind me at 5 to 10am tomorrow to go", "+go @ 2026-11-26T09:55"},
		{"en", "", "remind me tomorrow same time to check", "+check @ 2026-11-26T10:00"},
		// by how much
		{"en", "remind me tomorrow at 8am to jog", "delay jog by 5|push jog back by 5|delay jog by 5 please", "-jog @ 2026-11-26T08:00 +jog @ 2026-11-26T08:05"},
		{"en", "remind me tomorrow at 8am to jog", "snooze jog by 20|snooze jog 20 minutes|postpone jog by 20", "-jog @ 2026-11-26T08:00 +jog @ 2026-11-26T08:20"},
		{"en", "remind me tomorrow at 8am to jog", "bring jog forward by 10", "-jog @ 2026-11-26T08:00 +jog @ 2026-11-26T07:50"},
		{"en", "remind me tomorrow at 8am to jog", "delay jog by 2", "When shall “jog” come?"},
		{"en", "remind me tomorrow at 7am to jog", "no 7:30|nope 7:30|no, 7:30", "-jog @ 2026-11-26T07:00 +jog @ 2026-11-26T07:30"},
		{"en", "remind me tomorrow at 7am to jog", "no tomorrow", "When shall “jog” come?"},
		{"zh", "明天早上七点提醒我跑步", "不七点半|不不七点半", "明天07:30"},
		// answers
		{"en", "remind me sunday at 8 to swim", "sunday morning|in the morning|morning", "+swim @ 2026-11-29T08:00"},
		{"zh", "周日八点提醒我游泳", "周日早上|早上", "+游泳 @ 2026-11-29T08:00"},
		{"zh", "周日八点提醒我游泳", "早上好|晚上好|早安", "-"},
		{"en", "remind me sunday at 8 to swim", "good morning|good evening", "-"},
		{"en", "remind me today at 8am to jog", "11pm|make it 11pm|no, 11pm", "+jog @ 2026-11-25T23:00"},
		{"en", "remind me today at 8am to jog", "yes|tomorrow", "+jog @ 2026-11-26T08:00"},
		{"en", "remind me today at 8am to jog", "7am", "+jog @ 2026-11-26T07:00"},
		{"zh", "提醒我早上八点跑步", "晚上十一点", "+跑步 @ 2026-11-25T23:00"},
	} {
		if c.before == "" {
			c.before = "hmm"
		}
		c.check(t)
	}
}
