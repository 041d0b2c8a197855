package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/telegram"
)

// built builds a program of a module that go.mod names, once for all tests.
func built(name, pkg string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(os.Getenv(programDir), name)
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return path, nil
	})
}

var (
	natsProgram = built("nats-server", "github.com/nats-io/nats-server/v2")
	nkProgram   = built("nk", "github.com/nats-io/nkeys/nk")
)

// deployed is the folder of what is shipped for servers.
const deployed = "../../deploy"

// cluster is three real NATS servers with the configuration that is shipped,
// and a world whose programs share them.
type cluster struct {
	*world
	keys  string // folder of keys.sh
	nats  []*natsServer
	waits *waits
}

// natsServer is one server over its restarts: its name, addresses and store
// stay.
type natsServer struct {
	t      testing.TB
	name   string
	dir    string
	listen string
	http   string
	routes string
	log    *safeBuffer
	cmd    *exec.Cmd
	ended  chan error
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	seen := newWaits()
	c := &cluster{world: newWorld(t, &telegram.Options{OnMessage: seen.answered}), waits: seen}
	c.extra = "agent: {busy: queue}"
	var routes, urls []string
	for i := range 3 {
		n := &natsServer{
			t: t, name: fmt.Sprint("nats", i+1), listen: freeAddr(t), http: freeAddr(t), routes: freeAddr(t), log: &safeBuffer{},
		}
		n.dir = filepath.Join(c.dir, n.name)
		routes, urls = append(routes, n.routes), append(urls, "nats://"+n.listen)
		c.nats = append(c.nats, n)
	}
	c.natsURL = strings.Join(urls, ",")
	c.makeKeys(routes)
	for _, n := range c.nats {
		n.configure(c.keys)
		n.start()
	}
	for _, n := range c.nats {
		n.healthy()
	}
	t.Cleanup(c.noViolations)
	return c
}

// makeKeys runs the script that is shipped.
func (c *cluster) makeKeys(routes []string) {
	c.t.Helper()
	nk, err := nkProgram()
	if err != nil {
		c.t.Fatal(err)
	}
	c.keys = filepath.Join(c.dir, "keys")
	script := exec.CommandContext(c.t.Context(), "sh", append([]string{filepath.Join(deployed, "nats", "keys.sh"), c.keys}, routes...)...)
	script.Env = append(os.Environ(), "PATH="+filepath.Dir(nk)+":"+os.Getenv("PATH"))
	if out, err := script.CombinedOutput(); err != nil {
		c.t.Fatalf("keys.sh: %v: %s", err, out)
	}
}

// configure writes the shipped configuration with this server's addresses and
// store, which in a container are the same for all.
func (n *natsServer) configure(keys string) {
	n.t.Helper()
	raw, err := os.ReadFile(filepath.Join(deployed, "nats", "nats.conf"))
	if err != nil {
		n.t.Fatal(err)
	}
	text := string(raw)
	for shipped, here := range map[string]string{
		`"0.0.0.0:4222"`: n.listen, `"127.0.0.1:8222"`: n.http, `"0.0.0.0:6222"`: n.routes, `"/data"`: filepath.Join(n.dir, "data"),
	} {
		if strings.Count(text, shipped) != 1 {
			n.t.Fatalf("nats.conf does not hold %s once", shipped)
		}
		text = strings.Replace(text, shipped, `"`+here+`"`, 1)
	}
	err = errors.Join(
		os.MkdirAll(n.dir, 0o700),
		os.WriteFile(filepath.Join(n.dir, "nats.conf"), []byte(text), 0o600),
		os.Symlink(filepath.Join(keys, "server"), filepath.Join(n.dir, "keys")),
	)
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *natsServer) start() {
	n.t.Helper()
	exe, err := natsProgram()
	if err != nil {
		n.t.Fatal(err)
	}
	n.cmd = exec.Command(exe, "-c", filepath.Join(n.dir, "nats.conf"))
	n.cmd.Env = []string{"SERVER_NAME=" + n.name}
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(n.cmd, n.ended)
	n.t.Cleanup(func() { n.signal(syscall.SIGKILL) })
}

