// Package bustest makes a bus for a test.
package bustest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"magpie/bus"
)

// New returns a bus on an embedded server in a folder of the test's own,
// without fsync. It is closed when the test ends.
func New(t testing.TB) *bus.Bus {
	t.Helper()
	return Open(t, bus.Options{Dir: t.TempDir(), SyncInterval: time.Minute})
}

// Open opens a bus with opts and closes it when the test ends.
func Open(t testing.TB, opts bus.Options) *bus.Bus {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := bus.Open(ctx, opts)
	if err != nil {
		t.Fatalf("open bus: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close bus: %v", err)
		}
	})
	return b
}

// External starts a server of its own with a listener on loopback, as an
// operator would, and returns its URL. It is stopped when the test ends.
func External(t testing.TB) (url string) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		ServerName: "external", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), MaxPayload: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the external server does not start")
	}
	return "nats://" + srv.Addr().(*net.TCPAddr).String()
}
