package fs

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path"
	"sort"

	"magpie/tools"
	"magpie/tools/fs/fence"
)

// Where Keep puts outputs, and how many stay.
const (
	keptFolder = "tool_output"
	keptFiles  = 200
)

// Keep makes the function for tools.Options.Keep: it stores a long output in
// the workspace, where read_file finds it, and removes the oldest ones. The
// same call stores under the same name again.
func Keep(f *fence.Fence) func(ctx context.Context, sc tools.Scope, text string) (string, error) {
	return func(_ context.Context, sc tools.Scope, text string) (string, error) {
		sum := sha256.Sum256([]byte(string(sc.Addr.Session()) + "\n" + cmp.Or(sc.CallID, rand.Text())))
		name := path.Join(keptFolder, hex.EncodeToString(sum[:8])+".txt")
		if _, err := f.Write(name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}); err != nil {
			return "", err
		}
		return name, prune(f)
	}
}

func prune(f *fence.Fence) error {
	dir, err := f.Open(keptFolder)
	if err != nil {
		return err
	}
	defer dir.Close()
	found, err := dir.ReadDir(maxDirEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("list %s: %w", keptFolder, err)
	}
	var old []iofs.FileInfo
	for _, d := range found {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			old = append(old, info)
		}
	}
	sort.Slice(old, func(a, b int) bool { return old[a].ModTime().Before(old[b].ModTime()) })
	var errs []error
	for _, info := range old[:max(0, len(old)-keptFiles)] {
		err := f.Remove(path.Join(keptFolder, info.Name()))
		var said *tools.Error
		if errors.As(err, &said) && said.Kind == tools.NotFound {
			continue // another call was faster
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
