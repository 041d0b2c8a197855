package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"magpie/internal/fakes/telegram"
)

// screen is a terminal with a program in it.
type screen struct {
	t   *testing.T
	pty *os.File
	cmd *exec.Cmd

	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func ioctl(t *testing.T, f *os.File, request uintptr, value unsafe.Pointer) {
	t.Helper()
	// Not by Fd: it would make the file block, and then Close waits for a Read.
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(value))
	})
	if err != nil || errno != 0 {
		t.Fatal(err, errno)
	}
}

// onScreen starts a program in a terminal of its own.
func onScreen(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("MAGPIE_TEST_REQUIRE") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	var n, unlock uint32
	ioctl(t, pty, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, pty, syscall.TIOCGPTN, unsafe.Pointer(&n))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	s := &screen{t: t, pty: pty, cmd: cmd, changed: make(chan struct{}, 1)}
	go func() { // ends when the terminal is closed, at the latest at the end of the test
		buf := make([]byte, 4096)
		for {
			n, err := pty.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		_ = pty.Close()
		_ = cmd.Process.Kill()
	})
	return s
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// after waits for a text on the screen and then types a line.
func (s *screen) after(text string, times int, line string) {
	s.t.Helper()
	end := time.After(time.Minute)
	for strings.Count(s.shown(), text) < times {
		select {
		case <-s.changed:
		case <-end:
			s.t.Fatalf("%q is not shown %d times:\n%s", text, times, s.shown())
		}
	}
	if _, err := s.pty.WriteString(line + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

// TestInitAtATerminal asks in Chinese, does not show the token while it is
// typed, asks again when it is wrong, and writes when the person agrees.
func TestInitAtATerminal(t *testing.T) {
	t.Parallel()
	tg := telegram.New(nil)
	url := serve(t, tg.Handler(), tg.Close)
	for _, agrees := range []bool{false, true} {
		b := newBeginner(t)
		s := onScreen(t, bot(t, b.dir, []string{"LANG=zh_CN.UTF-8"}, "init", "--key", "api_base="+url))
		s.after("要添加的平台", 1, "电报")
		s.after("要添加的平台", 2, "telegram")
		s.after("Token: ", 1, "1:wrong-token")
		s.after("[回车：沿用]: ", 1, tg.Token())
		s.after("要添加的平台", 3, "")
		s.after("提供方 [", 1, "offline")
		s.after("时区 [", 1, "")
		if agrees {
			s.after("写入？ [Y]", 1, "")
		} else {
			s.after("写入？ [Y]", 1, "n")
		}
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("%v:\n%s", err, s.shown())
		}
		if shown := s.shown(); strings.Contains(shown, tg.Token()) || strings.Contains(shown, "wrong-token") || !strings.Contains(shown, "错误  channel telegram") {
			t.Errorf("the screen shows\n%s", shown)
		}
		if written := b.read("config.yaml") + b.read(".env"); agrees != strings.Contains(written, "TELEGRAM_BOT_TOKEN="+tg.Token()) || !agrees && written != "" {
			t.Errorf("agrees %v, written:\n%s", agrees, written)
		}
	}
}

// TestClosedTerminalEndsTheBot, although a hangup that somebody sends to it
// means that the configuration is to be read again.
func TestClosedTerminalEndsTheBot(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
	s := onScreen(t, bot(t, b.dir, nil))
	s.after("Ctrl-C stops it", 1, "")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.after("configuration read again", 1, "")
	if err := s.pty.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the bot goes on without its terminal")
	}
}
