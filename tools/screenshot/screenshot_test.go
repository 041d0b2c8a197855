package screenshot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/internal/need"
	"magpie/tools"
	"magpie/tools/fs/fence"
	"magpie/tools/screenshot"
	"magpie/tools/shell/sandbox"
	"magpie/tools/web/guard"
)

// TestMain also looks that nothing is left behind: no goroutine, no profile.
func TestMain(m *testing.M) {
	if sandbox.Helper() {
		os.Exit(1)
	}
	os.Exit(verify(m))
}

func verify(m *testing.M) int {
	dir, err := os.MkdirTemp("", "screenshot-test-")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	code := m.Run()
	left, err := filepath.Glob(filepath.Join(dir, "magpie-*"))
	if err = errors.Join(err, goleak.Find()); code == 0 && (err != nil || len(left) > 0) {
		fmt.Fprintln(os.Stderr, "left behind:", left, err)
		return 1
	}
	return code
}

// wall is the sandbox of this machine; nil: there is none.
var wall = sync.OnceValue(func() *sandbox.Sandbox {
	s, err := sandbox.New(sandbox.Options{})
	if err != nil || s.Report().Kind == sandbox.Off {
		return nil
	}
	return s
})

// chrome finds the browser.
func chrome(t testing.TB) string {
	t.Helper()
	path := screenshot.Chrome(os.Getenv("MAGPIE_TEST_CHROME"))
	if path == "" {
		need.Unmet(t, "no Chromium in PATH (MAGPIE_TEST_CHROME=/path names one)")
	}
	return path
}

// patience bounds every call; a browser may start slowly.
const patience = 3 * time.Minute

type world struct {
	dir  string
	opt  screenshot.Options
	exec *tools.Executor
}

func newWorld(t testing.TB, allow ...string) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	f, err := fence.New(w.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	g, err := guard.New(&guard.Options{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	w.opt = screenshot.Options{Files: f, Guard: g, Wall: wall}
	return w
}

func (w *world) open(t testing.TB) *world {
	t.Helper()
	tool, ok := screenshot.New(&w.opt)
	if !ok {
		t.Fatal("the tool is not offered")
	}
	reg := &tools.Registry{}
	if err := reg.Register(tool); err != nil {
		t.Fatal(err)
	}
	w.exec = tools.NewExecutor(reg, &tools.Options{Timeout: patience, NetworkTimeout: patience})
	return w
}

func (w *world) take(t testing.TB, args map[string]any) tools.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return w.exec.Run(ctx, tools.Scope{}, "screenshot", string(raw))
}

var savedAs = regexp.MustCompile(`Saved as (screenshots/[a-z0-9.-]+\.png) \((\d+)×(\d+) pixels`)

// picture reads what a call has saved.
func (w *world) picture(t testing.TB, res tools.Result) image.Image {
	t.Helper()
	m := savedAs.FindStringSubmatch(res.Text)
	if !res.OK || m == nil {
		t.Fatalf("no picture: %s", res.Text)
	}
	raw, err := os.ReadFile(filepath.Join(w.dir, m[1]))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(img.Bounds().Dx(), img.Bounds().Dy()); got != m[2]+" "+m[3] {
		t.Errorf("the file has %s pixels, the answer says %s %s", got, m[2], m[3])
	}
	return img
}

func near(t testing.TB, img image.Image, x, y int, want color.RGBA) {
	t.Helper()
	r, g, b, _ := img.At(x, y).RGBA()
	if got := (color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}); got != want {
		t.Errorf("pixel %d,%d: got %v, want %v", x, y, got, want)
	}
}

// page is 3000 pixels long, red at the top and blue at the bottom, turned green
// by a script in the middle.
const page = `<!doctype html><meta charset=utf-8><title>喜鹊 page</title><style>body{margin:0}div{height:1000px;background:rgb(255,0,0)}</style>
<div></div><div id=m></div><div style="background:rgb(0,0,255)"></div><script>document.getElementById('m').style.background='rgb(0,255,0)';alert('stop')</script>`

var (
	red   = color.RGBA{255, 0, 0, 255}
	green = color.RGBA{0, 255, 0, 255}
	blue  = color.RGBA{0, 0, 255, 255}
)

