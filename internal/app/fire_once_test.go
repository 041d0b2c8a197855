package app_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/cron"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// once adds a task that is due in a moment, and never again.
func (a *agenda) once(message string) cron.Job {
	a.t.Helper()
	job := asked(message, in(2*time.Second))
	job.Mode = cron.Agent
	return add(a.t, a.jobs, job)
}

// A task that comes once stays while it waits for a model, and also when none
// answers: the list and the history say so.
func TestTaskOnceStaysUntilItIsDone(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	var back atomic.Bool
	a.model.Reply(func(modelserver.Request) modelserver.Answer {
		if back.Load() {
			return modelserver.Answer{Text: "All is well."}
		}
		return modelserver.Answer{Status: http.StatusServiceUnavailable}
	})
	b := a.start("bot")
	b.ready()
	job := a.once("look after the house")
	b.until("the pause", func() bool { return strings.Contains(b.log.String(), "no model could answer a job, it is tried again") }, b.log.String)
	a.ran(b, job, 1, result(cron.Sent)) // as long as it waits
	if got := a.ask("/reminders"); !strings.Contains(got, "look after the house") || !strings.Contains(got, "on its way") || !strings.Contains(got, "last: sent") {
		t.Errorf("while it waits the list says %q", got)
	}
	a.say("hello") // the next try is the last
	run := a.ran(b, job, 1, result(cron.Failed))
	if !strings.Contains(run.Err, "no model could answer") || run.Receipt == nil || len(run.Receipt.Refs) != 1 {
		t.Errorf("the job says %+v", run)
	}
	a.wait(owner, "the answers", func(m []telegram.Message) bool { return len(m) == 3 })
	if got := a.ask("/reminders"); !strings.Contains(got, "1. over") || !strings.Contains(got, "last: failed") {
		t.Errorf("afterwards the list says %q", got)
	}
	back.Store(true)
	a.say("/reminders run 1")
	a.wait(owner, "the answer", func(m []telegram.Message) bool { return count(m, "All is well.") == 1 })
	b.until("the job is gone", func() bool { return len(a.all()) == 0 }, func() string { return texts(a.tg.Messages(owner)) })
}

// The platform refuses the answer of a task that comes once: the job stays and
// says why.
func TestTaskOnceIsRefused(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	a.tg.Fail(telegram.Fault{Method: "sendMessage", Code: 403, Text: "Forbidden: bot was blocked by the user"})
	b := a.start("bot")
	b.ready()
	job := a.once("look after the house")
	if run := a.ran(b, job, 1, result(cron.Failed)); !strings.Contains(run.Err, "blocked by the user") || run.Receipt == nil {
		t.Errorf("the job says %+v", run)
	}
}

// A task that comes once goes when its answer has arrived, or when its turn
// ended without one; until then it is there.
func TestTaskOnceGoes(t *testing.T) {
	t.Parallel()
	for answer, shown := range map[string]string{"All is well.": "All is well.", "[silent]": ""} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			a := newAgenda(t)
			var asked atomic.Int32
			asking, let := make(chan struct{}, 10), make(chan struct{})
			answerNow := sync.OnceFunc(func() { close(let) })
			t.Cleanup(answerNow) // before the model is closed, which waits
			a.model.Reply(func(modelserver.Request) modelserver.Answer {
				asked.Add(1)
				asking <- struct{}{}
				<-let
				return modelserver.Answer{Text: answer}
			})
			b := a.start("bot")
			b.ready()
			job := a.once("look after the house")
			receive(t, asking, "the model asked")
			a.ran(b, job, 1, result(cron.Sent))
			answerNow()
			b.until("the job is gone", func() bool { return len(a.all()) == 0 }, func() string { return texts(a.tg.Messages(owner)) })
			if got := texts(a.tg.Messages(owner)); got != shown || asked.Load() != 1 {
				t.Errorf("the chat shows %q, the model was asked %d times", got, asked.Load())
			}
			if shown != "" {
				b.until("the log of it", func() bool { return strings.Contains(b.log.String(), "message sent") }, b.log.String)
			}
			if sent := strings.Contains(b.log.String(), "message sent"); sent != (shown != "") {
				t.Errorf("a message counts as sent: %v, the chat shows %q", sent, shown)
			}
		})
	}
}

// A person who stops a task's turn has it noted; the job stays.
func TestTaskOnceIsStopped(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	asking := make(chan struct{}, 10)
	a.model.Reply(func(modelserver.Request) modelserver.Answer {
		asking <- struct{}{}
		return modelserver.Answer{Text: "never", Pieces: modelserver.Pieces{N: 2, Pause: time.Hour}}
	})
	b := a.start("bot")
	b.ready()
	job := a.once("look after the house")
	receive(t, asking, "the model asked")
	a.say("/stop")
	if run := a.ran(b, job, 1, result(cron.Failed)); run.Err != "stopped by a person" {
		t.Errorf("the job says %+v", run)
	}
}
