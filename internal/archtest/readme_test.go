package archtest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/portlock"
)

// A block of commands in a README or the guide says after its language what
// becomes of it:
//
//	```sh check    it is run as a script and must end with 0
//	```sh ready    it is started, must print an address and end with 0 on Ctrl-C
//	```sh show     it is for reading: it needs an account, a download or hours
//
// One without a word is refused, so that nobody forgets to decide.
type block struct {
	file, verdict, script string
	line                  int
}

// languages are those of commands; other blocks are examples of text.
var languages = []string{"sh", "bash", "shell", "console"}

func blocks(file, text string) []block {
	var all []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open != nil:
			all = append(all, *open)
			open = nil
		case fence:
			language, verdict, _ := strings.Cut(info, " ")
			for _, l := range languages {
				if language == l {
					open = &block{file: file, line: i + 1, verdict: strings.TrimSpace(verdict)}
				}
			}
			if open == nil {
				open = &block{file: file, line: i + 1, verdict: "text"}
			}
		case open != nil:
			open.script += line + "\n"
		}
	}
	return all
}

func TestBlocks(t *testing.T) {
	got := blocks("R", "a\n```sh check\nls\npwd\n```\n```yaml\na: b\n```\n  ```console\n  x\n  ```\n```sh show\nopen")
	want := []block{
		{"R", "check", "ls\npwd\n", 2}, {"R", "text", "a: b\n", 6}, {"R", "", "  x\n", 9},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// TestReadmeCommands runs what the README and the guide tell a newcomer to type,
// in a copy of the tree.
func TestReadmeCommands(t *testing.T) {
	if os.Getenv("MAGPIE_TEST_REQUIRE") == "" {
		t.Skip("the commands of the README and the guide are run only when MAGPIE_TEST_REQUIRE is set: they build and start the program")
	}
	portlock.Hold(t)
	dir := checkout(t)
	for _, file := range []string{"README.md", "README.zh.md", "docs/guide.md", "docs/guide.zh.md"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Errorf("every reader needs one: %v", err)
			continue
		}
		for _, b := range blocks(file, string(text)) {
			t.Run(b.file+" "+b.verdict+" "+strings.SplitN(b.script, "\n", 2)[0], func(t *testing.T) {
				switch b.verdict {
				case "check":
					check(t, dir, b)
				case "ready":
					ready(t, dir, b)
				case "show", "text":
				default:
					t.Errorf("%s:%d: want one of check, ready, show after the language, got %q", b.file, b.line, b.verdict)
				}
			})
		}
	}
}

// checkout copies what git knows into a folder of the test.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const copying = `cd "$1" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$2"`
	out, err := exec.CommandContext(t.Context(), "bash", "-c", copying, "copy", root(t), dir).CombinedOutput()
	if err != nil {
		t.Fatalf("copy the tree: %v\n%s", err, out)
	}
	return dir
}

// script prepares a block in a process group of its own, without the keys of
// whoever runs the test.
func script(ctx context.Context, dir string, b block) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", b.script)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasSuffix(name, "_API_KEY") && name != "BOT_CONFIG" && name != "MAGPIE_TEST_REQUIRE" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

func check(t *testing.T, dir string, b block) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if out, err := script(ctx, dir, b).CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %v\n%s", b.file, b.line, err, out)
	}
}

func ready(t *testing.T, dir string, b block) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := script(ctx, dir, b)
	out := &watch{want: []byte("http://"), seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-out.seen:
	case err := <-ended:
		t.Fatalf("%s:%d: ended before it was ready: %v\n%s", b.file, b.line, err, out)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Error(err)
	}
	err := <-ended
	// The go command ends with 1 after Ctrl-C whatever the program said; a
	// program that failed makes it write "exit status".
	viaGo := strings.Contains(b.script, "go run") && !strings.Contains(out.String(), "exit status") && cmd.ProcessState.ExitCode() == 1
	if err != nil && !viaGo {
		t.Errorf("%s:%d: ended by Ctrl-C: %v\n%s", b.file, b.line, err, out)
	}
}

// watch collects output and tells when a word has come.
type watch struct {
	mu   sync.Mutex
	text bytes.Buffer
	want []byte
	seen chan struct{}
	once sync.Once
}

func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if bytes.Contains(w.text.Bytes(), w.want) {
		w.once.Do(func() { close(w.seen) })
	}
	return len(p), nil
}

func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
