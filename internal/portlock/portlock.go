// Package portlock gives tests of several packages, which run at the same time,
// ports that no other test gets: turns with the one port that a bot without
// configuration listens on, and free ones for programs that are started. It is
// for tests only.
package portlock

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Ports below those that the system gives to listeners and connections by
// itself: one that was free a moment ago stays so.
const firstPort, ports = 20_000, 12_000

// Free returns an address of this machine that nobody listens on, another one
// each time over all test programs.
func Free(t testing.TB) string {
	t.Helper()
	f := locked(t, "magpie-test-port.next")
	defer func() { _ = f.Close() }()
	var n int
	_, _ = fmt.Fscan(f, &n) // nothing in it: the first
	for range ports {
		n = (n + 1) % ports
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+n))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }()
		if _, err := f.WriteAt(fmt.Appendf(nil, "%-8d", n), 0); err != nil {
			t.Fatal(err)
		}
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// Hold waits until no other test has the default port, and keeps it until the
// test ends.
func Hold(t testing.TB) {
	t.Helper()
	f := locked(t, "magpie-test-port.lock")
	t.Cleanup(func() { _ = f.Close() })
}

// locked opens a file that one test at a time has.
func locked(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return f
}
