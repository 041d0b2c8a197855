package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/agent/buttons"
	"magpie/agent/command"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/internal/kv"
)

// counter is the commands over a store of their own.
type counter struct {
	reminders
	t    *testing.T
	jobs *cron.Store
}

// newCounter opens at ten o'clock on a Wednesday.
func newCounter(t *testing.T) counter {
	t.Helper()
	opened := time.Now()
	now := func() time.Time { return time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC).Add(time.Since(opened)) }
	jobs, err := cron.NewStore(new(kv.Memory), &cron.StoreOptions{Now: now, Zone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, buttons.Spec, bool, [][]buttons.Choice) ([][]chat.Button, error) {
		return nil, nil
	}
	return counter{reminders{newDesk(jobs), now, none, jobShelf{jobs, nil}, nothingKnown{}}, t, jobs}
}

// asker is who sends a command with that id.
func asker(id string) command.Asker {
	return command.Asker{Delivery: chat.Delivery{Inbound: chat.Inbound{
		Meta: chat.Meta{ID: id, Addr: chat.Address{Channel: "telegram", Chat: "1"}}, From: chat.Sender{ID: "ann"}, Direct: true,
	}}}
}

// left are the texts of the jobs that there are.
func (c counter) left() string {
	c.t.Helper()
	found, err := c.jobs.All(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	var all []string
	for _, j := range found {
		if !j.Hidden {
			all = append(all, j.Message)
		}
	}
	return strings.Join(all, " ")
}

// A command that is handled again, as after a crash before its answer, makes
// no second reminder and removes no other one.
func TestRemindersHandledAgain(t *testing.T) {
	t.Parallel()
	r := newCounter(t)
	for n, message := range []string{"one", "two", "two", "three"} {
		id := "telegram:" + message
		if text, err := r.Remind(t.Context(), asker(id), "every day at 09:00 "+message, false); err != nil || !strings.Contains(text.Text, message) {
			t.Fatalf("%d: %q, %v", n, text.Text, err)
		}
	}
	if got := r.left(); got != "one two three" {
		t.Fatalf("there are %s", got)
	}
	if _, err := r.List(t.Context(), asker("telegram:8")); err != nil { // numbers mean this list
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Change(t.Context(), asker("telegram:9"), "remove", "1"); err != nil {
			t.Fatal(err)
		}
		if got := r.left(); got != "two three" {
			t.Errorf("there are %s left", got)
		}
	}
	if _, err := r.Change(t.Context(), asker("telegram:10"), "remove", "2"); err != nil || r.left() != "three" {
		t.Errorf("another command leaves %v, %v", r.left(), err)
	}
	if _, err := r.Remind(t.Context(), asker("telegram:four"), "every day at 10:00 four", false); err != nil {
		t.Fatal(err)
	}
	if text, err := r.Change(t.Context(), asker("telegram:11"), "remove", "all"); err != nil || r.left() != "three four" || !strings.Contains(text.Text, "Really remove all 2?") {
		t.Errorf("%q, %v leaves %q", text.Text, err, r.left())
	}
	for range 2 {
		if text, err := r.Remind(t.Context(), asker("telegram:12"), "yes", false); err != nil || r.left() != "" {
			t.Errorf("%q, %v leaves %q", text.Text, err, r.left())
		}
	}
	for range 2 {
		if text, err := r.Change(t.Context(), asker("telegram:13"), "undo", ""); err != nil || r.left() != "three four" {
			t.Errorf("%q, %v leaves %q", text.Text, err, r.left())
		}
	}
}

// Several numbers of the list are moved together, and a day is listed.
func TestRemindersOfSeveral(t *testing.T) {
	t.Parallel()
	r := newCounter(t)
	for _, text := range []string{"gym", "milk"} {
		if _, err := r.Remind(t.Context(), asker("made:"+text), "every day at 9am "+text, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.List(t.Context(), asker("list")); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ verb, rest, want string }{
		{"move", "1, 2 to 7pm", "Really change all 2?"},
		{"move", "1 and 2 to 7pm", "Really change all 2?"},
		{"snooze", "1、2 1小时", "Really change all 2?"},
		{"list", "tomorrow", "tomorrow at 09:00"},
	} {
		if said, err := r.Change(t.Context(), asker(fmt.Sprint(i)), c.verb, c.rest); err != nil || !strings.Contains(said.Text, c.want) {
			t.Errorf("%s %s: %q, %v", c.verb, c.rest, said.Text, err)
		}
	}
	for text, dated := range map[string]bool{"tomorrow": true, "明天": true, "this week": true, "tomorrow at 9am": false, "tomorrow tea": false, "gym": false, "every day": false} {
		if r.Dated(asker("dated"), text) != dated {
			t.Errorf("%q: want %v", text, dated)
		}
	}
}

// A verb of /reminders changes what its words name and makes nothing, whatever
// they say; nor does it answer the question that is open.
func TestRemindersByTheirWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ verb, rest, want, left string }{
		{"move", "gym to 7pm", "now every day at 19:00: gym", ""},
		{"move", "the gym 7:15pm", "now every day at 19:15: gym", ""},
		{"move", "健身 晚上七点", "每天 19:00", ""},
		{"move", "健身晚上七点", "每天 19:00", ""},
		{"move", "健身到晚上七点", "每天 19:00", ""},
		{"move", "gym an hour later", "only the next time, tomorrow at 10:00: gym", "gym gym 健身 buy milk"},
		{"move", "gym until friday", "now every day at 09:00, until", ""},
		{"move", "健身到周五为止", "The last time: ", ""},
		{"move", "gym 3 more times", "The last time: ", ""},
		{"move", "gym", "When shall “gym” come?", ""},
		{"move", "dentist to 7pm", "there is no reminder “dentist to 7pm”", ""},
		{"move", "dentist", "there is no reminder “dentist”", ""},
		{"move", "", "Which one?\n1. ", ""}, // not the one last spoken of
		{"remove", "", "Which one?\n1. ", ""},
		{"pause", "", "Which one?\n1. ", ""},
		{"resume", "", "Which one?\n1. ", ""},
		{"run", "", "Which one?\n1. ", ""},
		{"skip", "", "Which one?\n1. ", ""},
		{"snooze", "", "Which one?\n1. ", ""},
		{"rename", "", "Which one?\n1. ", ""},
		{"text", "", "Which one?\n1. ", ""},
		{"clear", "", "Really remove all 3?", ""},
		{"remove", "it", "Cancelled (every day at 09:00): buy milk", "gym 健身"},
		{"snooze", "gym 30 minutes", "at 09:30: gym", "gym gym 健身 buy milk"},
		{"snooze", "gym until 5pm", "at 17:00: gym", "gym gym 健身 buy milk"},
		{"snooze", "健身半小时", "09:30", "gym 健身 健身 buy milk"},
		{"rename", "buy milk to buy oat milk", "buy oat milk", "gym 健身 buy oat milk"},
		{"rename", "健身改成跑步", "跑步", "gym 跑步 buy milk"},
		{"text", "buy milk: buy two", "buy two", "gym 健身 buy two"},
		{"text", "gym", "what shall it say?", ""},
		{"remove", "gym, milk", "Really remove all 2?", ""},
	} {
		r := newCounter(t)
		for _, text := range []string{"gym", "健身", "buy milk"} {
			if _, err := r.Remind(t.Context(), asker("made:"+text), "every day at 9am "+text, false); err != nil {
				t.Fatal(err)
			}
		}
		a := asker("it")
		if strings.ContainsRune(c.want, '每') || c.want == "跑步" {
			a.Lang = "zh"
		}
		said, err := r.Change(t.Context(), a, c.verb, c.rest)
		if c.left == "" {
			c.left = "gym 健身 buy milk"
		}
		if left := r.left(); err != nil || !strings.Contains(said.Text, c.want) || !sameWords(left, c.left) {
			t.Errorf("%s %s: %q, %v; there are %s", c.verb, c.rest, said.Text, err, left)
		}
	}
	r := newCounter(t)
	for _, text := range []string{"gym early", "gym late"} {
		if _, err := r.Remind(t.Context(), asker(text), "every day at 9am "+text, false); err != nil {
			t.Fatal(err)
		}
	}
	for n, rest := range []string{"gym", "late", "2"} { // the first asks which one
		if _, err := r.Change(t.Context(), asker(fmt.Sprint("verb", n)), []string{"remove", "move", "move"}[n], rest); err != nil {
			t.Fatal(err)
		}
		if left := r.left(); !sameWords(left, "gym early gym late") {
			t.Errorf("after %q there are %s", rest, left)
		}
	}
}

// sameWords says whether two texts have the same words in any order.
func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// nothingKnown knows of no message what it is about.
type nothingKnown struct{}

func (nothingKnown) made(context.Context, string, []cron.Job)         {}
func (nothingKnown) job(context.Context, chat.Address, string) string { return "" }

func (nothingKnown) asked(context.Context, chat.Address, chat.Sender, bool) {}

func newDesk(jobs *cron.Store) *desk.Desk { return desk.New(jobs, new(kv.Memory)) }
