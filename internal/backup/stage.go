package backup

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A folder is restored beside what is in it: new entries are written to
// <folder>/.restore/new, then the old entries are moved aside, then the new
// ones to their place. The folder itself may be a mount point, which cannot be
// renamed. Files in the .restore of the data folder say how far that has come:
// none: nothing was changed; asideMark: the old entries are being moved;
// placeMark: the new ones.
const (
	stageDir  = ".restore"
	asideMark = "aside"
	placeMark = "place"
	oldPrefix = "before-restore-"
	// KeptDir holds the backups that the program makes by itself. It is neither
	// backed up nor replaced.
	KeptDir = "backups"
	// lostFound is the file system's own.
	lostFound = "lost+found"
	// SpoolPrefix begins the names of folders in the data folder in which a
	// backup is prepared.
	SpoolPrefix = ".backup-"
)

// ErrInterrupted: a restore began and nothing was changed yet.
var ErrInterrupted = errors.New("a restore was interrupted")

// Places are the folders of a bot.
type Places struct {
	Data      string   `json:"data"`
	Workspace string   `json:"workspace"` // "" = inside of Data
	Stays     []string `json:"stays"`     // names in Data that are never touched
	Aside     string   `json:"aside"`     // name of the folder for what was there
	inside    string   // where in Data the workspace stands when it does
	// step, in tests, is called before each change, and may end the work there.
	step func() error
}

func (p Places) next() error {
	if p.step == nil {
		return nil
	}
	return p.step()
}

// NewPlaces finds out which folders a bot has; config is its configuration
// file, "" = none, which is not part of a backup.
func NewPlaces(data, workspace, config string) (Places, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return Places{}, err
	}
	if workspace, err = filepath.Abs(workspace); err != nil {
		return Places{}, err
	}
	p := Places{Data: data, Workspace: workspace, Stays: []string{".env", KeptDir}}
	if rel, inside := within(data, workspace); inside {
		p.Workspace, p.inside = "", rel
	}
	if config != "" {
		if config, err = filepath.Abs(config); err != nil {
			return p, err
		}
		if rel, inside := within(data, config); inside && filepath.Base(rel) == rel {
			p.Stays = append(p.Stays, rel)
		}
	}
	return p, nil
}

func within(dir, path string) (rel string, inside bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// roots are the folders to fill.
func (p Places) roots() []string {
	if p.Workspace == "" {
		return []string{p.Data}
	}
	return []string{p.Data, p.Workspace}
}

// Skips reports whether an entry at the top of the folder root is no part of
// it. What stays in the data folder may be anybody's in the workspace.
func (p Places) Skips(root, name string) bool {
	if name == stageDir || name == lostFound || strings.HasPrefix(name, oldPrefix) || strings.HasPrefix(name, SpoolPrefix) {
		return true
	}
	return root == p.Data && slices.Contains(p.Stays, name)
}

// Occupied names what is in the folders.
func (p Places) Occupied() ([]string, error) {
	var all []string
	for _, root := range p.roots() {
		entries, err := os.ReadDir(root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look into folder: %w", err)
		}
		for _, e := range entries {
			if !p.Skips(root, e.Name()) {
				all = append(all, filepath.Join(root, e.Name()))
			}
		}
	}
	return all, nil
}

// Stage is a restore that has not replaced anything yet.
type Stage struct {
	p    Places
	data *os.Root
	work *os.Root
}

// NewStage begins to restore; what is left of an interrupted restore is
// removed.
func NewStage(p Places) (*Stage, error) {
	p.Aside = oldPrefix + time.Now().UTC().Format("20060102T150405Z")
	s := &Stage{p: p}
	for _, root := range p.roots() {
		fresh := filepath.Join(root, stageDir)
		if err := os.RemoveAll(fresh); err != nil {
			return nil, fmt.Errorf("remove the rest of a restore: %w", err)
		}
		if err := os.MkdirAll(filepath.Join(fresh, "new"), 0o700); err != nil {
			return nil, fmt.Errorf("begin restore: %w", err)
		}
	}
	dir := filepath.Join(p.Data, stageDir, "new")
	work := filepath.Join(p.Workspace, stageDir, "new")
	if p.Workspace == "" {
		work = filepath.Join(dir, p.inside)
		if err := os.MkdirAll(work, 0o700); err != nil {
			return nil, fmt.Errorf("begin restore: %w", err)
		}
	}
	var err1, err2 error
	s.data, err1 = os.OpenRoot(dir)
	s.work, err2 = os.OpenRoot(work)
	return s, errors.Join(err1, err2)
}

// Dir is the folder that will become the data folder.
func (s *Stage) Dir() string { return s.data.Name() }

// Put writes an entry of the data folder or the workspace; others are passed
// over. An entry cannot leave its folder, by its name or over a link.
func (s *Stage) Put(h *tar.Header, content io.Reader) error {
	root, name, ok := s.data, "", false
	if name, ok = strings.CutPrefix(h.Name, DataDir); !ok {
		root = s.work
		if name, ok = strings.CutPrefix(h.Name, WorkspaceDir); !ok {
			return nil
		}
	}
	name = filepath.FromSlash(strings.TrimSuffix(name, "/"))
	mode := fs.FileMode(h.Mode).Perm()
	err := root.MkdirAll(filepath.Dir(name), 0o700)
	switch {
	case err != nil:
	case h.Typeflag == tar.TypeDir:
		if err = root.MkdirAll(name, 0o700); err == nil {
			err = root.Chmod(name, mode|0o700)
		}
	case h.Typeflag == tar.TypeSymlink:
		err = root.Symlink(h.Linkname, name)
	default:
		err = write(root, name, mode, content)
		if err == nil {
			err = root.Chtimes(name, h.ModTime, h.ModTime)
		}
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", h.Name, err)
	}
	return nil
}

func write(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(mode), f.Close())
}

