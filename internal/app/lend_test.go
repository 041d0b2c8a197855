package app_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/app"
)

// notOf lists what of a folder does not belong to the user.
func notOf(t *testing.T, user uint32, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != user {
			all = append(all, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Commands that root runs, as by sudo, leave nothing of root's in the data
// folder of the bot's user, whose next start needs it; and the sandbox, which
// shuts root out of that folder, is not called broken.
func TestRootsCommandsForTheBotsUser(t *testing.T) {
	needRoot(t)
	t.Parallel()
	dir, err := os.MkdirTemp("", "magpie-lend-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("data_dir: %s\nweb: {listen: %q}\nllm: {models: [{provider: offline}]}\n", data, freeAddr(t))
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.Mkdir(data, 0o700), os.Chown(data, somebodyElse, somebodyElse), os.WriteFile(config, []byte(text), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	can := func(user uint32, args ...string) string {
		t.Helper()
		said, err := as(t, user, dir, append(args, "--config", config)...)
		if err != nil {
			t.Errorf("user %d: %v: %v\n%s", user, args, err, said)
		}
		return said
	}
	file := filepath.Join(dir, "backup.tar.gz")
	for _, command := range [][]string{
		{"cron", "add", "web:somebody", "every day at 9:00", "tea"}, // makes the store
		{"doctor"}, // makes the workspace
		{"chat"},   // makes the token, and runs the bot
		{"session", "list"},
		{"backup", file},
		{"restore", "--force", file},
	} {
		said := can(0, command...)
		if left := notOf(t, somebodyElse, data); len(left) > 0 {
			t.Errorf("bot %v by root leaves %q", command, left)
		}
		if command[0] == "doctor" && !strings.Contains(said, "skip  sandbox: landlock works on this machine") {
			t.Errorf("the doctor by root says\n%s", said)
		}
	}
	if said := can(somebodyElse, "cron", "list"); !strings.Contains(said, "tea") {
		t.Errorf("the bot's user sees\n%s", said)
	}
	can(somebodyElse, "chat")
}

// Only what root made meanwhile is given back.
func TestGiveBack(t *testing.T) {
	needRoot(t)
	dir, outside := t.TempDir(), t.TempDir()
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }
	must(os.Chown(dir, somebodyElse, somebodyElse), write(dir+"/before"), write(outside+"/linked"), write(outside+"/named"))
	giveBack, err := app.Borrow(dir)
	must(err, write(dir+"/new"), os.Mkdir(dir+"/folder", 0o700), write(dir+"/folder/new"), write(dir+"/a third's"), os.Chown(dir+"/a third's", 1, 1),
		os.Symlink(outside, dir+"/way out"), os.Symlink(outside+"/linked", dir+"/link"), os.Link(outside+"/named", dir+"/second name"))
	must(giveBack())
	if left := fmt.Sprint(notOf(t, somebodyElse, dir)); left != "[/a third's /before /link /second name /way out]" {
		t.Errorf("not given back: %s", left)
	}
	if left := notOf(t, 0, outside); len(left) > 0 {
		t.Errorf("given away outside of the folder: %q", left)
	}
}
