package console_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/chat"
	"magpie/internal/console"
)

// announced is a console that listens and is announced in dir; nobody answers
// before it runs.
func announced(t *testing.T, dir, listen string) (s *console.Server, gone func()) {
	t.Helper()
	s, err := console.New(console.Config{Listen: listen, Token: secret, Key: []byte("k")}, console.Route{
		Pattern: "/where", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			_, _ = rw.Write([]byte(r.Context().Value(http.LocalAddrContextKey).(net.Addr).Network()))
		}),
	})
	if err == nil {
		err = s.Listen(t.Context())
	}
	if err == nil {
		gone, err = s.Announce(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, gone
}

// serving runs a console that is announced in dir, until end.
func serving(t *testing.T, dir, listen string) (s *console.Server, end func()) {
	t.Helper()
	s, gone := announced(t, dir, listen)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		gone()
	})
	t.Cleanup(end)
	return s, end
}

// where says on which kind of way a program answers.
func where(t *testing.T, bot console.Running, token chat.Secret) (status int, network string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, bot.URL+"/where", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+string(token))
	client := bot.Client()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said := make([]byte, 16)
	n, _ := resp.Body.Read(said)
	return resp.StatusCode, string(said[:n])
}

// The running program is asked through the socket of its data folder, which is
// for its own user only, asks for the token, and is made again after a program
// that was killed; where there can be none, through its port.
func TestSocket(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("长", 30)
	for name, c := range map[string]struct {
		below   string // the temporary folder
		left    func(path string) error
		network string
	}{
		"nothing there": {"", nil, "unix"},
		"a long path":   {long + long + long, nil, "unix"},
		"one left":      {"", leaveSocket, "unix"},
		"a file":        {"", func(path string) error { return os.WriteFile(path, nil, 0o600) }, "tcp"},
		"a folder":      {"", func(path string) error { return os.Mkdir(path, 0o700) }, "tcp"},
		"a link":        {"", func(path string) error { return os.Symlink("elsewhere", path) }, "tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), c.below)
			path := filepath.Join(dir, console.SocketFile)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if c.left != nil {
				if err := c.left(path); err != nil {
					t.Fatal(err)
				}
			}
			s, end := serving(t, dir, "127.0.0.1:0")
			bot, ok := console.FindRunning(dir)
			if !ok || bot.URL != s.URL() {
				t.Fatalf("found %s, %v", bot.URL, ok)
			}
			if status, network := where(t, bot, bot.Token); status != http.StatusOK || network != c.network {
				t.Errorf("%d by %q, want it by %s", status, network, c.network)
			}
			if status, _ := where(t, bot, "guessed"); status != http.StatusUnauthorized {
				t.Errorf("another token: %d", status)
			}
			info, err := os.Lstat(path)
			if err != nil || (c.network == "unix") != (info.Mode() == fs.ModeSocket|0o600) {
				t.Errorf("%v, %v", info, err)
			}
			end()
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) != (c.network == "unix") {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// leaveSocket leaves what a killed program leaves.
func leaveSocket(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l.Close()
}

// A socket that leads nowhere does not hide the port.
func TestDeadSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serving(t, dir, "127.0.0.1:0")
	path := filepath.Join(dir, console.SocketFile)
	if err := errors.Join(os.Remove(path), leaveSocket(path)); err != nil {
		t.Fatal(err)
	}
	bot, _ := console.FindRunning(dir)
	if status, network := where(t, bot, bot.Token); status != http.StatusOK || network != "tcp" {
		t.Errorf("%d by %q", status, network)
	}
}

// When nothing answers, every way that was tried is named, with what was wrong.
func TestUnreached(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for listen, want := range map[string][]string{
		"0.0.0.0:1":      {"127.0.0.1:1: connection refused", "[::1]:1: "},
		"[::]:1":         {"127.0.0.1:1: connection refused", "[::1]:1: "},
		":1":             {"127.0.0.1:1: connection refused", "[::1]:1: "},
		"127.0.0.1:1":    {"127.0.0.1:1: connection refused"},
		"nobody.test.:1": {"nobody.test.:1: "},
	} {
		resp, err := console.At(dir, listen).Client().Get("http://bot/")
		if err == nil {
			_ = resp.Body.Close()
		}
		wrong, ok := errors.AsType[*console.Unreached](err)
		if !ok || len(wrong.Tried) != len(want) {
			t.Errorf("%s: %v", listen, err)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(wrong.Tried[i], want[i]) || len(want) > 1 && !strings.Contains(err.Error(), wrong.Tried[i]) {
				t.Errorf("%s: %q, want %q", listen, wrong.Tried, want)
			}
		}
	}
}

// A program that takes a connection and does not answer, as one that hangs, is
// said by the way it was asked on.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for _, socket := range []bool{true, false} {
		dir := t.TempDir()
		s, end := announced(t, dir, "127.0.0.1:0")
		path := filepath.Join(dir, console.SocketFile)
		if !socket {
			if err := errors.Join(os.Remove(path), leaveSocket(path)); err != nil {
				t.Fatal(err)
			}
		}
		bot, _ := console.FindRunning(dir)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, bot.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := bot.Client().Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		want := "tried " + path + ": no answer in "
		if !socket {
			want = "tried " + path + ": connection refused; " + strings.TrimPrefix(bot.URL, "http://") + ": no answer in "
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
		cancel()
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := s.Run(stopped); err != nil { // closes what it listens on
			t.Error(err)
		}
		end()
	}
}

// A program on every way of which nobody answers, but which lives, is found and
// said to be unreached: it has no socket any more and its port is closed.
func TestLivingButUnreached(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, end := announced(t, dir, "127.0.0.1:0")
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil { // closes what it listens on
		t.Fatal(err)
	}
	bot, ok := console.FindRunning(dir)
	if !ok {
		t.Fatal("not found")
	}
	resp, err := bot.Client().Get(bot.URL)
	if err == nil {
		_ = resp.Body.Close()
	}
	address := strings.TrimPrefix(bot.URL, "http://")
	for _, want := range []string{filepath.Join(dir, console.SocketFile) + ": connection refused", address + ": connection refused"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
}
