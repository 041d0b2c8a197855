package desk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// What a person calls a reminder, and which one is meant.
func TestNames(t *testing.T) {
	for _, c := range []struct{ lang, words, want string }{
		{"en", "call mum", "mum"},
		{"en", "Call MUM!", "mum"},
		{"en", "the mum one", "mum"},
		{"en", "my call-mum reminder", "mum"},
		{"en", "mum call", "mum"},
		{"en", "ｃａｌｌ ｍｕｍ", "mum"},
		{"en", "the meeting", "team"},
		{"en", "team meetign", "team"},
		{"en", "pils", "pills"},
		{"en", "the reminder to buy milk", "milk"},
		{"en", "reminder about the rent", "rent"},
		{"en", "plants", ""},
		{"en", "dentist", ""},
		{"en", "gymnastics", ""},
		{"en", "the", ""},
		{"zh", "给妈妈打电话", "mum"},
		{"zh", "妈妈", "mum"},
		{"zh", "給媽媽打電話的提醒", "mum"},
		{"zh", "打电话那个", "mum"},
		{"zh", "吃药的提醒", "pills"},
		{"zh", "吃藥", "pills"},
		{"zh", "买牛乃", "milk"},
		{"zh", "交房租那个提醒", "rent"},
		{"zh", "周會", "team"},
		{"zh", "浇花", ""},
		{"zh", "牙医", ""},
		{"zh", "提醒", ""},
	} {
		w := newWorld(t, c.lang)
		said, err := w.Do(t.Context(), w.ann, intent.Intent{Kind: intent.Query, What: intent.AskWhen, Ref: intent.Ref{Words: c.words}}, desk.Message{})
		var r *desk.Refusal
		switch {
		case c.want == "" && (!errors.As(err, &r) || r.Kind != desk.Unknown):
			t.Errorf("%q: %+v, %v", c.words, said, err)
		case c.want != "" && (err != nil || len(said.Jobs) != 1 || said.Jobs[0].ID != w.known[c.want].ID):
			t.Errorf("%q: %+v, %v, want %s", c.words, said, err, c.want)
		}
	}
}

