package desk_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

func langs(t *testing.T, run func(t *testing.T, lang string)) {
	for _, lang := range []string{"en", "zh"} {
		t.Run(lang, func(t *testing.T) { run(t, lang) })
	}
}

// spelled puts words of package when for moments into a text: {2026-11-25T18:00}.
func (w *world) spelled(text string) string {
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllStringFunc(text, func(m string) string {
		at, err := time.ParseInLocation("{2006-01-02T15:04}", m, w.ann.Zone)
		if err != nil {
			panic(err)
		}
		return when.Soon(at, w.now, w.ann.Zone, w.ann.Lang)
	})
}

func change(op intent.Op, ref intent.Ref) intent.Intent {
	return intent.Intent{Kind: intent.Change, Op: op, Ref: ref}
}

func span(d time.Duration) when.Span { return when.Span{Exact: d} }

// Every operation changes what it means and nothing else, says what is now,
// and undo puts everything back.
func TestOperations(t *testing.T) {
	last, rang := intent.Ref{Last: true}, intent.Ref{Rang: true}
	with := func(in intent.Intent, edit func(*intent.Intent)) intent.Intent { edit(&in); return in }
	for name, c := range map[string]struct {
		in     intent.Intent
		m      desk.Message
		change [2][]string // English, Chinese
		says   [2]string
	}{
		"move it": {
			in:     with(change(intent.Move, last), func(in *intent.Intent) { in.Time = "19:30" }),
			change: [2][]string{{"-buy milk @ 2026-11-27T17:00", "+buy milk @ 2026-11-27T19:30"}, {"-买牛奶 @ 2026-11-27T17:00", "+买牛奶 @ 2026-11-27T19:30"}},
			says:   [2]string{"OK, now {2026-11-27T19:30}: buy milk.", "好的，改为{2026-11-27T19:30}：买牛奶"},
		},
		"later": {
			in:     with(change(intent.Move, intent.Ref{Number: 1}), func(in *intent.Intent) { in.Shift = span(30 * time.Minute) }),
			change: [2][]string{{"-call mum @ 2026-11-25T18:00", "+call mum @ 2026-11-25T18:30"}, {"-给妈妈打电话 @ 2026-11-25T18:00", "+给妈妈打电话 @ 2026-11-25T18:30"}},
			says:   [2]string{"OK, now {2026-11-25T18:30}: call mum.", "好的，改为{2026-11-25T18:30}：给妈妈打电话"},
		},
		"what repeats, always": {
			in:     with(change(intent.Move, intent.Ref{Clock: "21:00"}), func(in *intent.Intent) { in.Time = "22:00" }),
			change: [2][]string{{"-take my pills @ 2026-11-25T21:00", "+take my pills @ 2026-11-25T22:00"}, {"-吃药 @ 2026-11-25T21:00", "+吃药 @ 2026-11-25T22:00"}},
			says:   [2]string{"OK, now every day at 22:00: take my pills. Next: {2026-11-25T22:00}.", "好的，改为每天 22:00：吃药。下次：{2026-11-25T22:00}"},
		},
		"what repeats, this time": {
			in: with(change(intent.Move, intent.Ref{Clock: "21:00"}), func(in *intent.Intent) { in.Shift = span(time.Hour) }), m: desk.Message{Text: "这次晚一个小时 just this once"},
			change: [2][]string{
				{"-take my pills @ 2026-11-25T21:00", "+take my pills @ 2026-11-25T22:00", "+take my pills @ 2026-11-26T21:00"},
				{"-吃药 @ 2026-11-25T21:00", "+吃药 @ 2026-11-25T22:00", "+吃药 @ 2026-11-26T21:00"},
			},
			says: [2]string{"OK, only the next time, {2026-11-25T22:00}: take my pills.", "好的，只改这一次，{2026-11-25T22:00}：吃药"},
		},
		"other words": {
			in:     with(change(intent.Text, last), func(in *intent.Intent) { in.Text = "oat milk 燕麦奶" }),
			change: [2][]string{{"-buy milk @ 2026-11-27T17:00", "+oat milk 燕麦奶 @ 2026-11-27T17:00"}, {"-买牛奶 @ 2026-11-27T17:00", "+oat milk 燕麦奶 @ 2026-11-27T17:00"}},
			says:   [2]string{"OK, {2026-11-27T17:00}: oat milk 燕麦奶.", "好的，{2026-11-27T17:00} 提醒你：oat milk 燕麦奶"},
		},
		"another name": {
			in:     with(change(intent.Rename, last), func(in *intent.Intent) { in.Text = "dairy" }),
			change: [2][]string{{"-buy milk @ 2026-11-27T17:00", "+dairy: buy milk @ 2026-11-27T17:00"}, {"-买牛奶 @ 2026-11-27T17:00", "+dairy: 买牛奶 @ 2026-11-27T17:00"}},
			says:   [2]string{"OK, {2026-11-27T17:00}: dairy: buy milk.", "好的，{2026-11-27T17:00} 提醒你：dairy: 买牛奶"},
		},
		"remove the last one": {
			in:     change(intent.Remove, intent.Ref{Number: -1}),
			change: [2][]string{{"-pay rent paused"}, {"-交房租 paused"}},
			says:   [2]string{"Cancelled (on the 1st of every month at 09:00): pay rent.", "已取消（每月1号 09:00）：交房租"},
		},
		"pause": {
			in:     change(intent.Pause, intent.Ref{Words: "the team-meeting reminder 周會的提醒"}),
			change: [2][]string{nil, nil},
		},
		"resume": {
			in:     change(intent.Resume, intent.Ref{Number: 6}),
			change: [2][]string{{"-pay rent paused", "+pay rent @ 2026-12-01T09:00"}, {"-交房租 paused", "+交房租 @ 2026-12-01T09:00"}},
			says:   [2]string{"It goes on, on the 1st of every month at 09:00: pay rent. Next: {2026-12-01T09:00}.", "已恢复，每月1号 09:00：交房租。下次：{2026-12-01T09:00}"},
		},
		"skip": {
			in:     change(intent.Skip, intent.Ref{Number: 2}),
			change: [2][]string{{"-take my pills @ 2026-11-25T21:00", "+take my pills @ 2026-11-26T21:00"}, {"-吃药 @ 2026-11-25T21:00", "+吃药 @ 2026-11-26T21:00"}},
			says:   [2]string{"Left out: {2026-11-25T21:00} – take my pills. Next: {2026-11-26T21:00}.", "跳过{2026-11-25T21:00}：吃药。下次：{2026-11-26T21:00}"},
		},
		"skip what comes once": {
			in:     change(intent.Skip, intent.Ref{Number: 3}),
			change: [2][]string{{"-gym @ 2026-11-26T07:00"}, {"-健身 @ 2026-11-26T07:00"}},
			says:   [2]string{"Cancelled ({2026-11-26T07:00}): gym.", "已取消（{2026-11-26T07:00}）：健身"},
		},
		"later, of what repeats": {
			in: with(change(intent.Move, intent.Ref{Number: 2}), func(in *intent.Intent) { in.Shift = span(30 * time.Minute) }),
			change: [2][]string{
				{"-take my pills @ 2026-11-25T21:00", "+take my pills @ 2026-11-25T21:30", "+take my pills @ 2026-11-26T21:00"},
				{"-吃药 @ 2026-11-25T21:00", "+吃药 @ 2026-11-25T21:30", "+吃药 @ 2026-11-26T21:00"},
			},
			says: [2]string{"OK, only the next time, {2026-11-25T21:30}: take my pills.", "好的，只改这一次，{2026-11-25T21:30}：吃药"},
		},
		"later, always": {
			in: with(change(intent.Move, intent.Ref{Number: 2}), func(in *intent.Intent) { in.Shift = span(30 * time.Minute) }), m: desk.Message{Text: "from now on half an hour later 以后"},
			change: [2][]string{{"-take my pills @ 2026-11-25T21:00", "+take my pills @ 2026-11-25T21:30"}, {"-吃药 @ 2026-11-25T21:00", "+吃药 @ 2026-11-25T21:30"}},
		},
		"several": {
			in: with(change(intent.Done, intent.Ref{All: true}), func(in *intent.Intent) { in.And = []intent.Ref{{Number: 1}, {Number: 3}} }),
			change: [2][]string{
				{"-call mum @ 2026-11-25T18:00", "-gym @ 2026-11-26T07:00"},
				{"-健身 @ 2026-11-26T07:00", "-给妈妈打电话 @ 2026-11-25T18:00"},
			},
		},
		"snooze what rang": {
			in:     change(intent.Snooze, rang),
			change: [2][]string{{"+water the plants @ 2026-11-25T10:10"}, {"+浇花 @ 2026-11-25T10:10"}},
			says:   [2]string{"OK, again {2026-11-25T10:10}: water the plants.", "好的，{2026-11-25T10:10}再提醒你：浇花"},
		},
		"snooze until tomorrow": {
			in:     with(change(intent.Snooze, intent.Ref{}), func(in *intent.Intent) { in.Shift = when.Span{Days: 1} }),
			change: [2][]string{{"+water the plants @ 2026-11-26T09:50"}, {"+浇花 @ 2026-11-26T09:50"}},
		},
		"snooze until an hour": {
			in:     with(change(intent.Snooze, intent.Ref{}), func(in *intent.Intent) { in.Time = "12:00" }),
			change: [2][]string{{"+water the plants @ 2026-11-25T12:00"}, {"+浇花 @ 2026-11-25T12:00"}},
		},
		"snooze what is ahead": {
			in:     with(change(intent.Snooze, intent.Ref{Number: 1}), func(in *intent.Intent) { in.Shift = span(time.Hour) }),
			change: [2][]string{{"-call mum @ 2026-11-25T18:00", "+call mum @ 2026-11-25T19:00"}, {"-给妈妈打电话 @ 2026-11-25T18:00", "+给妈妈打电话 @ 2026-11-25T19:00"}},
		},
		"repeat": {
			in:     with(change(intent.Repeat, last), func(in *intent.Intent) { in.Time = "every friday at 17:00" }),
			change: [2][]string{nil, nil},
			says:   [2]string{"OK, now every Friday at 17:00: buy milk. Next: {2026-11-27T17:00}.", "好的，改为每周五 17:00：买牛奶。下次：{2026-11-27T17:00}"},
		},
		"once": {
			in:     change(intent.Once, intent.Ref{Number: 2}),
			change: [2][]string{nil, nil},
			says:   [2]string{"OK, only once now, {2026-11-25T21:00}: take my pills.", "好的，只提醒一次，{2026-11-25T21:00}：吃药"},
		},
		"everything of a day": {
			in:     with(change(intent.Move, intent.Ref{From: at("2026-11-26T00:00:00+08:00"), To: at("2026-11-26T12:00:00+08:00")}), func(in *intent.Intent) { in.Time = "08:00" }),
			change: [2][]string{{"-gym @ 2026-11-26T07:00", "+gym @ 2026-11-26T08:00"}, {"-健身 @ 2026-11-26T07:00", "+健身 @ 2026-11-26T08:00"}},
		},
		"a reply to what rang and is gone": {
			in: with(change(intent.Move, last), func(in *intent.Intent) { in.Time = "12:00" }), m: desk.Message{Reply: "plants"},
			change: [2][]string{{"+water the plants @ 2026-11-25T12:00"}, {"+浇花 @ 2026-11-25T12:00"}},
		},
		"words that fit nothing, in a reply": {
			in: change(intent.Remove, intent.Ref{Words: "thing 事"}), m: desk.Message{Reply: "gym"},
			change: [2][]string{{"-gym @ 2026-11-26T07:00"}, {"-健身 @ 2026-11-26T07:00"}},
		},
		"a reply means its reminder": {
			in: change(intent.Remove, last), m: desk.Message{Reply: "gym"},
			change: [2][]string{{"-gym @ 2026-11-26T07:00"}, {"-健身 @ 2026-11-26T07:00"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			langs(t, func(t *testing.T, lang string) {
				w := newWorld(t, lang)
				i := slices.Index([]string{"en", "zh"}, lang)
				m := c.m
				if m.Reply != "" {
					m.Reply = w.known[m.Reply].ID
				}
				if in := &c.in; name == "pause" {
					in.Ref.Words = w.say("the Team-meetng reminder", "周會的提醒")
				}
				before := w.seen(t)
				said := w.do(t, c.in, m)
				if got := difference(before, w.seen(t)); c.change[i] != nil && !slices.Equal(got, c.change[i]) {
					t.Errorf("changes %q, want %q", got, c.change[i])
				}
				if want := w.spelled(c.says[i]); want != "" && said.Text != want {
					t.Errorf("says %q, want %q", said.Text, want)
				}
				if len(said.Jobs) == 0 || said.Asked {
					t.Errorf("said %+v", said)
				}
				w.Desk = w.open() // a restart
				w.now = w.now.Add(9 * time.Minute)
				back := w.press(t, said, w.say("Undo", "撤销"))
				if got := difference(before, w.seen(t)); len(got) > 0 {
					t.Errorf("undo leaves %q (%s)", got, back.Text)
				}
				if _, err := w.Do(t.Context(), w.ann, change(intent.Undo, intent.Ref{}), desk.Message{}); err == nil || !strings.Contains(err.Error(), w.say("nothing to undo", "没有可以撤销")) {
					t.Errorf("undo after undo: %v", err)
				}
			})
		})
	}
}

// What rang and came once is acknowledged; what did not ring yet is cancelled.
func TestDone(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		before := w.seen(t)
		if said := w.do(t, change(intent.Done, intent.Ref{}), desk.Message{}); said.Text != w.say("Done: water the plants.", "完成了：浇花") {
			t.Errorf("done says %q", said.Text)
		}
		if got := difference(before, w.seen(t)); len(got) > 0 {
			t.Errorf("it changes %q", got)
		}
		w.do(t, change(intent.Done, intent.Ref{Words: w.say("mum", "妈妈")}), desk.Message{})
		if got := difference(before, w.seen(t)); len(got) != 1 || !strings.HasPrefix(got[0], w.say("-call mum", "-给妈妈打电话")) {
			t.Errorf("it changes %q", got)
		}
	})
}

