package app

import (
	"strings"
	"testing"

	"magpie/agent/command"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/internal/kv"
)

// A command that is handled again, as after a crash before its answer, makes
// no second reminder and removes no other one.
func TestRemindersHandledAgain(t *testing.T) {
	t.Parallel()
	jobs, err := cron.NewStore(new(kv.Memory), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := reminders{desk.New(jobs), new(kv.Memory)}
	asker := func(id string) command.Asker {
		return command.Asker{Delivery: chat.Delivery{Inbound: chat.Inbound{
			Meta: chat.Meta{ID: id, Addr: chat.Address{Channel: "telegram", Chat: "1"}}, From: chat.Sender{ID: "ann"}, Direct: true,
		}}}
	}
	left := func() (all []string) {
		t.Helper()
		found, err := jobs.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range found {
			all = append(all, j.Message)
		}
		return all
	}
	for n, message := range []string{"one", "two", "two", "three"} {
		id := "telegram:" + message
		if text, err := r.Remind(t.Context(), asker(id), "every day at 09:00 "+message, false); err != nil || !strings.Contains(text, message) {
			t.Fatalf("%d: %q, %v", n, text, err)
		}
	}
	if got := strings.Join(left(), " "); got != "one two three" {
		t.Fatalf("there are %s", got)
	}
	for range 2 {
		if _, err := r.Change(t.Context(), asker("telegram:9"), "remove", "1"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(left(), " "); got != "two three" {
			t.Errorf("there are %s left", got)
		}
	}
	if _, err := r.Change(t.Context(), asker("telegram:10"), "remove", "1"); err != nil || strings.Join(left(), " ") != "three" {
		t.Errorf("another command leaves %v, %v", left(), err)
	}
	if text, err := r.Change(t.Context(), asker("telegram:11"), "remove", "all"); err != nil || len(left()) != 0 {
		t.Errorf("%q, %v leaves %v", text, err, left())
	}
}
