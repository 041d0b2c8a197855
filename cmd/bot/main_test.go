package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/portlock"
	"magpie/tools/shell/sandbox"
)

// childVariable makes the test binary be the program.
const childVariable = "MAGPIE_TEST_CHILD"

func TestMain(m *testing.M) {
	if sandbox.Helper() {
		return
	}
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// bot prepares the program as a child process in a folder of its own.
func bot(t *testing.T, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	// Every wait for a child has an end.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append([]string{childVariable + "=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + dir}, env...)
	return cmd
}

func run(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return fed(t, nil, dir, env, args...)
}

// fed is run with a standard input.
func fed(t *testing.T, in io.Reader, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := bot(t, dir, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Every command that only holds others refuses to be run, with and without a
// word that is none of them, and says what there is.
func TestGroupsOfCommands(t *testing.T) {
	groups := 0
	for _, c := range (&program{}).root().Commands() {
		if !c.HasSubCommands() {
			continue
		}
		groups++
		for _, args := range [][]string{{c.Name()}, {c.Name(), "foo"}} {
			var out, errs bytes.Buffer
			code := (&program{out: &out, err: &errs}).main(t.Context(), args)
			if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), c.Name()+" wants one of "+c.Commands()[0].Name()+", ") {
				t.Errorf("%q: exit code %d, %q and %q", args, code, out.String(), errs.String())
			}
		}
	}
	if groups < 9 {
		t.Errorf("%d groups", groups)
	}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("good.yaml", "timezone: Asia/Shanghai\n")
	write("bad.yaml", "timezon: x\nchannels:\n  tg: {}\n  telegram:\n    tokn: 1:hunter2\n")
	write("warn.yaml", "llm: {models: [{provider: openai, model: m}]}\n")
	qq := "channels: {qq: {app_id: '102000000', app_secret: s3cret, upload: oss}}\n"
	write("qq.yaml", qq)
	write("qq-oss.yaml", qq+"media: {oss: {endpoint: 'https://oss-cn-hangzhou.aliyuncs.com', bucket: magpie, access_key_id: a, access_key_secret: b}}\n")
	write("adapter.yaml", "channels:\n  qq:\n    app_id: x\n    app_secret: ${QQ_SECRET:-}\n  telegram: {token: '${TG}'}\n")
	write(".env", "TG=\"hunter2 hunter2\"\n")
	write("tools.yaml", "tools:\n  enabled: ['*', -http_*, -bash, -read_flie, -mcp_git_log]\n  policy:\n  - {tool: remind, action: ask}\n  - {tool: exce, action: deny}\n")
	write("names.yaml", "tools: {enabled: ['*', -http_*, -bash, -mcp_git_log], policy: [{tool: screenshot, action: ask}]}\n")
	write("folders.yaml", "tools:\n  allowed_paths: [open, gone/deep, quiet.yaml, quiet.yaml/x, ' ']\n")
	folders := []string{
		"folders.yaml:2:25: tools.allowed_paths[1]: there is no folder gone/deep; make it (mkdir -p), or take it out of the list",
		"folders.yaml:2:36: tools.allowed_paths[2]: quiet.yaml is a file, or stands below one; want a folder",
		"tools.allowed_paths[3]: quiet.yaml/x is a file, or stands below one; want a folder",
		"tools.allowed_paths[4]: ",
	}
	write("nothing.yaml", "tools:\n  allowed_paths: ['${NOBODY:-}']\n")
	if err := os.Mkdir(filepath.Join(dir, "open"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("quiet.yaml", "web: {listen: '127.0.0.1:1'}\n")
	for _, c := range []struct {
		args        string
		code        int
		out, errors []string // each a part of the output; none means that it is empty
	}{
		{"version", 0, []string{"magpie ", "go1."}, nil},
		{"--version", 0, []string{"magpie ", "go1."}, nil},
		{"run --help", 0, []string{"cron fires reminders and jobs"}, nil},
		{"--help", 0, []string{"--config", "config", "health", "run", "--roles"}, nil},
		{"config check", 0, []string{"no configuration file: the defaults are used"}, nil},
		{"config check --config good.yaml", 0, []string{"good.yaml: ok\n"}, nil},
		{"config check --config warn.yaml", 0, []string{"warn.yaml: ok\n"}, []string{"warning: model main:"}},
		{"config check --config bad.yaml", 2, nil, []string{
			"bad.yaml:1:1: timezon: unknown key; did you mean timezone?",
			`bad.yaml:3:7: channels.tg.type: there is no channel type "tg"; known: `,
			"bad.yaml:5:5: channels.telegram.tokn: unknown key; did you mean token?",
		}},
		{"config check --config qq.yaml", 2, nil, []string{"channels.qq", "media.oss"}},
		{"config check --config adapter.yaml", 2, nil, []string{
			"adapter.yaml:3:13: channels.qq.app_id: want digits only",
			"adapter.yaml:4:17: channels.qq.app_secret: missing; ",
			"; the variable QQ_SECRET is not set\n",
			"adapter.yaml:5:21: channels.telegram.token: holds characters that no token has; ",
			"; the variable TG holds a text\n",
		}},
		{"config check --config qq-oss.yaml", 0, []string{"qq-oss.yaml: ok\n"}, nil},
		{"config check --config tools.yaml", 2, nil, []string{
			`tools.yaml:2:34: tools.enabled[3]: there is no tool "read_flie"; did you mean "read_file"?`,
			`tools.yaml:5:12: tools.policy[1].tool: there is no tool "exce"; did you mean "exec"?`,
		}},
		{"config check --config names.yaml", 0, []string{"names.yaml: ok\n"}, nil},
		{"run --config tools.yaml", 2, nil, []string{"tools.yaml:5:12: tools.policy[1].tool"}},
		{"config check --config folders.yaml", 2, nil, folders},
		{"run --config folders.yaml", 2, nil, folders},
		{"config check --config nothing.yaml", 2, nil, []string{"tools.allowed_paths[0]: want a folder, got nothing; take the entry out; the variable NOBODY is not set"}},
		{"doctor --config folders.yaml", 1, append([]string{"FAIL  allowed folders: "}, folders...), []string{"problems found: "}},
		{"doctor --config tools.yaml", 1, []string{"FAIL  configuration: tools.yaml:2:34: "}, []string{"problems found: 1"}},
		{"config check --config missing.yaml", 2, nil, []string{"missing.yaml: cannot be read: no such file or directory"}},
		{"run --config bad.yaml", 2, nil, []string{"bad.yaml:1:1: timezon"}},
		{"config show --config good.yaml", 0, []string{"timezone: Asia/Shanghai\n", "provider: offline", "channels:\n  web:\n    type: web"}, nil},
		{"config schema", 0, []string{`"$schema"`, `"api_base"`}, nil},
		{"config", 2, nil, []string{"bot: config wants one of check, schema, show; see bot config --help\n"}},
		{"config foo", 2, nil, []string{`bot: config wants one of check, schema, show, got "foo"; see bot config --help`}},
		{"cron foo", 2, nil, []string{`bot: cron wants one of add, done, export, list, move, pause, remove, rename, resume, run, skip, snooze, undo, update, got "foo"; see bot cron --help`}},
		{"help cron", 0, []string{"Usage:", "bot cron [command]", "resume"}, nil},
		{"help cron foo", 2, nil, []string{`bot: there is no command "cron foo"; see bot help --help`}},
		{"help foo", 2, nil, []string{`bot: there is no command "foo"; see`}},
		{"confg", 2, nil, []string{`bot: unknown command "confg" for "bot"; see bot --help`}},
		{"version x", 2, nil, []string{`bot: version takes no argument, got "x"; see bot version --help`}},
		{"memory add web:person:owner", 2, nil, []string{"bot: want bot memory add OWNER TEXT...; see bot memory add --help\n"}},
		{"memory remove web:person:owner", 2, nil, []string{"bot: want bot memory remove OWNER NUMBER; see"}},
		{"memory list a b", 2, nil, []string{"bot: want bot memory list [OWNER]; see"}},
		{"--nonsense", 2, nil, []string{"bot: unknown flag: --nonsense; see bot --help\n"}},
		{"run --roles gateway,agnt", 2, nil, []string{`--roles: want any of gateway, agent, cron, got "agnt"`}},
		{"--roles agent", 2, nil, []string{"--roles agent needs an external bus that the other processes share: set bus.url"}},
		{"health --config quiet.yaml", 1, nil, []string{"bot: no bot answers at http://127.0.0.1:1/healthz: "}},
		{"health --config missing.yaml", 2, nil, []string{"missing.yaml: cannot be read"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, stdout, stderr := run(t, dir, nil, strings.Fields(c.args)...)
			if code != c.code {
				t.Errorf("exit code: want %d, got %d", c.code, code)
			}
			parts(t, "stdout", stdout, c.out)
			parts(t, "stderr", stderr, c.errors)
			if strings.Contains(stderr, "hunter2") {
				t.Error("a secret is shown")
			}
		})
	}
}

func parts(t *testing.T, name, got string, want []string) {
	t.Helper()
	if want == nil && got != "" {
		t.Errorf("%s: want nothing, got %q", name, got)
	}
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("%s: want %q in\n%s", name, part, got)
		}
	}
}

func TestSchemaIsJSON(t *testing.T) {
	_, out, _ := run(t, t.TempDir(), nil, "config", "schema")
	if !json.Valid([]byte(out)) {
		t.Error("config schema does not print JSON")
	}
}

// TestRun starts the bot, asks for its health and ends it by each signal.
func TestRun(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			config := fmt.Sprintf("web: {listen: '%s'}\n", freeAddress(t))
			if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd, said := running(t, dir)
			if err := errors.Join(cmd.Process.Signal(sig), cmd.Wait()); err != nil {
				t.Errorf("ended by %s: %v\n%s", sig, err, said)
			}
			if code, _, _ := run(t, dir, nil, "health"); code != exitFailed {
				t.Errorf("health of a stopped bot: exit code %d", code)
			}
		})
	}
}

// running starts the bot of a folder and waits until it answers. What it says can
// be read after its end.
func running(t *testing.T, dir string, env ...string) (cmd *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	cmd, said = bot(t, dir, env), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(time.Minute)
	for {
		code, _, stderr := run(t, dir, env, "health")
		if code == exitDone {
			return cmd, said
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("the bot never answered: %s", stderr)
		}
	}
}

func freeAddress(t *testing.T) string { return portlock.Free(t) }