// Drop removes what was staged.
func (s *Stage) Drop() error {
	errs := s.close()
	for _, root := range s.p.roots() {
		errs = errors.Join(errs, os.RemoveAll(filepath.Join(root, stageDir)))
	}
	return errs
}

func (s *Stage) close() error { return errors.Join(s.data.Close(), s.work.Close()) }

// Commit puts what was staged in the place of what is there. aside is where
// that is kept, "" when nothing was there. When the program dies in the middle
// of it, Finish goes on.
func (s *Stage) Commit() (aside string, err error) {
	if err := s.close(); err != nil {
		return "", err
	}
	for _, root := range s.p.roots() {
		if err := syncTree(filepath.Join(root, stageDir)); err != nil {
			return "", fmt.Errorf("store what was restored: %w", err)
		}
	}
	data, err := json.Marshal(s.p)
	if err != nil {
		return "", err
	}
	mark := filepath.Join(s.p.Data, stageDir, asideMark)
	if err = os.WriteFile(mark+".new", data, 0o600); err == nil {
		err = syncPath(mark + ".new")
	}
	if err == nil {
		err = s.p.rename(mark+".new", mark)
	}
	if err == nil {
		err = s.p.move(asideMark)
	}
	if err != nil {
		return "", fmt.Errorf("put the restored folders in place: %w", err)
	}
	if _, err := os.Stat(filepath.Join(s.p.Data, s.p.Aside)); err == nil {
		aside = filepath.Join(s.p.Data, s.p.Aside)
	}
	return aside, nil
}

// Finish completes a restore that died while it put things in place, and
// reports whether there was one; ErrInterrupted when one died before.
func Finish(dataDir string) (finished bool, err error) {
	dir := filepath.Join(dataDir, stageDir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, mark := range []string{asideMark, placeMark} {
		data, err := os.ReadFile(filepath.Join(dir, mark))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var p Places
		if err == nil {
			err = json.Unmarshal(data, &p)
		}
		if err == nil {
			err = p.move(mark)
		}
		return err == nil, err
	}
	if os.Remove(dir) == nil {
		return false, nil // it was empty: the restore had ended
	}
	return false, fmt.Errorf("%w before it had changed anything: run bot restore again, or remove %s to go on without it", ErrInterrupted, dir)
}

// move moves from the step that mark names on.
func (p Places) move(mark string) error {
	if mark == asideMark {
		for _, root := range p.roots() {
			if err := p.moveAll(root, filepath.Join(root, p.Aside), func(name string) bool { return p.Skips(root, name) }); err != nil {
				return err
			}
		}
		stage := filepath.Join(p.Data, stageDir)
		if err := p.rename(filepath.Join(stage, asideMark), filepath.Join(stage, placeMark)); err != nil {
			return err
		}
	}
	for _, root := range p.roots() {
		if err := p.moveAll(filepath.Join(root, stageDir, "new"), root, nil); err != nil {
			return err
		}
	}
	// The mark goes when nothing else is left.
	for _, root := range p.roots() {
		if err := errors.Join(p.next(), os.RemoveAll(filepath.Join(root, stageDir, "new"))); err != nil {
			return err
		}
	}
	if err := p.next(); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.Data, stageDir, placeMark)); err != nil {
		return err
	}
	var errs error
	for _, root := range p.roots() {
		errs = errors.Join(errs, p.next(), os.Remove(filepath.Join(root, stageDir)))
	}
	return errs
}

// moveAll moves the entries of one folder into another, which is made if there
// are any.
func (p Places) moveAll(from, to string, skip func(string) bool) error {
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if skip != nil && skip(e.Name()) {
			continue
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		if err := p.next(); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	if len(entries) > 0 {
		return syncPath(from)
	}
	return nil
}

func (p Places) rename(from, to string) error {
	if err := p.next(); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

// syncTree makes a folder with all that is in it durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		return syncPath(path)
	})
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
