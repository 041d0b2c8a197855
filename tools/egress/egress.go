// Package egress is the proxy by which sandboxed programs reach the internet,
// and nothing else: it looks names up, judges the address that is dialled by
// package guard, and the host by the operator's list. It speaks HTTP with
// absolute URLs and CONNECT. It does not look into what is encrypted. It starts
// no goroutine that outlives a Serve.
package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/internal/proxy"
	"magpie/tools"
	"magpie/tools/web/guard"
)

// Options of a Proxy.
type Options struct {
	Guard *guard.Guard // judges addresses; required
	// Hosts are the only ones that are reached, as "example.org" or
	// "*.example.org"; none: all.
	Hosts []string
	// Upstream is how this machine gets out; nil is without another proxy.
	Upstream proxy.Func
}

// Proxy is what all runs share. Safe for concurrent use.
type Proxy struct {
	guard    *guard.Guard
	hosts    []string
	upstream proxy.Func
	direct   *http.Transport
}

const (
	headerTime = 10 * time.Second // for the head of a request
	idleTime   = 5 * time.Minute  // of a connection on which nothing moves
	maxHeader  = 64 << 10
)

// New makes a Proxy.
func New(o Options) *Proxy {
	p := &Proxy{guard: o.Guard, upstream: o.Upstream}
	for _, h := range o.Hosts {
		p.hosts = append(p.hosts, strings.TrimSuffix(strings.ToLower(h), "."))
	}
	if p.upstream == nil {
		p.upstream = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	p.direct = &http.Transport{
		DialContext: p.guard.Dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
	}
	return p
}

// Run is the proxy of one program: it notes where that has been. A nil one has
// been nowhere.
type Run struct {
	p *Proxy

	mu      sync.Mutex
	reached []string
	refused []string
}

// Run begins one.
func (p *Proxy) Run() *Run { return &Run{p: p} }

// most is how many hosts are noted.
const most = 50

// Reached lists the hosts to which there was a connection, in their order.
func (r *Run) Reached() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reached)
}

// Refused says which hosts were refused and why, a line each.
func (r *Run) Refused() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.refused)
}

func (r *Run) note(list *[]string, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(*list) < most && !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// Serve answers one connection of the program until it ends or ctx does.
func (r *Run) Serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	l := &single{conn: conn, over: make(chan struct{})}
	srv := &http.Server{
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed {
				l.end()
			}
		},
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodConnect {
			r.forward(w, req)
			return
		}
		defer l.end() // nobody says when a connection ends that was taken over
		r.connect(w, req)
	})
	_ = srv.Serve(l) // ends with the connection
}

// single is a listener with one connection.
type single struct {
	conn net.Conn
	once sync.Once
	over chan struct{}
}

func (l *single) Accept() (conn net.Conn, err error) {
	if conn, l.conn = l.conn, nil; conn != nil {
		return conn, nil
	}
	<-l.over
	return nil, net.ErrClosed
}

func (l *single) end()           { l.once.Do(func() { close(l.over) }) }
func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return &net.TCPAddr{} }

// judge says why a host is not reached. The address is judged when it is
// dialled, if it is not another proxy that dials.
func (p *Proxy) judge(ctx context.Context, u *url.URL) (upstream *url.URL, err error) {
	seen, err := guard.URL(u.Scheme + "://" + u.Host + "/")
	if err != nil {
		return nil, err
	}
	if host := strings.TrimSuffix(seen.Hostname(), "."); !p.listed(host) {
		return nil, tools.Errorf(tools.Security, "%s is none of the hosts that commands may reach (tools.exec.hosts)", host)
	}
	if upstream, err = p.upstream(&http.Request{URL: seen}); err != nil || upstream == nil {
		return nil, err
	}
	return upstream, p.guard.CheckHost(ctx, seen.Hostname())
}

func (p *Proxy) listed(host string) bool {
	return len(p.hosts) == 0 || slices.ContainsFunc(p.hosts, func(want string) bool {
		rest, wild := strings.CutPrefix(want, "*")
		return host == want || wild && strings.HasSuffix(host, rest) && len(host) > len(rest)
	})
}

// explain is what the program is told, and the status for it.
func explain(ctx context.Context, host string, err error) (int, string) {
	err = guard.Explain(ctx, host, err)
	var said *tools.Error
	if errors.As(err, &said) && (said.Kind == tools.Security || said.Kind == tools.InvalidArgs) {
		return http.StatusForbidden, said.Error()
	}
	return http.StatusBadGateway, err.Error()
}

// refuse tells the program, also in the line of the status: of an answer to
// CONNECT few programs show more.
func (r *Run) refuse(w http.ResponseWriter, req *http.Request, host string, err error) {
	status, why := explain(req.Context(), host, err)
	if req.Context().Err() == nil {
		r.note(&r.refused, host+": "+why)
		if said := new(tools.Error); errors.As(guard.Explain(req.Context(), host, err), &said) && said.Outside {
			r.note(&r.reached, req.URL.Hostname()) // it may be a server's words
		}
	}
	if req.Method != http.MethodConnect {
		http.Error(w, why, status)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	line := strings.Join(strings.Fields(why), " ")
	_ = conn.SetWriteDeadline(time.Now().Add(headerTime))
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\n", status, line, len(why)+1, why)
}
