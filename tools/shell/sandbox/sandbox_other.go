//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// waitDelay is how long a killed command may take to be gone.
const waitDelay = 5 * time.Second

// Helper does what a helper process has to do. It is for Linux; here there are
// none, so it always returns false.
func Helper() bool { return false }

func (s *Sandbox) probe(Network) error { return errors.New("for Linux") }

func (s *Sandbox) try(kind Kind) (string, error) {
	return "", fmt.Errorf("%s is for Linux", kind)
}

// Run runs a command in a process group of its own and kills the group at the
// end. What leaves the group outlives it.
func (s *Sandbox) Run(ctx context.Context, c Command) (Outcome, error) {
	if _, err := s.networkOf(c); err != nil {
		return Outcome{}, err
	}
	temp, err := os.MkdirTemp("", "magpie-exec-")
	if err != nil {
		return Outcome{}, fmt.Errorf("create folder for a command: %w", err)
	}
	defer removeTree(temp)
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	if cmd.Env, err = c.environment(temp); err != nil {
		return Outcome{}, err
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitDelay
	if err := cmd.Start(); err != nil {
		return Outcome{}, fmt.Errorf("start the shell: %w", err)
	}
	pid := cmd.Process.Pid
	err = cmd.Wait()
	// What is left of the group; mostly there is nothing.
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return Outcome{}, fmt.Errorf("wait for a command: %w", err)
	}
	out := Outcome{Code: cmd.ProcessState.ExitCode()}
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		out.Signal = st.Signal().String()
	}
	return out, nil
}
