package simulate

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page
var pageFiles embed.FS

const (
	// pagePolicy lets the page use its own files and API and nothing else.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
		"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	// stopMost bounds the end of requests that are under way.
	stopMost = 2 * time.Second
)

// Page serves the page on a loopback address until ctx ends; ready is told its
// URL, which holds a secret: no other page in the browser can speak in the
// person's name. Port 0 takes any free one.
func (w *World) Page(ctx context.Context, listen string, ready func(url string)) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("listen %q: %w", listen, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listen %q: want an address of this machine alone, such as 127.0.0.1:0", listen)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("open the page: %w", err)
	}
	secret := "/" + rand.Text()
	server := &http.Server{Handler: http.StripPrefix(secret, w.pages()), ReadHeaderTimeout: 10 * time.Second}
	// Open event streams end with ctx, so that Shutdown has nothing to wait for.
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	ready("http://" + l.Addr().String() + secret + "/")
	select {
	case err := <-ended:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMost)
	defer cancel()
	if server.Shutdown(stop) != nil {
		_ = server.Close() // what hangs is cut off
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

func (w *World) pages() http.Handler {
	mux := http.NewServeMux()
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // embedded: it is there
	}
	for _, f := range files {
		data, err := pageFiles.ReadFile("page/" + f.Name())
		if err != nil {
			panic(err) // embedded: it is there
		}
		pattern := "GET /" + strings.Replace(f.Name(), "index.html", "{$}", 1)
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", types[path.Ext(f.Name())])
			http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(data))
		})
	}
	w.api(mux)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(rw, r)
	})
}
