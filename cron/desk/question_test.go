package desk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// A question of each kind, answered by a button, by its number and in words.
func TestQuestions(t *testing.T) {
	eight := change(intent.Move, intent.Ref{Last: true})
	eight.Time = "at 8"
	for name, c := range map[string]struct {
		in     intent.Intent
		button int
		says   [2]string   // of the question
		answer [2][]string // all of them mean the button
		change [2][]string
	}{
		"which": {
			in: change(intent.Remove, intent.Ref{Words: "m"}), button: 2, says: [2]string{"Which one?\n1. ", "是哪一个？\n1. "},
			answer: [2][]string{{"2", "the second one", "#2", "Second!", "number two", "the pills"}, {"2", "第二个", "第2个", "吃药", "２"}},
			change: [2][]string{{"-take my pills @ 2026-11-25T21:00"}, {"-吃药 @ 2026-11-25T21:00"}},
		},
		"really all": {
			in: change(intent.Remove, intent.Ref{All: true}), button: 1, says: [2]string{"Really remove all 6?\n- call mum", "真的要删除全部 6 个提醒吗？\n- 给妈妈打电话"},
			answer: [2][]string{{"yes", "OK", "sure", "of course"}, {"好", "确定", "是的"}},
			change: [2][]string{
				{"-buy milk @ 2026-11-27T17:00", "-call mum @ 2026-11-25T18:00", "-gym @ 2026-11-26T07:00", "-pay rent paused", "-take my pills @ 2026-11-25T21:00", "-team meeting @ 2026-11-30T10:00"},
				{"-买牛奶 @ 2026-11-27T17:00", "-交房租 paused", "-健身 @ 2026-11-26T07:00", "-吃药 @ 2026-11-25T21:00", "-周会 @ 2026-11-30T10:00", "-给妈妈打电话 @ 2026-11-25T18:00"},
			},
		},
		"really not": {
			in: change(intent.Remove, intent.Ref{All: true}), button: 2,
			answer: [2][]string{{"no", "never mind", "Cancel"}, {"不", "算了", "不用了"}},
		},
		"morning or evening": {
			in: eight, button: 2, says: [2]string{"Morning or evening?\n1. {2026-11-27T08:00}\n2. {2026-11-27T20:00}", "早上还是晚上？\n1. {2026-11-27T08:00}\n2. {2026-11-27T20:00}"},
			answer: [2][]string{{"2", "the last one"}, {"第二个", "最后一个"}},
			change: [2][]string{{"-buy milk @ 2026-11-27T17:00", "+buy milk @ 2026-11-27T20:00"}, {"-买牛奶 @ 2026-11-27T17:00", "+买牛奶 @ 2026-11-27T20:00"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			langs(t, func(t *testing.T, lang string) {
				i := slices.Index([]string{"en", "zh"}, lang)
				for _, answer := range append([]string{""}, c.answer[i]...) {
					w := newWorld(t, lang)
					if name == "which" {
						c.in.Ref.Words = w.say("m", "药")
						if lang == "zh" { // two that hold it
							if _, err := w.edit(t, "mum", func(j *cron.Job) { j.Message = "买药" }); err != nil {
								t.Fatal(err)
							}
						}
					}
					before := w.seen(t)
					asked := w.do(t, c.in, desk.Message{})
					if !asked.Asked || !strings.HasPrefix(asked.Text, w.spelled(c.says[i])) {
						t.Fatalf("asks %+v, want %q", asked, w.spelled(c.says[i]))
					}
					if got := difference(before, w.seen(t)); len(got) != 1 || !strings.HasPrefix(got[0], "+hidden: ") {
						t.Errorf("the question changes %q", got)
					}
					w.Desk = w.open() // a restart
					w.now = w.now.Add(9 * time.Minute)
					var said desk.Said
					if answer == "" {
						said = w.press(t, asked, label(asked, c.button))
					} else {
						said = w.hear(t, w.ann, answer)
					}
					if got := difference(before, w.seen(t)); !slices.Equal(got, c.change[i]) {
						t.Errorf("%q changes %q, want %q", answer, got, c.change[i])
					}
					if said.Asked || said.Text == "" {
						t.Errorf("%q is answered %+v", answer, said)
					}
					if _, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: "2"}); mine || err != nil {
						t.Errorf("the question is still open: %v, %v", mine, err)
					}
					if c.change[i] != nil {
						w.do(t, change(intent.Undo, intent.Ref{}), desk.Message{})
						if got := difference(before, w.seen(t)); len(got) > 0 {
							t.Errorf("undo leaves %q", got)
						}
					}
				}
			})
		})
	}
}

