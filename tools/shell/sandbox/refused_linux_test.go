package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"magpie/tools/shell/sandbox"
)

// refusedVariable makes this test program look for a sandbox where a system
// call is refused: its number and the error.
const refusedVariable = "MAGPIE_TEST_SANDBOX_REFUSED"

func refusedChild() {
	var nr, no int
	_, err := fmt.Sscan(os.Getenv(refusedVariable), &nr, &no)
	if err == nil {
		err = sandbox.Refuse(uint32(nr), syscall.Errno(no))
	}
	if err != nil {
		fmt.Println("cannot be tried:", err)
		return
	}
	s, err := sandbox.New(sandbox.Options{Write: []string{os.Getenv("TMPDIR")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Report().Text)
	_, err = sandbox.New(sandbox.Options{Want: sandbox.Landlock, Write: []string{os.Getenv("TMPDIR")}})
	fmt.Println(errors.Is(err, sandbox.ErrUnavailable), err)
}

// Kernels without Landlock, and containers that forbid it: why there is no wall
// is said in words, and a wall that is demanded is an error.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		nr   int
		no   syscall.Errno
		want string
	}{
		"an old kernel":                {unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, "landlock: the kernel does not have it"},
		"a boot without Landlock":      {unix.SYS_LANDLOCK_CREATE_RULESET, unix.EOPNOTSUPP, "landlock: it is switched off at the kernel's boot"},
		"a container":                  {unix.SYS_LANDLOCK_CREATE_RULESET, unix.EPERM, "landlock: it is forbidden here, for example by a container's seccomp profile"},
		"half of it":                   {unix.SYS_LANDLOCK_RESTRICT_SELF, unix.EPERM, "landlock: start a command: restrict paths:"},
		"a container without filters":  {unix.SYS_SECCOMP, unix.EPERM, "landlock: start a command: filter system calls: operation not permitted"},
		"a kernel without filters":     {unix.SYS_SECCOMP, unix.ENOSYS, "landlock: start a command: filter system calls: function not implemented"},
		"a kernel that asks no warden": {unix.SYS_SECCOMP, unix.EINVAL, "landlock: start a command: filter system calls: invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = []string{fmt.Sprintf("%s=%d %d", refusedVariable, c.nr, int(c.no)), "PATH=/nonexistent", "TMPDIR=" + dir}
			out, err := child.CombinedOutput()
			auto, demanded, _ := strings.Cut(string(out), "\n")
			if err != nil || !strings.HasPrefix(auto, "off: ") || !strings.Contains(auto, c.want) ||
				!strings.Contains(auto, "bwrap is not installed") || !strings.HasSuffix(auto, "commands can do what the bot's user can") {
				t.Errorf("auto: %v, %s\nwant off, and %s", err, auto, c.want)
			}
			if !strings.HasPrefix(demanded, "true ") || !strings.Contains(demanded, c.want) || !strings.Contains(demanded, "tools.exec.sandbox: auto") {
				t.Errorf("demanded: %s\nwant the error that says %s", demanded, c.want)
			}
		})
	}
}
