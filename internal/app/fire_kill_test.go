package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// A reminder and a task are due in the same second, and the program is ended
// around it: both come once.
func TestFiredOverAKill(t *testing.T) {
	const ahead = 4 * time.Second // more than a start takes
	for _, c := range []struct {
		name string
		sig  syscall.Signal
		kill time.Duration // from the due second; 0 = as soon as the program is ready
		late bool          // the next start is after the due second
	}{
		{"before, and back in time", syscall.SIGKILL, 0, false},
		{"before, and back too late", syscall.SIGKILL, 0, true},
		{"at the second", syscall.SIGKILL, time.Microsecond, false},
		{"just after it", syscall.SIGKILL, 12 * time.Millisecond, false},
		{"well after it", syscall.SIGKILL, 700 * time.Millisecond, false},
		{"restart during it", syscall.SIGTERM, -20 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.extra = "agent: {busy: queue}"
			w.model.Reply(func(r modelserver.Request) modelserver.Answer {
				if strings.Contains(r.LastUser(), "look at the weather") {
					return modelserver.Answer{Text: "The weather is fine."}
				}
				return modelserver.Echo(r)
			})
			due := time.Now().Truncate(time.Second).Add(ahead + time.Second)
			task := asked("look at the weather", cron.Schedule{At: due})
			task.Mode = cron.Agent
			w.withJobs("bot", func(s *cron.Store) {
				add(t, s, asked("take the pills", cron.Schedule{At: due}))
				add(t, s, task)
			})
			b := w.start("bot")
			b.ready()
			if c.kill != 0 {
				w.pause(time.Until(due.Add(c.kill)))
			}
			if err := b.signal(c.sig); c.sig == syscall.SIGTERM {
				clean(t, err)
			}
			missed := time.Now().Before(due) // by this life
			if c.late {
				w.pause(time.Until(due.Add(2500 * time.Millisecond)))
			}
			b = w.start("bot")
			b.ready()
			w.shownOnce("⏰ take the pills")
			w.shownOnce("The weather is fine.")
			late := count(w.tg.Messages(owner), " late.") == 1
			if c.late && missed && !late {
				t.Errorf("a late reminder does not say so: %q", texts(w.tg.Messages(owner)))
			}
			clean(t, b.signal(syscall.SIGTERM))
			w.allDelivered("bot")
		})
	}
}

// allDelivered wants no job that was fired without a receipt.
func (w *world) allDelivered(name string) {
	w.t.Helper()
	w.withJobs(name, func(s *cron.Store) {
		jobs, err := s.All(w.t.Context())
		if err != nil {
			w.t.Error(err)
		}
		for _, j := range jobs {
			if len(j.Runs) != 1 || j.Runs[0].Result != cron.Delivered {
				w.t.Errorf("job %q: %+v", j.Message, j.State)
			}
		}
	})
}

// sweep is many reminders and tasks of several chats that fall due while the
// program is killed again and again.
type sweep struct {
	*world
	first time.Time // the first second in which some are due
	want  []string  // their texts
}

const sweepChats, sweepEach = 4, 5 // each second and chat

func sweepChat(n int) int64 { return int64(5000 + n%sweepChats) }

// newSweep has some due in every second of lives: a life of the program is
// about a second here.
func newSweep(t *testing.T, lives int) *sweep {
	s := &sweep{world: newWorld(t, nil)}
	s.model.Reply(func(r modelserver.Request) modelserver.Answer {
		_, task, _ := strings.Cut(r.LastUser(), "\n")
		return modelserver.Answer{Text: task}
	})
	for c := range sweepChats {
		s.tg.AddPerson(telegram.Person{ID: sweepChat(c), Name: fmt.Sprint("p", c)})
	}
	s.withJobs("bot", func(jobs *cron.Store) {
		// Only what is still to come can be added.
		room := 3*time.Second + time.Duration(lives*sweepChats*sweepEach)*30*time.Millisecond
		s.first = time.Now().Add(room).Truncate(time.Second)
		for sec := range lives {
			for n := range sweepChats * sweepEach {
				j := asked(fmt.Sprintf("(%d-%d)", sec, n), cron.Schedule{At: s.first.Add(time.Duration(sec) * time.Second)})
				j.Addr.Chat = fmt.Sprint(sweepChat(n))
				j.Maker.ID = j.Addr.Chat
				if n%5 == 0 {
					j.Mode = cron.Agent
				}
				add(t, jobs, j)
				s.want = append(s.want, j.Message)
			}
		}
	})
	return s
}

