// Package fs holds the tools that work on files: read_file, write_file,
// list_dir and list_files. Every path goes through a fence.Fence. It also
// keeps the whole of outputs that were cut. It starts no goroutine.
package fs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"magpie/tools"
	"magpie/tools/fs/fence"
)

// pathAliases are the other names of path in every file tool.
func pathAliases() map[string]string {
	return map[string]string{"file_path": "path", "filepath": "path", "filename": "path"}
}

// settled is how old a change must be before a file's time tells changes
// apart: file systems count time in steps.
const settled = 2 * time.Second

// stampFile tells the state of the file that a call reads.
func stampFile(f *fence.Fence) tools.Option {
	return tools.WithStamp(func(_ context.Context, _ tools.Scope, args json.RawMessage) (string, bool) {
		var in struct {
			Path string `json:"path"`
		}
		if json.Unmarshal(args, &in) != nil {
			return "", false
		}
		file, err := f.Open(in.Path)
		if err != nil {
			return "", false
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil || info.IsDir() || time.Since(info.ModTime()) < settled {
			return "", false
		}
		sys, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return "", false
		}
		return fmt.Sprintf("%d %d %d", sys.Ino, info.Size(), info.ModTime().UnixNano()), true
	})
}

// nearNames adds to "there is no such file" the names that are like it.
func nearNames(ctx context.Context, f *fence.Fence, name string, err error) error {
	var said *tools.Error
	if !errors.As(err, &said) || said.Kind != tools.NotFound {
		return err
	}
	parent := path.Dir(name)
	dir, openErr := f.Open(parent)
	if openErr != nil {
		return err
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxDirEntries) // those read before an error are good
	near := tools.Nearest(path.Base(name), names)
	for i := range near {
		near[i] = fence.Shown(path.Join(parent, near[i]))
	}
	near = slices.DeleteFunc(near, func(n string) bool { return tools.Visited(ctx, f.Name(n), f.Names(n)...) != nil })
	if len(near) == 0 {
		return &tools.Error{Kind: said.Kind, Text: said.Text + "; list_dir shows what there is", Err: said.Err}
	}
	return &tools.Error{Kind: said.Kind, Text: said.Text + "; did you mean " + strings.Join(near, ", ") + "?", Err: said.Err}
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// open opens an existing file or folder, with near names when there is none.
func open(ctx context.Context, f *fence.Fence, name string) (*os.File, os.FileInfo, error) {
	file, real, err := f.OpenAs(name)
	if err != nil {
		return nil, nil, nearNames(ctx, f, name, err)
	}
	if err := tools.Visited(ctx, real); err != nil { // a link was put there since the call was judged
		return nil, nil, errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look at %q: %w", name, err), file.Close())
	}
	return file, info, nil
}
