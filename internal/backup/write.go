// Package backup is the file that bot backup writes, and the folders that bot
// restore fills from it: a gzipped tar of the bus's streams, the files of the
// data folder and the workspace, with a manifest at its beginning and the
// checksum of every file at its end.
//
// It does not know the bus, nor what the files mean; internal/app brings both
// together. It starts no goroutines.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Format is the version of the file that this program writes; it reads this
// one and older ones.
const Format = 1

// Names in the file.
const (
	ManifestName = "manifest.json"
	SumsName     = "SHA256SUMS" // as sha256sum -c reads it
	BusDir       = "bus/"       // one file for each stream
	DataDir      = "data/"      // of the data folder
	WorkspaceDir = "workspace/"
	NotesName    = "notes.txt" // what could not be copied as it is; not always there
)

// Manifest says what a backup is of.
type Manifest struct {
	Format  int       `json:"format"`
	Schema  int       `json:"schema"` // of the bus
	Program string    `json:"program"`
	Created time.Time `json:"created"`
	Streams []Stream  `json:"streams"`
	// Processes is how many held their writes while it was made, and HeldMS for
	// how long, in milliseconds.
	Processes int   `json:"processes"`
	HeldMS    int64 `json:"held_ms"`
}

// Stream is what the backup holds of one stream of the bus.
type Stream struct {
	Name     string `json:"name"`
	Last     uint64 `json:"last"`
	Messages uint64 `json:"messages"`
}

// Writer writes a backup. Its methods must not be used at the same time.
type Writer struct {
	gz    *gzip.Writer
	tar   *tar.Writer
	at    time.Time
	sums  strings.Builder
	notes strings.Builder
}

// NewWriter begins a backup with its manifest.
func NewWriter(w io.Writer, m Manifest) (*Writer, error) {
	gz, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	m.Format = Format
	b := &Writer{gz: gz, tar: tar.NewWriter(gz), at: m.Created}
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return nil, err
	}
	return b, b.Bytes(ManifestName, data)
}

// Bytes adds a file.
func (b *Writer) Bytes(name string, data []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600, ModTime: b.at}
	return b.add(h, strings.NewReader(string(data)))
}

// File adds the file at path up to size bytes; size < 0 = all of it.
func (b *Writer) File(name, path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	defer f.Close() // it was read only
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if size < 0 {
		size = info.Size()
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	return b.add(h, f)
}

// add writes a file's header and content, which is filled up with zeros.
func (b *Writer) add(h *tar.Header, r io.Reader) error {
	if err := b.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("back up %s: %w", h.Name, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(b.tar, sum), io.LimitReader(r, h.Size))
	if err == nil && n < h.Size {
		fmt.Fprintf(&b.notes, "%s became shorter while it was read; its end is zeros\n", h.Name)
		_, err = io.CopyN(io.MultiWriter(b.tar, sum), zeros{}, h.Size-n)
	}
	if err != nil {
		return fmt.Errorf("back up %s: %w", h.Name, err)
	}
	if h.Name != SumsName {
		fmt.Fprintf(&b.sums, "%s  %s\n", hex.EncodeToString(sum.Sum(nil)), listed(h.Name))
	}
	return nil
}

// listed is a name as it stands in the list of checksums, which has lines.
func listed(name string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Tree adds the folder dir under the name prefix; skip, if not nil, leaves out
// paths. What disappears meanwhile is left out.
func (b *Writer) Tree(prefix, dir string, skip func(path string) bool) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("back up: %w", err)
		}
		if path == dir {
			return nil
		}
		if skip != nil && skip(path) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			err = b.entry(prefix+filepath.ToSlash(rel), path, d)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func (b *Writer) entry(name, path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		return b.File(name, path, -1)
	case info.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(path); err != nil {
			return fmt.Errorf("back up: %w", err)
		}
	default:
		fmt.Fprintf(&b.notes, "%s is no file, folder or link and was left out\n", name)
		return nil
	}
	if err := b.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("back up %s: %w", name, err)
	}
	return nil
}

// Close ends the backup with the checksums.
func (b *Writer) Close() error {
	if b.notes.Len() > 0 {
		if err := b.Bytes(NotesName, []byte(b.notes.String())); err != nil {
			return err
		}
	}
	if err := b.Bytes(SumsName, []byte(b.sums.String())); err != nil {
		return err
	}
	if err := errors.Join(b.tar.Close(), b.gz.Close()); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}