func serve(t testing.TB) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/inner":
			http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
			return
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestWebpage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "127.0.0.0/8")
	w.opt.Chrome = chrome(t)
	w.open(t)
	srv := serve(t)
	for name, c := range map[string]struct {
		args          map[string]any
		width, height int
		pixels        map[image.Point]color.RGBA
	}{
		"window":       {map[string]any{"url": srv.URL}, 1280, 800, map[image.Point]color.RGBA{{10, 10}: red, {1270, 790}: red}},
		"full page":    {map[string]any{"url": srv.URL, "fullPage": true, "mode": "webpage"}, 1280, 3000, map[image.Point]color.RGBA{{10, 10}: red, {10, 1500}: green, {10, 2990}: blue}},
		"region":       {map[string]any{"url": srv.URL, "type": "webpage", "region": "100, 900, 50, 200"}, 50, 200, map[image.Point]color.RGBA{{5, 5}: red, {5, 150}: green}},
		"region's end": {map[string]any{"url": srv.URL, "region": "1200,2900,500,500"}, 80, 100, map[image.Point]color.RGBA{{5, 5}: blue}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := w.take(t, c.args)
			img := w.picture(t, res)
			if img.Bounds().Dx() != c.width || img.Bounds().Dy() != c.height {
				t.Errorf("%v, want %d×%d", img.Bounds(), c.width, c.height)
			}
			for at, want := range c.pixels {
				near(t, img, at.X, at.Y, want)
			}
			if !strings.Contains(res.Text, "喜鹊 page") || !strings.Contains(res.Text, srv.URL) {
				t.Errorf("title or address is missing: %s", res.Text)
			}
		})
	}
	if res := w.take(t, map[string]any{"url": srv.URL + "/gone"}); !res.OK || !strings.Contains(res.Text, "404 Not Found") {
		t.Errorf("404: %s", res.Text)
	}
	if res := w.take(t, map[string]any{"url": srv.URL, "region": "5000,5000,10,10"}); res.Err != tools.InvalidArgs || !strings.Contains(res.Text, "1280×3000") {
		t.Errorf("outside: %s", res.Text)
	}
}

// Whatever a page loads goes through the guard, also by redirect, script,
// frame and WebSocket.
func TestTheGuardSeesThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "127.0.0.1")
	w.opt.Chrome = chrome(t)
	w.open(t)
	var inner atomic.Int32
	secret := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) }))
	listen, err := newListener("127.0.0.2:0")
	if err != nil {
		need.Unmet(t, "no second loopback address: %v", err)
	}
	secret.Listener.Close()
	secret.Listener = listen
	secret.Start()
	defer secret.Close()
	bad := secret.Listener.Addr().String()
	loaded := make(chan struct{})
	done := sync.OnceFunc(func() { close(loaded) })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/done":
			done()
			return
		case "/wait": // the page is loaded when its script has run
			select {
			case <-loaded:
			case <-r.Context().Done():
			}
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<body style="background:rgb(0,255,0)"><img src="http://%[1]s/i"><iframe src="http://%[1]s/f"></iframe><img src="/wait"><script>
fetch('http://%[1]s/x',{mode:'no-cors'}).catch(e=>0).then(()=>fetch('/done'));try{new WebSocket('ws://%[1]s/w')}catch(e){}
fetch('https://%[1]s/t',{mode:'no-cors'}).catch(e=>0);navigator.sendBeacon('http://%[1]s/b','x')</script>`, bad)
	}))
	defer srv.Close()
	near(t, w.picture(t, w.take(t, map[string]any{"url": srv.URL})), 700, 700, green)
	select {
	case <-loaded:
	case <-time.After(time.Minute):
		t.Error("the page's script did not run: the test shows nothing")
	}
	if n := inner.Load(); n != 0 {
		t.Errorf("%d requests reached the inner server", n)
	}
}

// closedPort is an address at which nobody listens; the port stays taken, so
// that no other program comes to listen there.
func closedPort(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

func TestRefusedPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "127.0.0.0/8")
	w.opt.Chrome = chrome(t)
	w.open(t)
	closed := newWorld(t)
	closed.opt.Chrome = w.opt.Chrome
	closed.open(t)
	srv := serve(t)
	for name, c := range map[string]struct {
		world *world
		url   string
		kind  tools.ErrorKind
		want  string
	}{
		"loopback":       {closed, srv.URL, tools.Security, "tools.web.allow_private"},
		"loopback https": {closed, strings.Replace(srv.URL, "http:", "https:", 1), tools.Security, "tools.web.allow_private"},
		"redirect":       {w, srv.URL + "/inner", tools.Security, "169.254.169.254"},
		"to a file":      {w, srv.URL + "/file", tools.Failed, "browser says"},
		"a file":         {w, "file:///etc/passwd", tools.Security, "want http"},
		"disguised":      {w, "http://2130706433/", tools.Security, "disguised"},
		"nobody there":   {w, "http://" + closedPort(t) + "/", tools.Failed, "nothing listens"},
		"chrome's own":   {w, "chrome://version", tools.Security, "want http"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if res := c.world.take(t, map[string]any{"url": c.url}); res.OK || res.Err != c.kind || !strings.Contains(res.Text, c.want) {
				t.Errorf("%s: %s", res.Err, res.Text)
			}
		})
	}
}
