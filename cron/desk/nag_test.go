package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// What nags is snoozed and done: then it does not come again, until undo.
func TestNag(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		in := intent.Intent{Kind: intent.Create, Text: "tea", Nag: 5 * time.Minute, Times: []when.Phrase{{At: w.now.Add(time.Minute), Zone: w.ann.Zone}}}
		made := w.do(t, in, desk.Message{})
		if want := w.spelled(w.say("OK, {2026-11-25T10:01}: tea. Again every 5 minutes until you say done.", "好的，{2026-11-25T10:01}提醒你：tea。之后每5分钟再提醒一次，直到你说完成")); made.Text != want {
			t.Errorf("says %q, want %q", made.Text, want)
		}
		j := made.Jobs[0]
		rings := func() {
			w.now = w.now.Add(2 * time.Minute)
			w.store(t, j, func(now *cron.Job) {
				now.LastSlot, now.Nagging = now.Schedule.At, &cron.Nagging{Since: now.Schedule.At}
				now.Runs = []cron.Run{{Slot: now.Schedule.At, Fired: now.Schedule.At, Result: cron.Delivered}}
			})
		}
		nags := func() bool {
			now, err := w.jobs.Get(t.Context(), j.Addr, j.ID)
			if err != nil {
				t.Fatal(err)
			}
			return now.Nagging != nil
		}
		rings()
		said := w.do(t, change(intent.Done, intent.Ref{}), desk.Message{})
		if nags() || said.Text != w.say("Done: tea.", "完成了：tea") {
			t.Errorf("done: %q, nags %v", said.Text, nags())
		}
		w.do(t, change(intent.Undo, intent.Ref{}), desk.Message{})
		if !nags() {
			t.Error("undo does not bring it back")
		}
		again := w.do(t, change(intent.Snooze, intent.Ref{}), desk.Message{})
		if nags() || again.Jobs[0].Nag != in.Nag || !again.Jobs[0].Schedule.At.Equal(w.now.Add(10*time.Minute)) {
			t.Errorf("snoozed: %+v, nags %v", again.Jobs[0], nags())
		}
		in.Nag = time.Second
		_, err := w.Do(t.Context(), w.ann, in, desk.Message{})
		if r := new(desk.Refusal); !errors.As(err, &r) || !strings.Contains(r.Text, w.say("1 minute", "1 分钟")) {
			t.Errorf("every second: %v", err)
		}
	})
}

// Whom it is for may change it, and is named.
func TestFor(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		w.ann.Direct = false
		bob := w.ann
		bob.Sender = chat.Sender{ID: "bob", Name: "Bob"}
		if _, err := w.edit(t, "gym", func(j *cron.Job) { j.For = cron.Person{Channel: "telegram", Sender: bob.Sender} }); err != nil {
			t.Fatal(err)
		}
		in := change(intent.Move, intent.Ref{Words: w.say("gym", "健身")})
		in.Time = "08:00"
		eve := bob
		eve.Sender = chat.Sender{ID: "eve"}
		if _, err := w.Do(t.Context(), eve, in, desk.Message{}); err == nil || !strings.Contains(err.Error(), w.say("Ann and Bob", "Ann和Bob")) {
			t.Errorf("Eve: %v", err)
		}
		said, err := w.Do(t.Context(), bob, in, desk.Message{})
		if err != nil || len(said.Jobs) != 1 {
			t.Fatalf("Bob: %+v, %v", said, err)
		}
		if list := w.list(t, w.ann); !strings.Contains(list, w.say("gym, for Bob", "健身，Bob")) {
			t.Errorf("Ann's list: %s", list)
		}
		if _, err := w.Do(t.Context(), bob, change(intent.Undo, intent.Ref{}), desk.Message{}); err != nil {
			t.Errorf("Bob's undo: %v", err)
		}
	})
}

// What ends says until when.
func TestEnd(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		in := intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{Rule: "DTSTART:20261125T120000\nRRULE:FREQ=DAILY;COUNT=3", Zone: w.ann.Zone}}}
		said := w.do(t, in, desk.Message{})
		if want := w.spelled(w.say(" Next: {2026-11-25T12:00}. The last time: {2026-11-27T12:00}.", "。下次：{2026-11-25T12:00}。最后一次：{2026-11-27T12:00}")); !strings.HasSuffix(said.Text, want) {
			t.Errorf("says %q, want %q", said.Text, want)
		}
	})
}
