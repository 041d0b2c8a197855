package desk_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/cron/desk"
	"magpie/cron/intent"
)

// What repeats gets an end, whatever its schedule is written as, and undo takes
// it back. An end before its next time is asked about.
func TestOpEnd(t *testing.T) {
	at := func(all []string) (short []string) {
		for _, a := range all {
			short = append(short, a[5:16])
		}
		return short
	}
	for name, c := range map[string]struct {
		ask  desk.Ask
		time string
		want []string // all times that are left
	}{
		"an interval":           {desk.Ask{Every: 2 * time.Hour}, "until 3pm", []string{"11-25T12:00", "11-25T14:00"}},
		"a count of it":         {desk.Ask{Every: 90 * time.Minute}, "3 more times", []string{"11-25T11:30", "11-25T13:00", "11-25T14:30"}},
		"an expression":         {desk.Ask{Cron: "0 9 * * 1-5"}, "until friday", []string{"11-26T09:00", "11-27T09:00"}},
		"each half hour":        {desk.Ask{Cron: "*/30 * * * *"}, "two more times", []string{"11-25T10:30", "11-25T11:00"}},
		"hours and minutes":     {desk.Ask{Schedule: "every day at 9:00 and 21:30"}, "3 more times", []string{"11-25T21:30", "11-26T09:00", "11-26T21:30"}},
		"another end":           {desk.Ask{Schedule: "every day at 9pm for two weeks"}, "until friday", []string{"11-25T21:00", "11-26T21:00", "11-27T21:00"}},
		"a later end":           {desk.Ask{Schedule: "every day at 9pm until tomorrow"}, "到周五为止", []string{"11-25T21:00", "11-26T21:00", "11-27T21:00"}},
		"every other friday":    {desk.Ask{Schedule: "every other friday at 9am"}, "再三次", []string{"11-27T09:00", "12-11T09:00", "12-25T09:00"}},
		"the lunar calendar":    {desk.Ask{Schedule: "每逢初一 09:00"}, "再两次", []string{"12-09T09:00", "01-08T09:00"}},
		"more than are left":    {desk.Ask{Schedule: "every day at 9pm until tomorrow"}, "3 more times", []string{"11-25T21:00", "11-26T21:00", "11-27T21:00"}},
		"no end any more":       {desk.Ask{Schedule: "every day at 9pm until tomorrow"}, "forever", []string{"11-25T21:00", "11-26T21:00", "11-27T21:00", "11-28T21:00"}},
		"永远":                    {desk.Ask{Schedule: "every day at 9pm until tomorrow"}, "不要结束", []string{"11-25T21:00", "11-26T21:00", "11-27T21:00", "11-28T21:00"}},
		"what does not come on": {desk.Ask{Cron: "0 9 * * 1"}, "until friday", nil},
	} {
		w := newWorld(t, "en")
		c.ask.Message = "stretch"
		j := w.add(t, w.ann, c.ask)
		before := w.times(j, 4)
		said, err := w.Do(t.Context(), w.ann, intent.Intent{Kind: intent.Change, Op: intent.Move, Ref: intent.Ref{Words: j.ID}, Time: c.time}, desk.Message{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		now, err := w.jobs.Get(t.Context(), j.Addr, j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == nil {
			if !said.Asked || !strings.Contains(said.Text, "Shall I remove it?") || !slices.Equal(w.times(now, 4), before) {
				t.Errorf("%s: %q", name, said.Text)
			}
			continue
		}
		if got := at(w.times(now, 4)); !slices.Equal(got, c.want) || strings.Contains(said.Text, "The last time: ") == (len(c.want) > 3) {
			t.Errorf("%s: %q, then %v; want %v", name, said.Text, got, c.want)
		}
		if _, err = w.Do(t.Context(), w.ann, intent.Intent{Kind: intent.Change, Op: intent.Undo}, desk.Message{}); err != nil {
			t.Errorf("%s: undo: %v", name, err)
		}
		if now, err = w.jobs.Get(t.Context(), j.Addr, j.ID); err != nil || now.Schedule != j.Schedule {
			t.Errorf("%s: undone it is %v, %v", name, now.Schedule, err)
		}
	}
}
