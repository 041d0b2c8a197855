package desk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// Each time makes one job, all or none.
func TestSeveralTimes(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		before := w.seen(t)
		two := intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{At: w.now.Add(2 * time.Hour), Zone: w.ann.Zone}, {At: w.now.Add(8 * time.Hour), Zone: w.ann.Zone}}}
		said := w.do(t, two, desk.Message{})
		if want := w.spelled(w.say("OK, 2 reminders:\n- {2026-11-25T12:00} – tea\n- {2026-11-25T18:00} – tea", "好的，2 个提醒：\n- {2026-11-25T12:00}：tea\n- {2026-11-25T18:00}：tea")); said.Text != want {
			t.Errorf("says %q, want %q", said.Text, want)
		}
		w.press(t, said, w.say("Undo", "撤销"))
		if got := difference(before, w.seen(t)); len(got) > 0 {
			t.Errorf("undo leaves %q", got)
		}
		two.Times[1].At = w.now.Add(-time.Hour)
		if _, err := w.Do(t.Context(), w.ann, two, desk.Message{Key: "k"}); err == nil {
			t.Error("the past is taken")
		}
		if got := difference(before, w.seen(t)); len(got) > 0 {
			t.Errorf("half of it is there: %q", got)
		}
	})
}

// What is put off once is not doubled when the next time cannot be left out,
// because one that is late has to come first.
func TestPutOffOnce(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		w.store(t, w.known["pills"], func(j *cron.Job) {
			j.LastSlot = w.now.AddDate(0, 0, -3)
			j.Pending = &cron.Pending{Slot: w.now.AddDate(0, 0, -2), Claimed: w.now}
		})
		before := w.seen(t)
		in := change(intent.Move, intent.Ref{Words: w.say("pills", "吃药")})
		in.Shift = span(time.Hour)
		_, err := w.Do(t.Context(), w.ann, in, desk.Message{Text: "这次 this time"})
		if r := new(desk.Refusal); !errors.As(err, &r) || !errors.Is(err, cron.ErrRunning) {
			t.Errorf("%v", err)
		}
		if got := difference(before, w.seen(t)); len(got) > 0 {
			t.Errorf("it changes %q", got)
		}
	})
}

// In a group the answers say for whom; others may not change or undo, admins
// may.
func TestGroup(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		w.ann.Direct, w.ann.Addr.Chat = false, "-100"
		made := w.do(t, intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{At: w.now.Add(2 * time.Hour), Zone: w.ann.Zone}}}, desk.Message{})
		if want := w.spelled(w.say("OK, {2026-11-25T12:00}, for Ann: tea.", "好的，{2026-11-25T12:00} 提醒 Ann：tea")); made.Text != want {
			t.Errorf("says %q, want %q", made.Text, want)
		}
		bob, boss := w.ann, w.ann
		bob.Sender = chat.Sender{ID: "bob", Name: "Bob"}
		boss.Sender, boss.Admin = chat.Sender{ID: "eve"}, true
		for op, in := range map[string]intent.Intent{"remove": change(intent.Remove, intent.Ref{Words: "tea"}), "rename": {Kind: intent.Change, Op: intent.Rename, Text: "x", Ref: intent.Ref{Words: "tea"}}} {
			_, err := w.Do(t.Context(), bob, in, desk.Message{})
			if r := new(desk.Refusal); !errors.As(err, &r) || r.Kind != desk.Forbidden || !strings.Contains(r.Text, "Ann") {
				t.Errorf("Bob may %s: %v", op, err)
			}
		}
		undo := made.Jobs[0]
		gone := w.do(t, change(intent.Remove, intent.Ref{Words: "tea"}), desk.Message{})
		if _, err := w.Do(t.Context(), bob, change(intent.Undo, intent.Ref{}), desk.Message{}); err == nil {
			t.Error("Bob undoes")
		}
		if _, err := w.Press(t.Context(), bob, gone.Buttons[0][0].Press, ""); err == nil {
			t.Error("Bob presses undo")
		}
		if _, err := w.Press(t.Context(), boss, gone.Buttons[0][0].Press, "p"); err != nil {
			t.Errorf("an admin undoes: %v", err)
		}
		if _, err := w.jobs.Get(t.Context(), undo.Addr, undo.ID); err != nil {
			t.Errorf("it is not back: %v", err)
		}
		if list := w.list(t, bob); !strings.Contains(list, "Ann") {
			t.Errorf("Bob's list: %s", list)
		}
	})
}

