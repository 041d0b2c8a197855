package when

import (
	"errors"
	"testing"
)

// What stands beside a time and changes it is asked about, never left out.
func TestWhatChangesATimeIsAskedAbout(t *testing.T) {
	now, zone := testNow(t)
	for _, text := range []string{
		"remind me in 1h90 to call",
		"remind me at 9 sharpish to call",
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
