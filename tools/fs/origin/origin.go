// Package origin knows which files hold words from outside: those that a turn
// wrote after it had read others' words, those that a command changed in such a
// turn or after it had reached the network, and copies of either and of what
// others have sent. It knows them by path and by content, so that they are
// known under another name too. Of those that a program could run it also knows
// which a person has accepted. All of it stands in one file that is written
// line by line and outlives restarts and power cuts. It starts no goroutine.
package origin

import (
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/chat"
)

// The bounds of the index. What is beyond them is summed up in folders, so
// nothing is forgotten that is still there.
const (
	mostFiles    = 4000
	mostContents = 20_000
	// leastContent is the shortest content, in bytes, that tells a copy: shorter
	// ones are alike by chance.
	leastContent = 24
)

// Index is that knowledge. A nil Index knows nothing and takes nothing. Safe
// for concurrent use.
type Index struct {
	folders []string // absolute; names of what is in the first are relative to it
	trouble func(error)

	mu       sync.Mutex
	log      *log
	files    map[string]entry // by name; one that ends in / is a folder and all below
	contents map[string]entry // by digest
	order    []string         // of contents, the oldest first
	sizes    map[int64]bool   // of contents
	accepted map[string]bool  // digests
	seen     map[string]state // of files that were looked at
}

// entry is what is known of a file or a content; it is a line of the log, too.
type entry struct {
	Name     string        `json:"p,omitempty"`
	Digest   string        `json:"d,omitempty"` // of the content; "" not known
	Size     int64         `json:"n,omitempty"`
	From     []chat.Source `json:"s,omitempty"`
	Own      bool          `json:"o,omitempty"` // nobody else's, whatever holds for the folder
	Gone     bool          `json:"x,omitempty"` // nothing is known of Name and below any more
	Accepted bool          `json:"a,omitempty"` // Digest may run
}

// File is one that could run and that nobody has accepted.
type File struct {
	Name   string
	Digest string
	From   []chat.Source
}

// Options of an Index.
type Options struct {
	File    string      // where it is kept
	Folders []string    // absolute paths of what commands may change, the workspace first
	Trouble func(error) // is told when a line cannot be written; nil: nobody
}

// Open reads an index; one that does not exist is empty.
func Open(o Options) (*Index, error) {
	x := &Index{
		folders: o.Folders, trouble: o.Trouble, files: map[string]entry{}, contents: map[string]entry{},
		sizes: map[int64]bool{}, accepted: map[string]bool{}, seen: map[string]state{},
	}
	if x.trouble == nil {
		x.trouble = func(error) {}
	}
	var err error
	x.log, err = openLog(o.File, x.apply, x.all)
	return x, err
}

// Close closes its file.
func (x *Index) Close() error {
	if x == nil {
		return nil
	}
	return x.log.close()
}

// Move lets the index look into other folders.
func (x *Index) Move(folders []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.folders = slices.Clone(folders)
}

// apply does what a line says.
func (x *Index) apply(e entry) {
	switch {
	case e.Accepted:
		x.accepted[e.Digest] = true
	case e.Gone:
		for name := range x.files {
			if below(name, e.Name) {
				delete(x.files, name)
			}
		}
	default:
		if e.Name != "" {
			x.files[e.Name] = e
		}
		if e.Digest != "" && e.Size >= leastContent {
			if _, known := x.contents[e.Digest]; !known {
				x.order = append(x.order, e.Digest)
			}
			x.contents[e.Digest] = entry{Digest: e.Digest, Size: e.Size, From: e.From}
			x.sizes[e.Size] = true
		}
	}
	for len(x.order) > mostContents {
		delete(x.contents, x.order[0])
		x.order = x.order[1:]
	}
}

// all is what the log has to say at the least.
func (x *Index) all() (lines []entry) {
	for _, digest := range x.order {
		lines = append(lines, x.contents[digest])
	}
	for _, e := range x.files {
		lines = append(lines, e)
	}
	for digest := range x.accepted {
		lines = append(lines, entry{Digest: digest, Accepted: true})
	}
	return lines
}

// note applies lines and writes them down.
func (x *Index) note(lines ...entry) error {
	for _, e := range lines {
		x.apply(e)
	}
	if len(x.files) > mostFiles {
		lines = append(lines, x.sumUp()...)
	}
	return x.log.write(lines)
}

