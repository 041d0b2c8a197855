package desk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/cron"
	"magpie/cron/desk"
)

// The button Edit takes a time, words, or both, of what is to come and of what
// has rung; what is neither answers nothing, and silence is told.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		lang, n string
		say     []string
		want    string // what comes of it
		says    string
	}{
		{"en", "mum", []string{"at 8:30pm"}, "+call mum @ 2026-11-25T20:30", "now today at 20:30"},
		{"en", "mum", []string{"call jane"}, "+call jane @ 2026-11-25T18:00", "call jane"},
		{"en", "mum", []string{"at 8:30pm call jane"}, "+call jane @ 2026-11-25T20:30", "call jane"},
		{"en", "mum", []string{"call jane tomorrow at 10am"}, "+call jane @ 2026-11-26T10:00", "call jane"},
		{"en", "mum", []string{"tomorrow at 8 call jane", "pm"}, "+call jane @ 2026-11-26T20:00", "call jane"},
		{"en", "pills", []string{"at 10pm take vitamins"}, "+take vitamins @ 2026-11-25T22:00", "every day at 22:00"},
		{"en", "plants", []string{"in 20 minutes"}, "+water the plants @ 2026-11-25T10:20", "again"},
		{"en", "plants", []string{"water the roses", "in 20 minutes"}, "+water the roses @ 2026-11-25T10:20", "again"},
		{"en", "plants", []string{"at 6pm water the roses"}, "+water the roses @ 2026-11-25T18:00", "again"},
		{"en", "mum", []string{"at 25:00 call jane"}, "", "25:00"},
		{"zh", "mum", []string{"晚上八点半"}, "+给妈妈打电话 @ 2026-11-25T20:30", "今天20:30"},
		{"zh", "mum", []string{"给小王打电话"}, "+给小王打电话 @ 2026-11-25T18:00", "给小王打电话"},
		{"zh", "mum", []string{"晚上八点半给小王打电话"}, "+给小王打电话 @ 2026-11-25T20:30", "给小王打电话"},
		{"zh", "plants", []string{"浇玫瑰", "20分钟后"}, "+浇玫瑰 @ 2026-11-25T10:20", "再提醒"},
	} {
		w := newWorld(t, c.lang)
		w.Desk = desk.New(w.jobs, w.notes)
		before := w.seen(t)
		said, err := w.Press(t.Context(), w.ann, fmt.Sprintf(`{"do":"edit","id":%q}`, w.known[c.n].ID), "")
		if err != nil || !said.Asked || !strings.Contains(said.Text, w.say("new words, or both", "新的内容")) {
			t.Fatalf("%s: %q, %v", c.n, said.Text, err)
		}
		for _, say := range c.say {
			var mine bool
			if said, mine, err = w.Say(t.Context(), w.ann, desk.Message{Text: say, Answer: true}); !mine {
				t.Errorf("%q is no answer", say)
			}
		}
		if err != nil {
			said.Text = err.Error()
		}
		var got []string
		for _, line := range difference(before, w.seen(t)) {
			if strings.HasPrefix(line, "+") && !strings.Contains(line, "hidden") {
				got = append(got, line)
			}
		}
		if strings.Join(got, " ") != c.want || !strings.Contains(said.Text, c.says) {
			t.Errorf("%s %q: %q, %q; want %q", c.n, c.say, said.Text, got, c.want)
		}
	}
	w := newWorld(t, "en")
	w.Desk = desk.New(w.jobs, w.notes)
	if _, err := w.Press(t.Context(), w.ann, fmt.Sprintf(`{"do":"edit","id":%q}`, w.known["mum"].ID), ""); err != nil {
		t.Fatal(err)
	}
	for _, say := range []string{"thanks", "what is the weather?", "remind me to sleep", "ok"} {
		if _, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: say, Answer: true}); mine {
			t.Errorf("%q is taken as an answer, %v", say, err)
		}
	}
	jobs, err := w.jobs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if next, _ := cron.Next(j, w.now); j.Hidden && (!strings.Contains(j.Message, "was not answered") || next.Sub(w.now) != 10*time.Minute) {
			t.Errorf("silence is told as %q at %v", j.Message, next)
		}
	}
}
