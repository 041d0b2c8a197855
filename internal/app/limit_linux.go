package app

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryLimit is the smallest memory limit of the control groups that this
// process is in, in bytes; false when none has one, or the system does not tell.
func memoryLimit() (int64, bool) { return limitBelow("/proc/self/cgroup", "/proc/self/mountinfo") }

// limitBelow reads the process's groups and where their files are mounted, as
// /proc shows them.
func limitBelow(groups, mounts string) (int64, bool) {
	least := int64(math.MaxInt64)
	for _, h := range hierarchies(mounts) {
		group := groupIn(groups, h.v2)
		// Outside a namespace of control groups a container's group is mounted as
		// the root of what it sees, but named from the machine's root.
		below, ok := strings.CutPrefix(group, strings.TrimSuffix(h.root, "/"))
		if !ok || below != "" && below[0] != '/' {
			below = ""
		}
		for dir := filepath.Join(h.at, below); strings.HasPrefix(dir, h.at); dir = filepath.Dir(dir) {
			if n, ok := limitIn(dir, h.v2); ok {
				least = min(least, n)
			}
			if dir == h.at || dir == "/" {
				break
			}
		}
	}
	return least, least < math.MaxInt64
}

// hierarchy is a tree of control groups that may hold memory limits.
type hierarchy struct {
	v2       bool
	root, at string // the group that is mounted, and where
}

func hierarchies(mounts string) (all []hierarchy) {
	f, err := os.Open(mounts)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// id parent major:minor root at options [fields] - type source options
		mount, kind, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(mount), strings.Fields(kind)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		v1 := right[0] == "cgroup" && strings.Contains(","+right[2]+",", ",memory,")
		if v2 := right[0] == "cgroup2"; v1 || v2 {
			all = append(all, hierarchy{v2, left[3], left[4]})
		}
	}
	return all
}

// groupIn is the process's group in a hierarchy.
func groupIn(groups string, v2 bool) string {
	f, err := os.Open(groups)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// number:controllers:path
		part := strings.SplitN(lines.Text(), ":", 3)
		if len(part) == 3 && (v2 && part[0] == "0" && part[1] == "" || !v2 && strings.Contains(","+part[1]+",", ",memory,")) {
			return part[2]
		}
	}
	return ""
}

// limitIn reads the limit of one group; "max", and v1's largest number, are
// none.
func limitIn(dir string, v2 bool) (int64, bool) {
	name := "memory.limit_in_bytes"
	if v2 {
		name = "memory.max"
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil && n > 0 && n < 1<<60
}
