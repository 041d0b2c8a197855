package bus_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"magpie/bus"
	"magpie/bus/bustest"
)

// natsWith starts a server with a configuration of its own and returns its
// address. $STORE stands for a folder.
func natsWith(t *testing.T, conf string) (addr string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "nats.conf")
	conf = "listen: 127.0.0.1:-1\n" + strings.ReplaceAll(conf, "$STORE", fmt.Sprintf("%q", dir))
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return natsFrom(t, path)
}

// natsFrom starts a server with a file and returns its address.
func natsFrom(t *testing.T, path string) (addr string) {
	t.Helper()
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoLog, opts.NoSigs, opts.AuthTimeout = true, true, deadline.Seconds()
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(deadline) {
		t.Fatal("the server does not start")
	}
	return srv.Addr().String()
}

// What will never be is said as such, with what to do, instead of waited for.
func TestServersThatWillNeverDo(t *testing.T) {
	for _, row := range []struct {
		name, conf string
		opts       bus.Options
		user       string
		said       string
	}{
		{name: "no JetStream", conf: ``, said: "JetStream is not enabled on the NATS server"},
		{
			name: "no JetStream for the account",
			conf: `jetstream { store_dir: $STORE }
				accounts { A { users: [{user: a, password: hunter2}] }, B { jetstream: enabled, users: [{user: b, password: hunter2}] } }`,
			user: "a:hunter2@", said: "JetStream is not enabled for the account",
		},
		{name: "alone", conf: `jetstream { store_dir: $STORE }`, opts: bus.Options{Replicas: 3}, said: "bus.replicas is 3"},
		{
			name: "no right to ask",
			conf: `jetstream { store_dir: $STORE }
				authorization { users: [{user: a, password: hunter2, permissions: {publish: {deny: ["$JS.API.>"]}}}] }`,
			user: "a:hunter2@", said: `"$JS.API.INFO"`,
		},
		{
			name: "no right to make streams",
			conf: `jetstream { store_dir: $STORE }
				authorization { users: [{user: a, password: hunter2, permissions: {publish: {deny: ["$JS.API.STREAM.CREATE.>"]}}}] }`,
			user: "a:hunter2@", said: `"$JS.API.STREAM.CREATE.KV_meta"`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.opts.URL = "nats://" + row.user + natsWith(t, row.conf)
			b, err := bus.Open(testContext(t), row.opts)
			if err == nil {
				_ = b.Close()
			}
			refusedFor(t, err, row.said)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
}

// An old server is refused with its version, also one of a cluster whose others
// are new enough.
func TestServersThatAreTooOld(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.9.25": false, "2.10.27": false, "2.10.0-beta.1": false, "1.4.1": false, "": false,
		"2.11.0": true, "2.15.2": true, "3.0.0": true,
	} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			real := strings.TrimPrefix(bustest.External(t), "nats://")
			old := oldServer(t, version)
			for _, url := range []string{"nats://" + old, "nats://" + real + ",nats://" + old} {
				b, err := bus.Open(testContext(t), bus.Options{URL: url})
				if err == nil {
					_ = b.Close()
				}
				var unfit *bus.Unfit
				switch {
				case !ok:
					refusedFor(t, err, "version "+version)
				case errors.As(err, &unfit) && strings.Contains(unfit.Why, "version"):
					t.Errorf("%s: %v", url, err)
				}
			}
		})
	}
}

// oldServer speaks just enough for a client to connect, and says no to all
// that is asked of JetStream.
func oldServer(t *testing.T, version string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				greetAs(conn, version)
			})
		}
	})
	return l.Addr().String()
}

func greetAs(conn net.Conn, version string) {
	fmt.Fprintf(conn, "INFO {\"server_id\":\"X\",\"version\":%q,\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n", version)
	sid := "1"
	for s := bufio.NewScanner(conn); s.Scan(); {
		words := strings.Fields(s.Text())
		switch {
		case len(words) == 0:
		case words[0] == "PING":
			fmt.Fprint(conn, "PONG\r\n")
		case words[0] == "SUB":
			sid = words[len(words)-1]
		case words[0] == "PUB" && len(words) == 4: // nobody is there for the request
			fmt.Fprintf(conn, "HMSG %s %s 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", words[2], sid)
		}
	}
}

// A server that takes small messages only is good enough, but it is said.
func TestSmallMessagesAreNoted(t *testing.T) {
	for size, noted := range map[string]bool{"1MB": true, "8MB": false} {
		said := newLines("max_payload")
		b := bustest.Open(t, bus.Options{
			URL: "nats://" + natsWith(t, "jetstream { store_dir: $STORE }\nmax_payload: "+size), Log: said.logger(),
		})
		if got := strings.Contains(strings.Join(b.Notes(), ""), "max_payload: 8MB"); got != noted || len(said.found) > 0 != noted {
			t.Errorf("%s: notes %q, %d lines in the log", size, b.Notes(), len(said.found))
		}
	}
}
