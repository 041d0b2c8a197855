package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// taskStage is a moment in the life of a task at which the program is killed.
type taskStage struct {
	name  string
	say   string
	extra string
	// hold says which request of the model is not answered before the kill.
	hold func(r modelserver.Request) bool
	// reached says that the moment has come when it is no request; nil = the
	// request that hold holds.
	reached func(w *world) bool
	// want is what the chat shows once in the end.
	want string
	// races: the kill may come between the task's last reply and the note of it,
	// and then the model is asked once more.
	races bool
}

// signals: an orderly stop waits some seconds for what runs, so it is tried
// where a task or a turn is handed over.
func (s taskStage) signals() []syscall.Signal {
	if s.reached != nil || s.name == "the model works on it" || s.name == "a turn waits for it" {
		return []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}
	}
	return []syscall.Signal{syscall.SIGKILL}
}

func taskStages() []taskStage {
	const news = "news: result of dig"
	task := func(r modelserver.Request) bool { return isTask(r) }
	return []taskStage{
		{name: "started, which the model does not know yet", say: "spawn dig", want: news, races: true, hold: func(r modelserver.Request) bool { return len(r.Results()) > 0 }},
		{name: "the model works on it", say: "spawn dig", want: news, hold: task},
		{name: "it waits for a place", say: "spawn stone;dig", extra: "subagent: {max_concurrent: 1}", want: news, hold: task},
		{name: "a command of it runs", say: "spawn dig with a command", want: news, reached: func(w *world) bool {
			_, err := os.Stat(filepath.Join(w.dir, "bot", "workspace", "begun"))
			return err == nil
		}},
		{name: "the chat hears the report", say: "spawn dig", want: news, hold: isReport},
		{name: "a turn waits for it", say: "wait dig", want: "came: <outside from=\"spawn\">\nresult of dig\n</outside>", hold: task},
		{name: "the turn that has waited goes on", say: "wait dig", want: "came: <outside from=\"spawn\">\nresult of dig\n</outside>", hold: func(r modelserver.Request) bool { return len(r.Results()) > 0 }},
	}
}

// A task outlives the program at every stage, and its report is answered once.
func TestKillAtEveryStageOfATask(t *testing.T) {
	for _, stage := range taskStages() {
		for _, sig := range stage.signals() {
			t.Run(fmt.Sprintf("%v %s", sig, stage.name), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, nil)
				w.extra = stage.extra
				var c *crew
				c = w.crew(func(r modelserver.Request) modelserver.Answer {
					if strings.Contains(r.LastUser(), "command") && len(r.Messages) == 1 {
						return modelserver.Answer{Calls: []modelserver.Call{{Name: "exec", Args: `{"command":"touch begun; sleep 30"}`}}}
					}
					return c.report(r, "result of "+r.LastUser())
				})
				held := make(chan struct{}, 100)
				w.model.Reply(func(r modelserver.Request) modelserver.Answer {
					if stage.hold != nil && stage.hold(r) {
						held <- struct{}{}
						return modelserver.Answer{Fault: modelserver.Hang}
					}
					return c.reply(r)
				})
				b := w.start("bot")
				b.ready()
				w.say(stage.say)
				if stage.reached != nil {
					b.until(stage.name, func() bool { return stage.reached(w) }, func() string { return texts(w.tg.Messages(owner)) })
				} else {
					receive(t, held, stage.name)
				}
				w.stored(b)
				if err := b.signal(sig); sig == syscall.SIGTERM {
					clean(t, err)
				}
				w.model.Reply(c.reply)
				b = w.start("bot")
				b.ready()
				w.wait(owner, stage.want, func(m []telegram.Message) bool { return count(m, stage.want) > 0 })
				w.onceShown(t, w.quiet(), stage.want)
				if n := c.reported("dig") + c.reported("dig with a command"); n != 1 && !stage.races {
					t.Errorf("the task was done %d times, want once", n)
				}
			})
		}
	}
}

