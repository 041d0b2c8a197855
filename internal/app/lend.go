package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"magpie/config"
)

// lent is a folder of the bot's user that root works in.
type lent struct {
	dir      string
	uid, gid int
	roots    map[string]bool // what was root's before
}

// borrow notes, for root, which folders of the bot belong to another user. What
// root makes in them meanwhile, giveBack gives to that user, who could not use
// it otherwise: a command by sudo must not keep the bot from its next start. A
// root that may not do so leaves it, and the next start says what to run.
func borrow(cfg *config.Config) (giveBack func() error, err error) {
	var all []*lent
	for _, dir := range []string{cfg.DataDir, cfg.Workspace} {
		uid, gid, ok := foreign(dir)
		if !ok {
			continue
		}
		l := &lent{dir: dir, uid: uid, gid: gid, roots: map[string]bool{}}
		if err := l.each(func(_ *os.Root, path string) error { l.roots[path] = true; return nil }); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return func() error {
		var wrong []error
		for _, l := range all {
			wrong = append(wrong, l.giveBack())
		}
		return errors.Join(wrong...)
	}, nil
}

// foreign says whose a folder is, when this is root and it is somebody else's.
func foreign(dir string) (uid, gid int, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return 0, 0, false // what root makes anew is root's
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return int(st.Uid), int(st.Gid), ok && st.Uid != 0
}

func (l *lent) giveBack() error {
	return l.each(func(root *os.Root, path string) error {
		if l.roots[path] {
			return nil
		}
		err := root.Lchown(path, l.uid, l.gid)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// each calls fn for every folder and file of root's. No link is followed, and a
// file with another name, which may lie elsewhere, is left out: the owner of the
// folder may have put it there.
func (l *lent) each(fn func(root *os.Root, path string) error) error {
	root, err := os.OpenRoot(l.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // who needs the folder says what to run
	}
	if err != nil {
		return fmt.Errorf("look whose the files are: %w", err)
	}
	defer root.Close() // it was read only
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		info, statErr := root.Lstat(path)
		switch {
		case errors.Is(statErr, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // gone meanwhile, or closed to a root without its rights
		case err != nil || statErr != nil:
			return errors.Join(err, statErr)
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 || !info.IsDir() && (!info.Mode().IsRegular() || st.Nlink > 1) {
			return nil
		}
		return fn(root, path)
	})
	if err != nil {
		return fmt.Errorf("look whose the files of %s are: %w", l.dir, err)
	}
	return nil
}
