package console_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/chat"
	"magpie/internal/console"
)

const patience = time.Minute

func TestToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if got, err := console.LoadToken(dir, "mine"); err != nil || string(got) != "mine" {
		t.Errorf("configured: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("a configured token made a file")
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := map[chat.Secret]bool{}
	for range 8 {
		wg.Go(func() {
			got, err := console.LoadToken(dir, "")
			mu.Lock()
			defer mu.Unlock()
			all[got] = true
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(all) != 1 {
		t.Fatalf("starts at the same time made %d tokens", len(all))
	}
	path := filepath.Join(dir, console.TokenFile)
	for got := range all {
		if len(got) < 32 {
			t.Errorf("the token has %d characters", len(got))
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := console.LoadToken(dir, ""); err == nil || !strings.Contains(err.Error(), console.TokenFile) {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := console.LoadKey(filepath.Join(path, "sub")); err == nil {
		t.Error("a folder that cannot be: no error")
	}
}

func TestValidateListen(t *testing.T) {
	for listen, ok := range map[string]bool{
		"127.0.0.1:18990": true, "localhost:1": true, "[::1]:80": true, "127.8.8.8:1": true,
		":18990": false, "0.0.0.0:18990": false, "[::]:1": false, "192.168.1.2:80": false, "example.org:80": false, "nonsense": false, "": false,
	} {
		if err := console.ValidateListen(listen, ""); (err == nil) != ok {
			t.Errorf("%q without a token: %v", listen, err)
		}
	}
	if err := console.ValidateListen("0.0.0.0:18990", "token"); err != nil {
		t.Errorf("with a token: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	good := console.Config{Listen: "127.0.0.1:0", Token: "t", Key: []byte("k")}
	for name, make := range map[string]func() error{
		"no token": func() error {
			_, err := console.New(console.Config{Listen: "127.0.0.1:0", Key: []byte("k")})
			return err
		},
		"no key":  func() error { _, err := console.New(console.Config{Listen: "127.0.0.1:0", Token: "t"}); return err },
		"no port": func() error { c := good; c.Listen = "127.0.0.1"; _, err := console.New(c); return err },
		"same route": func() error {
			_, err := console.New(good, console.Route{Pattern: "/a", Handler: text("")}, console.Route{Pattern: "/a", Handler: text("")})
			return err
		},
		"broken pattern": func() error {
			_, err := console.New(good, console.Route{Pattern: "a b c", Handler: text("")})
			return err
		},
	} {
		if err := make(); err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error holds the token", name)
		}
	}
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := newConsole(t, func(c *console.Config) { c.Listen = l.Addr().String() })
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "web.listen") || !strings.Contains(err.Error(), "taken") {
		t.Errorf("got %v", err)
	}
}

func TestStopsWithAStreamOpen(t *testing.T) {
	before := goleak.IgnoreCurrent()
	started := make(chan struct{})
	s, err := console.New(console.Config{Listen: "127.0.0.1:0", Token: secret, Key: []byte("k")}, console.Route{Pattern: "/stream", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "begun\n")
		_ = http.NewResponseController(rw).Flush()
		close(started)
		<-r.Context().Done()
	})})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{}}
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL()+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	<-started
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run returned %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Run did not return")
	}
	_ = res.Body.Close()
	client.CloseIdleConnections()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if url := s.LoginURL(); !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/?token="+secret) {
		t.Errorf("login at %q", url)
	}
}
