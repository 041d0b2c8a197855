package desk_test

import "testing"

// TestTalksOfNothing holds conversations of which no message changes anything, or
// only what is asked first. want is what is said; "-": it is not for the desk.
func TestTalksOfNothing(t *testing.T) {
	for _, c := range []conversation{
		// what is denied
		{"en", "", "no need for a reminder at 6pm|no need for a reminder at 6pm tomorrow|no reminder at 6pm please|I don't need a reminder at 6pm|no alarm at 7am tomorrow|no reminders tomorrow morning please", "-"},
		{"en", "", "refrain from reminding me tomorrow at 9am about the dentist|there is no need to remind me at 6pm to eat|I won't need a wake-up call at 7am tomorrow|I don't need you to wake me at 7am tomorrow", "-"},
		{"en", "", "don't ever skip the pills|never ever delete the milk|don't you dare cancel the gym|under no circumstances cancel the pills|not that I want to cancel the gym|I didn't mean cancel the gym|I don't want to cancel the gym", "-"},
		{"zh", "", "没必要提醒我明天九点开会|没必要明天九点提醒我开会|请勿在明天九点提醒我|明天九点不用提醒我|明天上午九点不用提醒我开会|不是让你提醒我明天九点开会|又不是让你明天早上七点叫我|没让你明天早上九点提醒我", "-"},
		{"zh", "", "我不是要取消健身|我不是想取消健身|我不是要把健身改到周五|不要全部取消|健身不改到周五了|我没说要取消健身|吃药千万不能取消|并不是想把健身改到周五", "-"},
		// what has been, and what may be
		{"zh", "", "昨天健身取消了|昨天取消了健身|上周健身取消了|我刚取消了健身|我已经取消了健身|我把健身取消了|我把健身改到周五了|之前健身改到周五过", "-"},
		{"zh", "", "我想过取消健身|我想过把健身改到周五|健身可能改到周五|周会说不定要取消|没准我会取消健身|周会好像改到周二了|我在想要不要取消健身", "-"},
		{"en", "", "maybe I'll cancel the gym|perhaps I will cancel the gym|maybe i should cancel the gym|might cancel the gym|do you think i should cancel the gym|I wonder if I should cancel the gym", "-"},
		{"en", "", "gym might move to 7pm|the gym might move to friday|the team meeting will probably move to tuesday|the gym is probably moving to friday|the gym could be moved to friday", "-"},
		{"zh", "", "健身昨天取消了|健身上周就取消了|健身已经改到周五了|健身被改到周五了|周会被老板取消了|你刚才取消了健身|你把健身改到周五了|先别取消健身|先别改到周五|不用改到周五", "-"},
		{"zh", "", "不是取消健身，是取消周会|健身不是取消，是改到周五", "-"},
		{"en", "", "I'd rather you didn't remind me at 5pm|don't bother reminding me at 5pm|no wake-up call at 7am please|not a reminder at 6pm, just saying", "-"},
		// what others do, and what is told
		{"en", "", "mum says call her at 5pm|mom says wake me at 7am|she wrote: move the gym to friday|my wife wants to cancel the gym|my boss asked me to move the team meeting to tuesday", "-"},
		{"zh", "", "她问能不能把健身改到周五|微信里说明天早上八点提醒我交钱|书上写着：每天早上七点叫我起床|他跟我说把健身改到周五|同事把周会挪到周二了", "-"},
		{"zh", "", "我让我妹妹明天提醒我|我让我妹妹明天九点提醒我吃药|我请前台明天早上六点叫我起床|我跟我妈说了明天早上七点叫我|希望有人明天九点提醒我|闹钟明天早上七点会叫我", "-"},
		{"zh", "", "天气预报提醒明天下雨|天气预报提醒我明天下雨|短信提醒我明天还款|气象台提醒市民明天降温|天气软件提醒明天早上八点降温|学校群里提醒明天早上八点开家长会", "-"},
		{"en", "", "Siri will wake me at 7am tomorrow|Anna will remind me tomorrow at 9am|the hotel calls me at 6am tomorrow|the plumber will call me tomorrow at 3pm|Jenny's gonna remind me tomorrow at 9am|my watch buzzes me at 9am", "-"},
		{"en", "", "alarm clocks at 7am are evil|7am alarms suck|sunset at 4:32pm today|open 9am to 5pm on weekdays|shop hours: 9am to 6pm mon-fri|breaking: parliament votes tomorrow at 3pm|stocks fell at 3pm today|born at 7am on friday", "-"},
		{"en", "", "maybe swim at 7pm tomorrow|perhaps a run at 6pm|home at 7pm tonight|landing at 9:40am tomorrow|not free tomorrow at 3pm|busy tomorrow at 3pm|can't make it tomorrow at 3pm|3pm tomorrow suits me|anyone up for lunch tomorrow at noon|meeting pushed to 4pm tomorrow|alarm is set for 6am tomorrow|no water from 9am to noon tomorrow|no class at 9am tomorrow", "-"},
		{"zh", "", "晚上七点到家|明天下午三点行|明天上午九点加油|明天早上六点又要早起|小说里写他早上七点叫我", "-"},
		{"zh", "", "宝宝睡到七点|再过两天就过年了|那首歌叫《明天七点叫我》|你真行，半夜三点提醒我|呵呵，凌晨三点提醒我喝水，真有你的|提醒我七点吗", "-"},
		{"en", "!mum", "mum called me|mum called|my mum just called me back|my wife called mum", "-"},
		{"zh", "!mum", "妈妈给我打电话了|我妈打电话来了", "-"},
		// what cannot be seen
		{"en", "", "remind me when it rains|if it rains tomorrow remind me to take an umbrella|remind me to go home when the rain stops", "I cannot see when that happens. At what time shall I remind you?"},
		{"zh", "", "下雨的时候提醒我收衣服|水烧开了提醒我|要是明天下雨就提醒我带伞", "这件事什么时候发生，我看不到。几点提醒你？"},
		{"en", "", "let me know when it rains|ping me if the price drops|tell me if the 6pm train is late", "-"},
		// what is asked
		{"zh", "", "提醒我一下明天有什么|提醒我明天有什么|提醒我一下我明天要做什么|提醒一下我明天的安排|提醒下我明天都有啥", "1. 明天07:00：健身"},
		{"en", "", "remind me what I have tomorrow|remind me what i'm doing tomorrow|remind me again what's tomorrow|remind me of my plans for tomorrow|can you remind me what I have tomorrow", "1. tomorrow at 07:00 – gym"},
		{"en", "", "remind me again what the pills are for|remind me what time I have to take my pills", "today at 21:00 – take my pills"},
		{"zh", "", "再提醒我一下吃药是干嘛的|提醒我吃的是什么药", "今天21:00：吃药"},
		{"en", "cancel the gym", "undo what?|what can I undo?|undo which one?", "Really take back the change of this?\n- gym"},
		{"zh", "取消健身", "能撤销什么|撤销什么|撤销啥|要撤销什么", "真的要撤销对这个提醒的更改吗？\n- 健身"},
		{"zh", "", "取消健身行不行|取消健身可以吗|取消健身好不好|能取消健身吗|健身能取消吗|健身能不能取消|取消健身吗|取消健身？|取消健身，可以吗", "真的要删除这个提醒吗？\n- 健身"},
		{"zh", "", "健身改到周五行不行|健身改到周五行吗|健身可以改到周五吗|健身要不要改到周五", "真的要更改这个提醒吗？\n- 后天（周五）07:00：健身"},
		{"en", "", "cancel the gym?|would it be ok to cancel the gym?|cancel the gym, ok?", "Really remove this?\n- gym"},
		{"en", "", "move the gym to friday?", "Really change this?\n- Friday at 07:00 – gym"},
		// verbs of change that find nothing to change
		{"en", "", "clear tomorrow at 9am|clear friday 3pm|drop the 9am tomorrow", "there is no such reminder"},
		{"en", "", "edit the dentist: 3pm tomorrow|update the dentist: tomorrow 3pm|correct the dentist: 4pm tomorrow", "there is no reminder “dentist”"},
		{"en", "", "edit the wake-up: 7am tomorrow|modify the wake-up call to 7am tomorrow", "there is no reminder “wake-up"},
		{"en", "", "set the yoga back to tomorrow 9am", "there is no reminder “yoga”"},
		{"en", "", "replace the alarm with one at 7am tomorrow|replace gym with yoga tomorrow at 9am|change the gym to yoga at noon|extend lunch to 1:30pm|extend the gym to 9am|shorten the meeting to 2pm", "-"},
		{"en", "", "put bank on my calendar|add the bank to my calendar", "When?"},
		{"zh", "", "把看牙加到日历", "什么时候？"},
		{"zh", "", "牙医改约明天晚上七点", "没有“牙医”这个提醒"},
		{"zh", "", "瑜伽取消明天晚上七点", "没有“瑜伽”这个提醒"},
		{"zh", "", "延长午饭到一点半|延长午饭到下午两点|把午饭延长到下午两点|缩短会议到下午三点", "-"},
		// a time that is none, or is over
		{"zh", "", "改到昨天|健身改到昨天|健身改成昨天|健身推迟到昨天|推迟到昨天", "这个时间已经过去了"},
		{"zh", "", "健身改到星期八|健身改到老时间|健身改到老时间|健身改到平时的时间|健身改到饭后|改到老时间|健身改成老时间|健身改到游泳|推迟到饭后", "没有看懂时间"},
		{"zh", "", "健身改到25点|改到25点", "没有 25:00 这个钟点"},
		{"en", "", "move it to yesterday|move the gym to yesterday|change the gym to yesterday|make it yesterday|snooze until yesterday", "this time has passed"},
		{"en", "", "move it to the usual time|change the gym to dinner time|move the gym to after dinner|set the gym to dinner time|snooze until dinner|change it to the usual time", "no time found"},
	} {
		c.check(t)
	}
}

