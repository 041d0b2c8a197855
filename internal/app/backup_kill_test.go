package app_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/telegram"
)

// A restore that is killed has changed nothing, and says so to whoever starts
// the bot; the next restore begins anew.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	big := filepath.Join(filepath.Dir(path), "workspace", "big")
	if err := os.MkdirAll(filepath.Dir(big), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, make([]byte, 96<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.startWith(path, listen)
	b.ready()
	w.say("hello")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
	file := filepath.Join(t.TempDir(), "copy.tar.gz")
	w.command(path, 0, "checked", "backup", file)
	clean(t, b.signal(syscall.SIGTERM))
	before := w.killRestore(path, file)
	if diff := cmp.Diff(before, listing(t, filepath.Join(filepath.Dir(path), "bus"))); diff != "" {
		t.Errorf("the killed restore has changed the store:\n%s", diff)
	}
	w.command(path, 1, "a restore was interrupted before it had changed anything", "run")
	w.command(path, 0, "restored", "restore", "--force", file)
	b = w.startWith(path, listen)
	b.ready()
	w.say("again")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return count(m, "again") == 1 })
}

// killRestore kills a restore while it writes what is new, and returns the files
// of the store that were there before. On a busy machine a restore may be past
// that before it is seen: then another one is begun.
func (w *world) killRestore(path, file string) (before []string) {
	w.t.Helper()
	store, stage := filepath.Join(filepath.Dir(path), "bus"), filepath.Join(filepath.Dir(path), ".restore")
	exists := func(names ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{stage}, names...)...))
		return err == nil
	}
	for range 20 {
		before = listing(w.t, store)
		r := launch(w.t, w.dir, nil, "restore", "--force", file, "--config", path)
		r.await("it writes, or has ended", func() bool { return exists("new", "workspace", "big") || r.gone() })
		r.kill()
		if exists("new", "workspace", "big") && !exists("aside") && !exists("place") {
			return before
		}
		w.command(path, 0, "restored", "restore", "--force", file)
	}
	w.t.Fatal("no restore could be killed while it writes")
	return nil
}