// The buttons under a reminder work when the reminder is gone.
func TestDueButtons(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		for label, want := range map[string][2]string{
			"10 min 10 分钟": {"+water the plants @ 2026-11-25T10:10", "+浇花 @ 2026-11-25T10:10"}, "1 hour 1 小时": {"+water the plants @ 2026-11-25T11:00", "+浇花 @ 2026-11-25T11:00"},
			"Tomorrow 明天": {"+water the plants @ 2026-11-26T09:50", "+浇花 @ 2026-11-26T09:50"}, "Done 完成": {},
		} {
			w := newWorld(t, lang)
			due := desk.Said{Buttons: w.DueButtons(w.ann, w.known["plants"])}
			i := slices.Index([]string{"en", "zh"}, lang)
			words := strings.Fields(label)
			half := len(words) / 2
			before := w.seen(t)
			w.press(t, due, strings.Join([][]string{words[:half], words[half:]}[i], " "))
			if got := strings.Join(difference(before, w.seen(t)), " "); got != want[i] {
				t.Errorf("%s changes %q", label, got)
			}
		}
	})
}

func (w *world) edit(t testing.TB, n string, change func(*cron.Job)) (cron.Job, error) {
	return w.jobs.Update(t.Context(), w.known[n].Addr, w.known[n].ID, cron.By{Admin: true}, func(j *cron.Job) error { change(j); return nil })
}

