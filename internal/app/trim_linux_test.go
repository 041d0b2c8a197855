package app

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadOnlyMappings(t *testing.T) {
	for _, c := range []struct {
		line string
		ok   bool
	}{
		{"00400000-01a00000 r-xp 00000000 fe:00 123                        /opt/my bot/bot", true},
		{"01a00000-02a00000 r--p 01600000 fe:00 123                        /opt/my bot/bot", true},
		{"02a00000-02b00000 rw-p 02600000 fe:00 123                        /opt/my bot/bot", false},
		{"02a00000-02b00000 r--s 02600000 fe:00 123                        /opt/my bot/bot", false},
		{"02a00000-02b00000 ---p 02600000 fe:00 123                        /opt/my bot/bot", false},
		{"7f0000000000-7f0000001000 r-xp 00000000 00:00 0                  [vdso]", false},
		{"7f0000000000-7f0000001000 r-xp 00000000 fe:00 9                  /lib/libc.so", false},
		{"", false},
	} {
		from, to, ok := readOnly(c.line, "/opt/my bot/bot")
		if ok != c.ok || ok && (from == 0 || to <= from) {
			t.Errorf("%q: %x-%x, %v; want %v", c.line, from, to, ok, c.ok)
		}
	}
}

// resident counts the bytes of the program file that are mapped and present.
func resident(t *testing.T) (bytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	if n, err := fmt.Sscanf(rest, "%d kB", &bytes); n != 1 {
		t.Fatal(err)
	}
	return bytes << 10
}

// populate has the whole program file present: on a machine without memory the
// kernel has taken most of it away before. A kernel that cannot do it leaves
// what there is.
func populate(t *testing.T) {
	t.Helper()
	program, err1 := os.Readlink("/proc/self/exe")
	maps, err2 := os.ReadFile("/proc/self/maps")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if from, to, ok := readOnly(strings.TrimSuffix(line, "\n"), program); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_POPULATE_READ)
		}
	}
}

func TestTrim(t *testing.T) {
	populate(t)
	before := resident(t)
	if err := trim(); err != nil {
		t.Fatal(err)
	}
	if after := resident(t); after > before*3/4 {
		t.Errorf("%d bytes of the program are resident after %d, want less than three quarters", after, before)
	}
}

// A program that is linked to libraries has addresses in pages that the loader
// has closed; they must stay.
func TestTrimLeavesWrittenPages(t *testing.T) {
	for line, want := range map[string]bool{
		"Anonymous:             0 kB": true, "Anonymous:             8 kB": false, "AnonHugePages:         0 kB": false, "Rss: 0 kB": false, "": false,
	} {
		if got := untouched(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
