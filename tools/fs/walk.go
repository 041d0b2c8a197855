package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

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
}

// listing is what a call found.
type listing struct {
	entries        []entry
	folders, files int // that match, also those not shown
	left           int // that match and are not shown
	stopped        bool
	walked         int
}

// list looks through a folder.
func list(ctx context.Context, f *fence.Fence, in listIn) (*listing, error) {
	file, info, err := open(f, in.Path)
	if err != nil {
		return nil, err
	}
	file.Close() // it is opened again with the folders below
	if !info.IsDir() {
		return nil, tools.Errorf(tools.InvalidArgs, "%q is a file, not a folder; read_file shows it", in.Path)
	}
	match, err := glob(in.Pattern)
	if err != nil {
		return nil, err
	}
	l := &listing{}
	err = l.walk(ctx, f, walkAt{base: in.Path, deep: in.Recursive || strings.Contains(in.Pattern, "**"), match: match})
	return l, err
}

// walkAt is where a walk stands.
type walkAt struct {
	base  string // the listed folder, as the caller named it
	rel   string // from there
	depth int
	deep  bool
	match func(rel string) bool
}

func (l *listing) walk(ctx context.Context, f *fence.Fence, at walkAt) error {
	entries, err := l.read(f, at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		below := at.deep && e.kind == "dir"
		if base := path.Base(e.path); below && (base == ".git" || base == "node_modules") {
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
		if err := l.walk(ctx, f, next); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// gone says whether a folder vanished or may not be read: the rest of the list
// is still worth having.
func gone(err error) bool {
	var said *tools.Error
	return errors.As(err, &said) && (said.Kind == tools.NotFound || said.Kind == tools.Permission || said.Kind == tools.Security)
}

// read returns the entries of one folder, folders first.
func (l *listing) read(f *fence.Fence, at walkAt) ([]entry, error) {
	dir, err := f.Open(path.Join(at.base, at.rel))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	found, err := dir.ReadDir(maxDirEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("list %q: %w", path.Join(at.base, at.rel), err)
	}
	l.stopped = l.stopped || len(found) == maxDirEntries
	l.walked += len(found)
	var entries []entry
	for _, d := range found {
		info, err := d.Info()
		if err != nil {
			continue // removed since
		}
		e := entry{path: path.Join(at.rel, d.Name()), kind: "file", size: info.Size(), modified: info.ModTime()}
		switch {
		case info.IsDir():
			e.kind, e.size = "dir", 0
		case info.Mode().Type() == iofs.ModeSymlink:
			e.kind, e.size = "link", 0
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if (a.kind == "dir") != (b.kind == "dir") {
			if a.kind == "dir" {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.path, b.path)
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

// glob compiles a pattern. Without a slash it is matched on the name alone.
func glob(pattern string) (func(rel string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, tools.Errorf(tools.InvalidArgs, "the pattern %q is broken: %w; want something like *.md or docs/**/*.txt", pattern, err)
	}
	if !strings.Contains(pattern, "/") && !strings.Contains(pattern, "**") {
		return func(rel string) bool { ok, _ := path.Match(pattern, path.Base(rel)); return ok }, nil
	}
	re, err := regexp.Compile(globRegexp(pattern))
	if err != nil {
		return nil, tools.Errorf(tools.InvalidArgs, "the pattern %q is broken; want something like *.md or docs/**/*.txt", pattern)
	}
	return re.MatchString, nil
}

var globParts = regexp.MustCompile(`\*\*/|\*\*|\*|\?|\[\^?[^\]]*\]|\\.|[^*?\[\\]+`)

func globRegexp(pattern string) string {
	return "^" + globParts.ReplaceAllStringFunc(strings.TrimPrefix(pattern, "./"), func(part string) string {
		switch {
		case part == "**/":
			return `(?:.*/)?`
		case part == "**":
			return `.*`
		case part == "*":
			return `[^/]*`
		case part == "?":
			return `[^/]`
		case part[0] == '[':
			return part
		case part[0] == '\\':
			return regexp.QuoteMeta(part[1:])
		}
		return regexp.QuoteMeta(part)
	}) + "$"
}