// signal ends the server and waits for its end.
func (n *natsServer) signal(s syscall.Signal) {
	n.t.Helper()
	_ = n.cmd.Process.Signal(s)
	select {
	case err := <-n.ended:
		n.ended <- err
	case <-time.After(deadline):
		n.t.Fatalf("%s does not end after %v", n.name, s)
	}
}

// healthy waits for what the health check of the containers waits for.
func (n *natsServer) healthy() {
	n.t.Helper()
	n.await("healthy", func() bool { return fetch("http://"+n.http+"/healthz") == "200" })
}

func (n *natsServer) await(what string, ok func() bool) {
	n.t.Helper()
	end := time.After(takeover)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-end:
			n.t.Fatalf("%s: never: %s\n%s", n.name, what, n.log)
		case <-tick.C:
		}
	}
}

// fetch returns the status of an answer; what cannot be asked is "".
func fetch(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	_ = resp.Body.Close()
	return fmt.Sprint(resp.StatusCode)
}

// leader is the server that leads the mailboxes.
func (c *cluster) leader() *natsServer {
	c.t.Helper()
	var found *natsServer
	c.nats[0].await("a leader of the mailboxes", func() bool {
		for _, n := range c.nats {
			for _, at := range c.nats {
				if at.leads() == n.name {
					found = n
				}
			}
		}
		return found != nil
	})
	return found
}

// leads asks who leads the stream of the mailboxes; "" when nobody is known.
func (n *natsServer) leads() string {
	resp, err := http.Get("http://" + n.http + "/jsz?acc=MAGPIE&streams=1")
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	var jsz struct {
		Accounts []struct {
			Streams []struct {
				Name    string
				Cluster struct{ Leader string }
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&jsz); err != nil {
		return ""
	}
	for _, a := range jsz.Accounts {
		for _, s := range a.Streams {
			if s.Name == "IN" {
				return s.Cluster.Leader
			}
		}
	}
	return ""
}

// run starts the program in some roles with the key of the first.
func (c *cluster) run(name, roles string) *bot {
	c.t.Helper()
	role, _, _ := strings.Cut(roles, ",")
	c.busSync = fmt.Sprintf("always, replicas: 3, creds_file: %s", filepath.Join(c.keys, role, "seed"))
	return c.start(name, "--roles", roles)
}

// noViolations: what a role may not do it never tries.
func (c *cluster) noViolations() {
	for _, n := range c.nats {
		for line := range strings.SplitSeq(n.log.String(), "\n") {
			if strings.Contains(line, "Violation") {
				c.t.Errorf("%s: %s", n.name, line)
			}
		}
	}
}

// waits measures how long people wait for the first answer to each message.
type waits struct {
	mu   sync.Mutex
	said map[string]time.Time // by tag; answered ones are zero
	most time.Duration
	// upTo is when the latest message was said that a chat has the answer to.
	upTo map[string]time.Time
}

func newWaits() *waits {
	return &waits{said: map[string]time.Time{}, upTo: map[string]time.Time{}}
}

func (w *waits) ask(tag string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said[tag] = time.Now()
}

func (w *waits) answered(m telegram.Message) {
	i := strings.IndexByte(m.Text, '<')
	if i < 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	tag := m.Text[i:]
	said := w.said[tag]
	if said.IsZero() {
		return // the repeat of a send that was cut off
	}
	w.said[tag] = time.Time{}
	w.most = max(w.most, time.Since(said))
	chat, _, _ := strings.Cut(tag, "/")
	w.upTo[chat] = said
}

// longest is the longest wait since this was asked last.
func (w *waits) longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.most
	w.most = 0
	return most
}

// behind is how many of the chats have no answer yet to what was said after t.
func (w *waits) behind(t time.Time) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, upTo := range w.upTo {
		if !upTo.After(t) {
			n++
		}
	}
	return n
}
