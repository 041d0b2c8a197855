package app_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A memory limit that is too small is said in one line of the log, before the
// kernel kills the bot for it, and by the doctor in the same container, which
// the bot survives. A limit that fits is not spoken of.
func TestTooSmallAMemoryLimit(t *testing.T) {
	for _, c := range []struct {
		megabytes int
		exec      bool   // commands are tried at the start, in processes of their own
		env       string // GOMEMLIMIT
		says      string // in the log and by the doctor; "" nothing
		killed    bool   // may be
	}{
		{64, true, "", "", false},
		{32, true, "", "", false},
		{28, false, "", "the memory limit is 28 MiB, which is too small", false},
		{24, false, "", "the memory limit is 24 MiB, which is too small", false},
		{24, true, "", "the memory limit is 24 MiB, which is too small", true},
		{16, true, "", "the memory limit is 16 MiB, which is too small", true},
		{12, true, "", "the memory limit is 12 MiB, which is too small", true},
		{64, false, "48MiB", "", false},
		{64, false, "1GiB", "the memory limit is 64 MiB, and GOMEMLIMIT=1GiB is not below it", false},
		{64, false, "48", "GOMEMLIMIT=48 is too small", false},
	} {
		t.Run(fmt.Sprintf("%d MB, exec %v, GOMEMLIMIT=%s", c.megabytes, c.exec, c.env), func(t *testing.T) {
			cage := newCage(t, c.megabytes)
			dir, listen := t.TempDir(), freeAddr(t)
			text := fmt.Sprintf("web: {listen: %q}\ntools: {exec: {enabled: %v}}\n", listen, c.exec)
			if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			// The more processors, the more memory a program takes.
			env := []string{"GOMEMLIMIT=" + c.env, "GOMAXPROCS=2"}
			p := launchBy(t, cage.by(), dir, env, nil, "run")
			p.listen = listen
			p.await("the bot is ready, or killed", func() bool {
				status, _ := p.get("/readyz")
				return status == 200 && strings.Contains(p.log.String(), c.says) || p.gone()
			})
			if p.gone() && (!c.killed || p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) {
				t.Errorf("the bot has ended: %v", p.cmd.ProcessState)
			}
			told(t, "the log", p.log.String(), c.says)

			if p.gone() { // docker compose run, since there is nothing for exec
				cage = newCage(t, c.megabytes)
			}
			doctor := launchBy(t, cage.by(), dir, env, nil, "doctor")
			err := <-doctor.ended
			doctor.ended <- err
			if exit := (*exec.ExitError)(nil); (c.says == "") != (err == nil) || err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
				t.Errorf("the doctor ends with %v", err)
			}
			told(t, "the doctor", doctor.log.String(), c.says)
			if p.gone() && !c.killed {
				t.Error("the bot did not survive the doctor")
			}
		})
	}
}

// told looks for exactly one line that says something, and what is to be done.
func told(t *testing.T, who, said, want string) {
	t.Helper()
	advice, lines := "give it at least 32 MiB, 64 MiB for a hundred busy chats", 0
	if strings.Contains(want, "GOMEMLIMIT") {
		advice = "such as GOMEMLIMIT=48MiB"
	}
	for line := range strings.Lines(said) {
		if strings.Contains(line, "too small") || strings.Contains(line, "not below") {
			lines++
		}
	}
	switch {
	case want == "" && lines != 0:
		t.Errorf("%s speaks of a limit that fits:\n%s", who, said)
	case want != "" && (lines != 1 || !strings.Contains(said, want) || !strings.Contains(said, advice)):
		t.Errorf("want one line of %s that says %q, and %q:\n%s", who, want, advice, said)
	}
}
