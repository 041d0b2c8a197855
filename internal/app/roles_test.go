package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/bus/bustest"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// takeover is how long a chat may be silent after its worker was killed: the
// lease of 10 s has to run out, and the sweep comes every 5 s. The rest is for
// a slow machine.
const takeover = 90 * time.Second

// shared makes a world whose programs share an external bus.
func shared(t testing.TB) *world {
	w := newWorld(t, nil)
	w.natsURL = bustest.External(t)
	w.extra = "agent: {busy: queue}"
	return w
}

// Two gateways and two agents; one of each is killed while people write in
// many chats. Nothing is lost, nothing comes twice, each chat stays in order.
func TestRolesOverProcesses(t *testing.T) {
	t.Parallel()
	w := shared(t)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		a := modelserver.Echo(r)
		a.Delay = 30 * time.Millisecond
		return a
	})
	var bots []*bot
	for _, name := range []string{"gateway1", "gateway2", "agent1", "agent2"} {
		b := w.start(name, "--roles", strings.TrimRight(name, "12"))
		b.ready()
		bots = append(bots, b)
	}
	const chats, first = 10, 5000
	for c := range chats {
		w.tg.AddPerson(telegram.Person{ID: int64(first + c), Name: fmt.Sprint("p", c)})
	}
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	numbers := make([]int, chats)
	for c := range chats {
		wg.Go(func() { numbers[c] = w.write(writing, int64(first+c)) })
	}
	busy := func(n int) {
		bots[1].until("people are answered", func() bool { return w.model.Count() > n }, func() string { return fmt.Sprint(w.model.Count()) })
	}
	busy(60)
	bots[2].kill() // an agent in the middle of turns
	busy(w.model.Count() + 30)
	bots[0].kill() // the gateway that speaks to Telegram
	stop()
	wg.Wait()
	report := chaosReport{kills: 2}
	for c, n := range numbers {
		w.say2(int64(first+c), n)
		report.messages += n + 1
	}
	for c, n := range numbers {
		chat := int64(first + c)
		w.waitFor(takeover, chat, "last answer", func(m []telegram.Message) bool { return count(m, tag(chat, n)) > 0 })
	}
	for c, n := range numbers {
		w.judge(&report, int64(first+c), n+1)
	}
	t.Log(report)
	if report.lost > 0 || report.doubled > 0 || report.disorder > 0 || report.messages < 100 {
		t.Errorf("%v; want nothing lost, doubled or out of order", report)
	}
	clean(t, bots[1].signal(syscall.SIGTERM))
	clean(t, bots[3].signal(syscall.SIGTERM))
}

// The old program is stopped in an orderly way while the model works, and the
// new one runs already: the turn is finished, or handed over when it takes too
// long, and answered once.
func TestUpgradeDuringATurn(t *testing.T) {
	for name, delay := range map[string]time.Duration{"finished by the old": 3 * time.Second, "handed over": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared(t)
			asked := make(chan struct{}, 100)
			w.model.Reply(func(r modelserver.Request) modelserver.Answer {
				a := modelserver.Echo(r)
				if r.LastUser() == "think hard" && len(asked) == 0 {
					a.Delay = delay
				}
				asked <- struct{}{}
				return a
			})
			before := w.start("old")
			before.ready()
			w.say("think hard")
			receive(t, asked, "the model asked")
			asked <- struct{}{} // so that only the first time is slow
			w.stored(before)
			after := w.start("new")
			after.ready()
			clean(t, before.signal(syscall.SIGTERM))
			w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "echo: think hard") == 1 })
			w.say("and you?")
			msgs := w.wait(owner, "answer of the new", func(m []telegram.Message) bool { return count(m, "echo: and you?") == 1 })
			if got := texts(msgs); got != "echo: think hard|echo: and you?" {
				t.Errorf("the chat shows %q", got)
			}
			clean(t, after.signal(syscall.SIGTERM))
		})
	}
}
