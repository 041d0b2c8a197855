package mcp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

const (
	serverCPU = 365 * 24 * time.Hour // of processor time: a server runs as long as the bot
	exitWait  = 2 * time.Second      // for a started server to end: each of asking, telling and killing
	maxStray  = 16 << 10             // bytes of one line of the error output that are looked at
	logRunes  = 1000                 // of such a line are logged
	sayRunes  = 200                  // of such a line stand in an error
	sayLines  = 10                   // lines of it stand in an error
)

// child is a started server. It is in a process group that is killed as a
// whole: npx and shells start children.
type child struct {
	in    io.WriteCloser
	out   io.ReadCloser
	stray io.ReadCloser // its error output
	heard chan struct{} // closed when that has ended
	last  tail          // of it

	wait func() (how string) // until the server has ended
	tell func()              // it that it is to end
	kill func()              // it and all that it has started
}

// launch starts the server.
func (s *server) launch() (c *child, err error) {
	cmd := exec.Command(s.cfg.Command, s.cfg.Args...)
	if cmd.Err != nil { // there is no such program
		return nil, cmd.Err
	}
	if cmd.Dir, err = s.folder(); err != nil {
		return nil, err
	}
	c = &child{heard: make(chan struct{})}
	if wall := s.wall(); wall != nil {
		err = s.startWalled(c, wall, cmd)
	} else {
		err = s.startBare(c, cmd)
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(c.heard)
		s.listen(c)
	}()
	return c, nil
}

// startBare starts the server with all rights of the bot's user.
func (s *server) startBare(c *child, cmd *exec.Cmd) (err error) {
	cmd.Env = s.environment("HOME", "TMPDIR")
	var errs [3]error
	c.in, errs[0] = cmd.StdinPipe()
	c.out, errs[1] = cmd.StdoutPipe()
	c.stray, errs[2] = cmd.StderrPipe()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	life, err := newLifeline()
	if err != nil {
		s.opt.Log.Debug("mcp server may outlive a bot that is killed", "err", err)
	} else {
		cmd.SysProcAttr.Pgid = life.cmd.Process.Pid
	}
	c.kill = func() {
		if life != nil {
			life.cut()
			return
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // gone already, most of the time
	}
	if err := cmd.Start(); err != nil {
		if life != nil {
			life.cut()
		}
		return err
	}
	c.tell = func() { _ = cmd.Process.Signal(syscall.SIGTERM) }
	c.wait = func() string {
		state, _ := cmd.Process.Wait() // not Cmd.Wait, which would close what is still read
		return state.String()
	}
	return nil
}

// folder makes the server's working folder. It is not the workspace: npx, node
// and python load code from where they are started, and the agent may write in
// the workspace.
func (s *server) folder() (string, error) {
	if s.opt.Dir == "" {
		return "", errors.New("there is no place for working folders")
	}
	dir := filepath.Join(s.opt.Dir, s.cfg.Name)
	if err := makeFolder(dir); err != nil {
		return "", fmt.Errorf("make its working folder: %w", err)
	}
	if err := syscall.Access(dir, 7); err != nil { // R_OK, W_OK, X_OK
		return "", fmt.Errorf("its working folder %s cannot be used by this user (uid %d): %w; run: chown -R %d:%d %s",
			dir, os.Getuid(), err, os.Getuid(), os.Getgid(), dir)
	}
	return dir, nil
}

// makeFolder makes a folder and those above it. When root does, as with sudo
// bot doctor, they belong to whom the folder above them belongs: the bot runs
// as another user.
func makeFolder(dir string) error {
	isThere := func() bool {
		info, err := os.Stat(dir)
		return err == nil && info.IsDir()
	}
	above := filepath.Dir(dir)
	if isThere() || dir == above {
		return nil
	}
	if err := makeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) && isThere() { // another server's start was faster
			return nil
		}
		return err
	}
	info, err := os.Stat(above)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return os.Lchown(dir, int(st.Uid), int(st.Gid))
	}
	return nil
}

// environment is what a started server sees: never the bot's keys. names are
// variables that it has of the bot besides.
func (s *server) environment(names ...string) []string {
	var env []string
	for _, name := range append(names, "PATH", "LANG") {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, value := range s.cfg.Env {
		env = append(env, name+"="+string(value))
	}
	return env
}

// end asks the server to end, which MCP does by closing its input, and kills
// what is left. It returns how the server ended, unless it had to be told, and
// what it wrote last.
func (c *child) end() string {
	_ = c.in.Close() // closed already, if the connection failed
	gone := make(chan struct{})
	how := ""
	go func() {
		defer close(gone)
		how = "; " + c.wait()
	}()
	said := ""
	if soon(gone) {
		said = how
	} else {
		c.tell()
		soon(gone)
	}
	c.kill()
	soon(gone)
	soon(c.heard) // what has left the group may keep the pipe open
	_, _ = c.stray.Close(), c.out.Close()
	<-c.heard
	if last := c.last.String(); last != "" {
		said += "; it wrote: " + last
	}
	return said
}

// soon waits for what should happen within exitWait.
func soon(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(exitWait):
	}
	select {
	case <-done: // it was this goroutine that was late
		return true
	default:
		return false
	}
}

// listen logs what a server writes to its error output and keeps the end of it.
func (s *server) listen(c *child) {
	lines := bufio.NewReaderSize(c.stray, maxStray)
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := s.opt.Redact(plain(string(line)))
		s.opt.Log.Debug("mcp server says", "text", clip(text, logRunes))
		c.last.add(text)
		for more && err == nil { // what is too long must not block the server
			_, more, err = lines.ReadLine()
		}
	}
}

// tail keeps the last lines of the error output.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// add keeps a line. Empty ones and the places of Node's stack traces would push
// out the reason, which stands above them.
func (t *tail) add(line string) {
	line = clip(strings.TrimSpace(line), sayRunes)
	if line == "" || strings.HasPrefix(line, "at ") {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	t.lines = slices.Delete(t.lines, 0, max(0, len(t.lines)-sayLines))
}

// String is the lines in one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, " | ")
}

var colours = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// plain takes out what is not to be seen but may steer a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, colours.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), ""))
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// lifeline is a shell that leads the server's process group and kills it when
// its input ends: when this program dies, however that happens. A server that
// hangs would not notice, and PR_SET_PDEATHSIG would reach npx but not what it
// started, and not exist elsewhere than on Linux.
type lifeline struct {
	cmd *exec.Cmd
	in  io.Closer
}

func newLifeline() (*lifeline, error) {
	cmd := exec.Command("/bin/sh", "-c", "trap '' HUP INT TERM; read _; kill -KILL 0")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	return &lifeline{cmd, in}, nil
}

// cut kills the group with all in it.
func (l *lifeline) cut() {
	_ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL)
	_ = l.in.Close()
	_ = l.cmd.Wait()
}
