package desk_test

import "testing"

// What people answer when they are asked, or have second thoughts.
func TestTalksOfSecondThoughts(t *testing.T) {
	const both, bothZh = "-buy milk @ 2026-11-27T17:00 -gym @ 2026-11-26T07:00", "-买牛奶 @ 2026-11-27T17:00 -健身 @ 2026-11-26T07:00"
	for _, c := range []conversation{
		// some of those that were asked about
		{"en", "move milk and gym to saturday", "no only gym|just the gym", "-gym @ 2026-11-26T07:00 +gym @ 2026-11-28T07:00"},
		{"en", "move milk and gym to saturday", "just the milk", "-buy milk @ 2026-11-27T17:00 +buy milk @ 2026-11-28T17:00"},
		{"en", "push everything today back one hour", "no only the pills", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-25T22:00 +take my pills @ 2026-11-26T21:00"},
		{"en", "take pills twice a day, 9am and 9pm", "no 8am and 8pm", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-25T20:00"},
		// yes, in the words of the question
		{"en", "cancel the milk and the gym", "yes cancel both|yes cancel them|delete them|yes, cancel|yes please cancel|cancel both", both},
		{"en", "cancel the milk and the gym", "cancel|never mind|no", "OK, I leave it as it is."},
		{"zh", "牛奶和健身都取消", "好，取消|对，取消吧|好的取消吧|对，都取消", bothZh},
		// a change is taken back, and nothing else
		{"en", "move gym to friday", "never mind|nvm|forget it", "-gym @ 2026-11-27T07:00 +gym @ 2026-11-26T07:00"},
		{"en", "move pills to 10pm", "never mind", "-take my pills @ 2026-11-25T22:00 +take my pills @ 2026-11-25T21:00"},
		{"en", "skip pills tonight", "never mind, i'll take them", "-take my pills @ 2026-11-26T21:00 +take my pills @ 2026-11-25T21:00"},
		{"en", "remind me at 5pm to call bob", "never mind", "-call bob @ 2026-11-25T17:00"},
		{"zh", "健身推迟一小时", "算了不推了|算了，还是原来的时间|算了", "-健身 @ 2026-11-26T08:00 +健身 @ 2026-11-26T07:00"},
		{"zh", "今晚跳过吃药", "算了，还是提醒我", "-吃药 @ 2026-11-26T21:00 +吃药 @ 2026-11-25T21:00"},
		// for so long, and then again
		{"en", "", "stop the pills for a few days", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-28T21:00"},
		{"en", "", "stop reminding me about pills for a week", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-12-02T21:00"},
		{"en", "", "stop team meeting for 2 weeks", "-team meeting @ 2026-11-30T10:00 +team meeting @ 2026-12-14T10:00"},
		{"en", "pause the pills", "until sunday", "“take my pills” is paused"},
		{"en", "", "pause pills and team meeting until monday", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-30T21:00"},
		// several are done, or one that is not named
		{"en", "", "everything done for today|everything is done", "Really change all 6?"},
		{"zh", "", "今天的任务全部完成", "真的要更改全部 6 个提醒吗？"},
		{"en", "", "cancel a reminder|delete a reminder", "there is no reminder “a reminder”"},
		{"zh", "", "取消一个提醒", "没有“一个提醒”这个提醒"},
		{"en", "", "stop that monday meeting thing altogether", "-team meeting @ 2026-11-30T10:00"},
		{"en", "", "no pills tonight, just tonight", "-take my pills @ 2026-11-25T21:00 +take my pills @ 2026-11-26T21:00"},
		// words for a part of what is to be done
		{"en", "", "the call one, change mum to dad", "-call mum @ 2026-11-25T18:00 +call dad @ 2026-11-25T18:00"},
		{"en", "", "the gym, rename it to swimming", "-gym @ 2026-11-26T07:00 +swimming @ 2026-11-26T07:00"},
		{"zh", "", "打电话那条，给妈妈改成给爸爸", "-给妈妈打电话 @ 2026-11-25T18:00 +给爸爸打电话 @ 2026-11-25T18:00"},
		// talk
		{"en", "", "meeting at 3, don't be late|early shift tomorrow 5am, kill me|forget about him, he's a jerk|I'm done with him|the timer on my oven is broken, it always says 12 minutes|no beer tonight|I have a meeting in 10 minutes, ttyl|we have a meeting at 4 today, I hate it|i forget to call mum every single day", "-"},
		{"zh", "", "我有个会四点|约会改周日吧", "-"},
	} {
		c.check(t)
	}
}
