package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/cron"
	"magpie/internal/fakes/modelserver"
)

// A task cannot make jobs, nor have its own run again.
func TestTaskMakesNoJobs(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	var task cron.Job
	a.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			var all []string
			for _, m := range res {
				all = append(all, m.Text)
			}
			return modelserver.Answer{Text: strings.Join(all, "\n")}
		}
		return modelserver.Answer{Calls: []modelserver.Call{
			{Name: "cron", Args: `{"action": "add", "message": "again", "every_seconds": 60}`},
			{Name: "cron", Args: `{"action": "run", "job_id": "` + task.ID + `"}`},
			{Name: "cron", Args: `{"action": "list"}`},
		}}
	})
	task = asked("work for ever", someDay())
	task.Mode = cron.Agent
	task = add(t, a.jobs, task)
	b := a.start("bot")
	b.ready()
	a.fire(b, task, result(cron.Delivered))
	said := texts(a.tg.Messages(owner))
	if strings.Count(said, "a job may not") != 2 || !strings.Contains(said, "work for ever") {
		t.Errorf("the chat shows %q", said)
	}
	if jobs := a.all(); len(jobs) != 1 || len(jobs[0].Runs) != 1 || jobs[0].Pending != nil {
		t.Errorf("jobs %+v", jobs)
	}
}

// The heartbeat of the documentation speaks only if its file has something.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/reminders.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "```heartbeat\n")
	text, _, ok := strings.Cut(text, "\n```")
	if !ok {
		t.Fatal("docs/reminders.md has no heartbeat")
	}
	a := newAgenda(t)
	asking := make(chan string, 10)
	a.model.Reply(func(r modelserver.Request) modelserver.Answer {
		switch res := r.Results(); {
		case !strings.Contains(r.LastUser(), "HEARTBEAT.md"):
			return modelserver.Echo(r)
		case len(res) == 0:
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "read_file", Args: `{"path": "HEARTBEAT.md"}`}}}
		case strings.Contains(res[len(res)-1].Text, "water the plants"):
			return modelserver.Answer{Text: "It is time to water the plants."}
		default:
			asking <- res[len(res)-1].Text
			return modelserver.Answer{Text: "[silent]"}
		}
	})
	job := asked(text, someDay())
	job.Mode = cron.Agent
	job = add(t, a.jobs, job)
	b := a.start("bot")
	b.ready()
	a.fire(b, job, result(cron.Done)) // the file is missing
	if got := receive(t, asking, "the first look"); !strings.Contains(got, "not_found") {
		t.Errorf("a missing file reads %q", got)
	}
	a.ask("hello") // after the silent turn
	file := filepath.Join(a.data("workspace"), "HEARTBEAT.md")
	if err := os.WriteFile(file, []byte("- water the plants\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.fire(b, job, result(cron.Delivered))
	if got := texts(a.tg.Messages(owner)); got != "echo: hello|It is time to water the plants." {
		t.Errorf("the chat shows %q", got)
	}
}
