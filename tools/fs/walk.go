package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"path"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"magpie/internal/fold"
	"magpie/tools"
	"magpie/tools/fs/fence"
)

// The limits of the lists.
const (
	maxListed     = 500    // entries shown
	maxDirEntries = 20_000 // looked at in one folder
	maxWalked     = 50_000 // looked at in one call
	maxListDepth  = 32
)

// entry is what stands in a folder.
type entry struct {
	path     string // from the listed folder
	kind     string // file, dir or link
	size     int64
	modified time.Time
	note     string
	twins    bool // it may have other names
}

// listing is what a call found.
type listing struct {
	entries        []entry
	folders, files int // that match, also those not shown
	left           int // that match and are not shown
	stopped        bool
	walked         int
	held           // by the policy
}

// list looks through a folder.
func list(ctx context.Context, f *fence.Fence, in listIn) (*listing, error) {
	match, err := glob(in.Pattern)
	if err != nil {
		return nil, err
	}
	dir, err := folder(ctx, f, in.Path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	l := &listing{held: held{fence: f, base: f.Real(in.Path)}}
	return l, l.walk(ctx, dir, walkAt{deep: in.Recursive || strings.Contains(in.Pattern, "**"), match: match})
}

// folder opens a folder, with an error of its own for a file.
func folder(ctx context.Context, f *fence.Fence, name string) (*fence.Folder, error) {
	file, info, err := open(ctx, f, name)
	if err != nil {
		return nil, err
	}
	file.Close() // a handle for reading: nothing to lose
	if !info.IsDir() {
		return nil, tools.Errorf(tools.InvalidArgs, "%q is a file, not a folder; read_file shows it", name)
	}
	return f.Folder(name)
}

// walkAt is where a walk stands.
type walkAt struct {
	rel   string // from the listed folder
	depth int
	deep  bool
	match func(rel string) bool
}

func (l *listing) walk(ctx context.Context, dir *fence.Folder, at walkAt) error {
	entries, err := entriesOf(dir, at.rel, maxDirEntries)
	if err != nil {
		return err
	}
	l.walked += len(entries)
	l.stopped = l.stopped || len(entries) == maxDirEntries
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if l.back(ctx, e) {
			continue
		}
		below := at.deep && e.kind == "dir"
		if below && passedOver(e) {
			below, e.note = false, " (not opened)"
		}
		if at.match(e.path) {
			l.add(e)
		}
		if !below {
			continue
		}
		if at.depth >= maxListDepth || l.walked >= maxWalked {
			l.stopped = true
			continue
		}
		next := at
		next.rel, next.depth = e.path, at.depth+1
		if err := l.below(ctx, dir, next); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

func (l *listing) below(ctx context.Context, dir *fence.Folder, at walkAt) error {
	next, err := dir.Folder(path.Base(at.rel))
	if err != nil {
		return err
	}
	defer next.Close()
	return l.walk(ctx, next, at)
}

// passedOver says whether a folder holds what no person has written.
func passedOver(e entry) bool {
	base := path.Base(e.path)
	return base == ".git" || base == "node_modules"
}

// gone says whether a folder vanished or may not be read: the rest of the list
// is still worth having.
func gone(err error) bool {
	var said *tools.Error
	return errors.As(err, &said) && (said.Kind == tools.NotFound || said.Kind == tools.Permission || said.Kind == tools.Security)
}

// entriesOf returns up to n further entries of a folder, folders first; rel is
// the folder's path from where the walk began.
func entriesOf(dir *fence.Folder, rel string, n int) ([]entry, error) {
	found, err := dir.Entries(n)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(found))
	for _, info := range found {
		e := entry{path: path.Join(rel, info.Name()), kind: "file", size: info.Size(), modified: info.ModTime()}
		switch {
		case info.IsDir():
			e.kind, e.size = "dir", 0
		case info.Mode().Type() == iofs.ModeSymlink:
			e.kind, e.size, e.twins = "link", 0, true
		default:
			sys, ok := info.Sys().(*syscall.Stat_t)
			e.twins = ok && sys.Nlink > 1
		}
		entries = append(entries, e)
	}
	sort.Slice(entries, func(i, j int) bool {
		a, b := entries[i], entries[j]
		if (a.kind == "dir") != (b.kind == "dir") {
			return a.kind == "dir"
		}
		return a.path < b.path
	})
	return entries, nil
}

func (l *listing) add(e entry) {
	if e.kind == "dir" {
		l.folders++
	} else {
		l.files++
	}
	if len(l.entries) == maxListed {
		l.left++
		return
	}
	l.entries = append(l.entries, e)
}

// glob makes the test of a pattern: *, ?, [a-z], {one,other}, and ** for any
// folders. Without a slash it is matched on the name alone. Accents and wide
// letters count if the pattern has some.
func glob(pattern string) (func(rel string) bool, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	if !doublestar.ValidatePattern(pattern) {
		return nil, tools.Errorf(tools.InvalidArgs, "the pattern %q is broken; want something like *.md or docs/**/*.txt", pattern)
	}
	onName := !strings.Contains(pattern, "/")
	plain := fold.Plain(pattern)
	return func(rel string) bool {
		if onName {
			rel = path.Base(rel)
		}
		return doublestar.MatchUnvalidated(pattern, rel) ||
			doublestar.MatchUnvalidated(fold.Same(pattern), fold.Same(rel)) ||
			plain == pattern && doublestar.MatchUnvalidated(pattern, fold.Plain(rel))
	}, nil
}
