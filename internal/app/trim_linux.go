package app

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// trim gives the pages of the program file back that only the start needed.
// The kernel maps many around each one that is used; those that are needed
// again come from its page cache. Only mappings that cannot be written and hold
// nothing but the file are touched: in a program that is linked to the system's
// libraries, the loader has written addresses into one before it closed it.
func trim() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer maps.Close() //nolint:errcheck // only read
	var errs error
	var from, to uintptr
	ours := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if begin, end, ok := readOnly(lines.Text(), program); end != 0 {
			from, to, ours = begin, end, ok
		}
		if !ours || !untouched(lines.Text()) {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); errno != 0 {
			errs = errors.Join(errs, fmt.Errorf("give back pages of the program: %w", errno))
		}
	}
	return errs
}

// untouched says whether a line of /proc/self/smaps tells that the mapping above
// it has no page of its own.
func untouched(line string) bool {
	name, value, _ := strings.Cut(line, ":")
	return name == "Anonymous" && strings.TrimSpace(value) == "0 kB"
}

// readOnly reads a line of /proc/self/smaps and says whether it begins a mapping
// of a file that cannot be written; to is 0 for a line that begins none.
func readOnly(line, file string) (from, to uintptr, ok bool) {
	var perm string
	if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perm); n != 3 || from >= to {
		return 0, 0, false
	}
	return from, to, strings.HasPrefix(perm, "r") && strings.HasSuffix(perm, "p") &&
		!strings.Contains(perm, "w") && strings.HasSuffix(line, " "+file)
}
