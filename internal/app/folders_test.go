package app_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/need"
)

// somebodyElse is a user without rights and without a name.
const somebodyElse = 65532

// asStranger runs the program as the user of the images and returns what it
// says.
func asStranger(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	return as(t, somebodyElse, dir, args...)
}

// as runs the program as a user.
func as(t *testing.T, user uint32, dir string, args ...string) (string, error) {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	// The folder of the tests is closed to others.
	here := filepath.Join(dir, "bot")
	if err := os.Link(exe, here); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), here, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// needRoot skips a test that only root can make.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		need.Unmet(t, "only root can start a program as another user")
	}
}

// strangersFolder is a folder that the user of the images can look into; it
// belongs to root.
func strangersFolder(t *testing.T) string {
	t.Helper()
	needRoot(t)
	dir, err := os.MkdirTemp("", "magpie-folders-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// advice is what a program says to run.
var advice = regexp.MustCompile(`run: (.*?) \(as root`)

// obey runs as root what the program has said to run.
func obey(t *testing.T, said string) {
	t.Helper()
	match := advice.FindStringSubmatch(said)
	if match == nil {
		t.Fatalf("nothing to run is said:\n%s", said)
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", match[1]).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", match[1], err, out)
	}
}

func contains(t *testing.T, who, said string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("%s says\n%s\nwant it to hold %q", who, said, want)
		}
	}
}

// A volume that belongs to somebody else: the bot says which, whose it is and
// what to run, and the doctor says the same. It helps, and changes nothing
// above the bot's folder.
func TestFolderOfSomebodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		// of is the path that is named, below the test's folder; run what is said.
		of, run string
	}{
		"the volume":            {func(dir string) error { return os.Mkdir(dir+"/data", 0o755) }, "data", "chown -R 65532:65532 %s/data"},
		"the folder above":      {func(string) error { return nil }, "data", "install -d -o 65532 -g 65532 -m 700 %s/data"},
		"a file of an old root": {theirStore, "data/bus/lock", "chown -R 65532:65532 %s/data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := strangersFolder(t)
			config := filepath.Join(dir, "config.yaml")
			text := fmt.Sprintf("data_dir: %s/data\nweb: {listen: %q}\n", dir, freeAddr(t))
			if err := errors.Join(c.make(dir), os.WriteFile(config, []byte(text), 0o644), os.Chmod(config, 0o644)); err != nil {
				t.Fatal(err)
			}
			var said string
			for _, command := range []string{"run", "doctor"} {
				var err error
				if said, err = asStranger(t, dir, command, "--config", config); err == nil {
					t.Errorf("%s: works", command)
				}
				contains(t, command, said, filepath.Join(dir, c.of)+" cannot be written by this user (uid 65532, gid 65532)",
					"belongs to uid 0, gid 0", "run: "+fmt.Sprintf(c.run, dir)+" (")
			}
			obey(t, said)
			said, _ = asStranger(t, dir, "doctor", "--config", config)
			if strings.Contains(said, "cannot be written") || !strings.Contains(said, "ok    store") {
				t.Errorf("after that the doctor says\n%s", said)
			}
			info, err := os.Stat(dir)
			if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode().Perm() != 0o755 {
				t.Errorf("the folder above has changed: %v, %v", info, err)
			}
		})
	}
}

