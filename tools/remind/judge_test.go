package remind

import (
	"testing"
	"time"

	"magpie/cron/intent"
	"magpie/cron/when"
)

// What the model has made of the words, against the words: 10:30 on Monday 23
// November 2026 in Shanghai.
func TestJudge(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 10, 30, 0, 0, shanghai)
	c := intent.Context{Now: now, Zone: shanghai}
	for _, k := range []struct {
		said, got string // got as when.Parse reads it
		want      verdict
	}{
		{"remind me tomorrow at 3pm to call mum", "2026-11-24T15:00", agreed},
		{"remind me tomorrow at 3pm to call mum", "2026-11-24T15:00:30", agreed},
		{"remind me tomorrow at 3pm to call mum", "2026-11-24T03:00", contrary},
		{"remind me tomorrow at 3pm to call mum", "2026-11-25T15:00", contrary},
		{"remind me tomorrow at 3pm to call mum", "2026-11-24T15:00Z", contrary},
		{"remind me tomorrow at 3pm to call mum", "2026-11-24T07:00Z", agreed}, // the same moment
		{"明天下午三点提醒我开会", "2026-11-24T15:00", agreed},
		{"明天下午三点提醒我开会", "2026-11-24T03:00", contrary},
		{"明天下午三点提醒我开会", "2026-12-24T15:00", contrary},
		{"大后天早上8点半叫我", "2026-11-26T08:30", agreed},
		{"大后天早上8点半叫我", "2026-11-25T08:30", contrary},

		// Relative words move with the clock while the model thinks.
		{"in 20 minutes, stretch", "in 20 minutes", agreed},
		{"in 20 minutes, stretch", "2026-11-23T10:52", agreed},
		{"in 20 minutes, stretch", "2026-11-23T11:00", contrary},
		{"20分钟后提醒我休息", "2026-11-23T10:49", agreed},
		{"20分钟后提醒我休息", "2026-11-23T22:50", contrary},
		{"tomorrow at 3pm, call", "2026-11-24T15:02", contrary}, // on the clock: to the minute

		// Zones.
		{"remind me at 17:00 Asia/Tokyo to call Kenji", "2026-11-23T17:00+09:00", agreed},
		{"remind me at 17:00 Asia/Tokyo to call Kenji", "2026-11-23T17:00", contrary},

		// Once, or again and again.
		{"every day at 9am take the pills", "every day at 09:00", agreed},
		{"every day at 9am take the pills", "0 9 * * *", agreed},
		{"every day at 9am take the pills", "2026-11-24T09:00", contrary},
		{"every day at 9am take the pills", "every weekday at 09:00", contrary},
		{"every day at 9am take the pills", "every 24 hours", contrary},
		{"tomorrow at 9am take the pills", "0 9 * * *", contrary},
		{"每周一上午九点提醒我开周会", "0 9 * * 1", agreed},
		{"每周一上午九点提醒我开周会", "0 9 * * 2", contrary},
		{"every 10 minutes drink", "every 600 seconds", agreed},
		{"every 10 minutes drink", "*/10 * * * *", agreed},
		{"every 10 minutes drink", "every 15 minutes", contrary},
		{"every 2 hours drink", "0 */2 * * *", agreed},
		{"every 2 hours drink", "0 */3 * * *", contrary},

		// Words with several meanings.
		{"remind me tomorrow at 8 to run", "2026-11-24T08:00", chosen},
		{"remind me tomorrow at 8 to run", "2026-11-24T20:00", chosen},
		{"remind me tomorrow at 8 to run", "2026-11-25T08:00", contrary},
		{"明天8点提醒我跑步", "2026-11-24T20:00", chosen},

		// Words without a time that can be read: another language, a time from
		// the conversation, an answer to a question.
		{"erinnere mich morgen um acht ans Laufen", "2026-11-24T08:00", unread},
		{"yes, please", "2026-11-24T08:00", unread},
		{"the second one", "2026-11-24T20:00", unread},
		{"第二个", "2026-11-24T20:00", unread},
		{"2", "2026-11-24T20:00", unread},
		{"提醒我喝水", "every 2 hours", unread},
		{"", "2026-11-24T08:00", unread},
	} {
		got, err := when.Parse(k.got, now, shanghai)
		if err != nil {
			t.Errorf("%q: %v", k.got, err)
			continue
		}
		if v, allowed := judge(k.said, []when.Phrase{got}, c); v != k.want {
			t.Errorf("%q, made to %s: verdict %d, want %d; the words allow %s", k.said, k.got, v, k.want, wordsOf(allowed, " or "))
		}
	}
}
