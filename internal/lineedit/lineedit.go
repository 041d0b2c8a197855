// Package lineedit is a terminal in which a person types at the bottom while
// texts appear above: a line editor for several lines, pastes, wide characters
// and a history, which leaves what was printed in the terminal's own scrollback.
// Whatever is shown is cleaned first: it cannot steer the terminal.
package lineedit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Options of a Terminal.
type Options struct {
	In, Out *os.File // of one terminal
	// History is the file that keeps what was typed; "" keeps it until the end.
	History string
	// Plain leaves out colours.
	Plain bool
}

// The ways in which Read returns without a text.
var (
	// ErrInterrupt: Ctrl-C where nothing was typed.
	ErrInterrupt = errors.New("interrupted")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the terminal is closed")
)

// Terminal is safe for concurrent use; Read is for one caller at a time.
type Terminal struct {
	o       Options
	keys    keys
	signals chan os.Signal
	woken   chan struct{} // the program goes on after it was suspended
	done    sync.WaitGroup

	mu      sync.Mutex
	old     *term.State // nil while the terminal is as it was
	screen  screen
	line    line
	history history
	closed  bool
}

// keys is what comes from the terminal.
type keys struct {
	decoder
	typed []stroke    // read, and not looked at yet
	wake  [2]*os.File // a pipe whose end ends the waiting
}

const (
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
	clearAll   = "\x1b[H\x1b[2J"
	readSize   = 4 << 10
	stopWithin = 200 * time.Millisecond // that a suspended program stops, if it can be stopped at all
)

// Open takes the terminal over until Close. Nothing is shown before the first
// Read, Print or Live.
func Open(o Options) (*Terminal, error) {
	t := &Terminal{o: o, woken: make(chan struct{}, 1), signals: make(chan os.Signal, 4)}
	var err, forgets error
	t.history, forgets = loadHistory(o.History)
	if t.keys.wake[0], t.keys.wake[1], err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	t.screen = screen{out: o.Out, size: t.Size, breaks: breaksRows()}
	if err := t.raw(); err != nil {
		return nil, errors.Join(err, t.keys.wake[0].Close(), t.keys.wake[1].Close())
	}
	signal.Notify(t.signals, syscall.SIGWINCH, syscall.SIGCONT)
	t.done.Go(t.follow)
	if forgets != nil {
		t.Print("(" + forgets.Error() + ")")
	}
	return t, nil
}

// Size is that of the terminal, 80 to 24 where it has none.
func (t *Terminal) Size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(t.o.Out.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 80, 24
	}
	return columns, rows
}

// raw makes keys arrive one by one and unseen. What is written is still
// processed: a line break begins the next line, whoever writes it.
func (t *Terminal) raw() error {
	fd := int(t.o.In.Fd())
	old, err := term.MakeRaw(fd)
	if err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	mode, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		mode.Oflag |= unix.OPOST | unix.ONLCR
		err = unix.IoctlSetTermios(fd, setTermios, mode)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("open the terminal: %w", err), term.Restore(fd, old))
	}
	t.old = old
	t.screen.write(pasteOn)
	return nil
}

// Hush makes what is typed at a terminal unseen; lines and Ctrl-C stay what they
// are. term.Restore takes it back.
func Hush(f *os.File) (was *term.State, err error) {
	fd := int(f.Fd())
	if was, err = term.GetState(fd); err != nil {
		return nil, err
	}
	mode, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	mode.Lflag &^= unix.ECHO
	return was, unix.IoctlSetTermios(fd, setTermios, mode)
}

// restore makes the terminal what it was, with the cursor where the rows began.
func (t *Terminal) restore() {
	if t.old == nil {
		return
	}
	t.screen.erase()
	t.screen.write(pasteOff)
	_ = term.Restore(int(t.o.In.Fd()), t.old) // a terminal that is gone needs nothing
	t.old = nil
}

// Close gives the terminal back. It may be called more than once.
func (t *Terminal) Close() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.closed = true
	t.restore()
	signal.Stop(t.signals)
	close(t.signals)
	_ = t.keys.wake[1].Close() // ends a Read
	t.mu.Unlock()
	t.done.Wait()
}

// follow draws anew when the window changes and when the program goes on.
func (t *Terminal) follow() {
	for s := range t.signals {
		t.mu.Lock()
		switch {
		case t.closed:
		case s == syscall.SIGCONT:
			t.goOn()
		case t.old != nil && t.screen.resized():
			t.draw("")
		}
		t.mu.Unlock()
	}
}

