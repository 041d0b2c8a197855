// Package fence keeps file tools inside their folders: the workspace and the
// folders that the configuration adds. Every path is walked component by
// component over directory handles (os.Root), and what was opened is compared
// with what was looked at, so that "..", absolute paths, links (also in the
// middle of a path) and changes between check and use do not lead out. It does
// not judge contents, and a hard link made by somebody with access to both
// sides looks like any file. It starts no goroutine.
package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"magpie/tools"
	"magpie/tools/fs/origin"
)

// Options of a Fence. The zero value is the strictest.
type Options struct {
	// Allowed are further folders; they must exist.
	Allowed []string
	// Anywhere opens the whole file system (restrict_to_workspace: false).
	// Relative paths still start in the workspace, and links are followed.
	Anywhere bool
	// ResolveDots accepts ".." as long as the result is inside
	// (path_policy: resolve); otherwise any ".." is refused.
	ResolveDots bool
	// FollowLinks follows symbolic links whose target is inside
	// (symlinks: inside); otherwise any link is refused.
	FollowLinks bool
	// Origin knows which files hold words from outside; nil: none is known.
	Origin *origin.Index
}

// Fence opens files inside its folders. Paths are relative to the workspace or
// absolute; the separator is "/". Errors are *tools.Error of the kinds
// Security, NotFound, Permission, InvalidArgs and Failed. Safe for concurrent
// use.
type Fence struct {
	roots []*root // the workspace first
	opt   Options
}

// root is one folder. Paths are the names under which it is known: as
// configured, and with links resolved.
type root struct {
	dir   *os.Root
	paths []string
}

// place is a path after it was judged by its text.
type place struct {
	root  *root
	parts []string // none: the root itself
}

// New opens the folders. The workspace is created when it is missing.
func New(workspace string, o *Options) (*Fence, error) {
	f := &Fence{}
	if o != nil {
		f.opt = *o
	}
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return nil, fmt.Errorf("create workspace: %w", err)
	}
	folders := append([]string{workspace}, f.opt.Allowed...)
	if f.opt.Anywhere {
		folders = append(folders, "/")
		f.opt.FollowLinks = true
	}
	for _, folder := range folders {
		r, err := openRoot(folder)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open folder for file tools: %w", err), f.Close())
		}
		f.roots = append(f.roots, r)
	}
	return f, nil
}

func openRoot(folder string) (*root, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &root{dir: dir, paths: []string{abs, real}}, nil
}

// Close closes the folders; files that were opened stay open.
func (f *Fence) Close() error {
	var errs []error
	for _, r := range f.roots {
		errs = append(errs, r.dir.Close())
	}
	return errors.Join(errs...)
}

// Name writes a path in its one spelling: relative to the workspace when it is
// inside, else absolute. A path that leads out comes back as it is.
func (f *Fence) Name(name string) string {
	p, err := f.judge(name)
	if err != nil {
		return name
	}
	return f.show(p)
}

func (f *Fence) show(p place) string {
	if p.root == f.roots[0] {
		return path.Join(append([]string{"."}, p.parts...)...)
	}
	return path.Join(append([]string{p.root.paths[0]}, p.parts...)...)
}

const (
	maxPath  = 4096 // bytes, what systems take
	maxLinks = 32   // followed in one path, as systems do
)

// judge decides by its text alone where a path lies.
func (f *Fence) judge(name string) (place, error) {
	name = meant(name)
	switch {
	case name == "":
		return place{}, tools.Errorf(tools.InvalidArgs, "the path is empty; want a path like notes/today.md")
	case len(name) > maxPath:
		return place{}, tools.Errorf(tools.Security, "the path is longer than %d bytes", maxPath)
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return place{}, tools.Errorf(tools.Security, "the path %q holds a NUL or is no UTF-8; want plain text", name)
	}
	if !f.opt.ResolveDots {
		for part := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '/' || c == '\\' }) {
			if part == ".." {
				return place{}, tools.Errorf(tools.Security, `the path %q holds "..", which is not allowed; name the file by its path from the workspace`, name)
			}
		}
	}
	abs := path.Clean(name)
	if !path.IsAbs(name) {
		abs = path.Join(f.roots[0].paths[0], name)
	}
	p, ok := f.locate(abs)
	if !ok {
		return place{}, tools.Errorf(tools.Security, "the path %q is outside the workspace; want a path relative to the workspace%s", name, f.others())
	}
	return p.spelled(), nil
}

// locate finds the innermost folder that holds a clean absolute path.
func (f *Fence) locate(abs string) (place, bool) {
	best, length := place{}, -1
	for _, r := range f.roots {
		for _, base := range r.paths {
			rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(base, "/"))
			if !ok || rest != "" && rest[0] != '/' || len(base) <= length {
				continue
			}
			best, length = place{root: r}, len(base)
			if rest = strings.Trim(rest, "/"); rest != "" {
				best.parts = strings.Split(rest, "/")
			}
		}
	}
	return best, length >= 0
}

func (f *Fence) others() string {
	if len(f.roots) == 1 {
		return ""
	}
	var names []string
	for _, r := range f.roots[1:] {
		names = append(names, r.paths[0])
	}
	return " or inside " + strings.Join(names, ", ")
}

// explain turns a system's error into one for the model.
func explain(name string, err error) error {
	var said *tools.Error
	switch {
	case err == nil || errors.As(err, &said):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return tools.Errorf(tools.NotFound, "there is no %q: %w", name, cause(err))
	case errors.Is(err, fs.ErrExist):
		return tools.Errorf(tools.InvalidArgs, "the target of %q exists already", name)
	case errors.Is(err, fs.ErrPermission):
		return tools.Errorf(tools.Permission, "the system does not allow access to %q: %w", name, cause(err))
	}
	return tools.Errorf(tools.Failed, "cannot use %q: %w", name, cause(err))
}

// cause drops the system's own wording of names: it holds the host's paths.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}
