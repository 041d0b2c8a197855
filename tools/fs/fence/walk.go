package fence

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"magpie/tools"
)

// attempts bounds how often a step is taken again because what was opened is
// not what was looked at: somebody replaced it in between.
const attempts = 16

// Open opens a file or a folder for reading. Pipes, sockets and devices are
// refused.
func (f *Fence) Open(name string) (*os.File, error) {
	file, _, err := f.OpenAs(name)
	return file, err
}

// OpenAs is Open that also tells where the file really stands, as Name writes
// it: no link was followed on the way to there.
func (f *Fence) OpenAs(name string) (file *os.File, real string, err error) {
	p, err := f.place(name)
	if err != nil {
		return nil, "", err
	}
	if len(p.parts) == 0 {
		file, err := p.root.dir.Open(".")
		return file, f.show(p), explain(name, err)
	}
	dir, err := p.folder(name, false)
	if err != nil {
		return nil, "", err
	}
	defer dir.Close()
	file, err = openLast(dir, p.parts[len(p.parts)-1], name)
	return file, f.show(p), err
}

func openLast(dir *os.Root, last, name string) (*os.File, error) {
	for range attempts {
		seen, err := look(dir, last, name)
		if err != nil {
			return nil, err
		}
		// Without NONBLOCK a pipe put there at this moment would block.
		file, err := dir.OpenFile(last, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, explain(name, err)
		}
		got, err := file.Stat()
		if err == nil && os.SameFile(seen, got) {
			return file, nil
		}
		file.Close() // nothing was written
	}
	return nil, restless(name)
}

// Write puts a file in place in one step: readers see the old content or the
// new, also after a crash. fill writes the content. Missing folders are
// created. It says whether the file is new.
func (f *Fence) Write(name string, fill func(io.Writer) error) (created bool, err error) {
	p, err := f.place(name)
	if err != nil {
		return false, err
	}
	if len(p.parts) == 0 {
		return false, tools.Errorf(tools.InvalidArgs, "%q is a folder; want the path of a file in it", name)
	}
	dir, err := p.folder(name, true)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	last := p.parts[len(p.parts)-1]
	mode := fs.FileMode(0o644)
	seen, err := look(dir, last, name)
	switch {
	case kind(err) == tools.NotFound:
		created = true
	case err != nil:
		return false, err
	case seen.IsDir():
		return false, tools.Errorf(tools.InvalidArgs, "%q is a folder; want the path of a file", name)
	default:
		mode = seen.Mode().Perm()
	}
	return created, explain(name, replace(dir, last, mode, fill))
}