// Questions about the reminders.
func TestQueries(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		day := at("2026-11-26T00:00:00+08:00")
		for _, c := range []struct {
			in     intent.Intent
			en, zh string
		}{
			{
				intent.Intent{What: intent.AskList},
				"1. {2026-11-25T18:00} – call mum\n2. {2026-11-25T21:00} – take my pills (every day at 21:00)\n3. {2026-11-26T07:00} – gym\n4. {2026-11-27T17:00} – buy milk\n" +
					"5. {2026-11-30T10:00} – team meeting (every Monday at 10:00)\n6. paused – pay rent (on the 1st of every month at 09:00)",
				"1. {2026-11-25T18:00}：给妈妈打电话\n2. {2026-11-25T21:00}：吃药（每天 21:00）\n3. {2026-11-26T07:00}：健身\n4. {2026-11-27T17:00}：买牛奶\n" +
					"5. {2026-11-30T10:00}：周会（每周一 10:00）\n6. 已暂停：交房租（每月1号 09:00）",
			},
			{
				intent.Intent{What: intent.AskList, From: day, To: day.AddDate(0, 0, 1)},
				"1. {2026-11-26T07:00} – gym\n2. {2026-11-26T21:00} – take my pills (every day at 21:00)", "1. {2026-11-26T07:00}：健身\n2. {2026-11-26T21:00}：吃药（每天 21:00）",
			},
			{intent.Intent{What: intent.AskList, From: day, To: day.Add(time.Hour)}, "There are no reminders for that time.", "那段时间没有提醒。"},
			{intent.Intent{What: intent.AskNext}, "{2026-11-25T18:00} – call mum", "{2026-11-25T18:00}：给妈妈打电话"},
			{intent.Intent{What: intent.AskLeft}, "No timer is running; start one with “timer 25 minutes”.\n8 hours left: call mum (18:00)", "没有正在走的倒计时；要开始就说“倒计时25分钟”。\n还有8小时：给妈妈打电话（18:00）"},
			{intent.Intent{What: intent.AskLeft, Ref: intent.Ref{Clock: "21:00"}}, "11 hours left: take my pills (21:00)", "还有11小时：吃药（21:00）"},
			{intent.Intent{What: intent.AskWhen, Ref: intent.Ref{Number: 5}}, "{2026-11-30T10:00} – team meeting (every Monday at 10:00)", "{2026-11-30T10:00}：周会（每周一 10:00）"},
			{intent.Intent{What: intent.AskMissed}, "Nothing was missed since yesterday.", "从昨天到现在没有错过的提醒。"},
		} {
			c.in.Kind = intent.Query
			if c.in.What != intent.AskList {
				w.list(t, w.ann) // what numbers mean
			}
			before := w.seen(t)
			if got, want := w.do(t, c.in, desk.Message{}).Text, w.spelled(w.say(c.en, c.zh)); got != want {
				t.Errorf("%+v says\n%s\nwant\n%s", c.in, got, want)
			}
			if got := difference(before, w.seen(t)); len(got) > 0 {
				t.Errorf("a query changes %q", got)
			}
		}
		timer := w.do(t, intent.Intent{Kind: intent.Create, Timer: true, Times: []when.Phrase{{At: w.now.Add(12*time.Minute + 5*time.Second), Zone: w.ann.Zone}}}, desk.Message{})
		if len(timer.Jobs) != 1 || timer.Jobs[0].Name != w.say("timer", "计时器") {
			t.Fatalf("timer: %+v", timer)
		}
		if got := w.do(t, intent.Intent{Kind: intent.Query, What: intent.AskLeft}, desk.Message{}).Text; !strings.HasPrefix(got, w.say("12 minutes left", "还有12分钟：")) {
			t.Errorf("left: %q", got)
		}
		late := w.known["plants"]
		if err := w.Rang(t.Context(), cron.Fired{Job: late, Slot: late.Schedule.At, Late: true}); err != nil {
			t.Fatal(err)
		}
		if got, want := w.do(t, intent.Intent{Kind: intent.Query, What: intent.AskMissed}, desk.Message{}).Text, w.spelled(w.say("{2026-11-25T09:50} – water the plants (late)", "{2026-11-25T09:50}：浇花（迟到）")); got != want {
			t.Errorf("missed: %q, want %q", got, want)
		}
	})
}

// A long list shows the first twenty; numbers mean the list last shown, for
// half an hour.
func TestNumbers(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		for i := range 18 {
			w.do(t, intent.Intent{Kind: intent.Create, Text: fmt.Sprint("n", i), Times: []when.Phrase{{At: w.now.AddDate(1, 0, i), Zone: w.ann.Zone}}}, desk.Message{})
		}
		if list := w.list(t, w.ann); !strings.HasSuffix(list, w.say("\n… and 4 more of 24; say “more”", "\n……还有 4 个（共 24 个），说“更多”")) || strings.Count(list, "\n") != 20 {
			t.Errorf("the list says %s", list)
		}
		// What comes in between does not move the numbers.
		w.do(t, intent.Intent{Kind: intent.Create, Text: "first", Times: []when.Phrase{{At: w.now.Add(time.Minute), Zone: w.ann.Zone}}}, desk.Message{})
		if said := w.do(t, change(intent.Remove, intent.Ref{Number: 3}), desk.Message{}); said.Jobs[0].ID != w.known["gym"].ID {
			t.Errorf("3 is %+v", said)
		}
		before := w.seen(t)
		if said := w.do(t, change(intent.Remove, intent.Ref{Number: 3}), desk.Message{}); !said.Asked || !strings.HasPrefix(said.Text, w.say("Number 3 is not there. Which one? These are the next 20", "没有第 3 个。是哪一个？下面是最近的 20 个")) {
			t.Errorf("3 again: %+v", said)
		}
		w.now = w.now.Add(30 * time.Minute)
		if said := w.do(t, change(intent.Remove, intent.Ref{Number: 1}), desk.Message{}); !said.Asked || !strings.HasPrefix(said.Text, w.say("Which one? These are the next 20, or one of the other 4", "是哪一个？下面是最近的 20 个；另外 4 个")) {
			t.Errorf("an old number: %+v", said)
		}
		if got := difference(before, w.seen(t)); len(got) != 3 || !strings.Contains(got[2], "hidden") { // "first" is over
			t.Errorf("it changes %q", got)
		}
		if said := w.hear(t, w.ann, w.say("the second one", "第二个")); len(said.Jobs) != 1 || said.Jobs[0].ID != w.known["pills"].ID {
			t.Errorf("the second one is %+v", said)
		}
	})
}

