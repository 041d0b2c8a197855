package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
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

func TestTrim(t *testing.T) {
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
