package termchat_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"magpie/chat"
	"magpie/internal/termchat"
)

// screen is a pseudo-terminal with a chat in it.
type screen struct {
	t    *testing.T
	pty  *os.File
	done chan error

	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func ioctl(t *testing.T, f *os.File, op uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), op, uintptr(arg)); errno != 0 {
		t.Fatalf("ioctl %x: %v", op, errno)
	}
}

func openPTY(t *testing.T) (pty, tty *os.File) {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("MAGPIE_TEST_REQUIRE") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no pseudo-terminals here, the terminal chat's editing is not tested: %v", err)
	}
	var n, unlock uint32
	ioctl(t, pty, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, pty, syscall.TIOCGPTN, unsafe.Pointer(&n))
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size := struct{ rows, cols, x, y uint16 }{24, 60, 0, 0}
	ioctl(t, tty, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	return pty, tty
}

func newScreen(t *testing.T, b *bot, history string) *screen {
	t.Helper()
	pty, tty := openPTY(t)
	s := &screen{t: t, pty: pty, done: make(chan error, 1), changed: make(chan struct{}, 1)}
	client := &http.Client{Transport: &http.Transport{}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		s.done <- termchat.Run(ctx, termchat.Options{BaseURL: b.URL, Token: "the-token", In: tty, Out: tty, History: history, HTTP: client})
	})
	wg.Go(s.read)
	t.Cleanup(func() {
		cancel()
		_, _ = pty.WriteString("\r") // readline's reader sits in a read that only input ends
		_ = tty.Close()
		_ = pty.Close()
		wg.Wait()
		client.CloseIdleConnections()
	})
	return s
}

// read collects what the screen shows and answers the question where the
// cursor is, as a terminal does.
func (s *screen) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.pty.Read(buf)
		if strings.Contains(string(buf[:n]), "\x1b[6n") {
			_, _ = s.pty.WriteString("\x1b[1;1R")
		}
		s.mu.Lock()
		s.text.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) until(text string) {
	s.t.Helper()
	late := time.After(patience)
	for !strings.Contains(s.shows(), text) {
		select {
		case <-s.changed:
		case <-late:
			s.t.Fatalf("the screen never showed %q: %q", text, s.shows())
		}
	}
}

func (s *screen) types(text string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) ended() {
	s.t.Helper()
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Errorf("Run returned %v", err)
		}
	case <-time.After(patience):
		s.t.Fatalf("Run did not return; the screen shows %q", s.shows())
	}
}

func TestTerminal(t *testing.T) {
	step := make(chan struct{})
	b := newBot(t, func(b *bot, in chat.Inbound) {
		if in.Text == "/stop" {
			close(step)
			return
		}
		turn := "t" + in.ID
		ev := chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: turn}
		b.web.Event(ev)
		ev.Kind, ev.Text = chat.TurnDelta, "first row\nand half of the sec"
		b.web.Event(ev)
		<-step
		b.say(in, "first row\nand half of the second 好")
		ev.Kind, ev.Text = chat.TurnEnded, ""
		b.web.Event(ev)
	})
	history := filepath.Join(t.TempDir(), "sub", "history")
	s := newScreen(t, b, history)
	s.until("Type a message")
	s.types("hello 你好\r")
	s.until("first row")
	s.types("\x03") // Ctrl-C while the bot is at work
	s.until("and half of the second 好")
	if n := strings.Count(s.shows(), "first row"); n != 1 {
		t.Errorf("the first row is shown %d times: %q", n, s.shows())
	}
	if got := b.inbound(); len(got) != 2 || got[0].Text != "hello 你好" || got[1].Text != "/stop" {
		t.Errorf("came in: %+v", got)
	}
	s.types("/quit\r")
	s.ended()
	if data, err := os.ReadFile(history); err != nil || !strings.Contains(string(data), "hello 你好") {
		t.Errorf("the history holds %q, %v", data, err)
	}
}

func TestTerminalLeaves(t *testing.T) {
	for name, keys := range map[string]string{"Ctrl-C": "\x03", "Ctrl-D": "\x04", "/quit": "/quit\r"} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, newBot(t, echo), "")
			s.until("› ")
			s.types(keys)
			s.ended()
		})
	}
}
