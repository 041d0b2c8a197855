package egress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"magpie/tools/egress"
	"magpie/tools/web/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made is a proxy for tests; allow are networks of this machine.
func made(t *testing.T, o egress.Options, allow ...string) *egress.Proxy {
	t.Helper()
	var err error
	if o.Guard, err = guard.New(&guard.Options{Allow: allow}); err != nil {
		t.Fatal(err)
	}
	return egress.New(o)
}

// program is the end of a connection that a sandboxed program has.
func program(t *testing.T, ctx context.Context, r *egress.Run) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var over sync.WaitGroup
	over.Go(func() { r.Serve(ctx, theirs) })
	t.Cleanup(func() { ours.Close(); over.Wait() })
	return ours
}

// say sends a head and returns the answer.
func say(t *testing.T, c net.Conn, method, head string) (*http.Response, string) {
	t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(head, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if method == http.MethodConnect && res.StatusCode == http.StatusOK {
		return res, ""
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// What is for the proxy only does not go further, and what is asked arrives.
func TestForward(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Own", "yes")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.Method, r.Host, r.URL, r.Header, string(body))
	}))
	defer server.Close()
	run := made(t, egress.Options{}, "127.0.0.0/8").Run()
	c := program(t, t.Context(), run)
	at := server.Listener.Addr().String()
	for range 2 { // on one connection
		res, body := say(t, c, "POST", "POST http://"+at+"/a%2Fb?c=d HTTP/1.1\nHost: "+at+"\nContent-Length: 2\nProxy-Authorization: Basic x\nConnection: keep-alive, X-Mine\nX-Mine: 1\nX-Kept: 2\n\nhi")
		if res.StatusCode != http.StatusTeapot || res.Header.Get("X-Own") != "yes" ||
			!strings.HasPrefix(body, "POST"+at+"/a%2Fb?c=d") || !strings.Contains(body, "X-Kept:[2]") || !strings.HasSuffix(body, "hi") ||
			strings.Contains(body, "X-Mine") || strings.Contains(body, "Basic") || strings.Contains(body, "Go-http") {
			t.Errorf("%v %s", res, body)
		}
	}
	if got := run.Reached(); len(got) != 1 || got[0] != "127.0.0.1" || len(run.Refused()) != 0 {
		t.Errorf("reached %v, refused %v", got, run.Refused())
	}
}

// Bytes behind the head of a tunnel arrive, and an end on one side is not one on
// the other.
func TestTunnel(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		got, _ := io.ReadAll(c)
		fmt.Fprintf(c, "you said %s", got)
	})
	run := made(t, egress.Options{}, "127.0.0.0/8").Run()
	c := program(t, t.Context(), run)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\nearly ", l.Addr())
	r := bufio.NewReader(c)
	if res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect}); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	fmt.Fprint(c, "and late")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); string(got) != "you said early and late" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// Whatever is refused, the program learns why, and the run as well.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, method, head, want string
		status                   int
	}{
		{"tunnel to this machine", "CONNECT", "CONNECT 127.0.0.1:80 HTTP/1.1\nHost: x\n\n", "private or reserved", 403},
		{"tunnel to its names", "CONNECT", "CONNECT localhost:80 HTTP/1.1\nHost: x\n\n", "private or reserved", 403},
		{"tunnel to IPv6", "CONNECT", "CONNECT [::ffff:7f00:1]:80 HTTP/1.1\nHost: x\n\n", "private or reserved", 403},
		{"tunnel to the metadata", "CONNECT", "CONNECT 169.254.169.254:80 HTTP/1.1\nHost: example.org\n\n", "private or reserved", 403},
		{"tunnel to a number", "CONNECT", "CONNECT 0x7f.1:80 HTTP/1.1\nHost: x\n\n", "disguised", 403},
		{"tunnel to nowhere", "CONNECT", "CONNECT host HTTP/1.1\nHost: x\n\n", "want CONNECT host:port", 403},
		{"URL", "GET", "GET http://[::1]/ HTTP/1.1\nHost: example.org\n\n", "private or reserved", 403},
		{"URL with a user", "GET", "GET http://example.org@10.0.0.1/ HTTP/1.1\nHost: x\n\n", "private or reserved", 403},
		{"not a proxy's request", "GET", "GET / HTTP/1.1\nHost: 127.0.0.1\n\n", "want GET http://host", 400},
		{"another scheme", "GET", "GET ftp://example.org/ HTTP/1.1\nHost: x\n\n", "want GET http://host", 400},
		{"a head without end", "GET", "GET http://example.org/ HTTP/1.1\nX: " + strings.Repeat("x", 1<<20) + "\n\n", "", 431},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := made(t, egress.Options{}).Run()
			res, body := say(t, program(t, t.Context(), run), c.method, c.head)
			if res.StatusCode != c.status || !strings.Contains(body, c.want) || c.method == "CONNECT" && !strings.Contains(res.Status, c.want) {
				t.Errorf("%s: %s", res.Status, body)
			}
			if len(run.Reached()) != 0 || c.status == 403 && (len(run.Refused()) != 1 || !strings.Contains(run.Refused()[0], c.want)) {
				t.Errorf("reached %v, refused %v", run.Reached(), run.Refused())
			}
		})
	}
}

