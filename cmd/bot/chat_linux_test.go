package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"magpie/internal/screentest"
)

// atScreen starts bot chat in a terminal: no bot runs, so it starts one, which
// answers without a model.
func atScreen(t *testing.T, columns, rows int, env ...string) (*screentest.Screen, *exec.Cmd) {
	t.Helper()
	b := newBeginner(t)
	b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
	s := screentest.New(t, columns, rows)
	cmd := bot(t, b.dir, append([]string{"TERM=xterm-256color", "LANG=C"}, env...), "chat")
	s.Start(cmd)
	return s, cmd
}

// ends waits for the end of a program.
func ends(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the program does not end")
		return nil
	}
}

func mode(t *testing.T, s *screentest.Screen) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(s.TTY.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// Every row of what a command says begins in the first column.
func TestChatOnAScreen(t *testing.T) {
	t.Parallel()
	s, cmd := atScreen(t, 80, 50)
	before := mode(t, s)
	s.Shows("/help helps.\n›")
	s.Type("/help\r")
	s.Until("the help", func() bool { return strings.HasSuffix(s.Text(), "\n›") && strings.Count(s.Text(), "/") > 8 })
	rows := s.Rows()
	from := 0
	for i, row := range rows {
		if row == "› /help" {
			from = i + 1
		}
	}
	if from == 0 || len(rows)-from < 8 {
		t.Fatalf("the help is\n%s", s.Text())
	}
	for _, row := range rows[from:] {
		if strings.HasPrefix(row, "    ") {
			t.Errorf("a row does not begin at the left: %q", row)
		}
	}
	s.Resize(30, 20)
	s.Type("你好，世界！这一行比三十列长，所以要折行")
	s.Until("rows of 30 columns", func() bool {
		return strings.HasSuffix(s.Text(), "\n› 你好，世界！这一行比三十列\n  长，所以要折行")
	})
	s.Type("\x03")
	s.Until("nothing typed", func() bool { return strings.HasSuffix(s.Text(), "\n›") })
	s.Type("\x03")
	if err := ends(t, cmd); err != nil {
		t.Error(err)
	}
	if after := mode(t, s); after != before {
		t.Errorf("the terminal's mode was %+v, and is %+v", before, after)
	}
}

// A chat that is ended from outside gives the terminal back.
func TestChatEndedGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		s, cmd := atScreen(t, 80, 24)
		before := mode(t, s)
		s.Shows("helps.\n›")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := ends(t, cmd); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		if after := mode(t, s); after != before {
			t.Errorf("%v: the terminal's mode was %+v, and is %+v", sig, before, after)
		}
		if !strings.HasSuffix(s.Raw(), "\x1b[?2004l") {
			t.Errorf("%v: the end is %q", sig, s.Raw()[max(0, len(s.Raw())-40):])
		}
	}
}

// Ctrl-Z gives the terminal to the shell, fg takes it back, with what was typed.
func TestChatIsSuspended(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
	s := screentest.New(t, 80, 24)
	child := bot(t, b.dir, []string{"TERM=xterm", "LANG=C", "PS1=shell> ", "ENV=/dev/null"}, "chat")
	shell := exec.Command("/bin/bash", "--norc", "--noediting", "-i")
	shell.Dir, shell.Env = child.Dir, child.Env
	s.Start(shell)
	s.Shows("shell>")
	s.Type(child.Path + " chat\r")
	s.Shows("helps.\n›")
	s.Type("half a li")
	s.Shows("› half a li")
	s.Type("\x1a")
	s.Until("the shell", func() bool { return strings.HasSuffix(s.Text(), "shell>") })
	if m := mode(t, s); m.Lflag&unix.ECHO == 0 || m.Lflag&unix.ICANON == 0 {
		t.Error("the shell has a raw terminal")
	}
	s.Type("fg\r")
	s.Until("the line again", func() bool { return strings.HasSuffix(s.Text(), "\n› half a li") })
	s.Type("\x03/quit\r")
	s.Until("the shell", func() bool { return strings.HasSuffix(s.Text(), "shell>") })
	s.Type("exit\r")
	if err := ends(t, shell); err != nil {
		t.Error(err)
	}
}

// A terminal without any abilities gets lines.
func TestChatOnADumbTerminal(t *testing.T) {
	t.Parallel()
	s, cmd := atScreen(t, 80, 24, "TERM=dumb")
	s.Shows("No model is configured")
	s.Type("/help\n")
	s.Shows("/stop")
	s.Type("\x04")
	if err := ends(t, cmd); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.Raw(), "\x1b") {
		t.Errorf("sequences for a dumb terminal: %q", s.Raw())
	}
}

// -m says one message of any lines, prints the answer and ends.
func TestChatOneMessage(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
	code, out, errs := run(t, b.dir, nil, "chat", "-m", "/help")
	if code != 0 || !strings.Contains(out, "/stop") {
		t.Errorf("ends with %d: %s %s", code, out, errs)
	}
	if code, _, errs := run(t, b.dir, nil, "chat", "-m", " "); code != 2 || !strings.Contains(errs, "-m wants a text") {
		t.Errorf("an empty message ends with %d: %s", code, errs)
	}
}
