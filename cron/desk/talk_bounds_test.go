package desk_test

import "testing"

// TestTalksOfBounds holds what bounds a new reminder, or is left out of it, against
// what becomes of it when it is said later or in a clause of its own.
func TestTalksOfBounds(t *testing.T) {
	for _, c := range []conversation{
		// what was said before how often
		{"en", "remind me to clock in until christmas", "every day at 9am", "says OK, every day at 09:00, until 25 December 2026: clock in."},
		{"zh", "提醒我打卡到圣诞节", "每天早上九点", "says 好的，每天 09:00，到2026年12月25日提醒你：打卡"},
		{"en", "remind me to drink water except on sundays", "every day at 9am", "says OK, every day except Sunday at 09:00: drink water."},
		{"zh", "提醒我喝水，周末除外", "每天早上九点", "says 好的，每周一到周五 09:00 提醒你：喝水"},
		{"en", "remind me to keep the receipt until friday", "tomorrow at 9am", "+keep the receipt until friday @ 2026-11-26T09:00"},
		// public holidays are those of China
		{"en", "", "take out the bins every weekday at 8am, skip public holidays", "says OK, every weekday except public holidays at 08:00: take out the bins."},
		{"zh", "", "每天早上八点提醒我打卡，法定节假日不提醒", "says 好的，除了法定节假日每天 08:00 提醒你：打卡"},
		{"zh", "", "工作日早上八点提醒我送孩子，周四不用", "says 好的，除了周四每个工作日 08:00 提醒你：送孩子"},
		// days and weeks
		{"en", "", "remind me every day at 8pm to journal, skip next week", "says except on 30 November 2026 to 6 December 2026"},
		{"zh", "", "每天晚上九点提醒我写日记，12月24号和25号除外", "says 除了2026年12月24日、2026年12月25日"},
		// a bound that is no day is asked about, and answered
		{"en", "remind me daily at 9am starting december 3 until march to take pills", "2", "says until 31 March 2027, from 3 December 2026"},
		{"zh", "从12月3号开始到3月，每天早上九点提醒我吃维生素", "1", "says 到2027年2月28日，从2026年12月3日起"},
		// lengths and offsets of several things
		{"en", "10 min for eggs and 20 min for the rice", "yes", "+timer: eggs @ 2026-11-25T10:10 +timer: the rice @ 2026-11-25T10:20"},
		{"zh", "鸡蛋10分钟，米饭20分钟", "算了|不用", "好的"},
		{"zh", "", "五点浇花，一小时后收衣服", "+收衣服 @ 2026-11-25T18:00 +浇花 @ 2026-11-25T17:00"},
		{"en", "", "call gran at 5, dad an hour later and the office 30 minutes after that", "+call gran @ 2026-11-25T17:00 +dad @ 2026-11-25T18:00 +the office @ 2026-11-25T18:30"},
	} {
		c.check(t)
	}
}
