package need

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside says that this process has a network of its own.
const inside = "MAGPIE_TEST_NAMESPACE"

// OwnNetwork runs the test again in a network of its own, which nobody else has
// ports of and which has a loopback only. It is true in there; outside there is
// nothing left to do.
func OwnNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		loopback(t)
		return true
	}
	var pattern []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(name)+"$")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run="+strings.Join(pattern, "/"))
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.As(err, new(*exec.ExitError)):
		t.Errorf("%s", out)
	case err != nil:
		Unmet(t, "this system makes no network namespaces for us: %v", err)
	case !bytes.Contains(out, []byte("--- PASS: "+t.Name()+" (")):
		t.Errorf("nothing was tried:\n%s", out)
	}
	return false
}

// loopback switches it on; a new network has it off.
func loopback(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd) //nolint:errcheck // only asked
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING | unix.IFF_LOOPBACK)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}