// replace writes beside the file and renames over it. The rename replaces a
// link that came into being meanwhile instead of following it.
func replace(dir *os.Root, last string, mode fs.FileMode, fill func(io.Writer) error) error {
	temp := ".writing-" + rand.Text()
	file, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = fill(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = dir.Rename(temp, last)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// Remove removes a file or an empty folder.
func (f *Fence) Remove(name string) error {
	p, err := f.place(name)
	if err != nil {
		return err
	}
	if len(p.parts) == 0 {
		return tools.Errorf(tools.Security, "%q is a folder of the configuration; it stays", name)
	}
	dir, err := p.folder(name, false)
	if err != nil {
		return err
	}
	defer dir.Close()
	last := p.parts[len(p.parts)-1]
	if _, err := look(dir, last, name); err != nil {
		return err
	}
	return explain(name, dir.Remove(last))
}

// Move renames a file or folder. Both paths must be in the same folder of the
// configuration; nothing that exists is replaced. Missing folders on the way
// to the new name are created.
func (f *Fence) Move(from, to string) error {
	src, err := f.place(from)
	if err != nil {
		return err
	}
	dst, err := f.place(to)
	if err != nil {
		return err
	}
	switch {
	case len(src.parts) == 0 || len(dst.parts) == 0:
		return tools.Errorf(tools.Security, "%q is a folder of the configuration; it stays", from)
	case src.root != dst.root:
		return tools.Errorf(tools.Security, "%q and %q are in different folders of the configuration; write the file anew and delete the old one", from, to)
	}
	if slices.Equal(dst.parts[:min(len(src.parts), len(dst.parts))], src.parts) && len(dst.parts) > len(src.parts) {
		return tools.Errorf(tools.InvalidArgs, "%q lies inside %q; a folder cannot be moved into itself", to, from)
	}
	// The walks refuse links on the way and make the folders of the new name.
	for _, end := range []struct {
		place
		name  string
		fresh bool
	}{{src, from, false}, {dst, to, true}} {
		dir, err := end.folder(end.name, end.fresh)
		if err != nil {
			return err
		}
		_, err = look(dir, end.parts[len(end.parts)-1], end.name)
		dir.Close() // a handle for reading: nothing to lose
		if end.fresh && err == nil {
			return tools.Errorf(tools.InvalidArgs, "%q exists already; nothing was moved", to)
		}
		if err != nil && (!end.fresh || kind(err) != tools.NotFound) {
			return err
		}
	}
	return explain(from, rename(src.root.dir, path.Join(src.parts...), path.Join(dst.parts...)))
}

// rename moves without replacing: a second name, then the first is taken away.
// What has no second names (folders, some file systems) is renamed.
func rename(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	switch {
	case err == nil:
		return root.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return root.Rename(from, to)
}

// place judges a path and, where that is allowed, follows its links. The
// result is a hint: the walk over it refuses any link.
func (f *Fence) place(name string) (place, error) {
	p, err := f.judge(name)
	if err != nil || !f.opt.FollowLinks {
		return p, err
	}
	for range maxLinks {
		target, linked, err := p.firstLink()
		if err != nil || !linked {
			return p, explain(name, err)
		}
		next, ok := f.locate(target)
		if !ok {
			return place{}, tools.Errorf(tools.Security, "%q leads over a link out of the workspace; name a file inside", name)
		}
		p = next
	}
	return place{}, tools.Errorf(tools.Security, "%q leads over too many links", name)
}

// firstLink finds the first link on the way and writes the path with the
// link's target in its place.
func (p place) firstLink() (target string, linked bool, err error) {
	for i := range p.parts {
		here := path.Join(p.parts[:i+1]...)
		info, err := p.root.dir.Lstat(here)
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			if err != nil {
				return "", false, nil // the walk will say what is wrong
			}
			continue
		}
		to, err := p.root.dir.Readlink(here)
		if err != nil {
			return "", false, err
		}
		if !path.IsAbs(to) {
			to = path.Join(append(append([]string{p.root.paths[1]}, p.parts[:i]...), to)...)
		}
		return path.Join(append([]string{to}, p.parts[i+1:]...)...), true, nil
	}
	return "", false, nil
}

// folder walks to the folder that holds the last part; the caller closes it.
func (p place) folder(name string, create bool) (*os.Root, error) {
	dir, err := p.root.dir.OpenRoot(".")
	if err != nil {
		return nil, explain(name, err)
	}
	for _, part := range p.parts[:len(p.parts)-1] {
		next, err := step(dir, part, name, create)
		dir.Close() // a handle for reading: nothing to lose
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// step opens one folder inside dir and makes sure that it is no link.
func step(dir *os.Root, part, name string, create bool) (*os.Root, error) {
	for range attempts {
		seen, err := look(dir, part, name)
		if create && kind(err) == tools.NotFound {
			if err := dir.Mkdir(part, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, explain(name, err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if !seen.IsDir() {
			return nil, tools.Errorf(tools.NotFound, "there is no %q: %q is a file, not a folder", name, part)
		}
		next, err := dir.OpenRoot(part)
		if errors.Is(err, fs.ErrPermission) {
			return nil, explain(name, err)
		}
		if err != nil {
			continue // replaced since it was looked at: look again
		}
		got, err := next.Stat(".")
		if err == nil && os.SameFile(seen, got) {
			return next, nil
		}
		next.Close()
	}
	return nil, restless(name)
}

// look tells what stands there and refuses what no tool may touch.
func look(dir *os.Root, part, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(part)
	if err != nil {
		return nil, explain(name, err)
	}
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
		return info, nil
	case fs.ModeSymlink:
		return nil, tools.Errorf(tools.Security, "%q leads over the symbolic link %q, which is not allowed; name the file itself", name, part)
	}
	return nil, tools.Errorf(tools.Security, "%q is a pipe, socket or device; want a file", name)
}

func restless(name string) error {
	return tools.Errorf(tools.Failed, "%q is being replaced again and again; try once more", name)
}

// kind is the kind of a *tools.Error, "" for other errors and none.
func kind(err error) tools.ErrorKind {
	var said *tools.Error
	if errors.As(err, &said) {
		return said.Kind
	}
	return ""
}