// Several that are named one by one are asked about before they go, and come
// back together.
func TestNamedOneByOne(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		for words, want := range map[string][]string{
			"1 3": {"mum", "gym"}, "1, 3": {"mum", "gym"}, "#1 #3": {"mum", "gym"}, "1、3": {"mum", "gym"}, "1和3": {"mum", "gym"},
			"the 1st and the third": {"mum", "gym"}, "第1个和第三个": {"mum", "gym"}, "1, 3 and 4": {"mum", "gym", "milk"},
			"gym and milk": {"gym", "milk"}, "健身和买牛奶": {"gym", "milk"}, "4, gym": {"gym", "milk"}, "3 3": {"gym"},
		} {
			w := newWorld(t, lang)
			if lang == "zh" && strings.Contains(words, "gym") || lang == "en" && strings.Contains(words, "健身") {
				continue
			}
			before := w.seen(t)
			said := w.do(t, change(intent.Remove, desk.RefOf(words)), desk.Message{})
			if len(want) > 1 {
				if !said.Asked || len(difference(before, w.seen(t))) != 1 {
					t.Errorf("%q: %+v", words, said)
				}
				said = w.hear(t, w.ann, w.say("yes", "是"))
			}
			for _, n := range want {
				if _, there := w.get(t, n); there {
					t.Errorf("%q leaves %s: %+v", words, n, said)
				}
			}
			if gone := difference(before, w.seen(t)); len(gone) != len(want) {
				t.Errorf("%q takes %q away", words, gone)
			}
			w.do(t, change(intent.Undo, intent.Ref{}), desk.Message{})
			if got := difference(before, w.seen(t)); len(got) != 0 {
				t.Errorf("%q, undone: %q", words, got)
			}
		}
		w := newWorld(t, lang)
		before := w.seen(t)
		for _, words := range []string{"1, 9", "1 and the dentist", w.say("gym and m", "健身和电")} {
			if said, err := w.Do(t.Context(), w.ann, change(intent.Remove, desk.RefOf(words)), desk.Message{}); err == nil && words != "健身和电" {
				t.Errorf("%q: %+v", words, said)
			}
		}
		if got := difference(before, w.seen(t)); len(got) > 1 {
			t.Errorf("what is not there takes %q away", got)
		}
	})
}

// The jobs that Find means.
func TestMeant(t *testing.T) {
	w := newWorld(t, "en")
	for ref, n := range map[string]string{"1": "mum", "#3": "gym", "milk": "milk", w.known["rent"].ID: "rent"} {
		if got, err := w.Find(t.Context(), w.ann, ref); err != nil || got.ID != w.known[n].ID {
			t.Errorf("%s means %q, %v", ref, got.ID, err)
		}
	}
	for _, ref := range []string{"all", "9", "dentist", "m"} {
		if got, err := w.Find(t.Context(), w.ann, ref); err == nil {
			t.Errorf("%s means %q", ref, got.ID)
		}
	}
	_, err := w.Find(t.Context(), w.ann, "m")
	if r := new(desk.Refusal); !errors.As(err, &r) || r.Kind != desk.Unsure || !strings.Contains(r.Text, "\n4. ") {
		t.Errorf("several: %v", err)
	}
	times, err := w.Times(w.ann, desk.Ask{Schedule: "in 20 minutes", Message: "x"})
	if err != nil || len(times) != 1 || !times[0].At.Equal(w.now.Add(20*time.Minute)) || !w.Now().Equal(w.now) {
		t.Errorf("%+v, %v", times, err)
	}
	if _, err := w.Times(w.ann, desk.Ask{Schedule: "gibberish", Message: "x"}); err == nil {
		t.Error("no time is a time")
	}
}
