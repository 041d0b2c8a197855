package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
	"magpie/cron"
	"magpie/internal/fakes/telegram"
)

// agenda is a world on a server of its own, so that the test sees the jobs as
// another process does.
type agenda struct {
	*world
	bus  *bus.Bus
	jobs *cron.Store
}

func newAgenda(t testing.TB) *agenda {
	w := shared(t)
	a := &agenda{world: w, bus: bustest.Open(t, bus.Options{URL: w.natsURL})}
	a.jobs = openJobs(t, a.bus)
	return a
}

func openJobs(t testing.TB, b *bus.Bus) *cron.Store {
	t.Helper()
	store, err := cron.NewStore(b.Table("jobs"), &cron.StoreOptions{Zone: "UTC", PerChat: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// withJobs hands out the jobs of a program that does not run.
func (w *world) withJobs(name string, do func(*cron.Store)) {
	w.t.Helper()
	b, err := bus.Open(w.t.Context(), bus.Options{Dir: w.dir + "/" + name + "/bus"})
	if err != nil {
		w.t.Fatal(err)
	}
	do(openJobs(w.t, b))
	if err := b.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// asked is a job of the owner's private chat, as if he had asked for it.
func asked(message string, s cron.Schedule) cron.Job {
	ada := chat.Sender{ID: fmt.Sprint(owner), Name: "Ada"}
	return cron.Job{
		Addr: chat.Address{Channel: "telegram", Chat: fmt.Sprint(owner)}, Direct: true,
		Maker: cron.Person{Channel: "telegram", Sender: ada}, Message: message, Schedule: s,
	}
}

// someDay is so far away that only RunNow fires the job.
func someDay() cron.Schedule { return cron.Schedule{Cron: "0 0 29 2 *"} }

func in(d time.Duration) cron.Schedule { return cron.Schedule{At: time.Now().Add(d)} }

func add(t testing.TB, store *cron.Store, j cron.Job) cron.Job {
	t.Helper()
	j, err := store.Add(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// fire has a job fired now and returns its last run as soon as ok accepts it.
func (a *agenda) fire(b *bot, j cron.Job, ok func(cron.Run) bool) cron.Run {
	a.t.Helper()
	before := a.get(j)
	if _, err := a.jobs.RunNow(a.t.Context(), j.Addr, j.ID, cron.By{Admin: true}); err != nil {
		a.t.Fatal(err)
	}
	return a.ran(b, j, len(before.Runs)+1, ok)
}

// ran waits for the nth run of a job.
func (a *agenda) ran(b *bot, j cron.Job, n int, ok func(cron.Run) bool) (last cron.Run) {
	a.t.Helper()
	b.until("the job's run", func() bool {
		runs := a.get(j).Runs
		if len(runs) < n {
			return false
		}
		last = runs[n-1]
		return ok(last)
	}, func() string { return fmt.Sprintf("%+v", a.get(j).State) })
	return last
}

func (a *agenda) get(j cron.Job) cron.Job {
	a.t.Helper()
	j, err := a.jobs.Get(a.t.Context(), j.Addr, j.ID)
	if err != nil {
		a.t.Fatal(err)
	}
	return j
}

// result accepts runs with that result.
func result(want cron.Result) func(cron.Run) bool {
	return func(r cron.Run) bool { return r.Result == want }
}

// shownOnce waits until the chat shows a text, lets a later message through,
// and wants the text there exactly once; twice if a kill cut off a send.
func (w *world) shownOnce(text string) {
	w.t.Helper()
	w.wait(owner, text, func(m []telegram.Message) bool { return count(m, text) > 0 })
	next := fmt.Sprintf("next %d.", len(w.tg.Messages(owner)))
	w.say(next)
	msgs := w.wait(owner, "an answer", func(m []telegram.Message) bool { return count(m, next) > 0 })
	n := count(msgs, text)
	if n != 1 && !(n == 2 && w.sent.acrossLivesHolding(text)) {
		w.t.Errorf("%q is shown %d times: %q", text, n, texts(msgs))
	}
}

// acrossLivesHolding is acrossLives for a part of the text.
func (s *sends) acrossLivesHolding(part string) bool {
	s.mu.Lock()
	var all []string
	for text := range s.by {
		if strings.Contains(text, part) {
			all = append(all, text)
		}
	}
	s.mu.Unlock()
	return len(all) == 1 && s.acrossLives(all[0])
}
