package app_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/app"
)

// The limit is the smallest of the process's group and those around it, by both
// versions of control groups and as engines mount them.
func TestMemoryLimit(t *testing.T) {
	for name, c := range map[string]struct {
		groups, mounts string            // AT is where the test's folder is
		limits         map[string]string // by file
		want           int64             // 0: none
	}{
		"v2 in its namespace": {
			"0::/\n", "30 29 0:26 / AT ro,nosuid - cgroup2 cgroup rw\n",
			map[string]string{"memory.max": "67108864\n"},
			64 << 20,
		},
		"v2 on a machine, by a parent": {
			"0::/system.slice/bot.service\n", "30 29 0:26 / AT rw - cgroup2 cgroup2 rw\n",
			map[string]string{"system.slice/bot.service/memory.max": "max\n", "system.slice/memory.max": "50331648\n"},
			48 << 20,
		},
		"the smaller of two": {
			"0::/a/b\n", "30 29 0:26 / AT rw - cgroup2 cgroup2 rw\n",
			map[string]string{"a/b/memory.max": "33554432\n", "a/memory.max": "50331648\n"},
			32 << 20,
		},
		"v1 without a namespace": {
			"7:cpu:/docker/abc\n4:memory:/docker/abc\n0::/\n",
			"30 29 0:26 /docker/abc AT ro - cgroup cgroup rw,memory\n31 29 0:27 / AT/none ro - cgroup2 cgroup rw\n",
			map[string]string{"memory.limit_in_bytes": "41943040\n"},
			40 << 20,
		},
		"v1 whose largest number is none": {
			"4:memory:/\n", "30 29 0:26 / AT rw - cgroup cgroup rw,memory\n",
			map[string]string{"memory.limit_in_bytes": "9223372036854771712\n"},
			0,
		},
		"v1 together with another controller": {
			"4:cpu,memory:/x\n", "30 29 0:26 / AT rw shared:9 master:1 - cgroup cgroup rw,cpu,memory\n",
			map[string]string{"x/memory.limit_in_bytes": "41943040\n"},
			40 << 20,
		},
		"a group that is not below what is mounted": {
			"0::/../other\n", "30 29 0:26 /docker/abc AT rw - cgroup2 cgroup2 rw\n",
			map[string]string{"memory.max": "67108864\n"},
			64 << 20,
		},
		"none":           {"0::/\n", "30 29 0:26 / AT rw - cgroup2 cgroup2 rw\n", map[string]string{"memory.max": "max\n"}, 0},
		"nothing at all": {"", "", nil, 0},
		"no numbers":     {"0::/\n", "30 29 0:26 / AT rw - cgroup2 cgroup2 rw\nhalf a line\n", map[string]string{"memory.max": "many\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := filepath.Join(dir, "at")
			files := map[string]string{"groups": c.groups, "mounts": strings.ReplaceAll(c.mounts, "AT", at)}
			for file, text := range c.limits {
				files[filepath.Join("at", file)] = text
			}
			for file, text := range files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, ok := app.LimitBelow(filepath.Join(dir, "groups"), filepath.Join(dir, "mounts"))
			if ok != (c.want > 0) || ok && got != c.want {
				t.Errorf("%d, %v; want %d", got, ok, c.want)
			}
		})
	}
}

// The runtime gets most of a limit, but leaves room for a health check.
func TestMemoryOfTheRuntime(t *testing.T) {
	for limit, want := range map[int64]int64{8: 4, 24: 16, 32: 24, 48: 40, 64: 56, 128: 104, 1024: 960} {
		if got := app.Ours(limit << 20); got != want<<20 {
			t.Errorf("of %d MiB: %d, want %d", limit, got>>20, want)
		}
	}
}

// A limit that is too small, or a GOMEMLIMIT that does not fit it, is said with
// what would be right; what fits is only named.
func TestMemoryIsJudged(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		limit  int64  // 0: none
		chosen string // GOMEMLIMIT
		heap   int64  // that is in bytes
		good   bool
		says   string
	}{
		{0, "", math.MaxInt64, true, "no limit is set"},
		{16 * mib, "", 0, false, "the memory limit is 16 MiB, which is too small: at least 32 MiB, 64 MiB for"},
		{32*mib - 1, "", 0, false, "31 MiB, which is too small"},
		{32 * mib, "", 0, true, "the memory limit is 32 MiB"},
		{48 * mib, "", 0, true, "the memory limit is 48 MiB"},
		{24 * mib, "16MiB", 16 * mib, false, "24 MiB, which is too small"},
		{64 * mib, "48MiB", 48 * mib, true, "the memory limit is 64 MiB; GOMEMLIMIT=48MiB"},
		{0, "48MiB", 48 * mib, true, "no limit is set; GOMEMLIMIT=48MiB"},
		{64 * mib, "off", math.MaxInt64, true, "the memory limit is 64 MiB; GOMEMLIMIT=off"},
		{64 * mib, "1GiB", 1024 * mib, false, "the memory limit is 64 MiB, and GOMEMLIMIT=1GiB is not below it: such as GOMEMLIMIT=48MiB"},
		{64 * mib, "64MiB", 64 * mib, false, "GOMEMLIMIT=64MiB is not below it"},
		{64 * mib, "48", 48, false, "GOMEMLIMIT=48 is too small: write it with a unit"},
		{0, "0", 0, false, "GOMEMLIMIT=0 is too small"},
	} {
		said, err := app.JudgeMemory(c.limit, c.chosen, c.heap)
		if err != nil {
			said = err.Error()
			var wise interface{ Advice() string }
			if errors.As(err, &wise) {
				said += ": " + wise.Advice()
			}
		}
		for part := range strings.SplitSeq(c.says, ": ") {
			if !strings.Contains(said, part) || (err == nil) != c.good {
				t.Errorf("limit %d, GOMEMLIMIT %q: %v, %s; want %s", c.limit, c.chosen, err == nil, said, c.says)
			}
		}
	}
}