// sumUp makes one entry of the folder at the top that holds most of the files.
func (x *Index) sumUp() (lines []entry) {
	count := map[string]int{}
	most := ""
	for name := range x.files {
		top, _, deep := strings.Cut(strings.TrimPrefix(name, "/"), "/")
		if !deep {
			top = ""
		}
		if count[top]++; count[top] > count[most] {
			most = top
		}
	}
	sum := entry{Name: most + "/", Gone: true}
	folder := entry{Name: most + "/"}
	for name, e := range x.files {
		if below(name, most+"/") {
			folder.From = chat.JoinSources(folder.From, e.From)
		}
	}
	for _, e := range []entry{sum, folder} {
		x.apply(e)
		lines = append(lines, e)
	}
	return lines
}

// below says whether a name is another one or lies in it. "/" is everything.
func below(name, at string) bool {
	if at == "/" {
		return true
	}
	at = strings.TrimSuffix(at, "/")
	rest, ok := strings.CutPrefix(name, at)
	return ok && (rest == "" || rest[0] == '/')
}

// Wrote notes the content that a turn is about to give a file: with the sources
// of what it has read. Without any, the file is nobody else's from now on.
func (x *Index) Wrote(name string, content []byte, from []chat.Source) error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(from) > 0 {
		return x.note(entry{Name: name, Digest: digest(content), Size: int64(len(content)), From: from})
	}
	if e, known := x.files[name]; known && !e.Own || !known && len(x.covering(name)) > 0 && !Foreign(name) {
		return x.note(entry{Name: name, Own: true})
	}
	return nil
}

// Known are the sources of a content, wherever it stood.
// One too short to be known by has those of the file of that name.
func (x *Index) Known(name string, content []byte) []chat.Source {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(content) < leastContent {
		return x.files[name].From
	}
	return x.contents[digest(content)].From
}

// Moved notes that a file or folder has another name.
func (x *Index) Moved(from, to string) error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	lines := []entry{{Name: from, Gone: true}}
	if all := x.covering(from); len(all) > 0 {
		name := to
		if info, err := os.Lstat(x.path(to)); err == nil && info.IsDir() {
			name += "/"
		}
		lines = append(lines, entry{Name: name, From: all})
	}
	for name, e := range x.files {
		if rest, ok := strings.CutPrefix(name, from); ok && rest != "" && below(name, from) {
			e.Name = to + rest
			lines = append(lines, e)
		} else if name == from {
			e.Name = to
			lines = append(lines, e)
		}
	}
	if len(lines) == 1 {
		return nil
	}
	return x.note(lines...)
}

// Removed notes that a file is no longer there. When it comes back it is known by
// its content; a short one stays known by its name.
func (x *Index) Removed(name string, held []byte) {
	if x == nil || len(held) > 0 && len(held) < leastContent {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if e, known := x.files[name]; known && !e.Own {
		x.tell(x.note(entry{Name: name, Gone: true}))
	}
}

func (x *Index) tell(err error) {
	if err != nil {
		x.trouble(err)
	}
}

// Of are the sources of an open file of that name.
func (x *Index) Of(name string, file *os.File) []chat.Source {
	if x == nil {
		return sent(name)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	from := x.files[name].From
	from = chat.JoinSources(from, x.covering(name))
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && x.sizes[info.Size()] {
		if sum := x.sum(name, file, info); sum != "" {
			from = chat.JoinSources(from, x.contents[sum].From)
		}
	}
	return from
}

// Under are the sources of everything that stands in a folder and below.
func (x *Index) Under(name string) (from []chat.Source) {
	if x == nil {
		return sent(name)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	from = x.covering(name)
	for other, e := range x.files {
		if name == "." && !path.IsAbs(other) || below(other, name) {
			from = chat.JoinSources(from, e.From)
		}
	}
	return from
}

// covering are the sources of the folders that hold a name.
func (x *Index) covering(name string) (from []chat.Source) {
	from = sent(name)
	if x.files[name].Own {
		return from
	}
	from = chat.JoinSources(from, x.files["/"].From)
	for at := name; at != "." && at != "/" && at != ""; at = path.Dir(at) {
		from = chat.JoinSources(from, x.files[at+"/"].From)
	}
	return from
}

// sent is the source of a file that others have sent.
func sent(name string) []chat.Source {
	if !Foreign(name) {
		return nil
	}
	return []chat.Source{{Kind: chat.SourceFile, Name: name, At: time.Now()}}
}

// Foreign says whether a name of the workspace lies in a folder of what others
// have sent or tools have fetched: the inbox, kept outputs of tools, downloads,
// pictures of pages.
func Foreign(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(foreignFolders(), func(f string) bool { return strings.EqualFold(f, top) })
}

func foreignFolders() []string {
	return []string{"inbox", "tool_output", "downloads", "screenshots"}
}

// path is where a name is on the disk.
func (x *Index) path(name string) string {
	if path.IsAbs(name) || len(x.folders) == 0 {
		return name
	}
	return path.Join(x.folders[0], name)
}