// label is that of the n-th button.
func label(said desk.Said, n int) string {
	var all []string
	for _, row := range said.Buttons {
		for _, b := range row {
			all = append(all, b.Label)
		}
	}
	return all[n-1]
}

// Words that count only as an answer want nothing else, and those that decline
// are one, whatever they mean without a question.
func TestOnlyAnAnswer(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		f := newFixture(t)
		d := desk.New(f.jobs, f.notes) // with what reads real words
		f.ann.Lang = lang
		f.add(t, f.ann, desk.Ask{At: "2026-11-26T07:00", Message: "gym"})
		say := func(text string) (desk.Said, bool) {
			said, mine, err := d.Say(t.Context(), f.ann, desk.Message{Text: text, Answer: true})
			if err != nil {
				t.Fatal(text, err)
			}
			return said, mine
		}
		asks := func() {
			if said, mine, err := d.Say(t.Context(), f.ann, desk.Message{Text: "remind me tomorrow at 8 to walk"}); err != nil || !mine || !said.Asked {
				t.Fatalf("%+v, %v", said, err)
			}
		}
		for _, text := range []string{"cancel", "取消", "不用", "8"} {
			if said, mine := say(text); mine {
				t.Errorf("%q without a question: %+v", text, said)
			}
		}
		for _, text := range []string{"cancel", "stop", "取消", "不用", "undo", "撤销"} {
			asks()
			for _, other := range []string{"delete the gym", "把健身删掉", "what's next", "hello"} {
				if said, mine := say(other); mine {
					t.Errorf("%q is an answer: %+v", other, said)
				}
			}
			if said, mine := say(text); !mine || said.Asked {
				t.Errorf("%q: %v, %+v", text, mine, said)
			}
			if n := f.count(t); n != 1 {
				t.Errorf("%q leaves %d", text, n)
			}
		}
		asks()
		if said, mine := say("the second one"); !mine || len(said.Jobs) != 1 {
			t.Errorf("an answer: %v, %+v", mine, said)
		}
	})
}

// In a group another person's "2" is no answer, and neither is their press; a
// question that nobody answers ends after ten minutes, and is told by a hidden
// job that nobody sees in a list.
func TestQuestionIsOfOnePerson(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		asked := w.do(t, change(intent.Remove, intent.Ref{All: true}), desk.Message{Text: "清空 all"})
		bob := w.ann
		bob.Sender = chat.Sender{ID: "bob"}
		if _, mine, err := w.Say(t.Context(), bob, desk.Message{Text: "yes"}); mine || err != nil {
			t.Errorf("Bob answers: %v, %v", mine, err)
		}
		if _, err := w.Press(t.Context(), bob, asked.Buttons[0][0].Press, ""); err == nil {
			t.Error("Bob presses")
		}
		jobs, err := w.jobs.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(jobs, func(j cron.Job) bool { return j.Hidden })
		want := w.say("I changed nothing: “Really remove all 6?” was not answered.", "没有做任何更改：“真的要删除全部 6 个提醒吗？”没有收到回答。")
		if i < 0 || jobs[i].Message != want || !jobs[i].Schedule.At.Equal(w.now.Add(10*time.Minute)) {
			t.Errorf("hidden job %d of %+v", i, jobs)
		}
		if list := w.list(t, w.ann); strings.Contains(list, want) || strings.Contains(list, "7. ") {
			t.Errorf("the list shows it: %s", list)
		}
		w.now = w.now.Add(10 * time.Minute)
		if _, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: "yes"}); mine || err != nil {
			t.Errorf("an answer too late: %v, %v", mine, err)
		}
		if _, err := w.Press(t.Context(), w.ann, asked.Buttons[0][0].Press, ""); err == nil {
			t.Error("a press too late")
		}
	})
}

