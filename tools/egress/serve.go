package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"magpie/internal/proxy"
	"magpie/tools"
)

// hops are the headers that are for the next server only (RFC 9110, 7.6.1).
var hops = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func withoutHops(h http.Header) {
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hops {
		h.Del(name)
	}
}

// forward fetches an http:// URL.
func (r *Run) forward(w http.ResponseWriter, req *http.Request) {
	if req.URL.Scheme != "http" || req.URL.Host == "" {
		http.Error(w, "this is the bot's proxy for its commands; want GET http://host/… or CONNECT host:port", http.StatusBadRequest)
		return
	}
	host := req.URL.Host
	upstream, err := r.p.judge(req.Context(), req.URL)
	if err != nil {
		r.refuse(w, req, host, err)
		return
	}
	out := req.Clone(req.Context())
	out.RequestURI = ""
	withoutHops(out.Header)
	if out.Header["User-Agent"] == nil {
		out.Header["User-Agent"] = nil // none, rather than Go's
	}
	tr := r.p.direct
	if upstream != nil {
		tr = &http.Transport{Proxy: http.ProxyURL(upstream), DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader}
	}
	res, err := tr.RoundTrip(out)
	if err != nil {
		r.refuse(w, req, host, err)
		return
	}
	defer res.Body.Close()
	r.note(&r.reached, req.URL.Hostname())
	withoutHops(res.Header)
	h := w.Header()
	for name, values := range res.Header {
		h[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, err = io.Copy(flushing{w, http.NewResponseController(w)}, res.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole
	}
}

// flushing writes through: what a server sends bit by bit arrives so.
type flushing struct {
	io.Writer
	c *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	return n, errors.Join(err, f.c.Flush())
}

// connect makes a tunnel.
func (r *Run) connect(w http.ResponseWriter, req *http.Request) {
	to := &url.URL{Scheme: "https", Host: req.Host}
	if _, port, err := net.SplitHostPort(req.Host); err != nil || port == "" {
		r.refuse(w, req, req.Host, tools.Errorf(tools.InvalidArgs, "want CONNECT host:port"))
		return
	}
	far, err := r.dial(req.Context(), to)
	if err != nil {
		r.refuse(w, req, req.Host, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	r.note(&r.reached, to.Hostname())
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	defer context.AfterFunc(req.Context(), func() { near.Close(); far.Close() })()
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	if _, err := far.Write(early); err == nil {
		join(near, far)
	}
}

func (r *Run) dial(ctx context.Context, to *url.URL) (net.Conn, error) {
	upstream, err := r.p.judge(ctx, to)
	if err != nil {
		return nil, err
	}
	if upstream != nil {
		return proxy.Tunnel(ctx, upstream, to.Host)
	}
	return r.p.guard.Dial(ctx, "tcp", to.Host)
}

// join carries bytes both ways until both sides have ended, or nothing moves.
func join(a, b net.Conn) {
	var moved atomic.Int64
	moved.Store(time.Now().UnixNano())
	var both sync.WaitGroup
	for _, c := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			if carry(c[0], c[1], &moved) {
				if half, ok := c[0].(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
					return
				}
			}
			a.Close()
			b.Close()
		})
	}
	both.Wait()
}

// carry says whether it has come to the end of what there was to read.
func carry(to, from net.Conn, moved *atomic.Int64) bool {
	buf := make([]byte, 32<<10)
	for {
		_ = from.SetReadDeadline(time.Unix(0, moved.Load()).Add(idleTime))
		n, err := from.Read(buf)
		if n > 0 {
			moved.Store(time.Now().UnixNano())
			_ = to.SetWriteDeadline(time.Now().Add(idleTime))
			if _, err := to.Write(buf[:n]); err != nil {
				return false
			}
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, moved.Load())) < idleTime:
			continue // the other way moves
		case err != nil:
			return errors.Is(err, io.EOF)
		}
	}
}
