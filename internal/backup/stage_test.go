package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/backup"
)

// around is a bot's folders with something old in them, and a backup of
// something new.
func around(t *testing.T) (p backup.Places, file []byte) {
	t.Helper()
	data, work := t.TempDir(), t.TempDir()
	put(t, data, map[string]string{"web.token": "new", "undo/1": "new", "audit_logs/a": "new"})
	put(t, work, map[string]string{"plan": "new", "b/c": "new"})
	file = written(t, data, work)
	toData, toWork := t.TempDir(), t.TempDir()
	put(t, toData, map[string]string{"web.token": "old", "undo/2": "old", "chat_history": "old", "config.yaml": "mine", ".env": "mine", "backups/x": "mine"})
	put(t, toWork, map[string]string{"plan": "old", "only": "old"})
	p, err := backup.NewPlaces(toData, toWork, filepath.Join(toData, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return p, file
}

// check compares the folders with what they are after a restore.
func check(t *testing.T, p backup.Places) {
	t.Helper()
	want := map[string]string{
		"web.token": "new", "undo/1": "new", "audit_logs/a": "new", "config.yaml": "mine", ".env": "mine", "backups/x": "mine",
		"before/web.token": "old", "before/undo/2": "old", "before/chat_history": "old",
	}
	if diff := cmp.Diff(want, timeless(tree(t, p.Data))); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	want = map[string]string{"plan": "new", "b/c": "new", "before/plan": "old", "before/only": "old"}
	if diff := cmp.Diff(want, timeless(tree(t, p.Workspace))); diff != "" {
		t.Errorf("workspace (-want +got):\n%s", diff)
	}
}

// timeless takes the time out of the names of what is kept.
func timeless(all map[string]string) map[string]string {
	plain := map[string]string{}
	for name, content := range all {
		if rest, ok := strings.CutPrefix(name, "before-restore-"); ok {
			_, name, _ = strings.Cut(rest, "/")
			name = "before/" + name
		}
		plain[name] = content
	}
	return plain
}

func TestOldFilesAreKeptBeside(t *testing.T) {
	p, file := around(t)
	if found, err := p.Occupied(); err != nil || len(found) != 5 {
		t.Errorf("occupied: %v, %v; want three entries and two", found, err)
	}
	s, err := staged(p, file)
	if err != nil {
		t.Fatal(err)
	}
	aside, err := s.Commit()
	if err != nil || filepath.Dir(aside) != p.Data {
		t.Errorf("kept in %q, %v", aside, err)
	}
	check(t, p)
	if finished, err := backup.Finish(p.Data); finished || err != nil {
		t.Errorf("there is something left: %v, %v", finished, err)
	}
}

// Folders may be named from where the program was started. What stands in the
// workspace never becomes a file of the data folder.
func TestFoldersNamedFromHere(t *testing.T) {
	for name, workspace := range map[string]string{"inside": "data/workspace", "deep inside": "data/a/b", "beside": "ws", "above": "../ws"} {
		t.Run(name, func(t *testing.T) {
			here := filepath.Join(t.TempDir(), "here")
			if err := os.Mkdir(here, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(here)
			from, work := t.TempDir(), t.TempDir()
			put(t, from, map[string]string{"web.token": "of the page"})
			put(t, work, map[string]string{"web.token": "of the workspace", "plan": "tea"})
			put(t, here, map[string]string{"data/old": "old"})
			p, err := backup.NewPlaces("data", workspace, "config.yaml")
			if err != nil {
				t.Fatal(err)
			}
			s, err := staged(p, written(t, from, work))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Commit(); err != nil {
				t.Fatal(err)
			}
			got := timeless(tree(t, workspace))
			if diff := cmp.Diff(map[string]string{"web.token": "of the workspace", "plan": "tea"}, got); diff != "" {
				t.Errorf("workspace (-want +got):\n%s", diff)
			}
			if err := os.RemoveAll(workspace); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"web.token": "of the page", "before/old": "old"}
			if name == "deep inside" {
				want["a/"] = ""
			}
			if diff := cmp.Diff(want, timeless(tree(t, "data"))); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDroppedStageLeavesNothing(t *testing.T) {
	p, file := around(t)
	before := []map[string]string{tree(t, p.Data), tree(t, p.Workspace)}
	s, err := staged(p, file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Finish(p.Data); !errors.Is(err, backup.ErrInterrupted) {
		t.Errorf("a restore that is not complete: %v, want ErrInterrupted", err)
	}
	if err := s.Drop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, []map[string]string{tree(t, p.Data), tree(t, p.Workspace)}); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

// Whatever step a restore died at, the next start ends with the same.
func TestFinishGoesOnAtEveryStep(t *testing.T) {
	died := errors.New("died")
	for step := 0; ; step++ {
		p, file := around(t)
		s, err := staged(p, file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = s.CommitUntil(func() error {
			if n++; n > step {
				return died
			}
			return nil
		})
		if err != nil && !errors.Is(err, died) {
			t.Fatal(err)
		}
		finished, again := backup.Finish(p.Data)
		switch {
		case errors.Is(again, backup.ErrInterrupted): // before anything was changed
			if got := tree(t, filepath.Join(p.Data, "undo")); got["2"] != "old" || step > 1 {
				t.Errorf("step %d: interrupted with %v", step, got)
			}
			continue
		case again != nil:
			t.Fatalf("step %d: %v", step, again)
		}
		check(t, p)
		if _, err := os.Stat(filepath.Join(p.Data, ".restore")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("step %d: something is left: %v", step, err)
		}
		if err == nil {
			if finished || step < 10 {
				t.Errorf("complete after %d steps, finished %v", step, finished)
			}
			return
		}
	}
}
