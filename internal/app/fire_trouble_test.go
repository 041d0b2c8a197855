package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"magpie/cron"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// The platform is down for a moment: the notice is sent again until it takes
// it. It refuses for good: the notice is a dead letter, and the job says why,
// until the letter is sent once more.
func TestFiredWhileThePlatformIsDown(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	b := a.start("bot")
	b.ready()
	job := add(t, a.jobs, asked("stretch", someDay()))
	a.tg.Fail(telegram.Fault{Method: "sendMessage", Times: 2, Code: 502, Page: true})
	a.fire(b, job, result(cron.Delivered))
	if n := a.tg.Calls("sendMessage"); n != 3 {
		t.Errorf("sent %d times, want two failures and a success", n)
	}
	a.tg.Fail(telegram.Fault{Method: "sendMessage", Code: 403, Text: "Forbidden: bot was blocked by the user"})
	run := a.fire(b, job, result(cron.Failed))
	if !strings.Contains(run.Err, "blocked by the user") || run.Receipt == nil {
		t.Errorf("the job says %+v", run)
	}
	letters, err := a.bus.Dead(t.Context(), 0, 10)
	for len(letters) == 0 && err == nil { // it follows the report
		letters, err = a.bus.Dead(t.Context(), 0, 10)
	}
	if err != nil || len(letters) != 1 || letters[0].Out == nil || letters[0].Out.ID != cron.SlotID(job.ID, run.Slot) {
		t.Fatalf("dead letters %+v, %v", letters, err)
	}
	if got := count(a.tg.Messages(owner), "stretch"); got != 1 {
		t.Errorf("shown %d times", got)
	}
	if err := a.bus.Resubmit(t.Context(), letters[0].Seq); err != nil {
		t.Fatal(err)
	}
	a.wait(owner, "what was sent once more", func(m []telegram.Message) bool { return count(m, "stretch") == 2 })
	a.ran(b, job, 2, result(cron.Delivered))
}

// No model answers: a notice does not care, a task is tried again and comes
// when there is one.
func TestFiredWhileTheModelIsOut(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	var out atomic.Bool
	out.Store(true)
	asking := make(chan struct{}, 100)
	a.model.Reply(func(r modelserver.Request) modelserver.Answer {
		asking <- struct{}{}
		if out.Load() {
			return modelserver.Answer{Status: http.StatusServiceUnavailable}
		}
		return modelserver.Answer{Text: "All is well."}
	})
	b := a.start("bot")
	b.ready()
	notice := add(t, a.jobs, asked("stretch", someDay()))
	task := asked("look after the house", someDay())
	task.Mode = cron.Agent
	task = add(t, a.jobs, task)
	a.fire(b, task, result(cron.Sent))
	receive(t, asking, "the model asked")
	a.fire(b, notice, result(cron.Delivered))
	b.until("the pause", func() bool { return strings.Contains(b.log.String(), "no model could answer a job, it is tried again") }, b.log.String)
	out.Store(false)
	a.ran(b, task, 1, result(cron.Delivered))
	if got := texts(a.tg.Messages(owner)); got != "⏰ stretch|All is well." {
		t.Errorf("the chat shows %q", got)
	}
}

// No model answers for long: the chat is told, once, and which job it was. A
// person who writes meanwhile is not kept waiting.
func TestTaskGivesUpOnTheModel(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	a.model.Reply(func(modelserver.Request) modelserver.Answer {
		return modelserver.Answer{Status: http.StatusServiceUnavailable}
	})
	b := a.start("bot")
	b.ready()
	task := asked("看看家里的情况", someDay())
	task.Mode = cron.Agent
	task = add(t, a.jobs, task)
	a.fire(b, task, result(cron.Sent))
	b.until("the pause", func() bool { return strings.Contains(b.log.String(), "no model could answer a job, it is tried again") }, b.log.String)
	a.say("hello")
	a.wait(owner, "two notices", func(m []telegram.Message) bool { return len(m) == 2 })
	run := a.ran(b, task, 1, result(cron.Failed))
	msgs := a.tg.Messages(owner)
	if !strings.HasPrefix(msgs[0].Text, "定时任务“看看家里的情况”没能完成。") || !strings.HasPrefix(msgs[1].Text, "Sorry, no model can answer") {
		t.Errorf("the chat shows %q", texts(msgs))
	}
	if !strings.Contains(run.Err, "no model could answer") || run.Receipt == nil || run.Receipt.Refs[0].ID != fmt.Sprint(msgs[0].ID) {
		t.Errorf("the job says %+v", run)
	}
}

// A job for a channel that there is none of fails at once and says so.
func TestFiredToNowhere(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	b := a.start("bot")
	b.ready()
	job := asked("stretch", someDay())
	job.Addr.Channel = "pigeon"
	job = add(t, a.jobs, job)
	if run := a.fire(b, job, result(cron.Failed)); !strings.Contains(run.Err, `no channel "pigeon" is enabled`) {
		t.Errorf("the job says %+v", run)
	}
}