// Two processes share a bus; the one that works on a task is killed, and the
// other goes on with it.
func TestTaskOverProcesses(t *testing.T) {
	t.Parallel()
	w := shared(t)
	var c *crew
	c = w.crew(func(r modelserver.Request) modelserver.Answer {
		switch len(r.Messages) {
		case 1:
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "write_file", Args: `{"path":"first.txt","content":"1"}`}}}
		case 3:
			<-r.Gone // until its process is killed
			return modelserver.Answer{}
		}
		return c.report(r, "result of "+r.LastUser())
	})
	first := w.start("first")
	first.ready()
	w.say("spawn dig")
	receive(t, c.asked, "the task")
	second := receive(t, c.asked, "the task after its tool")
	if got := second.Results(); len(got) != 1 || !strings.Contains(got[0].Text, "created") {
		t.Fatalf("the tool has answered %+v", got)
	}
	w.wait(owner, "the answer", func(m []telegram.Message) bool { return count(m, "works in the background") == 1 })
	c.mu.Lock()
	c.work = func(r modelserver.Request) modelserver.Answer {
		if len(r.Messages) != 3 {
			t.Errorf("the other process begins anew: %d messages", len(r.Messages))
		}
		return c.report(r, "result of "+r.LastUser())
	}
	c.mu.Unlock()
	other := w.start("other")
	other.ready()
	first.kill()
	w.waitFor(takeover, owner, "the report", func(m []telegram.Message) bool { return count(m, "news: result of dig") == 1 })
	w.onceShown(t, w.quiet(), "news: result of dig")
	clean(t, other.signal(syscall.SIGTERM))
}

// TestTasksKilledAgainAndAgain kills the program at random while people have
// tasks done, and counts.
func TestTasksKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue}"
	var c *crew
	c = w.crew(func(r modelserver.Request) modelserver.Answer {
		if len(r.Messages) == 1 && rand.IntN(2) == 0 {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "list_dir", Args: `{"path":"."}`}}}
		}
		a := c.report(r, "result of "+r.LastUser())
		a.Delay = time.Duration(rand.IntN(100)) * time.Millisecond
		return a
	})
	const chats = 4
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	numbers := make([]int, chats)
	name := func(id int64, n int) string { return fmt.Sprintf("dig-%d-%d-", id, n) }
	for i := range chats {
		id := int64(5000 + i)
		w.tg.AddPerson(telegram.Person{ID: id, Name: fmt.Sprint("p", i)})
		wg.Go(func() {
			for n := 0; writing.Err() == nil; n++ {
				w.tg.Say(telegram.Said{From: id, Text: "spawn " + name(id, n)})
				numbers[i] = n + 1
				if n < 3 {
					continue
				}
				_, _ = w.tg.Wait(writing, id, func(m []telegram.Message) bool { return count(m, "news: result of "+name(id, n-3)) > 0 })
			}
		})
	}
	b := w.start("bot")
	b.ready()
	for range max(4, *kills/2) {
		w.pause(time.Duration(100+rand.IntN(600)) * time.Millisecond)
		b.kill()
		b = w.start("bot")
		b.ready()
	}
	stop()
	wg.Wait()
	total := 0
	for i, n := range numbers {
		total += n
		w.judgeTasks(int64(5000+i), n, name)
	}
	t.Logf("%d tasks, %d kills", total, max(4, *kills/2))
	clean(t, b.signal(syscall.SIGTERM))
}

// judgeTasks waits for the reports of all tasks of a chat, and counts them.
func (w *world) judgeTasks(id int64, n int, name func(id int64, n int) string) {
	w.t.Helper()
	for k := range n {
		text := "news: result of " + name(id, k)
		w.waitFor(takeover, id, text, func(m []telegram.Message) bool { return count(m, text) > 0 })
	}
	w.tg.Say(telegram.Said{From: id, Text: "end"})
	msgs := w.wait(id, "the end", func(m []telegram.Message) bool { return count(m, "echo: end") > 0 })
	for k := range n {
		w.onceShown(w.t, msgs, "news: result of "+name(id, k))
	}
}
