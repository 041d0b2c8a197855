package dockertest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Everything that may happen to a cluster happens to it while people write:
// nothing is lost, and what comes twice is counted.
func TestFaults(t *testing.T) {
	need(t, true)
	p := cluster(t)
	c := newCrowd(t, "faults", p.token(), 8, page, page2)
	c.answered(3)
	for _, service := range []string{"nats1", "nats2", "nats3", "agent1", "gateway1"} {
		id := p.container(service)
		p.hurt(c, service+" is killed", func() { p.must("docker", "kill", id) }, func() { p.compose("start", service) })
	}
	leader := p.leader()
	for _, service := range []string{leader, "agent2", "gateway2"} {
		id := p.container(service)
		p.hurt(c, service+" is paused", func() { p.must("docker", "pause", id) }, func() { p.must("docker", "unpause", id) })
	}
	for service, networks := range map[string][]string{p.leader(): {"bus"}, "agent1": {"bus"}, "gateway1": {"bus"}, "gateway2": {"outside"}, "agent2": {"outside"}} {
		for _, network := range networks {
			id, name := p.container(service), "magpie-test_"+network
			p.hurt(c, service+" is cut from "+network, func() { p.must("docker", "network", "disconnect", name, id) },
				func() { p.must("docker", "network", "connect", "--alias", service, name, id) })
		}
	}
	p.replaced(c)
	p.quorum(c)
	for _, how := range []string{"stop", "crash"} {
		p.engine(how)
		began := time.Now()
		p.engine("start")
		p.becomes("healthy", everyone...)
		p.figure("all healthy after "+how+" and start of the engine", time.Since(began).Round(100*time.Millisecond))
		c.answered(3)
	}
	c.fine()
	p.allowed()
}

// leader is the server that leads the mailboxes, as the bots name it, or the
// first.
func (p *project) leader() string {
	for _, service := range servers {
		said, err := p.try("docker", "compose", "exec", "-T", service, "wget", "-q", "-O", "-", "http://127.0.0.1:8222/jsz?streams=true&accounts=true")
		if err == nil && regexp.MustCompile(`"name": "IN"(?s:.{0,400}?)"leader": "`+service+`"`).MatchString(said) {
			return service
		}
	}
	return servers[0]
}

// replaced puts each service's container in the place of the old one, by the
// line of the documentation.
func (p *project) replaced(c *crowd) {
	p.t.Helper()
	const line = "up -d --build --no-deps nats1"
	if !strings.Contains(p.read("../docs/operations.md"), line) {
		p.t.Errorf("docs/operations.md has no line with %q", line)
	}
	for _, service := range everyone {
		args := strings.Fields(strings.Replace(line, "nats1", service, 1))
		before := p.container(service)
		c.answered(1)
		c.longest()
		p.compose(slices.Insert(args, 2, "--force-recreate")...) // as for a new image
		p.becomes("healthy", service)
		if p.container(service) == before {
			p.t.Errorf("%s was not replaced", service)
		}
		c.answered(1)
		p.figure("longest wait when "+service+" is replaced", c.longest())
	}
}
