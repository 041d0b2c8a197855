package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// gate is the only way out of a network: a proxy that passes CONNECT on. Behind
// it each platform answers at https://example.com with a port of its own.
type gate struct {
	mu     sync.Mutex
	behind map[string]string        // host:port that is asked for -> address
	opened map[string]chan struct{} // closed once a web socket was opened, or updates were asked for
	proxy  *httptest.Server
}

// ServeHTTP joins the two ends of a CONNECT.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	address, ok := g.behind[r.Host]
	g.mu.Unlock()
	if r.Method != http.MethodConnect || !ok {
		http.Error(w, "only CONNECT to a platform", http.StatusForbidden)
		return
	}
	there, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	go func() { // ends with the connections
		_, _ = io.Copy(there, buffered)
		_ = there.Close()
	}()
	_, _ = io.Copy(here, there)
}

// add puts the server at base behind the gate and returns its address there.
// The web sockets that the server names are put there too.
func (g *gate) add(t *testing.T, name, base string, port int) (at string, cert []byte) {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	host := "example.com:" + strconv.Itoa(port)
	opened := make(chan struct{})
	var once sync.Once
	front := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if strings.HasSuffix(r.In.URL.Path, "/getUpdates") {
				once.Do(func() { close(opened) })
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusSwitchingProtocols {
				once.Do(func() { close(opened) })
				return nil
			}
			body, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			body = bytes.ReplaceAll(body, []byte("ws://"+target.Host), []byte("wss://"+host))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", strconv.Itoa(len(body)))
			return err
		},
	})
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	g.mu.Lock()
	g.behind[host], g.opened[name] = front.Listener.Addr().String(), opened
	g.mu.Unlock()
	return "https://" + host, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
}

// TestProxy: with HTTPS_PROXY every platform is reached through it, its web
// socket too, and the doctor and init say that it is used.
func TestProxy(t *testing.T) {
	t.Parallel()
	g := &gate{behind: map[string]string{}, opened: map[string]chan struct{}{}}
	g.proxy = httptest.NewServer(g)
	t.Cleanup(g.proxy.Close)
	t.Cleanup(g.proxy.CloseClientConnections)
	dir := t.TempDir()
	text := "web: {listen: '" + freeAddress(t) + "'}\nchannels:\n"
	for i, c := range candidates(t) {
		at, cert := g.add(t, c.name, c.url, 2001+i)
		if err := os.WriteFile(filepath.Join(dir, "ca.pem"), cert, 0o600); err != nil { // the same for all
			t.Fatal(err)
		}
		keys := map[string]string{"feishu": "app_id: %q, app_secret: %q", "qq": "app_id: %q, app_secret: %q", "dingtalk": "client_id: %q, client_secret: %q"}[c.name]
		section := fmt.Sprintf("token: %q", c.secret)
		if keys != "" {
			section = fmt.Sprintf(keys, c.id, c.secret)
		}
		for _, extra := range c.extra {
			key, _, _ := strings.Cut(extra, "=")
			if key != "--key" {
				section += fmt.Sprintf(", %s: %q", key, at)
			}
		}
		text += fmt.Sprintf("  %s: {api_base: %q, %s}\n", c.name, at, section)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HTTPS_PROXY=" + g.proxy.URL, "SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem")}
	cmd := bot(t, dir, env)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.After(time.Minute)
	var late []string
	for name, opened := range g.opened {
		select {
		case <-opened:
		case <-limit:
			late = append(late, name)
			limit = time.After(time.Millisecond)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || len(late) > 0 {
		t.Errorf("%v; not reached through the proxy: %v\n%s", err, late, said.String())
	}
	// Without it the same names lead nowhere, and what is missing is said.
	away := []string{"HTTPS_PROXY=http://me:hunter2@" + freeAddress(t), env[1]}
	code, out, errs := run(t, dir, away, "doctor")
	if code != exitFailed || strings.Contains(out+errs, "hunter2") || strings.Count(out, "calls go through the proxy of HTTPS_PROXY, 127.0.0.1:") != len(g.opened) {
		t.Errorf("a proxy that is not there: %d\n%s%s", code, out, errs)
	}
}
