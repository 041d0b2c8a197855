package desk_test

import "testing"

// A day of somebody who answers what rings, and who changes his plans.
func TestDayTalks(t *testing.T) {
	const moved = "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-25T22:00 +take my pills @ 2026-11-26T21:00"
	const movedZh = "-吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-25T22:00 +吃药 @ 2026-11-26T21:00"
	const since, sinceZh = "now every day at 20:00 and on 25 November 2026 at 21:00", "改为每天 20:00以及2026年11月25日 21:00"
	for _, c := range []conversation{
		// an excuse, and when to remind again
		{"en", "!buy milk", "still at work, remind me at 7|later, i'm driving, remind me at 7|forgot my wallet, remind me at 7|sorry, in a meeting, remind me at 7pm|the shop is closed, remind me at 7pm", "+buy milk @ 2026-11-27T19:00"},
		{"en", "!buy milk", "sold out, remind me tomorrow at 10am|store's closed, remind me tomorrow at 10am", "+buy milk @ 2026-11-28T10:00"},
		{"en", "!call mum", "no answer, remind me in 30 min|driving, remind me in 30 minutes|he's busy, remind me in half an hour", "+call mum @ 2026-11-25T18:30"},
		{"en", "!call mum", "voicemail. try again at 8|didn't pick up, try again at 8", "+call mum @ 2026-11-25T20:00"},
		{"en", "!gym", "too tired, remind me tomorrow|my back hurts, remind me tomorrow", "+gym @ 2026-11-27T07:00"},
		{"en", "!buy milk", "buy eggs, remind me at 7", "+buy eggs @ 2026-11-27T19:00"},
		{"en", "!call mum", "in a meeting, remind me at 8 to call Bob", "+call Bob @ 2026-11-25T20:00"},
		{"en", "!gym", "on the way to work call Bob, remind me at 8am", "+on the way to work call Bob @ 2026-11-26T08:00"},
		{"zh", "!吃药", "在开车，二十分钟后提醒我|堵车呢，二十分钟后提醒我", "+吃药 @ 2026-11-25T21:20"},
		{"zh", "!吃药", "在外面，回家再吃，十点提醒我|还没吃饭，十点再提醒我", "+吃药 @ 2026-11-25T22:00"},
		{"zh", "!买牛奶", "超市关门了，明天早上再提醒我|卖完了，明天早上提醒我|忘带钱了，明天早上提醒我|我还没到家，明天早上再叫我", "+买牛奶 @ 2026-11-28T09:00"},
		{"zh", "!买牛奶", "买鸡蛋，明天提醒我", "+买鸡蛋 @ 2026-11-28T09:00"},
		{"zh", "!健身", "晚上七点再去|晚上七点再练吧", "+健身 @ 2026-11-26T19:00"},
		{"zh", "!吃药", "十点再吃|十点再吃吧", "+吃药 @ 2026-11-25T22:00"},
		// from a day on, and only that day
		{"en", "", "starting tomorrow take my pills at 8pm|from tomorrow on pills at 8pm|pills at 8pm starting tomorrow", since},
		{"zh", "", "从明天起晚上八点提醒我吃药|从明天起晚上八点吃药|吃药从明天起晚上八点", sinceZh},
		{"zh", "", "从明天起八点提醒我吃药", "1. 每天 08:00\n2. 每天 20:00"},
		{"en", "", "starting tomorrow take vitamins at 8pm|starting next week vitamins at 20:00", "I did not understand “starting"},
		{"en", "", "only today take pills at 10pm|just for today take my pills at 10pm|take my pills at 10pm only today", moved},
		{"zh", "", "今天只是晚上十点吃药|就今晚十点吃药", movedZh},
		{"en", "move pills to 10pm", "only for tonight|just tonight", "comes then anyway, every day at 22:00"},
		{"zh", "吃药改到晚上十点", "只是今晚", "那时本来就会提醒（每天 22:00）"},
		{"en", "!team meeting", "every monday at 9:30 from now on|from now on every monday at 9:30", "-team meeting @ 2026-12-07T10:00 +team meeting @ 2026-12-07T09:30"},
		{"zh", "!周会", "以后每周一早上九点半", "-周会 @ 2026-12-07T10:00 +周会 @ 2026-12-07T09:30"},
		{"en", "!take my pills", "from now on at 10pm|at 10pm from now on", "-take my pills @ 2026-11-26T21:00 +take my pills @ 2026-11-25T22:00"},
		{"zh", "!周会", "以后早上九点", "-周会 @ 2026-12-07T10:00 +周会 @ 2026-12-07T09:00"},
		{"en", "", "today only, pills at 10pm|pills at 10pm tonight only", moved},
		{"en", "", "from monday to friday vitamins at 8pm", "+vitamins @ 2026-11-25T20:00"},
		{"zh", "", "从明天开始每天早上八点提醒我喝水", "+喝水 @ 2026-11-26T08:00"},
		// later, or earlier
		{"zh", "", "给妈妈打电话晚一点，七点半吧|给妈妈打电话晚点，晚上七点半", "-给妈妈打电话 @ 2026-11-25T18:00 +给妈妈打电话 @ 2026-11-25T19:30"},
		{"zh", "", "今晚吃药晚点，十点吧", movedZh},
		{"zh", "", "健身早点，6点半", "真的要更改这个提醒吗？"},
		{"zh", "", "周五再交", "-"},
		{"zh", "", "周会晚点开，十一点", "-周会 @ 2026-11-30T10:00 +周会 @ 2026-11-30T11:00"},
		{"en", "", "pills a bit later, 10pm", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-25T22:00"},
		{"en", "", "gym later, 8am", "-gym @ 2026-11-26T07:00 +gym @ 2026-11-26T08:00"},
		{"en", "", "im leaving early tomorrow so gym at 6am|i'm leaving early tomorrow so gym at 6am", "-"},
		{"en", "", "call mum back at half 3", "+call mum back @ 2026-11-25T15:30"},
		// two wishes
		{"zh", "", "取消牛奶然后提醒我周六买面包|健身改成跑步，时间改到六点|把健身改成跑步，八点|不去健身了，明天早上七点提醒我跑步", "一次只说一个"},
		{"en", "", "cancel the milk and remind me to buy bread on saturday|cancel milk, then remind me to buy bread on saturday|cancel the gym and remind me to run at 8pm", "one at a time"},
		{"en", "", "i'm not going to the gym, remind me to run at 7am tomorrow instead", "one at a time"},
		{"en", "", "stop reminding me to take my pills, the doctor says I'm fine now", "-take my pills @ 2026-11-25T21:00"},
		{"zh", "", "没健身，明天早上七点提醒我跑步", "+跑步 @ 2026-11-26T07:00"},
		{"zh", "", "不用买牛奶了，提醒我周六买面包|把买牛奶改成买豆浆，周五提醒我", "一次只说一个"},
		{"en", "", "no milk at home, remind me to go shopping at 6pm", "+go shopping @ 2026-11-25T18:00"},
		// from now on
		{"zh", "", "以后晚上八点半提醒我吃药", "-吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-25T20:30"},
		{"zh", "", "房租以后每个月28号提醒我|每月1号的房租改到28号", "改为每月28号 09:00：交房租"},
		{"zh", "", "健身每周四都提醒", "真的要更改这个提醒吗？\n- 每周四 07:00：健身"},
		{"zh", "", "每周一的周会改到周二", "-周会 @ 2026-11-30T10:00 +周会 @ 2026-12-01T10:00"},
		{"zh", "", "每月5号交水费", "+交水费 @ 2026-12-05T09:00"},
	} {
		c.check(t)
	}
}