// A further folder of the tools that is not for this user: the key is named, and
// the exit code is the one after which nobody starts the bot again.
func TestAllowedFolderOfSomebodyElse(t *testing.T) {
	t.Parallel()
	dir := strangersFolder(t)
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("data_dir: %s/data\nweb: {listen: %q}\ntools: {allowed_paths: [%[1]s/theirs, %[1]s/theirs/below]}\n", dir, freeAddr(t))
	if err := errors.Join(os.MkdirAll(dir+"/theirs/below", 0o700), os.Mkdir(dir+"/data", 0o700), os.Chown(dir+"/data", 65532, 65532),
		os.WriteFile(config, []byte(text), 0o644), os.Chmod(config, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run"}, {"config", "check"}, {"doctor"}} {
		said, err := asStranger(t, dir, append(args, "--config", config)...)
		contains(t, args[0], said, "tools.allowed_paths[0]: "+dir+"/theirs cannot be read by this user (uid 65532, gid 65532)", "tools.allowed_paths[1]: ",
			"belongs to uid 0", "let this user read and enter it, or take it out of the list")
		var ended *exec.ExitError
		if !errors.As(err, &ended) || args[0] != "doctor" && ended.ExitCode() != 2 {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// A folder in one that cannot be entered: whose that is and what opens it.
func TestFolderOutOfReach(t *testing.T) {
	t.Parallel()
	dir := strangersFolder(t)
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("data_dir: %s/closed/data\nweb: {listen: %q}\n", dir, freeAddr(t))
	if err := errors.Join(os.Mkdir(dir+"/closed", 0o700), os.WriteFile(config, []byte(text), 0o644), os.Chmod(config, 0o644)); err != nil {
		t.Fatal(err)
	}
	said, _ := asStranger(t, dir, "doctor", "--config", config)
	contains(t, "doctor", said, dir+"/closed belongs to uid 0, gid 0, with mode 0700", "name a place that this user can reach, or run: chmod a+x "+dir+"/closed (as root)")
	if strings.Contains(said, "chown") {
		t.Errorf("a folder that is not the bot's is to be given away:\n%s", said)
	}
	obey(t, said)
	said, _ = asStranger(t, dir, "doctor", "--config", config)
	obey(t, said)
	said, _ = asStranger(t, dir, "doctor", "--config", config)
	contains(t, "doctor", said, "ok    data folder")
}

// A mounted file that only another user may read: whose it is and what to run,
// and that helps. A file of variables counts when one is missed; the doctor
// wants it to be readable in any case.
func TestFileOfSomebodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		closed string // the file, which root alone may read
		text   string
		says   []string
		run    string
		starts bool
	}{
		"the configuration": {
			"config.yaml", "",
			[]string{"config.yaml: cannot be read by this user (uid 65532, gid 65532): "},
			"chgrp 65532 %[1]s && chmod 640 %[1]s", false,
		},
		"the variables": {
			".env", "log: {level: '${LEVEL}'}",
			[]string{".env: cannot be read by this user (uid 65532, gid 65532): ", "log.level: the variable LEVEL is not set"},
			"chown 65532:65532 %[1]s && chmod 600 %[1]s", false,
		},
		"the variables of a channel, without a default": {
			".env", "channels: {qq: {app_id: '1', app_secret: '${LEVEL}'}}",
			[]string{".env: cannot be read by this user", "channels.qq.app_secret: the variable LEVEL is not set"},
			"chown 65532:65532 %[1]s && chmod 600 %[1]s", false,
		},
		"the variables of a channel": {
			".env", "channels: {qq: {app_id: '1', app_secret: '${LEVEL:-}'}}",
			[]string{".env: cannot be read by this user", "channels.qq.app_secret: "},
			"chown 65532:65532 %[1]s && chmod 600 %[1]s", false,
		},
		"variables that nobody misses": {
			".env", "",
			[]string{".env cannot be read by this user"},
			"chown 65532:65532 %[1]s && chmod 600 %[1]s", true,
		},
		"a secret": {
			"secret", "channels: {web: {}}\nmedia: {transcribe: {base_url: 'http://127.0.0.1:1', model: m, api_key_file: secret}}",
			[]string{"media.transcribe.api_key_file: the secret cannot be read by this user"},
			"chown 65532:65532 %[1]s && chmod 600 %[1]s", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := strangersFolder(t)
			if err := errors.Join(os.Mkdir(dir+"/data", 0o700), os.Chown(dir+"/data", somebodyElse, somebodyElse)); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				"config.yaml": fmt.Sprintf("data_dir: %s/data\nweb: {listen: %q}\n%s\n", dir, freeAddr(t), c.text),
				".env":        "LEVEL=debug\n", "secret": "hidden\n",
			} {
				path, mode := filepath.Join(dir, file), os.FileMode(0o644)
				if file == c.closed {
					mode = 0o600
				}
				if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
					t.Fatal(err)
				}
			}
			run := "run: " + fmt.Sprintf(c.run, filepath.Join(dir, c.closed)) + " ("
			check, err := asStranger(t, dir, "config", "check")
			if (err == nil) != c.starts {
				t.Errorf("config check ends with %v and says\n%s", err, check)
			}
			if !c.starts {
				contains(t, "config check", check, append(c.says, run, "belongs to uid 0, gid 0, with mode 0600")...)
			}
			said, _ := asStranger(t, dir, "doctor")
			contains(t, "doctor", said, append(c.says, run, "FAIL  configuration: ")...)
			if _, todo, _ := strings.Cut(said, "what to do: "); c.closed != "secret" && !strings.HasPrefix(todo, run) {
				t.Errorf("the doctor's advice is not what to run:\n%s", said)
			}
			obey(t, said)
			if check, err := asStranger(t, dir, "config", "check"); err != nil && !strings.Contains(check, "qq") || strings.Contains(check, "cannot be read") {
				t.Errorf("after that config check says\n%s", check)
			}
		})
	}
}

// theirStore is a data folder that the bot owns, with a file that it does not.
func theirStore(dir string) error {
	for _, d := range []string{"data", "data/bus"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
		if err := os.Chown(filepath.Join(dir, d), somebodyElse, somebodyElse); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "data/bus/lock"), nil, 0o600)
}
