package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/backup"
)

func manifest() backup.Manifest {
	return backup.Manifest{Schema: 1, Program: "test", Created: time.Unix(1_700_000_000, 0).UTC(), Streams: []backup.Stream{{Name: "IN", Last: 7}}}
}

// put makes files of a map of names and contents; a content that begins with
// -> is a link, a name that ends with / a folder.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		target, link := strings.CutPrefix(content, "->")
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o700)
		default:
			err = os.WriteFile(path, []byte(content), 0o640)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree is what put would make of a folder as it is.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			if entries, err := os.ReadDir(path); err == nil && len(entries) == 0 {
				all[name+"/"] = ""
			}
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[name] = "->" + target
			return err
		default:
			data, err := os.ReadFile(path)
			all[name] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func odd() map[string]string {
	return map[string]string{
		"web.token": "secret", "undo/1/a b": "x", "空 名/文件\n第二行": "中文", "empty/": "", "none": "", `back\slash`: "y",
		"big": strings.Repeat("0123456789", 300_000),
	}
}

func written(t testing.TB, data, work string) []byte {
	t.Helper()
	var file bytes.Buffer
	b, err := backup.NewWriter(&file, manifest())
	if err == nil {
		err = b.Bytes(backup.BusDir+"IN", []byte("stream"))
	}
	if err == nil {
		err = errors.Join(b.Tree(backup.DataDir, data, nil), b.Tree(backup.WorkspaceDir, work, nil), b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// staged unpacks a backup for the folders of p.
func staged(p backup.Places, file []byte) (*backup.Stage, error) {
	s, err := backup.NewStage(p)
	if err != nil {
		return nil, err
	}
	_, err = backup.Read(bytes.NewReader(file), func(_ backup.Manifest, h *tar.Header, content io.Reader) error {
		return s.Put(h, content)
	})
	return s, err
}

func TestEverythingComesBack(t *testing.T) {
	data, work := t.TempDir(), t.TempDir()
	links := map[string]string{"in": "->deep/file", "out": "->/etc/hosts", "deep/file": "z"}
	put(t, data, odd())
	put(t, work, links)
	if err := os.Chmod(filepath.Join(work, "deep", "file"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := written(t, data, work)
	c, err := backup.Verify(bytes.NewReader(file))
	if err != nil || c.Files != 7 || c.Notes != "" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, inside := range []bool{false, true} {
		to := t.TempDir()
		workTo := filepath.Join(to, "workspace")
		if !inside {
			workTo = t.TempDir()
		}
		p, err := backup.NewPlaces(to, workTo, "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := staged(p, file)
		if err != nil {
			t.Fatal(err)
		}
		if aside, err := s.Commit(); aside != "" || err != nil {
			t.Errorf("kept %q, %v", aside, err)
		}
		if diff := cmp.Diff(links, tree(t, workTo)); diff != "" {
			t.Errorf("workspace (-want +got):\n%s", diff)
		}
		info, err := os.Stat(filepath.Join(workTo, "deep", "file"))
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if err := os.RemoveAll(workTo); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(odd(), tree(t, to)); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
	}
}

// A file that is cut anywhere, or in which a bit is wrong anywhere, is refused.
func TestDamageIsFound(t *testing.T) {
	data := t.TempDir()
	put(t, data, map[string]string{"a": "some text", "link": "->a"})
	file := written(t, data, t.TempDir())
	for at := range file {
		if _, err := backup.Verify(bytes.NewReader(file[:at])); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("cut at %d: %v", at, err)
		}
		if at >= 3 && at < 10 {
			continue // time and system in gzip's header mean nothing
		}
		bad := bytes.Clone(file)
		bad[at] ^= 1 << (at % 8)
		_, err := backup.Verify(bytes.NewReader(bad))
		if err == nil && unpacked(bad) == unpacked(file) {
			continue // a bit of the compression that means nothing
		}
		if !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, backup.ErrNewer) {
			t.Errorf("bit %d of byte %d: %v", at%8, at, err)
		}
	}
}

func unpacked(file []byte) string {
	gz, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return err.Error()
	}
	data, err := io.ReadAll(gz)
	return fmt.Sprint(string(data), err)
}

// made writes a backup by hand.
func made(t testing.TB, entries ...*tar.Header) []byte {
	t.Helper()
	var file bytes.Buffer
	gz := gzip.NewWriter(&file)
	w := tar.NewWriter(gz)
	for _, h := range entries {
		content := h.Gname
		h.Gname, h.Mode, h.Size = "", 0o600, int64(len(content))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestWhatNoBackupHoldsIsRefused(t *testing.T) {
	first := func(format int) *tar.Header {
		return &tar.Header{Name: backup.ManifestName, Gname: fmt.Sprintf(`{"format":%d,"schema":1,"program":"v9"}`, format)}
	}
	if _, err := backup.Verify(bytes.NewReader(made(t, first(backup.Format+1)))); !errors.Is(err, backup.ErrNewer) || !strings.Contains(err.Error(), "use bot v9") {
		t.Errorf("a newer format: %v", err)
	}
	for _, bad := range []*tar.Header{
		{Name: "data/../../x"},
		{Name: "/etc/passwd"},
		{Name: "x"},
		{Name: "data/a/../b"},
		{Name: "workspace//x"},
		{Name: "data/dev", Typeflag: tar.TypeChar},
		{Name: "data/hard", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
	} {
		if _, err := backup.Verify(bytes.NewReader(made(t, first(1), bad))); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s: %v", bad.Name, err)
		}
	}
	// No checksum, or one of something else.
	for _, sums := range []string{"", "00  data/a\n", "\n"} {
		file := made(t, first(1), &tar.Header{Name: "data/a", Gname: "x"}, &tar.Header{Name: backup.SumsName, Gname: sums})
		if _, err := backup.Verify(bytes.NewReader(file)); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("checksums %q: %v", sums, err)
		}
	}
	// A link that leaves the folder, and a file behind it.
	outside := t.TempDir()
	p, err := backup.NewPlaces(t.TempDir(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	file := made(t, first(1), &tar.Header{Name: "workspace/l", Typeflag: tar.TypeSymlink, Linkname: outside}, &tar.Header{Name: "workspace/l/x", Gname: "x"})
	if _, err := staged(p, file); err == nil || len(tree(t, outside)) > 0 {
		t.Errorf("a file was written outside: %v, %v", err, tree(t, outside))
	}
}

func TestFileThatShrinksIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	m := manifest()
	m.Streams = nil
	b, err := backup.NewWriter(&file, m)
	if err == nil {
		err = errors.Join(b.File("data/part", path, 3), b.File("data/log", path, 9), b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := backup.Verify(&file)
	if err != nil || !strings.Contains(c.Notes, "data/log became shorter") || strings.Contains(c.Notes, "part") || c.Files != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzVerify(f *testing.F) {
	data := f.TempDir()
	put(f, data, map[string]string{"a": "b"})
	f.Add(written(f, data, f.TempDir()))
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := backup.Verify(bytes.NewReader(file))
		if err != nil && !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, backup.ErrNewer) {
			t.Errorf("%v is neither damaged nor newer", err)
		}
		if err == nil && c.Schema < 1 {
			t.Error("a backup without a schema is taken")
		}
	})
}
