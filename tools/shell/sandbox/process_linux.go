package sandbox

import (
	"bytes"
	"os"
	"strconv"
)

// process is one line of the process table.
type process struct{ pid, parent, threads, group int }

// descendants lists the children of a process, their children and so on.
func descendants(of int) []process {
	all := processes()
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for next := []int{of}; len(next) > 0; {
		kids := children[next[0]]
		delete(children, next[0])
		next = next[1:]
		for _, p := range kids {
			found = append(found, p)
			next = append(next, p.pid)
		}
	}
	return found
}

func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it is gone
		}
		if p, ok := parseStat(pid, raw); ok {
			all = append(all, p)
		}
	}
	return all
}

// parseStat reads a line of /proc/<pid>/stat (proc(5)). The name of the
// program stands in brackets and may hold anything.
func parseStat(pid int, raw []byte) (process, bool) {
	_, rest, ok := cutLast(raw, ")")
	f := bytes.Fields(rest)
	if !ok || len(f) < 18 {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	group, err2 := strconv.Atoi(string(f[2]))
	threads, err3 := strconv.Atoi(string(f[17]))
	return process{pid, parent, threads, group}, err1 == nil && err2 == nil && err3 == nil
}

func cutLast(s []byte, sep string) (before, after []byte, found bool) {
	i := bytes.LastIndex(s, []byte(sep))
	if i < 0 {
		return s, nil, false
	}
	return s[:i], s[i+len(sep):], true
}
