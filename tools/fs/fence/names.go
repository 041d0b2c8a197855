package fence

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"magpie/chat"
	"magpie/tools/fs/origin"
)

const (
	maxTwins = 50_000 // entries looked at for the other names of a file
	maxBelow = 500_000
)

// Names are all names under which a policy knows what a path leads to, as Name
// writes them: the path itself, where its links lead, how the disk spells it
// when it does not tell upper from lower case, and the other names of a file
// that has several (hard links). The first is Name's.
func (f *Fence) Names(name string) []string {
	p, err := f.judge(name)
	if err != nil {
		return []string{name}
	}
	all := []string{f.show(p)}
	real := realest(path.Join(append([]string{p.root.paths[1]}, p.parts...)...))
	if q, ok := f.locate(real); ok {
		p = q
		all = add(all, f.show(q))
	} else {
		all = add(all, real)
	}
	for _, twin := range p.twins() {
		all = add(all, f.show(twin))
	}
	return all
}

func add(all []string, name string) []string {
	for _, have := range all {
		if have == name {
			return all
		}
	}
	return append(all, name)
}

// realest follows the links of an absolute path as far as it exists, and
// spells what exists as the disk does. A link that leads to nothing counts: who
// writes to it makes a file where it leads.
func realest(abs string) string {
	for range maxLinks {
		at, rest := abs, ""
		for {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				return path.Join(spelled(real), rest)
			}
			if to, err := os.Readlink(at); err == nil {
				if !path.IsAbs(to) {
					to = path.Join(path.Dir(at), to)
				}
				abs = path.Join(to, rest)
				break
			}
			if at == "/" {
				return abs
			}
			at, rest = path.Dir(at), path.Join(path.Base(at), rest)
		}
	}
	return abs
}

// spelled writes an existing path as its folders have it.
func spelled(abs string) string {
	at := "/"
	for part := range strings.SplitSeq(strings.Trim(abs, "/"), "/") {
		next := path.Join(at, part)
		other := path.Join(at, strings.Map(swapped, part))
		if a, err := os.Lstat(next); err == nil && other != next {
			if b, err := os.Lstat(other); err == nil && os.SameFile(a, b) {
				next = path.Join(at, asListed(at, part, a))
			}
		}
		at = next
	}
	return at
}

func swapped(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// asListed finds the name under which a folder lists a file.
func asListed(folder, part string, is fs.FileInfo) string {
	found, _ := os.ReadDir(folder)
	for _, e := range found {
		if strings.EqualFold(norm.NFC.String(e.Name()), norm.NFC.String(part)) {
			if info, err := e.Info(); err == nil && os.SameFile(info, is) {
				return e.Name()
			}
		}
	}
	return part
}

// twins are the other names inside its folder of a file that has several.
func (p place) twins() (all []place) {
	if p.root == nil || len(p.parts) == 0 {
		return nil
	}
	info, err := p.root.dir.Lstat(path.Join(p.parts...))
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok || sys.Nlink < 2 {
		return nil
	}
	seen := 0
	_ = fs.WalkDir(p.root.dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxTwins {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if other, err := d.Info(); err == nil && os.SameFile(info, other) {
			all = append(all, place{p.root, strings.Split(name, "/")})
		}
		return nil
	})
	return all
}

// Origin is the index of files that hold words from outside; nil: there is none.
func (f *Fence) Origin() *origin.Index { return f.opt.Origin }

// Sources are where the words in an open file came from that others have
// written; none: nobody else has.
func (f *Fence) Sources(name string, file *os.File) []chat.Source {
	return f.opt.Origin.Of(f.Real(name), file)
}

// Real is the one name of a path after its links, as Name writes it.
func (f *Fence) Real(name string) string {
	p, err := f.judge(name)
	if err != nil {
		return name
	}
	real := realest(path.Join(append([]string{p.root.paths[1]}, p.parts...)...))
	if q, ok := f.locate(real); ok {
		return f.show(q)
	}
	return real
}

// Below lists what stands in a folder and below, as Name writes it, links as
// they are; false when there is more than maxBelow. A file has nothing below.
func (f *Fence) Below(name string) (all []string, complete bool) {
	p, err := f.place(name)
	if err != nil {
		return nil, true
	}
	at := path.Join(append([]string{"."}, p.parts...)...)
	complete = true
	_ = fs.WalkDir(p.root.dir.FS(), at, func(name string, _ fs.DirEntry, err error) error {
		if len(all) >= maxBelow {
			complete = false
			return fs.SkipAll
		}
		if err == nil && name != at {
			all = append(all, f.show(place{p.root, strings.Split(name, "/")}))
		}
		return nil
	})
	return all, complete
}

// Folders are the absolute paths of the folders, the workspace first.
func (f *Fence) Folders() []string {
	all := make([]string, len(f.roots))
	for i, r := range f.roots {
		all[i] = r.paths[1]
	}
	return all
}
