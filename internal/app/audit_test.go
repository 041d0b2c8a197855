package app_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// The audit log hides every configured secret, and `bot audit verify` says
// whether it is whole: asked of the running bot, and of its files afterwards.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Results()) > 0 {
			return modelserver.Echo(r)
		}
		return modelserver.Answer{Calls: []modelserver.Call{{
			Name: "write_file", Args: `{"path": "a.txt", "content": "tok ` + w.tg.Token() + ` and sk-test, and more"}`,
		}}}
	})
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.say("write it down")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
	w.verify(path, 0, "the log is whole")
	w.command(path, 0, "write_file  telegram/1001", "audit", "tail", "-n", "1")
	clean(t, b.signal(syscall.SIGTERM))
	w.verify(path, 0, "the log is whole")
	w.command(path, 0, "tok ***", "audit", "tail")
	w.command(path, 2, "want 1 to 500", "audit", "tail", "-n", "0")

	logs, err := filepath.Glob(filepath.Join(filepath.Dir(path), "audit_logs", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("audit logs %v, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{w.tg.Token(), "sk-test"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the audit log holds %s", secret)
		}
	}
	changed := strings.Replace(string(text), "and more", "and less", 1)
	if changed == string(text) {
		t.Fatal("the call is not in the log")
	}
	if err := os.WriteFile(logs[0], []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	w.verify(path, 1, "the audit log is not what was written")
	w.command(path, 0, "1 lines are not what was written", "audit", "tail")
}

// verify runs the command and checks its exit code and what it says.
func (w *world) verify(config string, code int, says string) {
	w.t.Helper()
	w.command(config, code, says, "audit", "verify")
}

// command runs a command of the program and checks its exit code and what it
// says.
func (w *world) command(config string, code int, says string, args ...string) {
	w.t.Helper()
	w.fed(config, nil, code, says, args...)
}

// fed is command with a standard input.
func (w *world) fed(config string, stdin io.Reader, code int, says string, args ...string) {
	w.t.Helper()
	b := launchFed(w.t, filepath.Dir(config), nil, stdin, append(args, "--config", config)...)
	b.ended <- receive(w.t, b.ended, "the end of the command")
	if got := b.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(b.log.String(), says) {
		w.t.Errorf("bot %v ends with %d, want %d and %q:\n%s", args, got, code, says, b.log.String())
	}
}
