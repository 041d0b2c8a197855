package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"magpie/config"
	"magpie/internal/rights"
)

// prepare makes the folders of this process and proves that it can write where
// it has to.
func (p *program) prepare() error {
	dirs := []string{p.cfg.DataDir}
	if p.has(Agent) {
		dirs = append(dirs, p.cfg.Workspace)
	}
	for _, dir := range dirs {
		if err := usable(dir); err != nil {
			return explained(err)
		}
	}
	return explained(described(p.cfg.DataDir, writable(p.cfg.DataDir)))
}

// explained puts the advice into the text, for who sees only that.
func explained(err error) error {
	if wise, ok := errors.AsType[*advised](err); ok {
		return fmt.Errorf("%w; %s", err, wise.todo)
	}
	return err
}

// usable makes a folder unless it is there, and proves that files can be made in
// it: a volume may belong to root.
func usable(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = probe(dir)
	}
	return described(dir, err)
}

// described says what to run about a folder that cannot be used.
func described(dir string, err error) error {
	var at *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		return &advised{
			fmt.Errorf("%s is on a file system that is read-only", dir),
			"mount a volume there, or name another folder in the configuration",
		}
	case !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at):
		return fmt.Errorf("folder %s: %w", dir, err)
	}
	denied := rights.Write(dir, at.Path)
	return &advised{fmt.Errorf("%s %s", at.Path, denied.Why), denied.Todo}
}

// CheckFolders says which of tools.allowed_paths cannot be opened here, and what
// to do: an *Error of package config with all of them. It makes nothing. A
// restart would not mend it, so it counts as a mistake in the configuration.
func CheckFolders(cfg *config.Config) error {
	var errs []error
	for i, dir := range cfg.Tools.AllowedPaths {
		if wrong := notOpened(dir); wrong != "" {
			errs = append(errs, cfg.Errorf(fmt.Sprintf("tools.allowed_paths[%d]", i), "%s", wrong))
		}
	}
	return config.Join(errs...)
}

func notOpened(dir string) string {
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		var root *os.Root
		if root, err = os.OpenRoot(dir); err == nil {
			root.Close() // nothing was written
			return ""
		}
	}
	switch {
	case err == nil || errors.Is(err, syscall.ENOTDIR):
		return dir + " is a file, or stands below one; want a folder"
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no folder %s; make it (mkdir -p), or take it out of the list", dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s %s; let this user read and enter it, or take it out of the list", dir, rights.Read(dir).Why)
	}
	return fmt.Sprintf("%s cannot be opened: %v", dir, errors.Unwrap(err))
}

func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return &fs.PathError{Op: "write", Path: dir, Err: errors.Unwrap(err)}
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// kept are the names below data_dir that the bot itself makes. What else a
// person puts there need not be the bot's.
var kept = []string{"web.token", "web.key", "running.json", "audit_logs", "undo", "origin.jsonl", "bus"}

// maxLooks bounds how many entries are looked at: a start must not wait for it.
const maxLooks = 5000

// writable looks whether what the bot has made earlier is still its own.
func writable(dir string) error {
	looks := 0
	for _, name := range kept {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, _ fs.DirEntry, err error) error {
			if looks++; looks > maxLooks {
				return fs.SkipAll
			}
			info, statErr := os.Lstat(path)
			switch {
			case errors.Is(statErr, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case statErr != nil:
				return statErr
			case !info.IsDir() && !info.Mode().IsRegular() || info.Mode().Perm()&0o200 == 0:
				return nil // a link, or meant to be read only
			}
			if err := syscall.Access(path, 2); err != nil { // W_OK
				return &fs.PathError{Op: "write", Path: path, Err: err}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dataFolder proves that the bot can write where it has to, and that nobody
// else can look.
func dataFolder(cfg *config.Config) (string, error) {
	if err := errors.Join(usable(cfg.DataDir), described(cfg.DataDir, writable(cfg.DataDir))); err != nil {
		return "", err
	}
	info, err := os.Stat(cfg.DataDir)
	if err != nil {
		return "", err
	}
	if others := info.Mode().Perm() & 0o077; others != 0 {
		return "", &advised{
			fmt.Errorf("%s can be entered by other users (mode %04o)", cfg.DataDir, info.Mode().Perm()),
			"chmod 700 " + cfg.DataDir,
		}
	}
	return cfg.DataDir + " can be written", nil
}
