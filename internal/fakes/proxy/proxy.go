// Package proxy is a proxy as networks have them that let nothing else out: it
// forwards http, opens tunnels by CONNECT and speaks SOCKS5 (RFC 9110 9.3.6,
// 7.6; RFC 1928, 1929). It knows a few names and refuses every other, asks for a
// user and a password, and counts.
package proxy

import (
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// Options adjust a proxy.
type Options struct {
	User, Password string // "" = nobody is asked
}

// Server is one proxy at three addresses.
type Server struct {
	opts          Options
	plain, secure *httptest.Server
	socks         net.Listener
	wg            sync.WaitGroup

	mu      sync.Mutex
	hosts   map[string]string // host:port that is asked for -> address
	count   map[string]int    // by host:port
	refused map[string]int    // by host:port, of those that are not known too
	status  int               // what everybody gets; 0 = what he asked for
	open    map[net.Conn]bool
}

// New starts a proxy.
func New(o Options) (*Server, error) {
	s := &Server{opts: o, hosts: map[string]string{}, count: map[string]int{}, refused: map[string]int{}, open: map[net.Conn]bool{}}
	var err error
	if s.socks, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.plain, s.secure = httptest.NewServer(s), httptest.NewTLSServer(s)
	s.wg.Go(s.accept)
	return s, nil
}

// Close ends it with all connections.
func (s *Server) Close() {
	_ = s.socks.Close() // ends accept
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	for _, web := range []*httptest.Server{s.plain, s.secure} {
		web.CloseClientConnections()
		web.Close()
	}
	s.wg.Wait()
}

// Address is that of a scheme: http, https, socks5 or socks5h, with the user and
// the password.
func (s *Server) Address(scheme string) string {
	u := url.URL{Scheme: scheme, Host: s.plain.Listener.Addr().String()}
	switch scheme {
	case "https":
		u.Host = s.secure.Listener.Addr().String()
	case "socks5", "socks5h":
		u.Host = s.socks.Addr().String()
	}
	if s.opts.User != "" {
		u.User = url.UserPassword(s.opts.User, s.opts.Password)
	}
	return u.String()
}

// Certificate is that of the address of https.
func (s *Server) Certificate() *x509.Certificate { return s.secure.Certificate() }

// Know has the proxy connect who asks for host (host:port) with an address.
func (s *Server) Know(host, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[host] = address
}

// Refuse has everybody get a status, until it is 0.
func (s *Server) Refuse(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Count is how often a host was reached, Refused how often it was asked for in
// vain.
func (s *Server) Count(host string) int { return s.number(s.count, host) }

// Refused is how often a host was asked for in vain.
func (s *Server) Refused(host string) int { return s.number(s.refused, host) }

func (s *Server) number(of map[string]int, host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return of[host]
}

// find is where a host is, or the status that refuses it.
func (s *Server) find(host string, let bool) (address string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address, known := s.hosts[host]
	switch {
	case !let:
		status = http.StatusProxyAuthRequired
	case s.status != 0:
		status = s.status
	case !known:
		status = http.StatusForbidden
	}
	if status != 0 {
		s.refused[host]++
		return "", status
	}
	s.count[host]++
	return address, 0
}

func (s *Server) let(user, password string) bool {
	same := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	return same(user, s.opts.User) && same(password, s.opts.Password)
}

// ServeHTTP forwards a request, or joins the two ends of a CONNECT.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			http.Error(w, "this is a proxy", http.StatusBadRequest)
			return
		}
		host = withPort(r.URL.Host)
	}
	at, status := s.find(host, s.let(credentials(r.Header.Get("Proxy-Authorization"))))
	if status != 0 {
		if status == http.StatusProxyAuthRequired {
			w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
		}
		http.Error(w, "the proxy says no", status)
		return
	}
	if r.Method != http.MethodConnect {
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Host, p.Out.Host = at, p.In.Host
		}, Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}).ServeHTTP(w, r)
		return
	}
	there, err := net.Dial("tcp", at)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	s.join(here, buffered, there)
}

// credentials reads a header of basic authentication.
func credentials(header string) (user, password string) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(header, "Basic "))
	if err != nil {
		return "", ""
	}
	user, password, _ = strings.Cut(string(raw), ":")
	return user, password
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return host + ":80"
}

// join carries bytes between two connections until one ends.
func (s *Server) join(here net.Conn, from io.Reader, there net.Conn) {
	s.mu.Lock()
	s.open[here], s.open[there] = true, true
	s.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(there, from)
		_ = there.Close()
	})
	_, _ = io.Copy(here, there)
	_, _ = here.Close(), there.Close()
	both.Wait()
	s.mu.Lock()
	delete(s.open, here)
	delete(s.open, there)
	s.mu.Unlock()
}
