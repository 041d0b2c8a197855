package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/need"
)

// cage is a control group with a memory limit, as an engine makes one for a
// container.
type cage struct{ dir, limit, peak string }

// newCage makes one, or skips the test where this machine gives us none: we are
// not root, or in a container ourselves. Where it should work and does not,
// MAGPIE_TEST_REQUIRE=1 makes that a failure.
func newCage(t testing.TB, megabytes int) *cage {
	t.Helper()
	c := &cage{dir: "/sys/fs/cgroup", limit: "memory.max", peak: "memory.peak"}
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err == nil {
		c = &cage{dir: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes"}
	}
	if why := c.closed(); why != "" {
		t.Skip("NOT TRIED, the program in a small memory limit: " + why)
	}
	dir, err := os.MkdirTemp(c.dir, "magpie-test-")
	if err == nil {
		c.dir = dir
		t.Cleanup(func() { c.remove(t) })
		err = os.WriteFile(filepath.Join(c.dir, c.limit), []byte(strconv.Itoa(megabytes<<20)), 0o600)
	}
	if err != nil {
		need.Unmet(t, "no control group with a memory limit can be made: %v", err)
	}
	for _, noSwap := range []string{"memory.swap.max", "memory.swappiness"} {
		_ = os.WriteFile(filepath.Join(c.dir, noSwap), []byte("0"), 0o600)
	}
	return c
}

// closed says why no group can be made below the one that is mounted; "" when
// one can.
func (c *cage) closed() string {
	const writable = 2 // W_OK
	if os.Geteuid() != 0 {
		return "only root can make a control group"
	}
	if err := syscall.Access(c.dir, writable); err != nil {
		return fmt.Sprintf("%s cannot be written, as in a container: %v", c.dir, err)
	}
	if c.limit != "memory.max" {
		return ""
	}
	// Of the second version, a group that holds processes, such as that of a
	// container, hands nothing on.
	handed := filepath.Join(c.dir, "cgroup.subtree_control")
	err := os.WriteFile(handed, []byte("+memory"), 0o600)
	if has, _ := os.ReadFile(handed); strings.Contains(string(has), "memory") {
		return ""
	}
	return fmt.Sprintf("%s hands no memory limits on: %v", c.dir, err)
}

// remove waits until the kernel lets go of what was killed.
func (c *cage) remove(t testing.TB) {
	end := time.After(deadline)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.Remove(c.dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Error(err)
			return
		}
	}
}

// by starts a program in the cage.
func (c *cage) by() []string {
	return []string{"/bin/sh", "-c", "echo $$ >" + c.dir + `/cgroup.procs && exec "$0" "$@"`}
}

func (c *cage) read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}
