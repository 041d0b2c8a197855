package app_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Two of three NATS servers are paused, then killed, while the programs are
// connected to the third, which leads the mailboxes: it is an isolated leader,
// answers, and cannot store anything. Every program is not ready until they are
// back, and says why; when the server that hangs is their own, until they are
// connected to another.
func TestReadyMeansAQuorum(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	g := &group{cluster: c, members: map[string]*bot{}, lives: map[int]string{}}
	g.launch("agent1") // makes the streams
	leader := c.leader()
	c.natsURL = "nats://" + leader.listen
	g.launch("gateway1", "agent2", "cron")
	on := []string{"gateway1", "agent2", "cron"}
	var others []*natsServer
	for _, n := range c.nats {
		if n != leader {
			others = append(others, n)
		}
	}

	pause(others...)
	g.unready("two paused", on...)
	resume(others...)
	g.ready("two resumed", on...)

	for _, n := range others {
		n.signal(syscall.SIGKILL)
	}
	g.unready("two killed", on...)
	for _, n := range others {
		// Both: leases are in memory, and one that remembers them does not outvote
		// one that does not.
		n.start()
	}
	g.ready("both back", append(on, "agent1")...)
	for _, n := range others {
		n.healthy()
	}

	// Whatever it leads goes to another; the programs do too, and the one that
	// was never told of the others learned of them from the servers.
	pause(leader)
	g.unready("their own paused", on...)
	g.ready("connected to another", on...)
	resume(leader)
}

func pause(servers ...*natsServer) {
	for _, n := range servers {
		_ = n.cmd.Process.Signal(syscall.SIGSTOP)
	}
}

func resume(servers ...*natsServer) {
	for _, n := range servers {
		_ = n.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// unready waits until none of the programs is ready, and has an answer each
// time.
func (g *group) unready(when string, names ...string) {
	g.t.Helper()
	g.readiness(when, "503", names)
}

// ready waits until all are.
func (g *group) ready(when string, names ...string) {
	g.t.Helper()
	g.readiness(when, "200", names)
}

func (g *group) readiness(when, want string, names []string) {
	g.t.Helper()
	began := time.Now()
	for _, name := range names {
		url := "http://" + g.members[name].listen + "/readyz"
		var last string
		g.nats[0].await(name+" answers "+want+" with "+when, func() bool {
			asked := time.Now()
			status := fetch(url)
			if took := time.Since(asked); status == "" || took > 5*time.Second { // of the container's health check
				g.t.Errorf("%s, %s: answer %q after %v", when, name, status, took)
			}
			last = status
			return last == want
		})
		g.t.Logf("%s: %s answers %s after %v", when, name, last, time.Since(began).Round(10*time.Millisecond))
		if want != "200" {
			if text := body(url); !strings.Contains(text, "2 of the 3 NATS servers have to run") && !strings.Contains(text, "not connected") {
				g.t.Errorf("%s, %s: says %q", when, name, text)
			} else {
				g.t.Log(text)
			}
		}
	}
}

func body(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	data, _ := io.ReadAll(resp.Body)
	return string(data)
}
