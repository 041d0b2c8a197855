package desk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
)

// In a group the maker of a reminder, whom it is for and an admin may do
// everything with it, in words and by its buttons; others are told whose it is,
// and nothing happens.
func TestWhoMayInAGroup(t *testing.T) {
	ops := map[string]intent.Intent{
		"move": {Op: intent.Move, Time: "08:00"}, "later": {Op: intent.Move}, "text": {Op: intent.Text, Text: "run"}, "rename": {Op: intent.Rename, Text: "run"},
		"remove": {Op: intent.Remove}, "pause": {Op: intent.Pause}, "resume": {Op: intent.Resume}, "skip": {Op: intent.Skip},
		"run": {Op: intent.Run}, "end": {Op: intent.End, Time: "until december 20"}, "once": {Op: intent.Once}, "repeat": {Op: intent.Repeat, Time: "every day at 8am"},
		"snooze": {Op: intent.Snooze}, "done": {Op: intent.Done},
		"leave out": {Op: intent.Skip, From: time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 8, 0, 0, 0, 0, time.UTC)},
	}
	presses := []string{"edit", "time", "remove", "pause", "resume", "snooze", "done"}
	people := map[string]func(w *world) desk.Who{
		"maker": func(w *world) desk.Who { return w.ann },
		"for":   func(w *world) desk.Who { b := w.ann; b.Sender = chat.Sender{ID: "bob", Name: "Bob"}; return b },
		"admin": func(w *world) desk.Who { b := w.ann; b.Sender, b.Admin = chat.Sender{ID: "root"}, true; return b },
		"other": func(w *world) desk.Who { b := w.ann; b.Sender = chat.Sender{ID: "eve"}; return b },
	}
	group := func(t *testing.T) *world {
		w := newWorld(t, "en")
		w.Desk = desk.New(w.jobs, w.notes)
		w.ann.Direct = false
		j, err := w.edit(t, "team", func(j *cron.Job) {
			j.Nag = 5 * time.Minute
			j.For = cron.Person{Channel: "telegram", Sender: chat.Sender{ID: "bob", Name: "Bob"}}
		})
		if err == nil {
			err = w.Rang(t.Context(), cron.Fired{Job: j, Slot: w.now})
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for who, person := range people {
		judge := func(w *world, name string, before []string, said desk.Said, err error) {
			t.Helper()
			r, refused := errors.AsType[*desk.Refusal](err)
			changed := difference(before, w.seen(t))
			switch {
			case who == "other" && (!refused || r.Kind != desk.Forbidden || !strings.Contains(r.Text, "Ann and Bob") || len(changed) > 0):
				t.Errorf("%s of another: %q, %v, changes %q", name, said.Text, err, changed)
			case who != "other" && err != nil:
				t.Errorf("%s of %s: %v", name, who, err)
			}
		}
		for name, in := range ops {
			w := group(t)
			before := w.seen(t)
			in.Kind, in.Ref = intent.Change, intent.Ref{Words: "team meeting"}
			said, err := w.Do(t.Context(), person(w), in, desk.Message{})
			judge(w, name, before, said, err)
		}
		for _, press := range presses {
			w := group(t)
			before := w.seen(t)
			said, err := w.Press(t.Context(), person(w), fmt.Sprintf(`{"do":%q,"id":%q}`, press, w.known["team"].ID), "")
			judge(w, "the button "+press, before, said, err)
		}
	}
}
