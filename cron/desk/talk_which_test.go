package desk_test

import "testing"

// TestWhichTalks holds conversations about which reminder is meant, about open
// questions, and in words that are easily not heard, as TestTalks does.
func TestWhichTalks(t *testing.T) {
	const (
		en2 = "remind me at noon and 6pm to stretch"
		zh2 = "中午和下午六点提醒我伸展"
		dad = "remind me tomorrow at 3pm to call dad; cancel the call"
		爸爸  = "明天下午三点提醒我给爸爸打电话; 取消打电话"
		run = "remind me every day at 8am to run; remind me every day at 8pm to run; cancel the run"
		跑步  = "每天早上八点提醒我跑步; 每天晚上八点提醒我跑步; 取消跑步"
	)
	for _, c := range []conversation{
		// places in the list
		{"en", "list", "cancel all but the first|all but the first one cancel|cancel everything except number 1|keep the first and delete the rest", "Really remove all 5?\n- take my pills"},
		{"en", "list", "remove all but the last one|delete everything but the last", "Really remove all 5?\n- call mum"},
		{"en", "list", "remove the last two|delete the last two reminders|cancel the last 2|get rid of the last two please", "Really remove all 2?\n- team meeting\n- pay rent"},
		{"en", "list", "remove the first two|delete the top two|i dont need the first two anymore", "Really remove all 2?\n- call mum\n- take my pills"},
		{"en", "list", "cancel 2-4|cancel 2 to 4|remove numbers 2 through 4|delete reminders 2 to 4|cancel 2–4", "Really remove all 3?\n- take my pills\n- gym\n- buy milk"},
		{"en", "list", "move 2-4 to friday|move numbers 2 to 4 to friday", "Really change all 3?"},
		{"en", "list", "cancel the first and the last|remove the first and last", "Really remove all 2?\n- call mum\n- pay rent"},
		{"en", "list", "cancel the second to last|cancel the last but one", "-team meeting @ 2026-11-30T10:00"},
		{"en", "list", "cancel the last two weeks", "there is no reminder “the last two weeks”"},
		{"en", "list", "bin the last couple", "-"},
		{"zh", "列表", "删掉后两个|删掉最后两个|麻烦删掉末尾两个|删掉倒数两个|最后那两个不要了", "真的要删除全部 2 个提醒吗？\n- 周会\n- 交房租"},
		{"zh", "列表", "取消前两个|取消头两个|前面两个不用了|删掉前2个", "真的要删除全部 2 个提醒吗？\n- 给妈妈打电话\n- 吃药"},
		{"zh", "列表", "取消2-4|取消2到4|把二到四都删了|删掉第二到第四个", "真的要删除全部 3 个提醒吗？\n- 吃药\n- 健身\n- 买牛奶"},
		{"zh", "列表", "取消第一个和最后一个|把第一个跟最后一个删了|头尾两个都删掉", "真的要删除全部 2 个提醒吗？\n- 给妈妈打电话\n- 交房租"},
		{"zh", "列表", "除了最后一个都取消|只留最后一个其他都删掉", "真的要删除全部 5 个提醒吗？\n- 给妈妈打电话"},
		{"zh", "列表", "取消两个|取消三个", "没有“"},
		{"zh", "列表", "删掉倒数第二个", "-周会 @ 2026-11-30T10:00"},
		// those that were told or shown together
		{"en", en2, "cancel them|cancel both|delete both of them|cancel all of them|cancel those|i don't need them|delete both reminders", "Really remove all 2?\n- stretch\n- stretch"},
		{"en", en2, "move them to tomorrow|push both to tomorrow|push them back an hour", "Really change all 2?"},
		{"en", en2, "cancel one of them|cancel either|move one of them to 7pm", "Which one?\n1. today at 12:00"},
		{"en", "what do I have tomorrow", "cancel all of those|cancel them|delete them all|remove these", "Really remove all 2?\n- gym\n- take my pills"},
		{"en", "what do I have tomorrow", "cancel all|delete everything", "Really remove all 6?"},
		{"zh", zh2, "取消它们|都取消|两个都取消|删掉这两个|这两个提醒都不要了|把这俩删了", "真的要删除全部 2 个提醒吗？\n- 伸展"},
		{"zh", zh2, "把它们都挪到明天|都推迟一小时", "真的要更改全部 2 个"},
		{"zh", zh2, "取消其中一个|改其中一个", "是哪一个？\n1. 今天12:00"},
		{"zh", "明天有什么提醒", "都取消|把这些都取消|把它们删掉|都删了", "真的要删除全部 2 个提醒吗？\n- 健身\n- 吃药"},
		{"zh", "明天有什么提醒", "取消所有提醒", "真的要删除全部 6 个"},
		// the one that comes first
		{"en", "list", "cancel the earliest one|cancel the soonest one|cancel the next one|cancel the one that comes first|cancel my next reminder", "-call mum @ 2026-11-25T18:00"},
		{"en", "remind me every day at 8am to run", "cancel the next one", "Which one?"},
		{"zh", "列表", "取消最早的那个|删掉最早的|最早那个不要了|取消下一个提醒", "-给妈妈打电话 @ 2026-11-25T18:00"},
		// a time that does not fit
		{"en", "", "cancel the 8am pills|pause the 9am pills|cancel my 10pm pills|skip the 8am pills|cancel the morning pills", "It does not come at that time. Which one is meant?\n1. today at 21:00"},
		{"en", "", "cancel the gym at 9am|move the 8am gym to 9am|cancel the friday gym|rename the 9am gym to yoga|cancel the noon gym", "It does not come at that time. Which one is meant?\n1. tomorrow at 07:00"},
		{"en", "cancel the 8am pills", "yes|1|the pills", "-take my pills @ 2026-11-25T21:00"},
		{"en", "", "cancel the 9pm pills|cancel the 9 o'clock pills|cancel pills at 9|cancel the evening pills", "-take my pills @ 2026-11-25T21:00"},
		{"en", "", "cancel the 7am gym|cancel the gym at 7|cancel tomorrow's gym|cancel the morning gym", "-gym @ 2026-11-26T07:00"},
		{"zh", "", "把下午三点的给妈妈打电话取消|把五点的电话推迟一小时", "那个时间没有它。是哪一个？\n1. 今天18:00"},
		{"zh", "", "取消早上八点的吃药|取消中午的吃药", "那个时间没有它。是哪一个？\n1. 今天21:00"},
		{"zh", "", "把六点的电话推迟一小时", "-给妈妈打电话 @ 2026-11-25T18:00 +给妈妈打电话 @ 2026-11-25T19:00"},
		{"en", "remind me tomorrow at 3pm to call dad", "update the reminder for tomorrow|change the reminder for tomorrow|edit tomorrow's reminder", "When shall “call dad” come?"},
		{"en", "", "edit the reminder for friday|change the reminder for friday", "When shall “buy milk” come?"},
		{"en", "", "move the reminder for friday to saturday", "-buy milk @ 2026-11-27T17:00 +buy milk @ 2026-11-28T17:00"},
		// two that are done: those that rang, those told together, and no others
		{"en", "remind me at 5pm to stretch; !stretch; !mum", "both done|done with both|both are done", "Done, 2 reminders:\n- call mum\n- stretch"},
		{"en", "remind me at 10:10 to stretch; remind me at 10:20 to drink; !stretch; !drink", "both done", "Which one?"}, // the plants rang too
		{"en", "", "both done", "Which one?"},
		{"zh", "下午五点提醒我伸展; !伸展; !给妈妈打电话", "都好了|两个都做完了", "2 个提醒都完成了：\n- 给妈妈打电话\n- 伸展"},
		{"zh", "", "两个都完成了|两个都做完了", "是哪一个？"},
		// what rang is closed, and the next stays
		{"en", "!take my pills", "skip|skip it", "Done: take my pills."},
		{"en", "!gym", "skip today|skip", "Done: gym."},
		{"zh", "!健身", "今天不去了|今天取消|跳过", "完成了：健身"},
		// several changes
		{"en", "", "cancel the gym, move the milk to noon", "-buy milk @ 2026-11-27T17:00 -gym @ 2026-11-26T07:00 +buy milk @ 2026-11-27T12:00"},
		{"en", "", "delete the gym and pause my pills", "-gym @ 2026-11-26T07:00 -take my pills @ 2026-11-25T21:00 +take my pills paused"},
		{"en", "", "move gym to 8am and milk to 9am", "-buy milk @ 2026-11-27T17:00 -gym @ 2026-11-26T07:00 +buy milk @ 2026-11-27T09:00 +gym @ 2026-11-26T08:00"},
		{"en", "", "move the gym to friday and rename it to swim", "-gym @ 2026-11-26T07:00 +swim @ 2026-11-27T07:00"},
		{"zh", "", "健身取消，牛奶改到中午", "-买牛奶 @ 2026-11-27T17:00 -健身 @ 2026-11-26T07:00 +买牛奶 @ 2026-11-27T12:00"},
		{"zh", "", "健身挪到后天，牛奶挪到周六", "-买牛奶 @ 2026-11-27T17:00 -健身 @ 2026-11-26T07:00 +买牛奶 @ 2026-11-28T17:00 +健身 @ 2026-11-27T07:00"},
		{"zh", "", "把健身改到周五并改名游泳", "请一次只说一个"},
		{"en", "", "delete the gym because I moved the meeting", "-gym @ 2026-11-26T07:00"},
		// what a ring is told while a question is open
		{"en", "remind me in 5 minutes to stretch; move the gym; !stretch", "later|not now|snooze|10 more minutes", "+stretch @ 2026-11-25T10:15"},
		{"en", "remind me in 5 minutes to stretch; remind me tomorrow at 8 to swim; !stretch", "in 20 minutes", "+stretch @ 2026-11-25T10:25"},
		{"en", "remind me in 5 minutes to stretch; cancel all; !stretch", "ok|done|got it", "Done: stretch"},
		{"en", "remind me in 5 minutes to stretch; remind me tomorrow at 8 to swim; !stretch; later", "pm", "+swim @ 2026-11-26T20:00"},
		{"en", "remind me in 5 minutes to stretch; !stretch; move the gym", "in 20 minutes", "-gym @ 2026-11-26T07:00 +gym @ 2026-11-25T10:25"},
		{"zh", "五分钟后提醒我伸展; 把健身改一下时间; !伸展", "等会儿再说|稍后", "+伸展 @ 2026-11-25T10:35"},
		{"zh", "五分钟后提醒我伸展; 提醒我唱歌; !伸展", "20分钟后", "+伸展 @ 2026-11-25T10:25"},
		{"zh", "五分钟后提醒我伸展; 提醒我唱歌; !伸展", "明天晚上八点", "+唱歌 @ 2026-11-26T20:00"},
		// "delete it" while a question is open
		{"en", "remind me to call Bob", "delete it|forget it|remove it|scrap it|delete that|cancel the reminder", "I leave it as it is"},
		{"en", "remind me tomorrow at 8 to swim", "delete it|forget it|cancel it", "I leave it as it is"},
		{"en", "remind me to call Bob", "i changed my mind|keep it", "I leave it as it is"},
		{"en", "cancel all", "i changed my mind|keep them all|don't cancel them", "I leave it as it is"},
		{"zh", "删除全部提醒", "我改主意了|都留着|别删了", "不改了"},
		{"en", "", "wrong one haha|i want it back by friday|we should keep it simple|the first two episodes were great", "-"},
		{"en", dad, "delete it|remove it", "Which one?\n1. today at 18:00"},
		{"en", "cancel all", "delete it", "Really remove all 6?"},
		{"en", "move the gym", "delete it", "-gym @ 2026-11-26T07:00"},
		{"zh", "明天八点提醒我游泳", "删掉它|取消它|删了吧|取消吧|把它取消|取消这个提醒", "不改了"},
		{"zh", 爸爸, "删掉它|取消它", "是哪一个？"},
		{"zh", "暂停所有提醒", "删了吧", "真的要暂停全部"},
		// a new command while a question is open
		{"en", "remind me tomorrow at 8 to swim", "move 3 to 11am|move 3 to 11 am", "-gym @ 2026-11-26T07:00 +gym @ 2026-11-26T11:00"},
		{"en", "remind me tomorrow at 8 to swim", "move it to 9am|change that to 9am|make it 9am", "+swim @ 2026-11-26T09:00"},
		// which one?
		{"en", run, "the morning one|am|in the morning|morning", "-run @ 2026-11-26T08:00"},
		{"en", run, "the evening one|pm|the 8pm one", "-run @ 2026-11-25T20:00"},
		{"en", run, "the first and the last|both", "Really remove all 2?"},
		{"en", dad, "the afternoon one|not the first", "-call dad @ 2026-11-26T15:00"},
		{"en", dad, "the morning one", "Which one?\n1. today at 18:00"},
		{"zh", 跑步, "早上那个|早上的|早上八点的", "-跑步 @ 2026-11-26T08:00"},
		{"zh", 跑步, "晚上那个|晚上的", "-跑步 @ 2026-11-25T20:00"},
		{"zh", 跑步, "第一个和最后一个|头尾两个|八点那个", "真的要删除全部 2 个"},
		// the list, whatever is in it
		{"en", "remind me tomorrow at 5pm to make a shopping list", "list|list reminders|show list|list all|my list", "4. tomorrow at 17:00"},
		{"zh", "明天下午五点提醒我整理提醒列表", "提醒列表|列表|看看列表|我的提醒|所有提醒", "4. 明天17:00"},
		{"en", "", "what's the soonest one|tell me what is the nearest reminder", "call mum"},
		// taken back
		{"en", "cancel the gym", "i changed my mind|put it back|keep it|no wait, keep it|i want it back|uncancel it|don't cancel it|wrong one|let's keep it|i still need it|reinstate it", "+gym @ 2026-11-26T07:00"},
		{"en", "move the gym to friday", "i changed my mind|change it back|move it back|put it back|don't move it", "-gym @ 2026-11-27T07:00 +gym @ 2026-11-26T07:00"},
		{"en", "move the gym to friday", "keep it", "-"},
		{"en", "move the gym to friday", "change it back to 9am", "-gym @ 2026-11-27T07:00 +gym @ 2026-11-27T09:00"},
		{"en", "remind me today at 5pm to jog", "keep it|let's keep it", "-"},
		{"en", "remind me today at 5pm to jog", "change it back|put it back", "no change of that kind"},
		{"en", "remind me today at 5pm to jog; run the gym now", "undo", "cannot be taken back"},
		{"en", "", "i changed my mind|keep it|don't cancel it", "-"},
		{"zh", "取消健身", "还是留着吧|留着吧|我改主意了|别取消了|还是不删了|恢复|还是要的|算了，还是留着|改回去", "+健身 @ 2026-11-26T07:00"},
		{"zh", "把健身改到周五", "改回去|改回来|挪回去|还是原来的时间吧|我改主意了|还是不改了", "-健身 @ 2026-11-27T07:00 +健身 @ 2026-11-26T07:00"},
		{"zh", "今天下午五点提醒我跑步", "改回去|改回来", "没有这样的更改"},
		{"zh", "今天下午五点提醒我跑步", "还是留着吧|留着吧", "-"},
		{"zh", "今天下午五点提醒我跑步; 改到六点", "改回去", "-跑步 @ 2026-11-25T18:00 +跑步 @ 2026-11-25T17:00"},
		// heard
		{"en", "!mum", "ok|got it|okay, will do|ok thanks|noted|👍", "Done: call mum"},
		{"zh", "!mum", "好的|知道了|收到|好的谢谢|明白|ok", "完成了：给妈妈打电话"},
		{"en", "", "ok|got it|noted", "-"},
		{"zh", "", "好的|明白", "-"},
		{"en", "!mum", "ok, see you tomorrow|ok who is there|got it from mum", "-"},
		{"en", "remind me today at 5pm to jog", "other time|another time|a different time|edit", "When shall “jog” come?"},
		{"zh", "今天下午五点提醒我跑步", "其他时间|别的时间|编辑|换个时间", "“跑步”改到什么时候"},
		// names and hours
		{"en", "", "rename 2 to pay Bea at 5pm", "-take my pills @ 2026-11-25T21:00 +pay Bea at 5pm @ 2026-11-25T21:00"},
		{"en", "", "alarm 7am tomorrow", "+alarm: time is up @ 2026-11-26T07:00"},
		{"zh", "", "设一个明天早上七点的闹钟|明早七点闹铃", "+闹钟: 时间到 @ 2026-11-26T07:00"},
		{"zh", "", "倒计时十分钟", "+计时器: 时间到 @ 2026-11-25T10:10"},
		{"en", "set an alarm for 7pm", "make it 8", "-alarm: time is up @ 2026-11-25T19:00 +alarm: time is up @ 2026-11-25T20:00"},
	} {
		c.check(t)
	}
}
