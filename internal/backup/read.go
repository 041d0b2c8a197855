package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// The errors of a file that cannot be restored.
var (
	// ErrDamaged: the file is not what was written, or not all of it.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrNewer: a newer program has written it.
	ErrNewer = errors.New("the backup was made by a newer bot")
)

const maxManifest = 1 << 20 // bytes

// Read reads a backup from its beginning: its manifest, then each entry is
// given to fn.
func Read(r io.Reader, fn func(m Manifest, h *tar.Header, content io.Reader) error) (Manifest, error) {
	var m Manifest
	gz, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<20))
	if err != nil {
		return m, damaged(err)
	}
	t := tar.NewReader(gz)
	for first := true; ; first = false {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && !first {
			// What stands after the archive is only the checksum of gzip.
			if _, err := io.Copy(io.Discard, gz); err != nil {
				return m, damaged(err)
			}
			return m, nil
		}
		if err != nil {
			return m, damaged(err)
		}
		if first {
			if m, err = readManifest(h, t); err != nil {
				return m, err
			}
			continue
		}
		if err := checkName(h); err != nil {
			return m, err
		}
		if err := fn(m, h, t); err != nil {
			return m, err
		}
	}
}

func damaged(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it is empty", ErrDamaged)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: its end is missing", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

func readManifest(h *tar.Header, r io.Reader) (m Manifest, err error) {
	if h.Name != ManifestName {
		return m, fmt.Errorf("%w: it does not begin with %s: is it a file of bot backup?", ErrDamaged, ManifestName)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	switch {
	case err != nil:
		return m, damaged(err)
	case m.Format > Format:
		return m, fmt.Errorf("%w: its format is %d, this program knows %d: use bot %s or a later one", ErrNewer, m.Format, Format, m.Program)
	case m.Format < 1 || m.Schema < 1:
		return m, fmt.Errorf("%w: its manifest says format %d, schema %d", ErrDamaged, m.Format, m.Schema)
	}
	return m, nil
}

// checkName refuses entries that no backup has.
func checkName(h *tar.Header) error {
	name := strings.TrimSuffix(h.Name, "/")
	known := name == SumsName || name == NotesName ||
		strings.HasPrefix(name, BusDir) || strings.HasPrefix(name, DataDir) || strings.HasPrefix(name, WorkspaceDir)
	kind := h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeSymlink
	if !known || !kind || path.Clean(name) != name {
		return fmt.Errorf("%w: it holds %q, which no backup does", ErrDamaged, h.Name)
	}
	return nil
}

// Contents is what Verify has found.
type Contents struct {
	Manifest
	Files int    // of the data folder and the workspace
	Bytes int64  // of everything, unpacked
	Notes string // what could not be copied as it is, a line each
}

// Verify reads a backup to its end and compares every file with its checksum.
func Verify(r io.Reader) (Contents, error) {
	var c Contents
	list := ""
	sums := map[string]string{}
	m, err := Read(r, func(_ Manifest, h *tar.Header, content io.Reader) error {
		if h.Typeflag != tar.TypeReg {
			return nil
		}
		if h.Name == SumsName {
			data, err := io.ReadAll(content)
			if err != nil {
				return damaged(err)
			}
			list = string(data)
			return nil
		}
		sum, notes := sha256.New(), strings.Builder{}
		to := io.Writer(sum)
		if h.Name == NotesName {
			to = io.MultiWriter(sum, &notes)
		}
		n, err := io.Copy(to, content)
		if err != nil {
			return damaged(err)
		}
		if c.Notes += notes.String(); h.Name != NotesName && !strings.HasPrefix(h.Name, BusDir) {
			c.Files++
		}
		c.Bytes += n
		sums[listed(h.Name)] = hex.EncodeToString(sum.Sum(nil))
		return nil
	})
	c.Manifest = m
	if err != nil {
		return c, err
	}
	return c, compare(m, sums, list)
}

func compare(m Manifest, sums map[string]string, list string) error {
	if list == "" {
		return fmt.Errorf("%w: its end is missing", ErrDamaged)
	}
	for line := range strings.Lines(list) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if name == ManifestName {
			continue // gzip's own checksum covers it, as it does links
		}
		if !ok || sums[name] != sum {
			return fmt.Errorf("%w: %q is not what was written", ErrDamaged, name)
		}
		delete(sums, name)
	}
	for name := range sums {
		return fmt.Errorf("%w: %q has no checksum", ErrDamaged, name)
	}
	for _, s := range m.Streams {
		if !strings.Contains(list, "  "+BusDir+s.Name+"\n") {
			return fmt.Errorf("%w: stream %s is missing", ErrDamaged, s.Name)
		}
	}
	return nil
}