// A message that is handled again is answered the same and changes nothing
// twice, wherever the process stopped before.
func TestTheSameMessageAgain(t *testing.T) {
	later := change(intent.Move, intent.Ref{Number: 1})
	later.Shift = span(time.Hour)
	for name, in := range map[string]intent.Intent{
		"create": {Kind: intent.Create, Text: "tea", Times: []when.Phrase{{Every: time.Hour}, {Every: 2 * time.Hour}}},
		"remove": change(intent.Remove, intent.Ref{Number: 1}), "shift": later, "skip": change(intent.Skip, intent.Ref{Number: 2}),
		"snooze": change(intent.Snooze, intent.Ref{}), "run": change(intent.Run, intent.Ref{Number: 2}), "undo": change(intent.Undo, intent.Ref{}),
		"ask": change(intent.Remove, intent.Ref{All: true}), "list": {Kind: intent.Query, What: intent.AskList},
	} {
		t.Run(name, func(t *testing.T) {
			setup := func() *world {
				w := newWorld(t, "en")
				w.do(t, change(intent.Pause, intent.Ref{Words: "gym"}), desk.Message{})
				return w
			}
			w := setup()
			m := desk.Message{Key: "telegram:9"}
			first := w.do(t, in, m)
			want := w.seen(t)
			// Number of writes of the memory and the jobs together after which
			// the process is killed: all of them are tried.
			for n := 0; ; n++ {
				w := setup()
				kill := &killer{left: n}
				w.Desk = desk.NewWith(kill.store(t, w.fixture), kill.table(w.notes), w.words)
				_, err := w.Do(t.Context(), w.ann, in, m)
				w.now = w.now.Add(time.Second)
				w.Desk = w.open()
				again := w.do(t, in, m)
				twice := w.do(t, in, m)
				if again.Text != twice.Text {
					t.Errorf("killed after %d writes: %q, then %q", n, again.Text, twice.Text)
				}
				if got := w.seen(t); !slices.Equal(got, want) {
					t.Errorf("killed after %d writes: %q", n, difference(want, got))
				}
				if err == nil {
					if again.Text != first.Text {
						t.Errorf("the answer was %q and is %q", first.Text, again.Text)
					}
					if n < 2 && name != "list" {
						t.Errorf("killed after %d writes: nothing happened", n)
					}
					return
				}
			}
		})
	}
}

