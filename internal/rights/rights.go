// Package rights says why this process may not use a file or a folder, and what
// to run about it. It changes nothing and starts no goroutine.
package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Denied is about a path that this user may not use.
type Denied struct {
	Why  string // what stands after the path in a sentence, with its owner and mode
	Todo string // what to run
}

// mounted says where to run it when the path is one of a container.
const mounted = "(as root; of a container: on the %s of the host that is mounted there)"

// Read is about a file that cannot be read. Its owner keeps it.
func Read(path string) Denied {
	return read(path, "run: chgrp %[2]d %[3]s && chmod 640 %[3]s "+fmt.Sprintf(mounted, "file"))
}

// ReadSecret is about a file that cannot be read, and that nobody else should.
func ReadSecret(path string) Denied {
	return read(path, "run: chown %[1]d:%[2]d %[3]s && chmod 600 %[3]s "+fmt.Sprintf(mounted, "file"))
}

// read gives the uid, the gid and the path to what is to be run.
func read(path, run string) Denied {
	todo := enter(path)
	if todo == "" {
		todo = fmt.Sprintf(run, os.Getuid(), os.Getgid(), absolute(path))
	}
	return Denied{Why: "cannot be read by " + user() + owner(path), Todo: todo}
}

// Write is about a folder in which this user has to write and cannot; at is
// what it failed at: the folder, what is in it, or what it would stand in.
func Write(dir, at string) Denied {
	todo := enter(dir)
	if _, err := os.Stat(dir); todo == "" && errors.Is(err, fs.ErrNotExist) {
		// The folder above is not the bot's: it keeps its owner.
		todo = fmt.Sprintf("run: install -d -o %d -g %d -m 700 %s (as root; in a container: mount a volume there)", os.Getuid(), os.Getgid(), absolute(dir))
	} else if todo == "" {
		todo = fmt.Sprintf("run: chown -R %d:%d %s "+mounted, os.Getuid(), os.Getgid(), absolute(dir), "folder")
	}
	return Denied{Why: "cannot be written by " + user() + owner(at), Todo: todo}
}

func user() string { return fmt.Sprintf("this user (uid %d, gid %d)", os.Getuid(), os.Getgid()) }

// owner says whom a path belongs to, or the nearest one above that can be seen.
func owner(path string) string {
	path, info := nearest(path)
	if info == nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf(": %s belongs to uid %d, gid %d, with mode %04o", path, st.Uid, st.Gid, info.Mode().Perm())
}

// enter is what to do about the folder above path that cannot be entered; ""
// when there is none.
func enter(path string) string {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	above, _ := nearest(absolute(path))
	return fmt.Sprintf("name a place that this user can reach, or run: chmod a+x %s (as root)", above)
}

// nearest is path, or the one above it that can be seen.
func nearest(path string) (string, os.FileInfo) {
	for {
		info, err := os.Stat(path)
		if err == nil {
			return path, info
		}
		above := filepath.Dir(path)
		if above == path {
			return path, nil
		}
		path = above
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