// goOn takes the terminal again after the program was stopped. Whoever had it
// meanwhile may have changed its mode.
func (t *Terminal) goOn() {
	if t.old != nil {
		_ = term.Restore(int(t.o.In.Fd()), t.old)
	}
	t.screen.forget()
	if t.raw() == nil {
		t.draw("")
	}
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// suspend stops the program as Ctrl-Z does, with the terminal given back.
// Where nobody could let it go on, the system does not stop it.
func (t *Terminal) suspend() {
	t.mu.Lock()
	t.restore()
	t.mu.Unlock()
	select {
	case <-t.woken:
	default:
	}
	_ = syscall.Kill(0, syscall.SIGTSTP)
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-t.woken:
		return
	case <-timer.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.old == nil && !t.closed {
		t.goOn()
	}
}

// draw shows the rows at the bottom, and above them a text that ends its line.
func (t *Terminal) draw(above string) {
	if t.screen.unshown += above; t.old == nil {
		return
	}
	above, t.screen.unshown = t.screen.unshown, ""
	columns, _ := t.Size()
	var live []string
	if t.screen.live != "" {
		live = wrap(t.screen.live, columns-1)
	}
	t.screen.draw(above, live, t.line.view(columns))
}

// Print shows a text above what is being typed, for good. It may hold sequences
// for colours; a line that is not ended is ended.
func (t *Terminal) Print(text string) { t.Show(text, "") }

// Show prints a text as Print does, none when it is "", and below it one that
// is still in the making, which the next Show replaces.
func (t *Terminal) Show(text, live string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	live = Clean(live)
	if text == "" && live == t.screen.live {
		return
	}
	t.screen.live = live
	t.draw(t.above(text))
}

func (t *Terminal) above(text string) string {
	if text == "" {
		return ""
	}
	if t.o.Plain {
		text = withoutColour(text)
	}
	columns, _ := t.Size()
	return strings.Join(wrap(strings.TrimSuffix(text, "\n"), columns), "\n") + "\n"
}

// Read returns the next text that the person sends, ErrInterrupt, io.EOF (the
// terminal is gone, or Ctrl-D where nothing was typed) or ErrClosed. What was
// sent is printed.
func (t *Terminal) Read() (string, error) {
	t.Redraw()
	for {
		for len(t.keys.typed) > 0 {
			s := t.keys.typed[0]
			t.keys.typed = t.keys.typed[1:]
			if s.key == keySuspend {
				t.suspend()
				continue
			}
			more := len(t.keys.typed) > 0 || t.keys.pasting
			if text, sent, err := t.press(s, more); sent || err != nil {
				return text, err
			}
		}
		if err := t.more(); err != nil {
			return "", err
		}
	}
}

// Redraw shows the rows at the bottom again.
func (t *Terminal) Redraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw("")
}

// more waits for what the terminal sends.
func (t *Terminal) more() error {
	in := int(t.o.In.Fd())
	fds := []unix.PollFd{{Fd: int32(in), Events: unix.POLLIN}, {Fd: int32(t.keys.wake[0].Fd()), Events: unix.POLLIN}} //nolint:gosec // a file's number is small
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the terminal: %w", err)
		}
		break
	}
	if fds[1].Revents != 0 {
		return ErrClosed
	}
	buf := make([]byte, readSize)
	n, err := t.o.In.Read(buf)
	t.keys.typed = append(t.keys.typed, t.keys.feed(buf[:n])...)
	switch {
	case n > 0, errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		return nil
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, unix.EIO):
		return io.EOF
	}
	return fmt.Errorf("read the terminal: %w", err)
}

// press does what a key wants. The rows are drawn when no other key follows.
func (t *Terminal) press(s stroke, more bool) (text string, sent bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	empty := len(t.line.cells) == 0
	switch {
	case t.line.press(s):
	case s.key == keyEnter:
		return t.enter()
	case s.key == keyInterrupt && empty:
		return "", false, ErrInterrupt
	case s.key == keyInterrupt:
		t.line.set("")
		t.history.leave()
	case s.key == keyEOF && empty:
		return "", false, io.EOF
	case s.key == keyEOF:
		t.line.press(stroke{key: keyDelete})
	case s.key == keyUp, s.key == keyOlder:
		t.recall(t.history.older(t.line.text()))
	case s.key == keyDown, s.key == keyNewer:
		t.recall(t.history.newer())
	case s.key == keyClear:
		t.screen.forget()
		t.screen.write(clearAll)
	case s.key == keyCursor:
		t.screen.cursor(s.col)
	}
	if !more {
		t.draw("")
	}
	return "", false, nil
}

func (t *Terminal) recall(text string, ok bool) {
	if ok {
		t.line.set(text)
	}
}

// enter sends what was typed, or begins its next line after a backslash.
func (t *Terminal) enter() (text string, sent bool, err error) {
	if at := len(t.line.cells); at > 0 && t.line.pos == at && t.line.cells[at-1] == `\` {
		t.line.remove(at-1, at, false)
		t.line.insert("\n")
		t.draw("")
		return "", false, nil
	}
	text = strings.TrimRight(t.line.text(), "\n")
	t.line.set("")
	t.history.leave()
	if strings.TrimSpace(text) == "" {
		t.draw("")
		return "", false, nil
	}
	above := t.above(Prompt + strings.ReplaceAll(text, "\n", "\n"+More))
	if err := t.history.add(text); err != nil {
		t.history.file = ""
		above += t.above("(" + err.Error() + ")")
	}
	t.draw(above)
	return text, true, nil
}