// When the command ends, so do its connections, in whatever state.
func TestEnds(t *testing.T) {
	held := make(chan struct{}, 8)
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				held <- struct{}{}
				_, _ = io.Copy(io.Discard, c) // until the proxy has let go
			})
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	run := made(t, egress.Options{}, "127.0.0.0/8").Run()
	tunnel := program(t, ctx, run)
	if res, _ := say(t, tunnel, "CONNECT", fmt.Sprintf("CONNECT %s HTTP/1.1\nHost: x\n\n", l.Addr())); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	waits := program(t, ctx, run)
	fmt.Fprintf(waits, "GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n", l.Addr())
	<-held
	<-held
	half, quiet := program(t, ctx, run), program(t, ctx, run)
	fmt.Fprint(half, "GET http://exa")
	cancel()
	for _, c := range []net.Conn{tunnel, waits, half, quiet} {
		_, _ = io.Copy(io.Discard, c) // ends
	}
	l.Close()
	all.Wait()
	if len(run.Refused()) != 0 {
		t.Errorf("what was given up is not refused: %v", run.Refused())
	}
}

// farProxy is a proxy to which far.example is a server of this machine's. It says
// how each request began.
func farProxy(t *testing.T, server string) (address string, asked chan string, stop func()) {
	t.Helper()
	asked = make(chan string, 8)
	through := made(t, egress.Options{}, "127.0.0.0/8")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				asked <- strings.TrimSpace(line)
				line = strings.NewReplacer("far.example:80", server, "far.example/", server+"/").Replace(line)
				through.Run().Serve(t.Context(), &rewritten{c, io.MultiReader(strings.NewReader(line), r)})
			})
		}
	})
	stop = sync.OnceFunc(func() { l.Close(); all.Wait() })
	t.Cleanup(stop)
	return l.Addr().String(), asked, stop
}

// Behind a proxy of this machine's everything goes by that, and what looks
// private from here still nowhere.
func TestUpstream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }))
	defer server.Close()
	address, asked, stop := farProxy(t, server.Listener.Addr().String())
	up, err := url.Parse("http://user:pass@" + address)
	if err != nil {
		t.Fatal(err)
	}
	run := made(t, egress.Options{Upstream: http.ProxyURL(up)}).Run()
	if res, body := say(t, program(t, t.Context(), run), "GET", "GET http://far.example/x HTTP/1.1\nHost: far.example\nConnection: close\n\n"); res.StatusCode != 200 || body != "served" {
		t.Errorf("%s %s", res.Status, body)
	}
	c := program(t, t.Context(), run)
	if res, _ := say(t, c, "CONNECT", "CONNECT far.example:80 HTTP/1.1\nHost: x\n\n"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if _, body := say(t, c, "GET", "GET / HTTP/1.1\nHost: x\nConnection: close\n\n"); body != "served" {
		t.Errorf("by the tunnel came %q", body)
	}
	for _, want := range []string{"GET http://far.example/x HTTP/1.1", "CONNECT far.example:80 HTTP/1.1"} {
		if got := <-asked; got != want {
			t.Errorf("the proxy was asked %q", got)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "printer", "nas.local", "metadata.google.internal", "10.1.2.3", "[::1]"} {
		if res, body := say(t, program(t, t.Context(), run), "CONNECT", "CONNECT "+host+":80 HTTP/1.1\nHost: x\n\n"); res.StatusCode != 403 {
			t.Errorf("%s: %s %s", host, res.Status, body)
		}
	}
	if len(asked) != 0 {
		t.Errorf("the proxy was asked %q", <-asked)
	}
	stop()
	if res, body := say(t, program(t, t.Context(), run), "CONNECT", "CONNECT far.example:80 HTTP/1.1\nHost: x\n\n"); res.StatusCode != 502 {
		t.Errorf("without it: %s %s", res.Status, body)
	}
}

type rewritten struct {
	net.Conn
	r io.Reader
}

func (c *rewritten) Read(p []byte) (int, error) { return c.r.Read(p) }
