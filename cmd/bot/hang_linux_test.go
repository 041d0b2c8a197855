package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/console"
)

// A bot that hangs keeps no command waiting: each says which way was tried.
func TestCommandsAndABotThatHangs(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
	cmd, _ := running(t, b.dir)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	tried := "tried " + filepath.Join("data", console.SocketFile) + ": no answer in "
	for _, args := range []string{"health", "cron list", "chat -m hello"} {
		code, out, errs := run(t, b.dir, nil, strings.Fields(args)...)
		if code != exitFailed || out != "" || !strings.Contains(errs, tried) {
			t.Errorf("%s: exit code %d, want %q:\n%s%s", args, code, tried, out, errs)
		}
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGCONT), cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// In a pipe, the chat with a bot that was killed says so at once.
func TestChatBotKilled(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
	server, _ := running(t, b.dir)
	chat := bot(t, b.dir, []string{"LC_ALL=C"}, "chat")
	in, err1 := chat.StdinPipe()
	out, err2 := chat.StdoutPipe()
	errs, err3 := chat.StderrPipe()
	if err := errors.Join(err1, err2, err3, chat.Start()); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 256)
	if _, err := in.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(line); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	n, err := errs.Read(line)
	if got := string(line[:n]); err != nil || got != "(the connection is gone, trying again…)\n" {
		t.Errorf("told %q, %v", got, err)
	}
	if err := errors.Join(chat.Process.Signal(os.Interrupt)); err != nil {
		t.Fatal(err)
	}
	_ = chat.Wait() // by the signal
}
