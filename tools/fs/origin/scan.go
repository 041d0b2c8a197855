package origin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"magpie/chat"
)

// The bounds of a look through the folders.
const (
	mostWalked = 200_000
	mostHashed = 64 << 20 // bytes of a file whose content is looked at
	// many is how many changed files in one folder are noted as the folder.
	many = 100
)

// state tells changes of a file apart.
type state struct {
	ino    uint64
	size   int64
	at     int64 // ctime, which no program can set
	digest string
}

func stateOf(info fs.FileInfo) (s state, ok bool) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return s, false
	}
	return state{ino: sys.Ino, size: info.Size(), at: changed(sys)}, true
}

// digest names a content.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// sum is the digest of an open file; what was looked at and did not change since
// is not read again. Of a very large file it is its state.
func (x *Index) sum(name string, file io.ReaderAt, info fs.FileInfo) string {
	s, ok := stateOf(info)
	if !ok {
		return ""
	}
	old := x.seen[name]
	if s.digest = old.digest; old == s && time.Since(time.Unix(0, s.at)) > 2*time.Second {
		return s.digest
	}
	if s.size > mostHashed {
		return fmt.Sprintf("state %d %d %d", s.ino, s.size, s.at)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, mostHashed)); err != nil {
		return ""
	}
	s.digest = hex.EncodeToString(hash.Sum(nil)[:16])
	if len(x.seen) > mostContents {
		clear(x.seen)
	}
	x.seen[name] = s
	return s.digest
}

// sumOf is sum of a file that is not open; "" when it cannot be read.
func (x *Index) sumOf(name string) string {
	file, err := os.OpenFile(x.path(name), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return x.sum(name, file, info)
}

// Sight looks at what others have sent since the last time, so that a copy of it
// is known wherever a command puts it.
func (x *Index) Sight() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.folders) == 0 {
		return
	}
	top, _ := os.ReadDir(x.folders[0])
	var lines []entry
	for _, d := range top {
		if !Foreign(d.Name()) || !d.IsDir() {
			continue
		}
		x.each(path.Join(x.folders[0], d.Name()), func(name string, info fs.FileInfo) {
			if s, ok := stateOf(info); !ok || x.seen[name].ino == s.ino && x.seen[name].at == s.at || s.size < leastContent || s.size > mostHashed {
				return
			}
			sum := x.sumOf(name)
			if _, known := x.contents[sum]; !known && sum != "" {
				lines = append(lines, entry{Digest: sum, Size: info.Size(), From: []chat.Source{{Kind: chat.SourceFile, Name: name, At: time.Now()}}})
			}
		})
	}
	x.tell(x.note(lines...))
}

// each calls fn for the files of a folder and below; false when there are too
// many.
func (x *Index) each(folder string, fn func(name string, info fs.FileInfo)) (complete bool) {
	n := 0
	_ = filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		if n++; n > mostWalked {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fn(x.name(at), info)
		}
		return nil
	})
	return n <= mostWalked
}

// name writes an absolute path as the index does.
func (x *Index) name(at string) string {
	if rest, err := filepath.Rel(x.folders[0], at); err == nil && rest != ".." && !strings.HasPrefix(rest, "../") {
		return rest
	}
	return at
}

// Mark is when a command began, and what stood where if it had words of others
// before it.
type Mark struct {
	began int64
	was   map[string]state
}

// tick is how much earlier than the clock a file system may date a change: it
// takes the time of the kernel's last tick.
const tick = 10 * time.Millisecond

// Mark looks at all files before a command that has words of others before it.
// Of any other one it only notes the time: whether it reached the network is
// known afterwards.
func (x *Index) Mark(foreign bool) Mark {
	m := Mark{began: time.Now().Add(-tick).UnixNano()}
	if x == nil || !foreign {
		return m
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	m.was = map[string]state{}
	for _, folder := range x.folders {
		x.each(folder, func(name string, info fs.FileInfo) {
			if s, ok := stateOf(info); ok {
				m.was[name] = s
			}
		})
	}
	return m
}

// changed says whether a file is another one than at the mark.
func (m Mark) changed(name string, s state) bool {
	if m.was == nil {
		return s.at >= m.began
	}
	return s != m.was[name]
}

// Changed notes the files that a command has changed which had words of these
// sources before it.
func (x *Index) Changed(m Mark, from []chat.Source) {
	if x == nil || len(from) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var lines []entry
	for _, folder := range x.folders {
		var found []string
		complete := x.each(folder, func(name string, info fs.FileInfo) {
			if s, ok := stateOf(info); ok && m.changed(name, s) && !Foreign(name) {
				found = append(found, name)
			}
		})
		if !complete {
			found = []string{strings.TrimSuffix(x.name(folder), ".") + "/"}
		}
		slices.Sort(found)
		for _, name := range summed("", found) {
			e := entry{Name: name, From: chat.JoinSources(x.files[name].From, from)}
			if !strings.HasSuffix(name, "/") {
				if e.Digest = x.sumOf(name); e.Digest != "" {
					e.Size = x.seen[name].size
				}
			} else {
				e.Digest = fmt.Sprintf("folder %s %d", name, time.Now().UnixNano())
			}
			lines = append(lines, e)
		}
	}
	x.tell(x.note(lines...))
}

// summed puts folders in the place of many files; names are sorted and lie
// below a folder.
func summed(folder string, names []string) []string {
	if len(names) <= many {
		return names
	}
	var groups [][]string
	last := ""
	for _, name := range names {
		part, _, _ := strings.Cut(name[len(folder):], "/")
		if part == "" && name[len(folder):] != "" { // an absolute path
			part, _, _ = strings.Cut(name[len(folder)+1:], "/")
			part = "/" + part
		}
		if len(groups) == 0 || part != last {
			groups, last = append(groups, nil), part
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], name)
	}
	if len(groups) > many {
		return []string{strings.TrimSuffix(folder, "/") + "/"}
	}
	var all []string
	for _, g := range groups {
		part, _, _ := strings.Cut(strings.TrimPrefix(g[0][len(folder):], "/"), "/")
		lead := folder
		if strings.HasPrefix(g[0][len(folder):], "/") {
			lead += "/"
		}
		all = append(all, summed(lead+part+"/", g)...)
	}
	return all
}
