package screenshot_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/tools"
)

// Chromium makes a socket in the folder for temporary files, whose name may be
// too long for it; a folder that cannot be used is named.
func TestFolderForTemporaryFiles(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<h1>hello</h1>")) }))
	defer srv.Close()
	w := newWorld(t, "127.0.0.0/8")
	w.opt.Chrome = chrome(t)
	w.open(t)
	for _, length := range []int{40, 90, 200} {
		dir := t.TempDir()
		for len(dir) < length {
			dir = filepath.Join(dir, strings.Repeat("x", min(50, length-len(dir))))
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		w.picture(t, w.take(t, map[string]any{"url": srv.URL}))
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", dir, left, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), file} {
		t.Setenv("TMPDIR", dir)
		res := w.take(t, map[string]any{"url": srv.URL})
		if res.Err != tools.Failed || !strings.Contains(res.Text, dir) || !strings.Contains(res.Text, "TMPDIR") {
			t.Errorf("%s: %s %s", dir, res.Err, res.Text)
		}
	}
}