// Undo goes one step at a time, for ten minutes, and not behind a later change.
func TestUndo(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		undo := change(intent.Undo, intent.Ref{})
		states := [][]string{w.seen(t)}
		var said []desk.Said
		for _, in := range []intent.Intent{
			{Kind: intent.Change, Op: intent.Rename, Text: "a", Ref: intent.Ref{Number: 1}},
			{Kind: intent.Change, Op: intent.Rename, Text: "b", Ref: intent.Ref{Number: 1}},
			change(intent.Remove, intent.Ref{Number: 2}),
		} {
			said = append(said, w.do(t, in, desk.Message{}))
			states = append(states, w.seen(t))
		}
		if _, err := w.Press(t.Context(), w.ann, said[0].Buttons[0][0].Press, ""); err == nil || !strings.Contains(err.Error(), w.say("undo that first", "先撤销")) {
			t.Errorf("the first of two: %v", err)
		}
		for i := len(states) - 2; i >= 0; i-- {
			w.do(t, undo, desk.Message{Key: fmt.Sprint("undo", i)})
			if got := difference(states[i], w.seen(t)); len(got) > 0 {
				t.Errorf("step %d: %q", i, got)
			}
		}
		w.do(t, change(intent.Remove, intent.Ref{Number: 1}), desk.Message{})
		after := w.seen(t)
		w.now = w.now.Add(10*time.Minute + time.Second)
		if _, err := w.Do(t.Context(), w.ann, undo, desk.Message{}); err == nil {
			t.Error("undone too late")
		}
		if got := difference(after, w.seen(t)); len(got) > 0 {
			t.Errorf("it changes %q", got)
		}
	})
}

// What is no request is none; behind a command it is told what is right. What
// a button cannot say is an error.
func TestNothing(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		if said, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: "hello", Key: "k"}); mine || err != nil || said.Text != "" {
			t.Errorf("%+v, %v, %v", said, mine, err)
		}
		_, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: "hello", Command: true})
		if r := new(desk.Refusal); !mine || !errors.As(err, &r) || !strings.Contains(r.Text, w.say("in 20 minutes", "20分钟后")) {
			t.Errorf("a command: %v, %v", mine, err)
		}
		for _, press := range []string{"", "{}", "x", `{"do":"eat","id":"1"}`, `{"do":"answer","id":"1","n":-1}`, `{"do":"answer","id":"1"}`, `{"do":"undo","id":"1"}`, `{"do":"edit","id":"1"}`} {
			if said, err := w.Press(t.Context(), w.ann, press, ""); err == nil {
				t.Errorf("%q: %+v", press, said)
			}
		}
		long := intent.Intent{Kind: intent.Create, Text: strings.Repeat("长", cron.MaxMessage)}
		for n := range 9 {
			long.Times = append(long.Times, when.Phrase{Every: time.Duration(n+1) * time.Hour})
		}
		_, err = w.Do(t.Context(), w.ann, long, desk.Message{Key: "long"})
		if r := new(desk.Refusal); !errors.As(err, &r) || !strings.Contains(r.Text, "8000") {
			t.Errorf("too much text: %.100v", err)
		}
	})
}

// Whatever is wanted, in any order: it is done or refused in words, nothing is
// left of a question that is over, and undo puts everything back.
func TestAnyOrder(t *testing.T) {
	refs := []intent.Ref{{}, {All: true}, {Last: true}, {Rang: true}, {Number: 1}, {Number: -1}, {Number: 99}, {Words: "milk"}, {Words: "m"}, {Words: "x"}, {Clock: "21:00"}, {From: at("2026-11-25T00:00:00+08:00"), To: at("2026-11-28T00:00:00+08:00")}}
	ops := []intent.Op{intent.Move, intent.Text, intent.Rename, intent.Remove, intent.Pause, intent.Resume, intent.Skip, intent.Snooze, intent.Repeat, intent.Once, intent.Done, intent.Undo, intent.Run}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rapid.SampledFrom([]string{"en", "zh"}).Draw(rt, "lang"))
		var buttons []string
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			var said desk.Said
			var err error
			mine := true
			before := w.seen(t)
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0, 1:
				in := change(rapid.SampledFrom(ops).Draw(rt, "op"), rapid.SampledFrom(refs).Draw(rt, "ref"))
				in.Time = rapid.SampledFrom([]string{"", "08:00", "at 8", "every friday at 17:00", "nonsense"}).Draw(rt, "time")
				in.Text = rapid.SampledFrom([]string{"", "words"}).Draw(rt, "text")
				if in.Time == "" {
					in.Shift = when.Span{Exact: rapid.SampledFrom([]time.Duration{time.Hour, -time.Hour, 30 * time.Hour}).Draw(rt, "shift")}
				}
				said, err = w.Do(rt.Context(), w.ann, in, desk.Message{Key: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "key")})
			case 2:
				said, mine, err = w.Say(rt.Context(), w.ann, desk.Message{Text: rapid.SampledFrom([]string{"yes", "no", "2", "第一个", "算了", "hello", "08:00", ""}).Draw(rt, "said")})
			case 3:
				if len(buttons) > 0 {
					said, err = w.Press(rt.Context(), w.ann, rapid.SampledFrom(buttons).Draw(rt, "button"), "")
				} else {
					mine = false
				}
			}
			var r *desk.Refusal
			switch {
			case err != nil && (!errors.As(err, &r) || r.Text == ""):
				rt.Fatalf("error %v", err)
			case err == nil && mine && said.Text == "":
				rt.Fatal("nothing is said")
			case !mine && len(difference(before, w.seen(t))) > 0:
				rt.Fatal("it is changed and not said")
			}
			for _, row := range said.Buttons {
				for _, b := range row {
					buttons = append(buttons, b.Press)
				}
			}
			hidden := 0
			for _, s := range w.seen(t) {
				if strings.HasPrefix(s, "hidden: ") {
					hidden++
				}
			}
			if hidden > 1 {
				rt.Fatalf("%d questions are open", hidden)
			}
			w.now = w.now.Add(time.Minute)
		}
	})
}
