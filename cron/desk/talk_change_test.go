package desk_test

import "testing"

// What is silently wrong when people change their minds, correct, or mean some of the
// times of what repeats.
func TestChangeTalks(t *testing.T) {
	const vitamins, vitaminsZh = "remind me every day at 9am and 9pm to take vitamins", "每天早上9点和晚上9点提醒我吃维生素"
	const moved = "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-25T22:00"
	for _, c := range []conversation{
		// one day of what repeats
		{"en", "", "pills on friday at 10pm instead of 9|take my pills on friday at 10pm instead of 9pm", "+take my pills @ 2026-11-27T22:00"},
		{"en", "", "move the pills to 10pm instead of 9pm|move the pills to 10pm, not 9pm", moved},
		{"zh", "", "周五吃药晚上十点而不是九点", "+吃药 @ 2026-11-27T22:00"},
		{"zh", "", "周六的吃药改到晚上八点，不是九点", "+吃药 @ 2026-11-28T20:00"},
		{"zh", "", "吃药改到晚上十点，不是九点", "-吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-25T22:00"},
		{"zh", "周四吃药改到8点", "晚上|晚上的|晚上那个", "1. 只改这次，明天20:00\n2. 每周四 20:00"},
		{"zh", "周四吃药改到8点; 晚上的", "1|第一个", "+吃药 @ 2026-11-26T20:00"},
		{"zh", "就周四吃药改到11点", "晚上", "1. 只改这次，明天23:00"},
		{"en", "move thursday's pills to 8", "pm|in the evening", "1. only tomorrow at 20:00\n2. every Thursday at 20:00"},
		{"zh", "从周五起吃药改到八点", "晚上|晚上八点", "says 每天 20:00以及2026年11月25日 21:00"},
		// only once
		{"zh", "", "周会改到下午三点，就一次", "-周会 @ 2026-11-30T10:00 +周会 @ 2026-11-30T15:00 +周会 @ 2026-12-07T10:00"},
		{"en", "", "team meeting at 3pm, just this once", "-team meeting @ 2026-11-30T10:00 +team meeting @ 2026-11-30T15:00 +team meeting @ 2026-12-07T10:00"},
		{"zh", "", "周会就一次", "只提醒一次"},
		{"zh", "!周会", "改到下午三点了|改到下午三点", "+周会 @ 2026-11-30T15:00"},
		{"zh", "吃药改到晚上八点", "就今天", "那时本来就会提醒（每天 20:00）"},
		{"en", "move the pills to 8pm", "only tonight|only tomorrow", "comes then anyway, every day at 20:00"},
		{"en", "", "move the pills to 8pm next week", "Which day of that week?"},
		{"en", "", "move next week's pills to 8pm", "comes 7 times then"},
		{"zh", "", "下周吃药改到晚上八点", "那段时间有7次"},
		// pauses with an end, and what ends them
		{"en", "", "no team meeting until january|pause the team meeting until january", "-team meeting @ 2026-11-30T10:00 +team meeting @ 2027-01-04T10:00"},
		{"zh", "", "一月之前没有周会|周会暂停到一月", "-周会 @ 2026-11-30T10:00 +周会 @ 2027-01-04T10:00"},
		{"en", "", "no team meetings for two weeks|skip the next two team meetings|no team meeting the next two times|the next two meetings are cancelled", "-team meeting @ 2026-11-30T10:00 +team meeting @ 2026-12-14T10:00"},
		{"zh", "", "未来两周不开周会|接下来两次周会不开了|下两次周会不开了|周会停两周|取消接下来的两次周会", "-周会 @ 2026-11-30T10:00 +周会 @ 2026-12-14T10:00"},
		{"zh", "", "接下来三天不用提醒我吃药|吃药停三天|跳过后面三次吃药", "-吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-28T21:00"},
		{"en", "pause the pills until friday", "resume the pills|resume it", "-take my pills @ 2026-11-27T21:00 +take my pills @ 2026-11-25T21:00"},
		{"zh", "吃药暂停到周五", "恢复吃药|恢复", "-吃药 @ 2026-11-27T21:00 +吃药 @ 2026-11-25T21:00"},
		{"en", "", "i am off until friday|i am off until january|the next two weeks are going to be busy", "-"},
		// several days, several hours
		{"zh", "", "今明两天都不用提醒吃药|今明两天不用吃药", "-吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-27T21:00"},
		{"zh", "", "周四周五不用提醒吃药", "跳过明天21:00、后天（周五）21:00"},
		{"zh", "", "周四和周六跳过吃药", "跳过明天21:00、11月28日周六 21:00"},
		{"en", "", "skip pills tomorrow and saturday", "Left out: tomorrow at 21:00; Saturday 28 November at 21:00"},
		{"en", "", "make the pills 9am and 9pm", "every day at 09:00 and 21:00"},
		{"en", "", "set pills to 8am, 1pm and 9pm", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-25T13:00"},
		{"zh", "", "吃药改成早上九点和晚上九点", "每天 09:00、21:00"},
		{"en", vitamins, "only the evening one", "every day at 21:00"},
		{"zh", vitaminsZh, "只要晚上|只要晚上的", "每天 21:00"},
		{"zh", "每天早上9点提醒我吃维生素", "只要早上", "没有别的时间"},
		{"en", vitamins, "no morning on sunday", "-"},
		{"en", vitamins, "on weekends at 10am instead", "every Saturday at 10:00"},
		// days of the week
		{"en", "remind me every day at 8am to stretch", "weekends only|only on weekends|on weekends only", "-stretch @ 2026-11-26T08:00 +stretch @ 2026-11-28T08:00"},
		{"zh", "每天早上8点提醒我拉伸", "只要周末|只在周末", "-拉伸 @ 2026-11-26T08:00 +拉伸 @ 2026-11-28T08:00"},
		{"en", "", "pills weekends only", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-28T21:00"},
		{"zh", "", "吃药只在周末提醒", "-吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-28T21:00"},
		{"en", "", "no pills on weekends|cancel the pills on weekends", "every weekday at 21:00"},
		{"en", "", "stop the pills for today|pause the pills for today", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-26T21:00"},
		{"en", "", "pause the pills from december 5 until december 10", "Left out: Sat 5 December at 21:00; Sun 6 December at 21:00; Mon 7 December at 21:00 and 3 more"},
		{"zh", "", "吃药从12月5号暂停到12月10号", "跳过12月5日周六 21:00、12月6日周日 21:00、12月7日周一 21:00等6次"},
		{"zh", "", "吃药从周五暂停到周日", "跳过后天（周五）21:00、11月28日周六 21:00、11月29日周日 21:00"},
		{"en", "", "make mum weekly until christmas", "until 25 December 2026"},
		// from then on
		{"en", "", "from june move the pills to 8pm", "comes too often until then"},
		{"en", "", "from december move the pills to 8pm", "every day at 20:00 and on 25 November 2026 at 21:00"},
		{"zh", "", "12月起吃药改成晚上八点|12月开始吃药改到晚上八点", "从2026年12月1日起"},
		{"zh", "", "12月起周会改到周二", "每周二 10:00以及2026年11月30日 10:00"},
		{"zh", "", "明年起周会改到下午三点", "没听懂时间"},
		// what there is already
		{"en", "", "team meeting at 11 on tuesdays|team meeting tuesdays at 11", "Really change this?"},
		{"en", "", "pills two times a day, 9am and 9pm|pills twice a day at 9am and 9pm", "Really change this?\n- every day at 09:00 and 21:00 – take my pills"},
		{"zh", "", "吃药一天两次，早上九点和晚上九点", "真的要更改这个提醒吗？"},
		{"en", "", "stretch every day at 9am|vitamins twice a day at 9am and 9pm", "says OK, every day at 09:00"},
		// corrections
		{"en", "move the gym to 8am", "no, 9am|i meant 9am|sorry, 9am|not 8am, 9am", "-gym @ 2026-11-26T08:00 +gym @ 2026-11-26T09:00"},
		{"en", "remind me tomorrow at 3pm to call dad", "no, 5|i meant 5|sorry, 5|actually 5", "-call dad @ 2026-11-26T15:00 +call dad @ 2026-11-26T17:00"},
		{"zh", "明天下午三点提醒我给爸爸打电话", "不，五点|不对是五点|不对，五点|我是说五点|不是三点，是五点|不是三点是五点", "-给爸爸打电话 @ 2026-11-26T15:00 +给爸爸打电话 @ 2026-11-26T17:00"},
		{"zh", "明天下午三点提醒我给爸爸打电话", "不是明天，是后天|是后天不是明天|我说的是后天", "-给爸爸打电话 @ 2026-11-26T15:00 +给爸爸打电话 @ 2026-11-27T15:00"},
		{"en", "remind me every monday at 9am to water the roses", "except christmas", "does not come then"},
		{"zh", "每周一早上9点提醒我浇水", "除了元旦", "那段时间没有提醒"},
	} {
		c.check(t)
	}
}

// Which reminder is meant, and several changes in one message.
func TestWhichChangeTalks(t *testing.T) {
	for _, c := range []conversation{
		{"en", "", "the dentist thing, move it to 5|the dentist, move it to 5pm|that dentist thing, cancel it", "there is no reminder “dentist”"},
		{"zh", "", "牙医那个，改到五点|牙医那个，取消吧", "没有“牙医”这个提醒"},
		{"en", "", "the milk thing, make it 6pm|i'm running late, move it to 6pm|the traffic is bad, move it to 6pm", "-buy milk @ 2026-11-27T17:00 +buy milk @ 2026-11-27T18:00"},
		{"zh", "", "堵车了，改到晚上六点", "-买牛奶 @ 2026-11-27T17:00 +买牛奶 @ 2026-11-27T18:00"},
		{"en", "list; what's on friday", "move the first to 6pm", "-buy milk @ 2026-11-27T17:00 +buy milk @ 2026-11-27T18:00"},
		{"zh", "列表; 周五有什么", "第一个改到六点", "-买牛奶 @ 2026-11-27T17:00 +买牛奶 @ 2026-11-27T18:00"},
		{"en", "", "cancel mum, actually no|cancel mum, never mind|move the gym to friday, or saturday", "-"},
		{"zh", "", "取消健身，算了|取消健身，还是算了吧|健身改到周五，或者周六", "-"},
		{"zh", "", "健身取消算了", "-健身 @ 2026-11-26T07:00"},
		{"en", "", "cancel the one after that", "there is no reminder"},
		// all of a day
		{"en", "", "don't remind me on friday|no reminders on friday", "Really leave out these 2?"},
		{"en", "cancel mum", "don't remind me tonight|no reminders tonight|no alarm tonight", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-26T21:00"},
		{"zh", "", "今晚别提醒了|今晚不用提醒了|周五别提醒了", "真的要跳过这 2 个提醒吗？"},
		{"zh", "取消给妈妈打电话", "今晚别提醒了", "-吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-26T21:00"},
		{"en", "", "don't remind me|don't remind me at 5", "-"},
		{"zh", "", "别提醒了|别提醒我", "-"},
		// all of them shifted, by their names
		{"en", "", "push everything back an hour", "- tomorrow at 08:00 – gym\n- Friday at 18:00 – buy milk\n- Monday 30 November at 11:00 – team meeting"},
		{"zh", "", "全部推迟一小时", "- 明天08:00：健身\n- 后天（周五）18:00：买牛奶"},
		{"zh", "", "今天的全部推迟一小时", "真的要更改全部 2 个提醒吗？\n- 今天19:00：给妈妈打电话\n- 今天22:00：吃药"},
		{"en", "", "move all of today's to tomorrow", "Really change all 2?"},
		// undo of one that is named
		{"en", "move the gym to 8am; move the milk to 6pm", "undo the gym change|undo the change to the gym|undo the gym one", "-gym @ 2026-11-26T08:00 +gym @ 2026-11-26T07:00"},
		{"en", "cancel the milk; move the gym to 8am", "bring back the milk|undo the milk", "+buy milk @ 2026-11-27T17:00"},
		{"zh", "健身改到早上八点; 买牛奶改到晚上六点", "撤销健身的更改|撤销健身那个|健身还是改回去吧", "-健身 @ 2026-11-26T08:00 +健身 @ 2026-11-26T07:00"},
		{"en", "move the gym to 8am", "undo the mum change", "I have changed nothing of “mum”"},
		{"en", "cancel all; yes", "undo the gym", "Really take back the change of all 6?"},
		{"en", "move the gym to 8am", "take back the library books", "-"},
		// two at once, or nothing
		{"en", "", "cancel the gym and move the pills to 10pm|move the pills to 10pm and cancel the gym|cancel the gym, move the pills to 10pm", "-gym @ 2026-11-26T07:00 -take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-25T22:00"},
		{"zh", "", "取消健身，吃药改到晚上十点|取消健身，再把吃药改到晚上十点", "-健身 @ 2026-11-26T07:00 -吃药 @ 2026-11-25T21:00 +吃药 @ 2026-11-25T22:00"},
		{"en", "", "rename milk to oat milk and move it to 6pm|move milk to 6pm and rename it to oat milk", "-buy milk @ 2026-11-27T17:00 +oat milk @ 2026-11-27T18:00"},
		{"en", "", "rename the milk to bread and butter", "-buy milk @ 2026-11-27T17:00 +bread and butter @ 2026-11-27T17:00"},
		{"en", "", "cancel the gym and skip the pills tonight", "-gym @ 2026-11-26T07:00 -take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-26T21:00"},
		{"en", "cancel the gym and move the pills to 10pm", "undo", "-take my pills @ 2026-11-25T22:00 +gym @ 2026-11-26T07:00 +take my pills @ 2026-11-25T21:00"},
		{"en", "", "cancel the gym and pause the milk", "-buy milk @ 2026-11-27T17:00 -gym @ 2026-11-26T07:00 +buy milk paused"},
		{"en", "", "move the gym to 8 and cancel the milk", "nothing is done yet"},
		{"zh", "", "健身改到八点，牛奶改到九点", "还没有做任何更改"},
		{"en", "", "push the gym an hour and the milk two hours", "one at a time"},
		{"en", "list", "cancel 2, move 4 to 6pm", "-"},
		{"zh", "列表", "把2改到晚上十点，4改到晚上六点", "-"},
	} {
		c.check(t)
	}
}
