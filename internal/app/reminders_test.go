package app

import (
	"context"
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

func newCounter(t *testing.T) counter {
	t.Helper()
	jobs, err := cron.NewStore(new(kv.Memory), nil)
	if err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, buttons.Spec, bool, [][]buttons.Choice) ([][]chat.Button, error) {
		return nil, nil
	}
	return counter{reminders{newDesk(jobs), time.Now, none, jobShelf{jobs, nil}, nothingKnown{}}, t, jobs}
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

// nothingKnown knows of no message what it is about.
type nothingKnown struct{}

func (nothingKnown) made(context.Context, string, []cron.Job)         {}
func (nothingKnown) job(context.Context, chat.Address, string) string { return "" }

func (nothingKnown) asked(context.Context, chat.Address, chat.Sender, bool) {}

func newDesk(jobs *cron.Store) *desk.Desk { return desk.New(jobs, new(kv.Memory)) }
