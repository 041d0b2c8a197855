package when

import "testing"

// What once was asked back and is understood now: bounds, exceptions, rare ways to
// repeat, offsets, dates in digits, places. All at Monday, 2026-11-23 10:30 in
// Shanghai.
func TestBoundsAreUnderstood(t *testing.T) {
	now, zone := testNow(t)
	for _, row := range [][2]string{
		{"remind me on 12/24 at 6pm to sing", "2026-12-24 18:00"},
		{"remind me at 18:00 on 12/24 to sing", "2026-12-24 18:00"},
		{"remind me 24.12. 18:00 to sing", "2026-12-24 18:00"},
		{"remind me 24.12.2026 18:00 to sing", "2026-12-24 18:00"},
		{"remind me tomorrow 8.30 to run", "? 2026-11-24 08:30 | 2026-11-24 20:30"},
		{"remind me 10 minutes before my 3pm meeting", "2026-11-23 14:50"},
		{"remind me an hour before midnight", "2026-11-23 23:00"},
		{"remind me every first monday of the month at 10am", "rule FREQ=MONTHLY;BYDAY=1MO;BYHOUR=10;BYMINUTE=0"},
		{"remind me on the second friday of every month at 10am to report", "rule FREQ=MONTHLY;BYDAY=2FR;BYHOUR=10;BYMINUTE=0"},
		{"remind me a week from monday to call", "2026-11-30 09:00"},
		{"remind me from 9am to 5pm every hour to drink", "cron 0 9-17 * * *"},
		{"remind me every hour between 9am and 5pm to drink", "cron 0 9-17 * * *"},
		{"remind me every 30 minutes until 6pm to drink", "rule FREQ=MINUTELY;INTERVAL=30;UNTIL=20261123T180000"},
		{"remind me every 3 hours starting at 9am to drink", "rule FREQ=HOURLY;INTERVAL=3"},
		{"remind me at 9am PST to call", "? 2026-11-23 09:00 America/Los_Angeles"},
		{"提前10分钟提醒我下午3点的会", "2026-11-23 14:50"},
		{"下午3点的会提前10分钟提醒我", "2026-11-23 14:50"},
		{"每天三次提醒我吃药", "? cron 0 9,14,21 * * *"},
		{"12/24 18:00提醒我唱歌", "2026-12-24 18:00"},
		{"农历八月十五提醒我", "2027-09-15 09:00"},
		{"纽约时间明天早上9点提醒我", "? 2026-11-24 09:00 America/New_York | 2026-11-23 09:00 America/New_York"},
		{"八点差五分提醒我", "2026-11-23 19:55"},
		{"12-24 20:00提醒我", "2026-12-24 20:00"},
		{"提醒我12-24 20:00唱歌", "2026-12-24 20:00"},
		{"20:00 12-24提醒我", "2026-12-24 20:00"},
		{"12.24 20:00提醒我", "2026-12-24 20:00"},
		{"remind me on 12-24 at 20:00 to sing", "2026-12-24 20:00"},
		{"remind me at 20:00 on 12-24 to sing", "2026-12-24 20:00"},
		{"明天下午3到5点开会提醒我", "2026-11-24 15:00"},
		{"从明天开始每天早上8点", "rule FREQ=DAILY;BYHOUR=8;BYMINUTE=0"},
		{"从下周一起每天早上8点提醒我", "rule FREQ=DAILY;BYHOUR=8;BYMINUTE=0"},
		{"每天早上9点开始提醒我工作", "cron 0 9 * * *"},
		{"from tomorrow on remind me every day at 9am to x", "rule FREQ=DAILY;BYHOUR=9;BYMINUTE=0"},
		{"starting monday, remind me every day at 9am to x", "rule FREQ=DAILY;BYHOUR=9;BYMINUTE=0"},
		{"每天早上8点提醒我吃药直到周五", "rule FREQ=DAILY;UNTIL=20261127T235959;BYHOUR=8;BYMINUTE=0"},
		{"每天早上8点提醒我吃药，到周五为止", "rule FREQ=DAILY;UNTIL=20261127T235959;BYHOUR=8;BYMINUTE=0"},
		{"every day at 9am up to friday", "rule FREQ=DAILY;UNTIL=20261127T235959;BYHOUR=9;BYMINUTE=0"},
		{"每天早上9点，除了周日，提醒我吃药", "cron 0 9 * * 1-6"},
		{"remind me every day at 9am, except sunday, to x", "cron 0 9 * * 1-6"},
		{"remind me every day at 9am to take pills, except on sundays", "cron 0 9 * * 1-6"},
		{"每天早上9点提醒我吃药，周日除外", "cron 0 9 * * 1-6"},
		{"每天早上9点提醒我吃药，周末不用", "cron 0 9 * * 1-5"},
		{"每天早上8点提醒我，持续一周", "rule FREQ=DAILY;UNTIL=20261130T103000;BYHOUR=8;BYMINUTE=0"},
		{"连续三天早上8点提醒我吃药", "rule FREQ=DAILY;UNTIL=20261126T103000;BYHOUR=8;BYMINUTE=0"},
		{"接下来一周每天早上8点提醒我吃药", "rule FREQ=DAILY;UNTIL=20261130T103000;BYHOUR=8;BYMINUTE=0"},
		{"every day for 3 days at 9am", "rule FREQ=DAILY;UNTIL=20261126T103000;BYHOUR=9;BYMINUTE=0"},
		{"every day at 9am for two weeks to x", "rule FREQ=DAILY;UNTIL=20261207T103000;BYHOUR=9;BYMINUTE=0"},
		{"remind me every 10 minutes to drink for 2 hours", "rule FREQ=MINUTELY;INTERVAL=10;UNTIL=20261123T123000"},
		{"remind me every day at 9am for the rest of the month", "rule FREQ=DAILY;UNTIL=20261130T235959;BYHOUR=9;BYMINUTE=0"},
		{"一天三次提醒我吃药", "? cron 0 9,14,21 * * *"},
		{"一天一次提醒我吃药", "cron 0 9 * * *"},
		{"两小时一次提醒我喝水", "every 2h0m0s"},
		{"每天早上8点提醒我，共5次", "rule FREQ=DAILY;COUNT=5;BYHOUR=8;BYMINUTE=0"},
		{"remind me daily twice to x", "? cron 0 9,21 * * *"},
		{"every day at 9am, 5 times", "rule FREQ=DAILY;COUNT=5;BYHOUR=9;BYMINUTE=0"},
		{"every other friday at 9am to x", "rule FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=9;BYMINUTE=0"},
		{"remind me every first friday", "rule FREQ=MONTHLY;BYDAY=1FR;BYHOUR=9;BYMINUTE=0"},
		{"biweekly on friday", "rule FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=9;BYMINUTE=0"},
		{"remind me biweekly to x on friday", "rule FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=9;BYMINUTE=0"},
		{"bi-weekly on friday at 9am to x", "rule FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=9;BYMINUTE=0"},
		{"remind me to pay tax quarterly on friday", "invalid"},
		{"双周五提醒我", "rule FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=9;BYMINUTE=0"},
		{"隔周五提醒我", "rule FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;BYHOUR=9;BYMINUTE=0"},
		{"每月第三个周五提醒我", "rule FREQ=MONTHLY;BYDAY=3FR;BYHOUR=9;BYMINUTE=0"},
		{"每月最后一个工作日下午5点提醒我", "rule FREQ=MONTHLY;BYSETPOS=-1;BYHOUR=17;BYMINUTE=0;X-DAYS=WORK"},
		{"on the last friday of the month at 5pm", "2026-11-27 17:00"},
		{"remind me the first monday in december at 9am", "2026-12-07 09:00"},
		{"remind me friday week at 9am", "2026-12-04 09:00"},
		{"周五前两天提醒我", "2026-11-25 09:00"},
		{"remind me in 20 minutes and again in 40 minutes to x", "2026-11-23 10:50 and 2026-11-23 11:10"},
		{"除了周日，每天早上9点提醒我吃药", "cron 0 9 * * 1-6"},
	} {
		sameInTraditional(t, row[0])
		if got := short(Find(row[0], now, zone)); got != row[1] {
			t.Errorf("%q\n\t got %s\n\twant %s", row[0], got, row[1])
		}
	}
}
