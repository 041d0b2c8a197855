package app_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// clusterRounds is how often the cluster loses one process of each kind. The
// long run, which also restarts everything in turn, is
//
//	go test ./internal/app -run TestCluster -rounds 3 -timeout 30m -v
var clusterRounds = flag.Int("rounds", 0, "how often the cluster test kills one of each kind; 0 = once, without the rolling restart")

// silence is how long a person may wait when a process dies. The short run
// stands beside other tests and only reports it.
const silence = 15 * time.Second

const clusterChats, firstChat = 8, 5000

// Three NATS servers, two gateways and two agents with the configuration and
// the keys that are shipped. The server that leads the mailboxes, a gateway and
// an agent are killed while people write: nothing is lost, nothing comes twice,
// each chat stays in order; and no role tries what its key may not do.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.model.Reply(func(r modelserver.Request) modelserver.Answer {
		a := modelserver.Echo(r)
		a.Delay = 30 * time.Millisecond
		return a
	})
	g := &group{cluster: c, members: map[string]*bot{}, lives: map[int]string{}}
	g.launch("agent1", "agent2", "gateway1", "gateway2", "cron")
	began := time.Now()
	stop := g.write()
	c.say("/remind in 10 seconds to drink water")
	g.phase("all together", func() {})
	for range max(1, *clusterRounds) {
		g.killEach()
	}
	if *clusterRounds > 0 {
		g.roll()
	}
	said := stop()
	// The reminder fell into all this; the process that fires it has the key for
	// jobs only.
	shown := c.waitFor(takeover, owner, "reminder", func(m []telegram.Message) bool { return count(m, "⏰") > 0 })
	if n := count(shown, "⏰"); n != 1 && !(n == 2 && c.sent.acrossLivesHolding("⏰ drink water")) || count(shown, "drink water") <= n {
		t.Errorf("the chat of the reminder shows %q", texts(shown))
	}
	report := chaosReport{kills: g.kills, took: time.Since(began)}
	for n, said := range said {
		chat := int64(firstChat + n)
		report.messages += said
		c.waitFor(takeover, chat, "last answer", func(m []telegram.Message) bool { return count(m, tag(chat, said-1)) > 0 })
	}
	for n, said := range said {
		c.judge(&report, int64(firstChat+n), said)
	}
	t.Log(report)
	if report.lost > 0 || report.doubled > 0 || report.disorder > 0 || report.messages < 50 {
		t.Errorf("%v; want nothing lost, doubled or out of order", report)
	}
	for _, name := range []string{"agent1", "gateway1", "cron"} {
		clean(t, g.members[name].signal(syscall.SIGTERM))
	}
}

// group is the programs of a cluster, by name.
type group struct {
	*cluster
	members map[string]*bot
	lives   map[int]string // who had which life
	kills   int
}

func rolesOf(name string) string {
	return strings.TrimRight(name, "12")
}

// launch starts programs and waits until all are ready.
func (g *group) launch(names ...string) {
	g.t.Helper()
	for _, name := range names {
		g.members[name] = g.run(name, rolesOf(name))
		g.lives[g.sent.life] = name
	}
	for _, name := range names {
		b := g.members[name]
		g.nats[0].await(name+" ready", func() bool {
			if b.gone() {
				g.t.Fatalf("%s has ended: %s", name, b.log)
			}
			return fetch("http://"+b.listen+"/readyz") == "200"
		})
	}
}

// write lets people write in all chats until the returned function is called,
// which says how many messages each chat has.
func (g *group) write() (stop func() []int) {
	for n := range clusterChats {
		g.tg.AddPerson(telegram.Person{ID: int64(firstChat + n), Name: fmt.Sprint("p", n)})
	}
	writing, cancel := context.WithCancel(g.t.Context())
	var wg sync.WaitGroup
	said := make([]int, clusterChats)
	for i := range said {
		wg.Go(func() { said[i] = g.person(writing, int64(firstChat+i)) })
	}
	return func() []int {
		cancel()
		wg.Wait()
		return said
	}
}

// person writes, at most two messages ahead of the answers, and returns how
// many.
func (g *group) person(ctx context.Context, chat int64) int {
	for n := 0; ; n++ {
		if n >= 2 {
			_, err := g.tg.Wait(ctx, chat, func(m []telegram.Message) bool { return count(m, tag(chat, n-2)) > 0 })
			if err != nil {
				return n
			}
		}
		g.waits.ask(tag(chat, n))
		g.say2(chat, n)
	}
}

// phase does something to the cluster and waits until every chat has the
// answer to something that was said after it.
func (g *group) phase(what string, do func()) {
	g.t.Helper()
	do()
	began := time.Now()
	g.nats[0].await("every chat is answered after "+what, func() bool {
		g.waits.mu.Lock()
		chats := len(g.waits.upTo)
		g.waits.mu.Unlock()
		return chats == clusterChats && g.waits.behind(began) == 0
	})
	longest := g.waits.longest()
	g.t.Logf("%s: the longest wait was %v", what, longest.Round(10*time.Millisecond))
	if longest > silence && *clusterRounds > 0 {
		g.t.Errorf("%s: somebody waited %v, want at most %v", what, longest, silence)
	}
}

// killEach kills one of each kind, one after the other, and starts it again.
func (g *group) killEach() {
	g.t.Helper()
	leader := g.leader()
	g.phase("kill of "+leader.name+", which leads", func() { leader.signal(syscall.SIGKILL) })
	leader.start()
	victims := []string{"agent1", g.lives[g.sent.latest()]}
	if *clusterRounds == 0 { // the short run kills them at once
		g.phase("kill of "+strings.Join(victims, " and "), func() {
			for _, name := range victims {
				g.members[name].kill()
			}
		})
	} else {
		leader.healthy()
		for _, name := range victims {
			g.phase("kill of "+name, g.members[name].kill)
		}
	}
	g.launch(victims...)
	g.kills += 1 + len(victims)
}

// roll restarts everything in turn, in an orderly way, as an upgrade does.
func (g *group) roll() {
	g.t.Helper()
	for _, n := range g.nats {
		g.phase("restart of "+n.name, func() {
			n.signal(syscall.SIGTERM)
			n.start()
			n.healthy()
		})
	}
	names := slices.Sorted(maps.Keys(g.members))
	for _, name := range names {
		g.phase("restart of "+name, func() {
			clean(g.t, g.members[name].signal(syscall.SIGTERM))
			g.launch(name)
		})
	}
}
