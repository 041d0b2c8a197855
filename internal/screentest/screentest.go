//go:build linux

// Package screentest is a terminal with a screen for tests: a pseudo-terminal
// whose output an emulator draws. It is for tests only.
package screentest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"magpie/internal/need"
)

// patience bounds every wait for a screen.
const patience = time.Minute

// Screen is a terminal. It is closed by the test's cleanup.
type Screen struct {
	t   testing.TB
	pty *os.File
	// TTY is the side on which a program runs.
	TTY *os.File

	mu      sync.Mutex
	vt      *vt.Emulator
	raw     strings.Builder
	changed chan struct{}
}

// New opens a terminal of a size.
func New(t testing.TB, columns, rows int) *Screen {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		need.Unmet(t, "no pseudo-terminals here: %v", err)
	}
	s := &Screen{t: t, pty: pty, vt: vt.NewEmulator(columns, rows), changed: make(chan struct{}, 1)}
	var n int
	s.control(func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	s.Resize(columns, rows)
	if s.TTY, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(s.draw)
	running.Go(s.answer)
	t.Cleanup(func() {
		_ = s.TTY.Close()
		_ = pty.Close()
		_ = s.vt.InputPipe().(io.Closer).Close() // the emulator's own Close is no match for its Read
		running.Wait()
		if t.Failed() {
			t.Logf("the screen shows:\n%s\nafter %q", s.Text(), s.Raw()[max(0, len(s.Raw())-300):])
		}
	})
	return s
}

// control works on the terminal. Not by Fd: it would make the file block, and
// then Close waits for a Read.
func (s *Screen) control(f func(fd int) error) {
	s.t.Helper()
	conn, err := s.pty.SyscallConn()
	if err != nil {
		s.t.Fatal(err)
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil || failed != nil {
		s.t.Fatal(err, failed)
	}
}

// Start runs a program in the terminal, which is its controlling one.
func (s *Screen) Start(cmd *exec.Cmd) {
	s.t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.TTY, s.TTY, s.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// Resize changes the size of the window; rows that do not fit are cut off.
func (s *Screen) Resize(columns, rows int) {
	s.t.Helper()
	s.mu.Lock()
	s.vt.Resize(columns, rows)
	s.mu.Unlock()
	s.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}) //nolint:gosec // sizes of tests
	})
}

func (s *Screen) draw() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.pty.Read(buf)
		s.mu.Lock()
		s.raw.Write(buf[:n])
		_, _ = s.vt.Write(buf[:n])
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

// answer passes on what the terminal answers to questions.
func (s *Screen) answer() {
	buf := make([]byte, 256)
	for {
		n, err := s.vt.Read(buf)
		if err != nil {
			return
		}
		_, _ = s.pty.Write(buf[:n])
	}
}

// Type presses keys.
func (s *Screen) Type(text string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// HangUp closes the terminal, as one does by closing its window.
func (s *Screen) HangUp() {
	s.t.Helper()
	if err := s.pty.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// Paste pastes a text, with marks around it when the program asked for them.
func (s *Screen) Paste(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vt.Paste(text)
}

// Rows are what is seen, without blanks at the ends and empty rows below.
func (s *Screen) Rows() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]string, s.vt.Height())
	last := 0
	for y := range rows {
		if rows[y] = s.row(y, s.vt.CellAt); rows[y] != "" {
			last = y + 1
		}
	}
	return rows[:last]
}

// Past are the rows that have scrolled out of the window.
func (s *Screen) Past() (rows []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for y := range s.vt.ScrollbackLen() {
		rows = append(rows, s.row(y, s.vt.ScrollbackCellAt))
	}
	return rows
}

func (s *Screen) row(y int, cell func(x, y int) *uv.Cell) string {
	var row strings.Builder
	for x := 0; x < s.vt.Width(); x++ {
		if cell := cell(x, y); cell != nil {
			row.WriteString(cell.Content)
		}
	}
	return strings.TrimRight(row.String(), " ")
}

// Text is Rows as one text.
func (s *Screen) Text() string { return strings.Join(s.Rows(), "\n") }

// Cursor is the column and row of the cursor, from 0.
func (s *Screen) Cursor() (column, row int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.vt.CursorPosition()
	return p.X, p.Y
}

// Raw is everything that was written to the terminal.
func (s *Screen) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// Until waits until ok.
func (s *Screen) Until(what string, ok func() bool) {
	s.t.Helper()
	late := time.After(patience)
	for !ok() {
		select {
		case <-s.changed:
		case <-late:
			s.t.Fatalf("the screen never showed %s:\n%s", what, s.Text())
		}
	}
}

// Shows waits until a text is seen.
func (s *Screen) Shows(text string) {
	s.t.Helper()
	s.Until(fmt.Sprintf("%q", text), func() bool { return strings.Contains(s.Text(), text) })
}

// Is waits until exactly this is seen.
func (s *Screen) Is(want string) {
	s.t.Helper()
	want = strings.Trim(want, "\n")
	s.Until("\n"+want+"\n, but", func() bool { return s.Text() == want })
}
