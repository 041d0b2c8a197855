package app_test

import (
	"fmt"
	"strings"
	"testing"

	"magpie/cron"
	"magpie/internal/fakes/modelserver"
)

// Whoever makes a task on one channel for a chat of another is nobody there,
// also when somebody there has the same id: the task gets neither that person's
// jobs nor an admin's rights.
func TestTaskFromAnotherChannel(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	path, listen := a.config("bot")
	replaceIn(t, path, `security: {`, fmt.Sprintf(`security: {admins: ["telegram:%d"], `, owner))
	mine := add(t, a.jobs, asked("mine", someDay()))
	other := asked("Bob's", someDay())
	other.Maker.ID = "1002"
	other = add(t, a.jobs, other)
	a.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: res[0].Text + "|" + res[1].Text}
		}
		pause := func(j cron.Job) modelserver.Call {
			return modelserver.Call{Name: "cron", Args: `{"action": "pause", "job_id": "` + j.ID + `"}`}
		}
		return modelserver.Answer{Calls: []modelserver.Call{pause(mine), pause(other)}}
	})
	b := a.startWith(path, listen)
	b.ready()
	for maker, want := range map[string]bool{"web": false, "telegram": true} {
		task := asked("make it quiet", someDay())
		task.Mode, task.Maker.Channel = cron.Agent, maker
		a.fire(b, add(t, a.jobs, task), result(cron.Delivered))
		said := a.tg.Messages(owner)
		last := said[len(said)-1].Text
		if n := strings.Count(last, "only they, or an admin, may change it"); (n == 0) != want || !want && n != 2 {
			t.Errorf("a task made on %s says %q", maker, last)
		}
		if was := a.get(mine).Paused && a.get(other).Paused; was != want {
			t.Errorf("a task made on %s: paused %v, want %v", maker, was, want)
		}
		for _, j := range []cron.Job{mine, other} {
			if _, err := a.jobs.Resume(t.Context(), j.Addr, j.ID, cron.By{Admin: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
