package dockertest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const page2 = "127.0.0.1:18991"

var (
	servers  = []string{"nats1", "nats2", "nats3"}
	gateways = []string{"gateway1", "gateway2"}
	agents   = []string{"agent1", "agent2"}
	bots     = slices.Concat(gateways, agents)
	everyone = slices.Concat(servers, bots)
)

// up starts the cluster as the documentation says; all become healthy within a
// minute.
func cluster(t *testing.T) *project {
	t.Helper()
	p := open(t, "compose.cluster.yml")
	began := time.Now()
	p.compose("up", "-d")
	p.becomes("healthy", everyone...)
	took := time.Since(began).Round(100 * time.Millisecond)
	p.figure("the cluster is healthy after", took)
	if took > time.Minute {
		t.Errorf("the cluster became healthy after %v, want a minute", took)
	}
	return p
}

// The cluster starts as shipped; what docker compose ps shows is true; and who
// dies is replaced.
func TestCluster(t *testing.T) {
	need(t, false)
	p := cluster(t)
	for _, service := range gateways {
		if said := p.bot(service, "health", "--ready"); !strings.Contains(said, "ready") {
			t.Errorf("%s: %s", service, said)
		}
	}
	c := newCrowd(t, "cluster", p.token(), 6, page, page2)
	c.answered(3)
	p.asked("agent1")
	p.hurt(c, "an agent is killed", func() { p.must("docker", "kill", p.container("agent1")) }, func() { p.compose("start", "agent1") })
	p.quorum(c)
	c.fine()
	p.allowed()
	for _, service := range bots {
		if strings.Contains(p.compose("logs", service), p.token()) {
			t.Errorf("the token stands in the log of %s", service)
		}
	}
}

// asked are the commands that an agent answers with its key.
func (p *project) asked(agent string) {
	p.t.Helper()
	for command, want := range map[string]string{
		"doctor": "replicas: 3", "cron list": "", "memory list": "", "pair list": "", "dlq list": "", "audit verify": "",
		"session list": "web/cluster-0", "session show web/cluster-0": "read cluster-0-",
	} {
		if said := p.bot(agent, strings.Fields(command)...); !strings.Contains(said, want) {
			p.t.Errorf("bot %s: %s, want %q", command, said, want)
		}
	}
}

// allowed says whether each role has had the rights for what it did.
func (p *project) allowed() {
	p.t.Helper()
	for line := range strings.Lines(p.compose("logs", "gateway1", "gateway2", "agent1", "agent2")) {
		if strings.Contains(line, "bus refused") {
			p.t.Error("a key lacks a right: ", line)
		}
	}
}

// quorum takes two of three servers away and gives them back.
func (p *project) quorum(c *crowd) {
	p.t.Helper()
	p.compose("kill", "nats2", "nats3")
	gone := time.Now()
	took := map[string]time.Duration{}
	p.until("all notice that the quorum is gone", func() bool {
		for _, service := range append(slices.Clone(bots), "nats1") {
			if p.health(service) == "unhealthy" && took[service] == 0 {
				took[service] = time.Since(gone).Round(100 * time.Millisecond)
			}
		}
		return len(took) == len(bots)+1
	}, func() string { return p.compose("ps") })
	p.figure("without a quorum unhealthy after", took)
	for _, service := range bots {
		if took[service] > 15*time.Second {
			p.t.Errorf("%s was unhealthy after %v, want 15 s", service, took[service])
		}
	}
	p.compose("start", "nats2", "nats3")
	p.figure("healthy again after", p.becomes("healthy", everyone...))
	c.answered(3)
	p.figure("longest wait over the loss of the quorum", c.longest())
}

// hurt does something to the cluster while people write, and undoes it when
// they are answered in spite of it.
func (p *project) hurt(c *crowd, what string, do, undo func()) {
	p.t.Helper()
	c.answered(1)
	c.longest()
	do()
	c.answered(2)
	p.figure("longest wait when "+what, c.longest())
	undo()
	p.becomes("healthy", everyone...)
	c.answered(2)
}
