package screenshot

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"magpie/tools/web/guard"
)

// Bounds of one page's traffic.
const (
	maxTraffic    = 128 << 20 // bytes in both directions
	headerTimeout = 10 * time.Second
)

var errTraffic = errors.New("the page loads too much")

// proxy is the browser's only way out: a forward proxy on loopback that lives
// as long as one picture and lets every connection pass the guard.
type proxy struct {
	guard  *guard.Guard
	direct *http.Transport
	server *http.Server
	listen net.Listener
	left   atomic.Int64 // bytes that may still pass
	done   sync.WaitGroup

	mu       sync.Mutex
	tunnels  map[net.Conn]bool
	failures map[string]error // by host: why it was not reached
}

func startProxy(g *guard.Guard) (*proxy, error) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{guard: g, listen: listen, tunnels: map[net.Conn]bool{}, failures: map[string]error{}}
	p.left.Store(maxTraffic)
	p.direct = &http.Transport{DialContext: p.dial, DisableCompression: true, DisableKeepAlives: true}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: headerTimeout}
	p.done.Go(func() { _ = p.server.Serve(listen) }) // ends with close
	return p, nil
}

func (p *proxy) address() string { return "http://" + p.listen.Addr().String() }

// take serves a connection that came another way than over loopback, until it
// is closed.
func (p *proxy) take(_ context.Context, conn net.Conn) {
	l := &single{Conn: conn, first: make(chan net.Conn, 1), gone: make(chan struct{})}
	l.first <- l
	p.done.Add(1)
	defer p.done.Done()
	_ = p.server.Serve(l.listener()) // ends with the connection, or with close
}

// single is a connection and the listener that gives it.
type single struct {
	net.Conn
	first chan net.Conn
	once  sync.Once
	gone  chan struct{}
}

// Close ends both.
func (s *single) Close() error {
	s.once.Do(func() { close(s.gone) })
	return s.Conn.Close()
}

func (s *single) listener() net.Listener { return accepting{s} }

type accepting struct{ *single }

// Accept implements net.Listener.
func (a accepting) Accept() (net.Conn, error) {
	select {
	case c := <-a.first:
		return c, nil
	case <-a.gone:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (a accepting) Addr() net.Addr { return a.LocalAddr() }

// close ends all connections and waits for what served them.
func (p *proxy) close() {
	_ = p.server.Close() // nothing is left to be saved
	p.mu.Lock()
	for c := range p.tunnels {
		_ = c.Close()
	}
	p.tunnels = nil
	p.mu.Unlock()
	p.direct.CloseIdleConnections()
	p.done.Wait()
}

// failure says why a host was not reached, nil when it was.
func (p *proxy) failure(host string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures[host]
}

func (p *proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.guard.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, left: &p.left}, nil
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.done.Add(1)
	defer p.done.Done()
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" { // not meant for a proxy
		http.Error(w, "this is the way out of a browser", http.StatusBadRequest)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, name := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection", "Upgrade"} {
		out.Header.Del(name)
	}
	resp, err := p.direct.RoundTrip(out)
	if err != nil {
		p.fail(r.Context(), r.URL.Hostname(), err)
		panic(http.ErrAbortHandler) // the browser is to see no answer, not a page of ours
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // an end in the middle is the page's
}

func (p *proxy) fail(ctx context.Context, host string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures[host] = guard.Explain(ctx, host, err)
}

// tunnel connects the browser with a host, for https and WebSockets.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, "want host:port", http.StatusBadRequest)
		return
	}
	out, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		p.fail(r.Context(), host, err)
		http.Error(w, "not reached", http.StatusForbidden)
		return
	}
	defer out.Close()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	if !p.keep(in, out) {
		return
	}
	defer p.drop(in, out)
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection Established\r\n\r\n"); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(in, out)
		_ = in.Close()
	})
	_, _ = io.Copy(out, buffered)
	_ = out.Close()
	back.Wait()
}

// keep notes connections for close; false when that has been.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.tunnels == nil {
			return false
		}
		p.tunnels[c] = true
	}
	return true
}

func (p *proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.tunnels, c)
	}
}

// counted ends when the page has used up its traffic.
type counted struct {
	net.Conn
	left *atomic.Int64
}

func (c *counted) Read(b []byte) (int, error)  { return c.count(c.Conn.Read(b)) }
func (c *counted) Write(b []byte) (int, error) { return c.count(c.Conn.Write(b)) }

func (c *counted) count(n int, err error) (int, error) {
	if c.left.Add(-int64(n)) < 0 && err == nil {
		err = errTraffic
	}
	return n, err
}
