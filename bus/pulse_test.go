package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/bus"
	"magpie/bus/bustest"
)

// three is a cluster of three servers in this process.
type three struct {
	t       *testing.T
	options []*server.Options
	servers []*server.Server
}

// newThree starts the first n of the three, which know of no others.
func newThree(t *testing.T, n int) *three {
	t.Helper()
	c := &three{t: t, servers: make([]*server.Server, 3)}
	var routes []*url.URL
	for i := range 3 {
		client, route := freePort(t), freePort(t)
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", route)})
		c.options = append(c.options, &server.Options{
			ServerName: fmt.Sprint("n", i+1), Host: "127.0.0.1", Port: client, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: route},
		})
	}
	for i, o := range c.options {
		o.Routes = routes[:max(n, i+1)]
		if i < n {
			c.start(i)
		}
	}
	t.Cleanup(func() {
		for i, srv := range c.servers {
			if srv != nil {
				c.stop(i)
			}
		}
	})
	return c
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *three) start(i int) {
	c.t.Helper()
	srv, err := server.NewServer(c.options[i].Clone())
	if err != nil {
		c.t.Fatal(err)
	}
	srv.Start()
	c.servers[i] = srv
}

func (c *three) stop(i int) {
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
}

func (c *three) urls() string {
	var all []string
	for _, o := range c.options {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}

// Every stream has a leader of its own: when one that is needed has none, the
// bus is not healthy, though all the others go on; who does not need it does
// not mind.
func TestStreamWithoutALeader(t *testing.T) {
	t.Parallel()
	c := newThree(t, 3)
	b := bustest.Open(t, bus.Options{URL: c.urls(), Replicas: 3})
	ctx := testContext(t)
	if err := b.Health(ctx); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(c.urls())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	host := -1
	until(t, "the histories on one server only", func() bool {
		s, err := js.Stream(ctx, "HIST")
		if err != nil {
			return false
		}
		info := s.CachedInfo()
		if info.Config.Replicas != 1 {
			info.Config.Replicas = 1
			_, _ = js.UpdateStream(ctx, info.Config)
			return false
		}
		for i, o := range c.options {
			if len(info.Cluster.Replicas) == 0 && o.ServerName == info.Cluster.Leader {
				host = i
			}
		}
		return host >= 0
	})
	gateway := bustest.Open(t, bus.Options{URL: c.urls(), Replicas: 3, Role: bus.Role{Writes: []bus.Stream{bus.In, bus.Out, bus.Dead, bus.Receipt}}})
	c.stop(host)
	stopped := time.Now()
	until(t, "no health without histories", func() bool {
		err := b.Health(ctx)
		return err != nil && strings.Contains(err.Error(), "the histories (HIST)") && !strings.Contains(err.Error(), "stored") && !strings.Contains(err.Error(), "(IN)")
	})
	t.Logf("after %v: %v", time.Since(stopped).Round(time.Millisecond), b.Health(ctx))
	until(t, "health of who does not need them", func() bool { return gateway.Health(ctx) == nil })
	c.start(host)
	until(t, "health again", func() bool { return b.Health(ctx) == nil })
}

// A cluster places nothing on a server that it has not heard of yet. Whoever
// opens the bus meanwhile waits for that server.
func TestOpenBeforeAServerJoins(t *testing.T) {
	t.Parallel()
	c := newThree(t, 2)
	waits := newLines("no suitable peers")
	opened := make(chan error, 1)
	go func() {
		b, err := bus.Open(testContext(t), bus.Options{URL: c.urls(), Replicas: 3, Log: waits.logger()})
		if err == nil {
			err = b.Close()
		}
		opened <- err
	}()
	select {
	case line := <-waits.found:
		t.Log(line)
	case err := <-opened:
		t.Fatalf("not waited for: %v", err)
	}
	c.start(2)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
}

// With permissions made for an earlier version the write that proves is
// refused: then leaders count alone, and the server is not asked again and
// again.
func TestWithoutTheRightToProve(t *testing.T) {
	t.Parallel()
	url, keys := guardedWithout(t, `"$KV.lease.hold.ready.write"`)
	bustest.Open(t, bus.Options{URL: url, CredsFile: filepath.Join(keys, "agent"), Role: agentRole})
	told := newLines("is not proved")
	cron := bustest.Open(t, bus.Options{
		URL: url, CredsFile: filepath.Join(keys, "cron"), Log: told.logger(),
		Role: bus.Role{Inbox: "cron", Writes: []bus.Stream{bus.In, bus.Out}, Follows: true},
	})
	receive(t, told.found)
	beats := time.NewTimer(10 * time.Second) // longer than a look counts
	defer beats.Stop()
	select {
	case line := <-told.found:
		t.Errorf("refused again: %s", line)
	case <-beats.C:
	}
	if err := cron.Health(testContext(t)); err != nil {
		t.Error(err)
	}
}

// A server that hangs keeps its connections and answers nothing; Health does
// not wait for it.
func TestHealthOfAServerThatHangs(t *testing.T) {
	t.Parallel()
	line := newLine(t, strings.TrimPrefix(bustest.External(t), "nats://"))
	b := bustest.Open(t, bus.Options{URL: "nats://" + line.addr})
	line.hang()
	until(t, "no health", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		asked := time.Now()
		err := b.Health(ctx)
		if took := time.Since(asked); took > 2*time.Second {
			t.Errorf("the answer took %v", took)
		}
		return err != nil && !errors.Is(err, bus.ErrStoreFull)
	})
	t.Log(b.Health(t.Context()))
	line.goOn()
	until(t, "health again", func() bool { return b.Health(t.Context()) == nil })
}

// lines tells of the log's lines that hold a text.
type lines struct {
	text  string
	found chan string
}

func newLines(text string) *lines { return &lines{text, make(chan string, 100)} }

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lines) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.text) {
		l.found <- string(p)
	}
	return len(p), nil
}