// What a message misses is asked; its own words and the reader's answer make
// the reminder. Another complete request drops the question.
func TestMissing(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		said := w.say("remind me to call Bob", "提醒我给鲍勃打电话")
		answer := w.say("tomorrow at five", "明天下午五点")
		five := when.Phrase{At: at("2026-11-26T17:00:00+08:00"), Zone: w.ann.Zone}
		bob := w.say("call Bob", "给鲍勃打电话")
		w.words.Read = func(text string, c intent.Context) intent.Intent {
			switch {
			case text == said:
				return intent.Intent{Kind: intent.Ask, Text: bob, Question: &intent.Question{Missing: intent.MissTime, Text: when.Text{English: "When?", Chinese: "什么时候？"}}}
			case text == "list":
				return intent.Intent{Kind: intent.Query, What: intent.AskList}
			}
			return intent.Intent{}
		}
		w.words.Reply = func(told string, asked intent.Context, text string, c intent.Context) (intent.Intent, bool) {
			if told != said || text != answer || !asked.Now.Equal(c.Now.Add(-5*time.Minute)) {
				return intent.Intent{}, false
			}
			return intent.Intent{Kind: intent.Create, Text: bob, Times: []when.Phrase{five}}, true
		}
		before := w.seen(t)
		ask := func() {
			if q := w.hear(t, w.ann, said); q.Text != w.say("When?", "什么时候？") || !q.Asked {
				t.Fatalf("asks %+v", q)
			}
		}
		ask()
		lapse := w.say("I did not make the reminder “call Bob”: no time was said.", "没有设置提醒“给鲍勃打电话”：没有说时间。")
		if got := difference(before, w.seen(t)); !slices.Equal(got, []string{"+hidden: " + lapse}) {
			t.Errorf("the question changes %q", got)
		}
		w.now = w.now.Add(5 * time.Minute)
		if _, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: "hello"}); mine || err != nil {
			t.Errorf("small talk is taken: %v, %v", mine, err)
		}
		made := w.hear(t, w.ann, answer)
		if want := w.spelled(w.say("OK, {2026-11-26T17:00}: call Bob.", "好的，{2026-11-26T17:00} 提醒你：给鲍勃打电话")); made.Text != want {
			t.Errorf("made: %q, want %q", made.Text, want)
		}
		if got := difference(before, w.seen(t)); !slices.Equal(got, []string{"+" + bob + " @ 2026-11-26T17:00"}) {
			t.Errorf("the answer changes %q", got)
		}
		w.press(t, made, w.say("Cancel", "取消"))
		ask()
		w.hear(t, w.ann, "list")
		if _, mine, _ := w.Say(t.Context(), w.ann, desk.Message{Text: answer}); mine {
			t.Error("the question is open after another request")
		}
		ask()
		w.hear(t, w.ann, w.say("never mind", "算了"))
		if got := difference(before, w.seen(t)); len(got) > 0 {
			t.Errorf("what is left is %q", got)
		}
	})
}

// The button "other time" asks, and takes a time and nothing else.
func TestOtherTime(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		made := w.do(t, intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{At: w.now.Add(time.Hour), Zone: w.ann.Zone}}}, desk.Message{})
		q := w.press(t, made, w.say("Other time", "改时间"))
		if !q.Asked || !strings.Contains(q.Text, "“tea”") {
			t.Fatalf("asks %+v", q)
		}
		if _, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: w.say("how are you", "你好吗")}); mine || err != nil {
			t.Errorf("small talk: %v, %v", mine, err)
		}
		said := w.hear(t, w.ann, "12:30")
		if want := w.spelled(w.say("OK, now {2026-11-25T12:30}: tea.", "好的，改为{2026-11-25T12:30}：tea")); said.Text != want {
			t.Errorf("moved: %q, want %q", said.Text, want)
		}
		// What rang once and is gone comes once more.
		due := desk.Said{Buttons: w.DueButtons(w.ann, w.known["plants"])}
		w.press(t, due, w.say("Edit", "修改"))
		before := w.seen(t)
		w.hear(t, w.ann, "13:00")
		if got := difference(before, w.seen(t)); !slices.Contains(got, w.say("+water the plants", "+浇花")+" @ 2026-11-25T13:00") {
			t.Errorf("it changes %q", got)
		}
	})
}

