package fence

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"magpie/tools"
)

// Folder is an open folder inside the fence. What is in it is reached by its
// handle, without a walk from the root for each file, and with the same
// checks: links are refused. Not for concurrent use.
type Folder struct {
	dir  *os.Root
	name string   // for errors
	list *os.File // opened by Entries
}

// Folder opens a folder. Close it.
func (f *Fence) Folder(name string) (*Folder, error) {
	p, err := f.place(name)
	if err != nil {
		return nil, err
	}
	if len(p.parts) == 0 {
		dir, err := p.root.dir.OpenRoot(".")
		if err != nil {
			return nil, explain(name, err)
		}
		return &Folder{dir: dir, name: name}, nil
	}
	above, err := p.folder(name, false)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	dir, err := step(above, p.parts[len(p.parts)-1], name, false)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, name: name}, nil
}

// Folder opens a folder in this one by its bare name. Close it.
func (d *Folder) Folder(part string) (*Folder, error) {
	if err := bare(part); err != nil {
		return nil, err
	}
	name := path.Join(d.name, part)
	dir, err := step(d.dir, part, name, false)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, name: name}, nil
}

// Open opens what stands in this folder under a bare name, for reading.
func (d *Folder) Open(part string) (*os.File, error) {
	if err := bare(part); err != nil {
		return nil, err
	}
	return openLast(d.dir, part, path.Join(d.name, part))
}

// Entries returns up to n further things that stand in the folder, links as
// links; none when there are no more.
func (d *Folder) Entries(n int) ([]fs.FileInfo, error) {
	if d.list == nil {
		list, err := d.dir.Open(".")
		if err != nil {
			return nil, explain(d.name, err)
		}
		d.list = list
	}
	found, err := d.list.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, explain(d.name, err)
	}
	infos := make([]fs.FileInfo, 0, len(found))
	for _, e := range found {
		if info, err := e.Info(); err == nil { // else it was removed since
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// Close closes the folder; files that were opened in it stay open.
func (d *Folder) Close() {
	if d.list != nil {
		_ = d.list.Close() // handles for reading: nothing to lose
	}
	_ = d.dir.Close()
}

// bare refuses a path where a name is wanted: a handle would follow the links
// in it.
func bare(part string) error {
	if part == "" || part == "." || part == ".." || strings.ContainsRune(part, '/') {
		return tools.Errorf(tools.Security, "%q is not the bare name of something in a folder", part)
	}
	return nil
}
