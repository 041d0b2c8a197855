package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
)

// removeTree removes what a command has left, also folders that it has closed
// to itself, and whatever their depth. It is called when no process is left.
// What cannot be removed stays: the command's own result counts for more.
func removeTree(top string) {
	if os.RemoveAll(top) == nil {
		return
	}
	_ = os.Chmod(top, 0o700) // what fails here fails at the end, too
	for n := 0; ; {
		entries, err := os.ReadDir(top)
		if err != nil || len(entries) == 0 {
			break
		}
		gone := 0
		for _, e := range entries {
			if raise(top, e, &n) {
				gone++
			}
		}
		if gone == 0 {
			break
		}
	}
	_ = os.Remove(top)
}

// raise removes an entry of top; what folders lie in it come to lie in top, so
// that no path grows long.
func raise(top string, e os.DirEntry, n *int) bool {
	path := filepath.Join(top, e.Name())
	if !e.IsDir() {
		return os.Remove(path) == nil
	}
	_ = os.Chmod(path, 0o700)
	inner, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, i := range inner {
		from := filepath.Join(path, i.Name())
		if !i.IsDir() {
			_ = os.Remove(from)
			continue
		}
		_ = os.Chmod(from, 0o700) // a folder that moves is written to
		_ = os.Rename(from, unused(top, n))
	}
	return os.Remove(path) == nil
}

func unused(dir string, n *int) string {
	for {
		*n++
		path := filepath.Join(dir, "moved"+strconv.Itoa(*n))
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}
