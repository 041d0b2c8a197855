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
	"slices"
	"strings"
	"sync"
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
// bound but their context's; one whose time is over names the ways, too.
func (r Running) Client() *http.Client {
	a := &asking{}
	// Without the default transport's proxy: the bot is on this machine.
	a.Transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, tried, err := r.dial(ctx)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.tried = tried
			return conn, err
		},
	}
	return &http.Client{Transport: a}
}

// asking is a transport that remembers the ways it has tried.
type asking struct {
	*http.Transport
	mu    sync.Mutex
	tried []string // of the newest connection
}

// RoundTrip implements http.RoundTripper.
func (a *asking) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := a.Transport.RoundTrip(req)
	if !errors.Is(err, context.DeadlineExceeded) {
		return resp, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.tried) == 0 {
		return nil, err
	}
	last := len(a.tried) - 1
	tried := slices.Clone(a.tried)
	tried[last] += " in " + time.Since(began).Round(100*time.Millisecond).String()
	return nil, &Unreached{Tried: tried}
}

// Unreached: on no way there was a program that listens and answers.
type Unreached struct {
	Tried []string // each way with what was wrong
}

func (u *Unreached) Error() string {
	if len(u.Tried) == 1 {
		if way, why, _ := strings.Cut(u.Tried[0], ": "); filepath.Base(way) != SocketFile { // the URL says it
			return why
		}
	}
	return "tried " + strings.Join(u.Tried, "; ")
}

// dial returns a connection on the first way that there is, and what is to be
// said of the ways when nobody answers on it.
func (r Running) dial(ctx context.Context) (conn net.Conn, tried []string, err error) {
	tried = slices.Clone(r.tried)
	for _, w := range r.ways {
		conn, err := w.dial(ctx)
		if err == nil {
			return conn, append(tried, w.address+": "+noAnswer), nil
		}
		if ctx.Err() != nil {
			return nil, append(tried, w.address+": "+noAnswer), ctx.Err()
		}
		tried = append(tried, w.address+": "+reason(err))
	}
	return nil, tried, &Unreached{Tried: tried}
}

const noAnswer = "no answer"

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
		return noAnswer
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
