package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// "ok" and "done" end what rang of late, and nothing else: not the reminder that
// was just made.
func TestOkIsNotDone(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		ok := intent.Intent{Kind: intent.Change, Op: intent.Done, Ref: intent.Ref{Rang: true}, Maybe: true}
		if said := w.do(t, ok, desk.Message{}); len(said.Jobs) > 0 || !strings.Contains(said.Text, w.say("water the plants", "浇花")) {
			t.Errorf("what rang: %+v", said)
		}
		w.do(t, intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{At: w.now.Add(time.Hour), Zone: w.ann.Zone}}}, desk.Message{})
		before := w.seen(t)
		for range 2 {
			var r *desk.Refusal
			if said, err := w.Do(t.Context(), w.ann, ok, desk.Message{}); !errors.As(err, &r) || r.Kind != desk.Unknown {
				t.Errorf("%+v, %v", said, err)
			}
			pills := w.known["pills"] // rang, but long ago
			if err := w.Rang(t.Context(), cron.Fired{Job: pills, Slot: w.now.Add(-7 * time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := difference(before, w.seen(t)); len(got) != 0 {
			t.Errorf("it changes %q", got)
		}
	})
}

// What an answer says of the state and the time of a reminder.
func TestWordsOfChanges(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		rent := intent.Ref{Words: w.known["rent"].ID}
		w.do(t, change(intent.Resume, rent), desk.Message{})
		if said := w.do(t, change(intent.Undo, intent.Ref{}), desk.Message{}); !strings.HasSuffix(said.Text, w.say(" It is paused.", "。现在是暂停状态")) {
			t.Errorf("undone: %q", said.Text)
		}
		later := change(intent.Snooze, intent.Ref{Words: w.known["milk"].ID})
		later.Shift.Exact = 30 * time.Minute
		if said, want := w.do(t, later, desk.Message{}), w.spelled(w.say("OK, now {2026-11-27T17:30}: buy milk.", "好的，改为{2026-11-27T17:30}：买牛奶")); said.Text != want {
			t.Errorf("put off: %q, want %q", said.Text, want)
		}
		made := w.do(t, intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{At: w.now.Add(20*time.Minute + 7*time.Second), Zone: w.ann.Zone}}}, desk.Message{})
		if want := w.say("OK, in 20 minutes (10:20): tea.", "好的，20分钟后（10:20）提醒你：tea"); made.Text != want {
			t.Errorf("made: %q, want %q", made.Text, want)
		}
		gone := w.do(t, change(intent.Remove, intent.Ref{Last: true}), desk.Message{})
		if want := w.say("Cancelled (in 20 minutes, 10:20): tea.", "已取消（20分钟后，10:20）：tea"); gone.Text != want {
			t.Errorf("gone: %q, want %q", gone.Text, want)
		}
	})
}
