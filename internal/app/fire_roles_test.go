package app_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/cron"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// Several processes on one server fire every slot once: two and three that do
// everything, and some of which each has a role, one of them killed while
// slots are due.
func TestFiredByOneOfMany(t *testing.T) {
	for name, roles := range map[string][]string{
		"two":         {"", ""},
		"three":       {"", "", ""},
		"roles":       {"gateway", "agent", "cron"},
		"cron killed": {"gateway,agent", "cron", "cron"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgenda(t)
			a.model.Reply(func(r modelserver.Request) modelserver.Answer {
				_, task, _ := strings.Cut(r.LastUser(), "\n")
				return modelserver.Answer{Text: task}
			})
			var bots []*bot
			for i, r := range roles {
				var args []string
				if r != "" {
					args = []string{"--roles", r}
				}
				b := a.start(fmt.Sprint("bot", i), args...)
				b.ready()
				bots = append(bots, b)
			}
			// On a loaded machine it takes seconds until every process knows them all.
			want := a.crowded(time.Now().Truncate(time.Second).Add(6 * time.Second))
			last := bots[len(bots)-1]
			if name == "cron killed" {
				last.await("the middle of it", func() bool { return len(a.notices()) > len(want)/3 })
				last.kill()
				bots = bots[:len(bots)-1]
			}
			b := bots[0]
			bound := time.Now().Add(takeover)
			defer func() {
				if t.Failed() {
					t.Logf("shown: %v", a.notices())
				}
			}()
			b.untilBy(bound, "everything is delivered", func() bool { return len(a.notices()) == len(want) })
			b.untilBy(bound, "all jobs are over", func() bool { return len(a.all()) == 0 })
			for text, n := range a.notices() {
				if n != 1 || !want[text] {
					t.Errorf("%q is shown %d times", text, n)
				}
			}
			for _, b := range bots {
				clean(t, b.signal(syscall.SIGTERM))
			}
		})
	}
}

// crowded adds one-shots, ten in each of three seconds and each a tenth of
// them a task, in five chats, and returns their texts.
func (a *agenda) crowded(first time.Time) map[string]bool {
	a.t.Helper()
	want := map[string]bool{}
	for n := range 5 { // before any job: a chat begins empty
		a.tg.AddPerson(telegram.Person{ID: int64(5000 + n), Name: "p"})
	}
	for n := range 30 {
		chat := int64(5000 + n%5)
		j := asked(fmt.Sprintf("(%d)", n), cron.Schedule{At: first.Add(time.Duration(n/10) * time.Second)})
		j.Addr.Chat = fmt.Sprint(chat)
		j.Maker.ID = j.Addr.Chat
		if n%10 == 7 {
			j.Mode = cron.Agent
		}
		add(a.t, a.jobs, j)
		want[j.Message] = true
	}
	return want
}

// notices counts what the chats of crowded show, by the first line.
func (a *agenda) notices() map[string]int {
	all := map[string]int{}
	for n := range 5 {
		for _, m := range a.tg.Messages(int64(5000 + n)) {
			text, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "⏰ "), "\n")
			all[text]++
		}
	}
	return all
}

func (a *agenda) all() []cron.Job {
	a.t.Helper()
	jobs, err := a.jobs.All(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return jobs
}

// untilBy is until with a bound of its own.
func (b *bot) untilBy(bound time.Time, what string, cond func() bool) {
	b.t.Helper()
	end := time.After(time.Until(bound))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case err := <-b.ended:
			b.ended <- err
			b.t.Fatalf("the bot ended (%v) before: %s", err, what)
		case <-end:
			b.t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}
