package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// childVariable makes the test binary be the program.
const childVariable = "MAGPIE_TEST_CHILD"

func TestMain(m *testing.M) {
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append([]string{childVariable + "=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + dir}, env...)
	return cmd
}

func run(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := bot(t, dir, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
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
	write("quiet.yaml", "web: {listen: '127.0.0.1:1'}\n")
	for _, c := range []struct {
		args        string
		code        int
		out, errors []string // each a part of the output; none means that it is empty
	}{
		{"version", 0, []string{"magpie ", "go1."}, nil},
		{"--help", 0, []string{"--config", "config", "health", "run", "--roles"}, nil},
		{"config check", 0, []string{"no configuration file: the defaults are used"}, nil},
		{"config check --config good.yaml", 0, []string{"good.yaml: ok\n"}, nil},
		{"config check --config warn.yaml", 0, []string{"warn.yaml: ok\n"}, []string{"warning: model main:"}},
		{"config check --config bad.yaml", 2, nil, []string{
			"bad.yaml:1:1: timezon: unknown key; did you mean timezone?",
			`bad.yaml:3:7: channels.tg.type: there is no channel type "tg"; known: `,
			"bad.yaml:5:5: channels.telegram.tokn: unknown key; did you mean token?",
		}},
		{"config check --config missing.yaml", 2, nil, []string{"missing.yaml: cannot be read: no such file or directory"}},
		{"run --config bad.yaml", 2, nil, []string{"bad.yaml:1:1: timezon"}},
		{"config show --config good.yaml", 0, []string{"timezone: Asia/Shanghai\n", "provider: offline", "channels:\n  web:\n    type: web"}, nil},
		{"config schema", 0, []string{`"$schema"`, `"api_base"`}, nil},
		{"config", 2, nil, []string{"bot: config wants one of check, show, schema; see bot --help\n"}},
		{"confg", 2, nil, []string{`bot: unknown command "confg" for "bot"; see bot --help`}},
		{"version x", 2, nil, []string{`bot: unknown command "x" for "bot version"`}},
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
			cmd := bot(t, dir, nil)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			healthy(t, dir)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("ended by %s: %v\n%s", sig, err, out.String())
			}
			if code, _, _ := run(t, dir, nil, "health"); code != exitFailed {
				t.Errorf("health of a stopped bot: exit code %d", code)
			}
		})
	}
}

// healthy waits until the bot of that folder answers.
func healthy(t *testing.T, dir string) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(30 * time.Second)
	for {
		code, _, stderr := run(t, dir, nil, "health")
		if code == exitDone {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("the bot never answered: %s", stderr)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestReachable(t *testing.T) {
	got := map[string]string{}
	for _, listen := range []string{"127.0.0.1:80", "0.0.0.0:80", ":80", "[::]:80", "[::1]:80", "example:80"} {
		got[listen] = reachable(listen)
	}
	want := map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:80": "127.0.0.1:80", ":80": "127.0.0.1:80", "[::]:80": "[::1]:80", "[::1]:80": "[::1]:80", "example:80": "example:80",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reachable (-want +got):\n%s", diff)
	}
}