// What looks like one of these, and is a wish.
func TestTalksOfWishes(t *testing.T) {
	for _, c := range []conversation{
		{"en", "move the gym to friday?", "yes", "-gym @ 2026-11-26T07:00 +gym @ 2026-11-27T07:00"},
		{"zh", "取消健身行不行", "是|好的", "-健身 @ 2026-11-26T07:00"},
		{"en", "cancel the gym; undo what?", "yes", "+gym @ 2026-11-26T07:00"},
		{"en", "", "cancel the gym please?|could you cancel the gym?", "-gym @ 2026-11-26T07:00"},
		{"zh", "", "帮我取消健身好吗|把健身取消行吗|你能取消健身吗", "-健身 @ 2026-11-26T07:00"},
		{"en", "remind me when it rains", "at 5pm", "+when it rains @ 2026-11-25T17:00"},
		{"en", "", "don't let me sleep past 6am tomorrow", "+timer: time is up @ 2026-11-26T06:00"},
		{"en", "", "put bank on my calendar tomorrow at 9am|add bank to my calendar tomorrow at 9am", "+bank @ 2026-11-26T09:00"},
		{"en", "", "clear the gutters tomorrow at 9am", "+clear the gutters @ 2026-11-26T09:00"},
		{"en", "", "edit the gym: 8am|set the gym: 8am", "-gym @ 2026-11-26T07:00 +gym @ 2026-11-26T08:00"},
		{"en", "", "change the gym to pilates", "-gym @ 2026-11-26T07:00 +pilates @ 2026-11-26T07:00"},
		{"zh", "", "健身改成游泳", "-健身 @ 2026-11-26T07:00 +游泳 @ 2026-11-26T07:00"},
		{"zh", "", "健身改约明天晚上七点", "-健身 @ 2026-11-26T07:00 +健身 @ 2026-11-26T19:00"},
		{"zh", "把健身改到周五", "不是改到周五，是改到周六", "-健身 @ 2026-11-27T07:00 +健身 @ 2026-11-28T07:00"},
		{"zh", "", "不要改到周五，改到周六", "-买牛奶 @ 2026-11-27T17:00 +买牛奶 @ 2026-11-28T17:00"},
		{"en", "", "alarm 6am tomorrow|alarm 6 a.m. tomorrow|alarm 6 o'clock tomorrow", "+alarm: time is up @ 2026-11-26T06:00"},
		{"en", "", "would you remind me at 7am tomorrow to jog?", "+jog @ 2026-11-26T07:00"},
		{"zh", "定时10分钟", "延长5分钟", "-计时器: 时间到 @ 2026-11-25T10:10 +计时器: 时间到 @ 2026-11-25T10:15"},
	} {
		c.check(t)
	}
}
