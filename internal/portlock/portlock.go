// Package portlock lets tests of several packages, which run at the same time,
// take turns with the one port that a bot without configuration listens on. It
// is for tests only.
package portlock

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Hold waits until no other test has the default port, and keeps it until the
// test ends.
func Hold(t testing.TB) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "magpie-test-port.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
}
