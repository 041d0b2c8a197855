package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/internal/need"
	"magpie/tools"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/shell"
	"magpie/tools/shell/sandbox"
	"magpie/tools/tooltest"
)

func TestMain(m *testing.M) {
	if sandbox.Helper() {
		return
	}
	goleak.VerifyTestMain(m)
}

// rig is the tool in an executor, on a workspace of its own.
type rig struct {
	t     *testing.T
	dir   string // workspace
	fence *fence.Fence
	shell *shell.Shell
	exec  *tools.Executor
}

func build(t *testing.T, cfg shell.Config, deps shell.Deps) *rig {
	t.Helper()
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "workspace")}
	var err error
	if r.fence, err = fence.New(r.dir, &fence.Options{Allowed: cfg.Allowed}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.fence.Close() })
	cfg.Workspace, deps.Fence = r.dir, r.fence
	if r.shell, err = shell.New(cfg, deps); err != nil {
		t.Fatal(err)
	}
	reg := &tools.Registry{}
	if err := reg.Register(r.shell.Tool()); err != nil {
		t.Fatal(err)
	}
	r.exec = tools.NewExecutor(reg, &tools.Options{Keep: fs.Keep(r.fence)})
	return r
}

func (r *rig) run(args string) tools.Result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	return r.exec.Run(ctx, tools.Scope{CallID: "c1", Lang: "en"}, "exec", args)
}

func (r *rig) command(command string) tools.Result {
	r.t.Helper()
	raw, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.run(string(raw))
}

