package app_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A bot with the folders of the defaults, which are named from where it was
// started, has every file where it was after a restore.
func TestRestoreOfTheDefaultFolders(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{"default": "", "workspace elsewhere": "workspace: ws\n", "data folder named with a dot": "data_dir: ./x/../data/\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			path := filepath.Join(w.dir, "config.yaml")
			work := filepath.Join(w.dir, "data", "workspace")
			if strings.Contains(extra, "ws") {
				work = filepath.Join(w.dir, "ws")
			}
			files := map[string]string{
				path: fmt.Sprintf("%sweb: {listen: %q}\n", extra, freeAddr(t)),
				filepath.Join(w.dir, "data", "web.token"): "0123456789abcdef0123456789abcdef",
				filepath.Join(work, "web.token"):          "a note of the agent's",
				filepath.Join(work, "a.txt"):              "hi",
				filepath.Join(work, "data", "a.txt"):      "deep",
				filepath.Join(work, "backups", "a.txt"):   "a backup of the agent's",
				filepath.Join(work, ".env"):               "A=1",
				filepath.Join(work, "config.yaml"):        "a: 1",
			}
			for path, text := range files {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(w.dir, "x.tgz")
			w.command(path, 0, "checked", "backup", "x.tgz")
			w.command(path, 0, "restored", "restore", "--force", "x.tgz")
			got := map[string]string{}
			for _, path := range slices.Collect(maps.Keys(files)) {
				text, _ := os.ReadFile(path)
				got[path] = string(text)
			}
			if diff := cmp.Diff(files, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, line := range listing(t, filepath.Join(w.dir, "data")) {
				path, _, _ := strings.Cut(line, " ")
				rel, _ := filepath.Rel(filepath.Join(w.dir, "data"), path)
				top, _, _ := strings.Cut(rel, string(filepath.Separator))
				if !slices.Contains([]string{".", "web.token", "workspace", "bus"}, top) && !strings.HasPrefix(top, "before-restore-") {
					t.Errorf("%s was never there", rel)
				}
			}
			w.command(path, 1, "is there already", "backup", file)
		})
	}
}