// A time of several meanings for several reminders is said again: the answer
// to a question would be for one of them.
func TestUnsureOfSeveral(t *testing.T) {
	w := newWorld(t, "en")
	before := w.seen(t)
	in := change(intent.Move, intent.Ref{From: at("2026-11-25T00:00:00+08:00"), To: at("2026-11-28T00:00:00+08:00")})
	in.Time = "at 8"
	_, err := w.Do(t.Context(), w.ann, in, desk.Message{})
	if r := new(desk.Refusal); !errors.As(err, &r) || r.Kind != desk.Unsure || !strings.Contains(r.Text, "\n2. ") {
		t.Errorf("%v", err)
	}
	if got := difference(before, w.seen(t)); len(got) > 0 {
		t.Errorf("it changes %q", got)
	}
}

// A question does not count as a reminder.
func TestQuestionDoesNotCount(t *testing.T) {
	f := newFixture(t)
	f.words.Read = func(string, intent.Context) intent.Intent {
		return intent.Intent{Kind: intent.Ask, Question: &intent.Question{Missing: intent.MissTime}}
	}
	if _, mine, err := f.Say(t.Context(), f.ann, desk.Message{Text: "remind me to call Bob"}); !mine || err != nil {
		t.Fatal(mine, err)
	}
	for range 4 { // as many as the chat may have
		f.add(t, f.ann, desk.Ask{Schedule: "in 1 hour", Message: "x"})
	}
}

// Several readings of a time are offered; the chosen one makes the reminder.
func TestChoicesOfATime(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		eight := []when.Phrase{{At: at("2026-11-26T08:00:00+08:00")}, {At: at("2026-11-26T20:00:00+08:00")}}
		for i := range eight {
			eight[i].Zone = newFixture(t).ann.Zone
		}
		for _, c := range []struct {
			op   intent.Op
			want [2]string
		}{{"", [2]string{"+tea @ 2026-11-26T20:00", "+tea @ 2026-11-26T20:00"}}, {intent.Move, [2]string{"-buy milk @ 2026-11-27T17:00 +buy milk @ 2026-11-26T20:00", "-买牛奶 @ 2026-11-27T17:00 +买牛奶 @ 2026-11-26T20:00"}}} {
			w := newWorld(t, lang)
			before := w.seen(t)
			asked := w.do(t, intent.Intent{
				Kind: intent.Ask, Op: c.op, Text: "tea", Ref: intent.Ref{Last: c.op != ""},
				Question: &intent.Question{Missing: intent.MissTime, Text: when.Text{English: "When?", Chinese: "几点？"}, Choices: eight},
			}, desk.Message{})
			if want := w.spelled(w.say("When?", "几点？") + "\n1. {2026-11-26T08:00}\n2. {2026-11-26T20:00}"); asked.Text != want {
				t.Errorf("asks %q, want %q", asked.Text, want)
			}
			w.press(t, asked, label(asked, 2))
			got := difference(before, w.seen(t))
			slices.Sort(got)
			slices.Reverse(got)
			if strings.Join(got, " ") != c.want[slices.Index([]string{"en", "zh"}, lang)] {
				t.Errorf("it changes %q", got)
			}
		}
		w := newWorld(t, lang)
		_, err := w.Do(t.Context(), w.ann, intent.Intent{Kind: intent.Ask, Question: &intent.Question{Missing: intent.MissTime, Text: when.Text{English: "When?", Chinese: "几点？"}}}, desk.Message{})
		if r := new(desk.Refusal); !errors.As(err, &r) || r.Kind != desk.Unsure {
			t.Errorf("without words: %v", err)
		}
		which := w.do(t, intent.Intent{Kind: intent.Ask, Op: intent.Remove, Question: &intent.Question{Missing: intent.MissRef, Text: when.Text{English: "Which?", Chinese: "哪个？"}}}, desk.Message{})
		if len(which.Buttons) != 6 || !which.Asked {
			t.Errorf("which: %+v", which)
		}
	})
}