// without leaves the duration out, which differs.
func without(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "duration: ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func TestConformance(t *testing.T) {
	r := build(t, shell.Config{}, shell.Deps{})
	if err := os.Mkdir(filepath.Join(r.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	tooltest.Run(t, r.shell.Tool(), &tooltest.Options{
		Good: []string{`{"command":"echo hi","working_dir":"sub","timeout":120}`}, Slow: `{"command":"sleep 60"}`, Workspace: r.dir,
	})
	spec := r.shell.Tool().Spec()
	if spec.Effect != tools.Acts || spec.Main != "command" || spec.Timeout >= 0 {
		t.Errorf("spec %+v", spec)
	}
}

func TestAnswers(t *testing.T) {
	r := build(t, shell.Config{}, shell.Deps{})
	if err := os.MkdirAll(filepath.Join(r.dir, "子", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"command":"echo 你好"}`:                             "exit_code: 0\nstdout:\n你好",
		`{"cmd":"echo a; echo b >&2; exit 3"}`:              "exit_code: 3\nstdout:\na\nstderr:\nb",
		`{"command":"true"}`:                                "exit_code: 0\n(no output)",
		`{"command":"kill -9 $$"}`:                          "exit_code: -1 (ended by a signal: killed)\n(no output)",
		`{"command":"pwd","working_dir":"子/b"}`:             "exit_code: 0\nstdout:\n" + real + "/子/b",
		`{"command":"pwd","workingDir":"子"}`:                "exit_code: 0\nstdout:\n" + real + "/子",
		`{"command":"pwd","cwd":"."}`:                       "exit_code: 0\nstdout:\n" + real,
		fmt.Sprintf(`{"command":"pwd","workdir":%q}`, real): "exit_code: 0\nstdout:\n" + real,
		`{"command":"cat; read x; echo $?"}`:                "exit_code: 0\nstdout:\n1",
		`{"command":"echo a\necho b"}`:                      "exit_code: 0\nstdout:\na\nb",
		`{"command":"printf 'a\\377b'"}`:                    "exit_code: 0\nstdout:\na\uFFFDb",
		`{"command":"echo x","timeout":"95"}`:               "exit_code: 0\nstdout:\nx",
		`{"command":"echo x","timeoutMs":95000}`:            "exit_code: 0\nstdout:\nx",
		`{"command":"sleep 30 & echo started"}`:             "exit_code: 0\nstdout:\nstarted",
		`{"command":"cd 子; pwd"}`:                           "exit_code: 0\nstdout:\n" + real + "/子",
		`{"command":"echo x","working_dir":"../.."}`:        "error (security)",
		`{"command":"echo x","working_dir":"/etc"}`:         "error (security)",
		`{"command":"echo x","working_dir":"none"}`:         "error (not_found)",
		`{"command":"echo x","working_dir":"file"}`:         "error (invalid_arguments): working_dir",
		`{"command":"   "}`:                                 "error (invalid_arguments): the command is empty",
		`{"command":"echo 'open"}`:                          "error (invalid_arguments): the command is not valid shell",
		`{"command":"rm -rf x"}`:                            "error (security): the command was not run: it deletes recursively",
		`{"command":"echo","timeout":-1}`:                   "error (invalid_arguments)",
		`{"command":"echo","timeout":1,"timeout_ms":5}`:     "error (invalid_arguments): timeout and timeout_ms",
		`{"command":"` + strings.Repeat("x", 70_000) + `"}`: "error (invalid_arguments): the command is longer",
		`{"command":"no-such-program-here; echo code $?"}`:  "exit_code: 0\nstdout:\ncode 127\nstderr:\n",
	} {
		res := r.run(args)
		if got := without(res.Text); got != want && (!strings.HasPrefix(got, want) || !strings.HasPrefix(want, "error") && !strings.HasSuffix(want, "stderr:\n")) {
			t.Errorf("%.100s\ngot  %q\nwant %q", args, got, want)
		}
		if res.OK == strings.HasPrefix(want, "error") {
			t.Errorf("%.100s: OK is %v", args, res.OK)
		}
	}
}

// timeout: seconds, from 10000 on milliseconds, timeout_ms; the longest is the
// configuration's. All are longer than a slow machine takes to start a command.
func TestTimeout(t *testing.T) {
	r := build(t, shell.Config{Limits: shell.Limits{Timeout: 12500 * time.Millisecond, MaxTimeout: 13 * time.Second}}, shell.Deps{})
	var all sync.WaitGroup
	defer all.Wait()
	for args, want := range map[string]string{
		`{"command":"echo before; echo err >&2; (setsid sleep 60 &); sleep 60"}`: "stopped after 12.5s",
		`{"command":"echo before; echo err >&2; sleep 60","timeout":11.8}`:       "stopped after 11.8s",
		`{"command":"echo before; echo err >&2; sleep 60","timeout_ms":12250}`:   "stopped after 12.25s",
		`{"command":"echo before; echo err >&2; sleep 60","timeout":9999}`:       "stopped after 13s",
		`{"command":"echo before; echo err >&2; sleep 60","timeout":1e300}`:      "stopped after 13s",
	} {
		all.Go(func() {
			res := r.run(args)
			if res.OK || res.Err != tools.Timeout || !strings.Contains(res.Text, want) {
				t.Errorf("%s: %v %s %s", args, res.OK, res.Err, res.Text)
			}
			if !strings.Contains(res.Text, "timed_out: true") || !strings.Contains(res.Text, "stdout:\nbefore\nstderr:\nerr") {
				t.Errorf("%s: what it said is lost: %s", args, res.Text)
			}
		})
	}
}

// From 10000 on the number is milliseconds: a tool that read seconds would
// wait for its longest time.
func TestTimeoutInMilliseconds(t *testing.T) {
	r := build(t, shell.Config{Limits: shell.Limits{MaxTimeout: time.Hour}}, shell.Deps{})
	for in, want := range map[string]time.Duration{
		`{}`: shell.DefaultTimeout, `{"timeout":9999}`: 3600 * time.Second, `{"timeout":10000}`: 10 * time.Second, `{"timeout":90000}`: 90 * time.Second,
		`{"timeout":0.5}`: 500 * time.Millisecond, `{"timeout_ms":20000}`: 20 * time.Second, `{"timeout_ms":0.0001}`: time.Millisecond, `{"timeout":0}`: shell.DefaultTimeout,
	} {
		if got, err := r.shell.Limit(in); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
}

// A long output loses its middle; the whole is in a file (TOOL-14).
func TestLongOutput(t *testing.T) {
	r := build(t, shell.Config{Limits: shell.Limits{MaxOutput: 1000}}, shell.Deps{})
	res := r.command("echo first; seq 1 20000; echo last; echo problem >&2")
	for _, want := range []string{"exit_code: 0", "first", "last", "stderr:\nproblem", "left out", "tool_output/"} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("%q is missing in\n%s", want, res.Text)
		}
	}
	if n := len([]rune(res.Text)); n > 1000 {
		t.Errorf("%d characters", n)
	}
	_, rest, _ := strings.Cut(res.Text, "the whole is in ")
	name, _, _ := strings.Cut(rest, ",")
	whole, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil || !strings.Contains(string(whole), "\n10000\n10001\n") {
		t.Errorf("%s: %v, %d bytes", name, err, len(whole))
	}
	// Endless output does not fill the memory.
	if res := r.command("head -c 30000000 /dev/zero | tr '\\0' 'x'; echo end"); !res.OK || !strings.Contains(res.Text, "end") {
		t.Errorf("much output: %.300s", res.Text)
	}
}

// Without a sandbox the guard keeps paths inside; with restrict_to_workspace
// off it does not.
func TestSandboxOff(t *testing.T) {
	r := build(t, shell.Config{Sandbox: sandbox.Off}, shell.Deps{})
	if res := r.command("cat /etc/passwd"); res.Err != tools.Security || !strings.Contains(res.Text, "outside the workspace") {
		t.Errorf("a path outside: %s", res.Text)
	}
	if res := r.command("echo x > a; cat ./a 2>/dev/null"); !res.OK || !strings.Contains(res.Text, "stdout:\nx") {
		t.Errorf("inside: %s", res.Text)
	}
	if !strings.HasPrefix(r.shell.Report().Text, "off") {
		t.Errorf("report %+v", r.shell.Report())
	}
	any := build(t, shell.Config{Sandbox: sandbox.Off, Rules: shell.Rules{Anywhere: true}}, shell.Deps{})
	if res := any.command("head -c 0 /etc/passwd && echo read"); !res.OK {
		t.Errorf("anywhere: %s", res.Text)
	}
}

// With a sandbox the guard leaves paths alone, and the sandbox does not.
func TestSandboxOn(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	r := build(t, shell.Config{Allowed: []string{shared}}, shell.Deps{})
	if r.shell.Report().Kind == sandbox.Off {
		need.Unmet(t, "%s", r.shell.Report().Text)
	}
	if res := r.command("cat " + outside + "/f; ls /usr/bin/env"); !strings.Contains(res.Text, "Permission denied") || strings.Contains(res.Text, "text") || !strings.Contains(res.Text, "stdout:\n/usr/bin/env") {
		t.Errorf("outside: %s", res.Text)
	}
	if res := r.command("echo x > " + shared + "/f && cat " + shared + "/f"); !strings.Contains(res.Text, "stdout:\nx") {
		t.Errorf("an allowed folder: %s", res.Text)
	}
}

func TestConfigured(t *testing.T) {
	r := build(t, shell.Config{Rules: shell.Rules{Deny: []string{"secret-word"}, Allow: []string{"echo .*", "rm -rf build"}, AllowOnly: true}}, shell.Deps{})
	if err := os.Mkdir(filepath.Join(r.dir, "build"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, c := range []string{"echo a", "rm -rf build", "ls", "echo secret-word"} {
		got[c] = r.command(c).OK
	}
	if d := cmp.Diff(map[string]bool{"echo a": true, "rm -rf build": true, "ls": false, "echo secret-word": false}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for name, cfg := range map[string]shell.Config{
		"deny":      {Workspace: r.dir, Rules: shell.Rules{Deny: []string{"("}}},
		"allow":     {Workspace: r.dir, Rules: shell.Rules{Allow: []string{"("}}},
		"workspace": {Workspace: filepath.Join(r.dir, "none")},
		"hidden":    {Workspace: r.dir, Hidden: []string{filepath.Join(r.dir, "build", "..")}},
		"sandbox":   {Workspace: r.dir, Sandbox: "jail"},
	} {
		if _, err := shell.New(cfg, shell.Deps{Fence: r.fence}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Where the network is open the words of a command tell what comes from there,
// also when it failed.
func TestUntrusted(t *testing.T) {
	r := build(t, shell.Config{Network: sandbox.Open, Limits: shell.Limits{Timeout: 300 * time.Millisecond}}, shell.Deps{})
	for command, want := range map[string]bool{"echo a": false, "curl --version": true, "curl --version; sleep 60": true, "cat inbox/x": true, "grep inboxes a": false, "cd downloads; ls": true} {
		if res := r.command(command); res.Untrusted != want {
			t.Errorf("%s: untrusted is %v", command, res.Untrusted)
		}
	}
}

// The guard's own files stand in the way of commands in every spelling.
func TestHidden(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	if err := os.WriteFile(file, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := build(t, shell.Config{Hidden: []string{file}}, shell.Deps{})
	for _, c := range []string{"cat " + file, "cd " + home + "; cat config.yaml", "cat < " + file} {
		if res := r.command(c); res.Err != tools.Security || strings.Contains(res.Text, "stdout") {
			t.Errorf("%s: %s", c, res.Text)
		}
	}
}
