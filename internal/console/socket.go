package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// SocketFile is the console's Unix socket in the data folder. Operator's
// commands reach the running bot by it whatever web.listen is and whichever
// addresses the machine, or the container, has. Only the bot's user may open it,
// and the token is asked for there as everywhere: commands that the agent runs
// have the same user.
const SocketFile = "bot.sock"

// openSocket makes the socket, and says whether it could: some file systems
// hold none, and then there are the addresses. The caller has the lock of the
// RunningFile, so a socket that is there already is of a program that is gone.
func (s *Server) openSocket(dataDir string) bool {
	l, err := listenSocket(filepath.Join(dataDir, SocketFile))
	if err != nil {
		s.cfg.Log.Debug("no socket in the data folder; commands reach the bot by web.listen", "err", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socket = l
	return true
}

// closeSocket ends it; a killed program leaves its file to the next.
func (s *Server) closeSocket(dataDir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.socket.Close() // by now Run has closed it
	_ = os.Remove(filepath.Join(dataDir, SocketFile))
}

func listenSocket(path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is there and no socket", path)
	case err == nil:
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	name, done, err := socketName(path)
	if err != nil {
		return nil, err
	}
	defer done()
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// On Linux the file gets the mode of the socket: there is no moment in
		// which others may open it.
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	l, err := private.Listen(context.Background(), "unix", name)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // name may be gone by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	return l, nil
}

// longestName is what the systems take as the name of a socket, in bytes.
const longestName = 103

// socketName is a name of path that is short enough for a socket; it is good
// until done.
func socketName(path string) (name string, done func(), err error) {
	if len(path) <= longestName {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
