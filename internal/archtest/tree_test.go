package archtest_test

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/archtest"
)

// root is the repository as tests of this package see it; another tree can be
// named to look at it by hand.
func root(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("MAGPIE_TEST_TREE"); dir != "" {
		return dir
	}
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestHouseRules(t *testing.T) {
	tree, err := archtest.Load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) < 20 {
		t.Fatalf("only %d files: this is not the repository", len(tree.Files))
	}
	for _, v := range tree.Check() {
		t.Error(v)
	}
}

// TestNoMachineInTheTree: the place where the tree was built and the proxy
// that it was built with are nobody's business.
func TestNoMachineInTheTree(t *testing.T) {
	dir := root(t)
	forbidden := [][]byte{[]byte(dir + "/")}
	for _, name := range []string{"GOPROXY", "GOMODCACHE"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range strings.FieldsFunc(strings.TrimSpace(string(out)), func(r rune) bool { return r == ',' || r == '|' }) {
			if u, err := url.Parse(value); err == nil && u.Host != "" {
				value = u.Host
			} else if !filepath.IsAbs(value) {
				continue
			}
			forbidden = append(forbidden, []byte(value))
		}
	}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules" || e.Name() == "data") {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || e.Name() == ".git" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, word := range forbidden {
			if i := bytes.Index(text, word); i >= 0 {
				t.Errorf("%s:%d: no machine in the tree: %s", name, 1+bytes.Count(text[:i], []byte("\n")), word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
