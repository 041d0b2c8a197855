// Package bustest makes a bus for a test.
package bustest

import (
	"context"
	"testing"
	"time"

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
