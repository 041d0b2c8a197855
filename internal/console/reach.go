package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"magpie/chat"
)

// Running is a program that runs.
type Running struct {
	// URL is where people find it; requests are made for it by Client, which
	// knows more ways.
	URL   string
	Token chat.Secret
	ways  []way
	tried []string // what was no use before any way was tried
}

// way is one of the ways to a program.
type way struct{ network, address string }

// dialWait bounds the attempt of one way: all are on this machine.
const dialWait = 800 * time.Millisecond

// At is the program that listens on listen, if there is one. dataDir, in which
// FindRunning has found nobody, is looked at for a reason.
func At(dataDir, listen string) Running {
	r := Running{URL: BaseURL(listen)}
	for _, address := range addresses(listen) {
		r.ways = append(r.ways, way{"tcp", address})
	}
	file := filepath.Join(dataDir, RunningFile)
	if _, err := os.ReadFile(file); errors.Is(err, fs.ErrPermission) {
		r.tried = append(r.tried, file+": "+reason(err))
	}
	return r
}

// Running is this program itself, for what works beside it.
func (s *Server) Running() Running {
	r := Running{URL: s.URL(), Token: s.cfg.Token}
	for _, address := range addresses(s.address()) {
		r.ways = append(r.ways, way{"tcp", address})
	}
	return r
}

// Client asks the program on the first way that leads to it. Requests have no
// bound but their context's.
func (r Running) Client() *http.Client {
	// Without the default transport's proxy: the bot is on this machine.
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx) },
	}}
}

// Unreached: on no way there was a program that listens.
type Unreached struct {
	Tried []string // each way with what was wrong
}

func (u *Unreached) Error() string {
	if len(u.Tried) == 1 {
		_, why, _ := strings.Cut(u.Tried[0], ": ")
		return why
	}
	return "tried " + strings.Join(u.Tried, "; ")
}

func (r Running) dial(ctx context.Context) (net.Conn, error) {
	wrong := &Unreached{Tried: r.tried}
	for _, w := range r.ways {
		conn, err := w.dial(ctx)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wrong.Tried = append(wrong.Tried, w.address+": "+reason(err))
	}
	return nil, wrong
}

func (w way) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	address := w.address
	if w.network == "unix" {
		name, done, err := socketName(address)
		if err != nil {
			return nil, err
		}
		defer done()
		address = name
	}
	return new(net.Dialer).DialContext(ctx, w.network, address)
}

// reason is why an operation failed, without what it was about.
func reason(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Timeout() {
		return "no answer"
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		return call.Err.Error()
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// addresses are where a program on this machine reaches a console that listens
// on listen. One that listens everywhere may do so by IPv4 or IPv6 only, and a
// machine may have one of them only.
func addresses(listen string) []string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || !everywhere(host) {
		return []string{listen}
	}
	return []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}
}

func everywhere(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// BaseURL is the address under which a browser on this machine opens a console
// that listens on listen.
func BaseURL(listen string) string {
	first := addresses(listen)[0]
	return fmt.Sprintf("http://%s", strings.ReplaceAll(first, "%", "%25")) // of a zone
}
