package when

import (
	"errors"
	"testing"
)

// What stands beside a time and changes it is asked about, never left out.
func TestWhatChangesATimeIsAskedAbout(t *testing.T) {
	now, zone := testNow(t)
	for _, text := range []string{
		"remind me on 12/24 at 6pm to sing",
		"remind me at 18:00 on 12/24 to sing",
		"remind me 24.12. 18:00 to sing",
		"remind me 24.12.2026 18:00 to sing",
		"remind me tomorrow 8.30 to run",
		"remind me 10 minutes before my 3pm meeting",
		"remind me an hour before midnight",
		"remind me every first monday of the month at 10am",
		"remind me on the second friday of every month at 10am to report",
		"remind me a week from monday to call",
		"remind me in 1h30 to call",
		"remind me from 9am to 5pm every hour to drink",
		"remind me every hour between 9am and 5pm to drink",
		"remind me every 30 minutes until 6pm to drink",
		"remind me every 3 hours starting at 9am to drink",
		"remind me at 9am PST to call",
		"提前10分钟提醒我下午3点的会",
		"下午3点的会提前10分钟提醒我",
		"上午9点到下午5点每小时提醒我喝水",
		"每天三次提醒我吃药",
		"12/24 18:00提醒我唱歌",
		"农历八月十五提醒我",
		"纽约时间明天早上9点提醒我",
		"八点差五分提醒我",
	} {
		sameInTraditional(t, text)
		p, err := Find(text, now, zone)
		if asked, ok := errors.AsType[*Ambiguous](err); !ok || len(asked.Choices) > 0 || asked.Question.Chinese == "" {
			t.Errorf("%q is %s, want a question", text, short(p, err))
		}
	}
	for text, want := range map[string]string{
		"remind me at 5pm to buy 3/4 of a cake":             "2026-11-23 17:00",
		"remind me to buy 3/4 of a cake at 5pm":             "2026-11-23 17:00",
		"remind me 10 minutes before 5pm to leave":          "2026-11-23 16:50",
		"remind me tomorrow to pack before the first plane": "2026-11-24 09:00",
		"每天早上9点提醒我吃三次药":                                     "cron 0 9 * * *",
		"明天下午三点提醒我看东京时间表":                                   "2026-11-24 15:00",
		"set a timer for 10 minutes":                        "2026-11-23 10:40",
	} {
		if got := short(Find(text, now, zone)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