// shown counts what the chats show.
func (s *sweep) shown() map[string]int {
	all := map[string]int{}
	for c := range sweepChats {
		for _, m := range s.tg.Messages(sweepChat(c)) {
			text, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "⏰ "), "\n")
			all[text]++
		}
	}
	return all
}

// TestFiredOverManyKills kills the program at random while slots are due, and
// counts.
func TestFiredOverManyKills(t *testing.T) {
	t.Parallel()
	lives := chaosKills()
	s := newSweep(t, lives)
	b := s.start("bot")
	b.ready()
	for i := range lives {
		s.pause(time.Until(s.first.Add(time.Duration(i)*time.Second)) + time.Duration(rand.IntN(400))*time.Millisecond)
		sig := syscall.SIGKILL
		if i%5 == 4 {
			sig = syscall.SIGTERM
		}
		if err := b.signal(sig); sig == syscall.SIGTERM {
			clean(t, err)
		}
		b = s.start("bot")
		b.ready()
	}
	b.until("everything is delivered", func() bool { return len(s.shown()) == len(s.want) },
		func() string { return fmt.Sprint(len(s.shown()), " of ", len(s.want)) })
	clean(t, b.signal(syscall.SIGTERM)) // what was on its way has come
	s.allDelivered("bot")
	lost, doubled, repeated := 0, 0, 0
	got := s.shown()
	for _, text := range s.want {
		switch n := got[text]; {
		case n == 0:
			lost++
		case n > 1 && !s.sent.acrossLivesHolding(text):
			doubled++
			t.Errorf("%q is shown %d times", text, n)
		case n > 1:
			repeated++
		}
	}
	t.Logf("%d kills, %d slots: %d lost, %d doubled; %d sends cut off by a kill were repeated", lives, len(s.want), lost, doubled, repeated)
	if lost > 0 || doubled > 0 || len(got) != len(s.want) {
		t.Errorf("lost %d, doubled %d, %d texts of %d", lost, doubled, len(got), len(s.want))
	}
}

// An entry that cannot be read is reported and left as it is; the other jobs
// of the chat are fired.
func TestDamagedJob(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	bad := add(t, a.jobs, asked("bad", someDay()))
	good := add(t, a.jobs, asked("good", someDay()))
	const damage = `{"v":1,"id":"`
	table := a.bus.Table("jobs")
	at := string(chat.Address{Channel: bad.Addr.Channel, Chat: bad.Addr.Chat}.Session()) + "." + bad.ID
	if _, err := table.Get(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Update(t.Context(), at, []byte(damage), 0, 0); err != nil {
		t.Fatal(err)
	}
	b := a.start("bot")
	b.ready()
	a.fire(b, good, result(cron.Delivered))
	b.until("the error in the log", func() bool { return strings.Contains(b.log.String(), "job entry is damaged and left alone") }, b.log.String)
	_, err := a.jobs.RunNow(t.Context(), bad.Addr, bad.ID, cron.By{Admin: true})
	if !errors.Is(err, cron.ErrCorrupt) {
		t.Errorf("run: %v", err)
	}
	if jobs, err := a.jobs.List(t.Context(), bad.Addr); len(jobs) != 1 || !errors.Is(err, cron.ErrCorrupt) {
		t.Errorf("%d jobs and %v", len(jobs), err)
	}
	clean(t, b.signal(syscall.SIGTERM))
	e, err := table.Get(t.Context(), at)
	if err != nil || string(e.Value) != damage {
		t.Errorf("the entry is %q, %v", e.Value, err)
	}
	if got := texts(a.tg.Messages(owner)); got != "⏰ good" {
		t.Errorf("the chat shows %q", got)
	}
}