// Two processes and several people at once lose nothing of the memory.
func TestAtOnce(t *testing.T) {
	w := newWorld(t, "en")
	other := w.open()
	done := make(chan error)
	for i := range 8 {
		go func() {
			d := []*desk.Desk{w.Desk, other}[i%2]
			_, err := d.Do(t.Context(), w.ann, intent.Intent{Kind: intent.Create, Text: fmt.Sprint("n", i), Times: []when.Phrase{{Every: time.Hour}}}, desk.Message{Key: fmt.Sprint(i / 2)})
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := w.count(t); got != 6+4 {
		t.Errorf("%d jobs", got)
	}
	for range 4 {
		w.do(t, change(intent.Undo, intent.Ref{}), desk.Message{})
	}
	if got := w.count(t); got != 6 {
		t.Errorf("%d jobs after undo", got)
	}
	// Of two answers to one question one counts.
	w.do(t, change(intent.Remove, intent.Ref{All: true}), desk.Message{})
	answered := make(chan bool)
	for i, text := range []string{"yes", "no", "yes", "never mind"} {
		go func() {
			_, mine, err := []*desk.Desk{w.Desk, other}[i%2].Say(t.Context(), w.ann, desk.Message{Text: text})
			answered <- mine && err == nil
		}()
	}
	n := 0
	for range 4 {
		if <-answered {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d answers counted", n)
	}
}
