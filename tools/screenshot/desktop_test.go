package screenshot_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/media"
	"magpie/tools"
	"magpie/tools/screenshot"
	"magpie/tools/tooltest"
)

func newListener(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// camera makes a program that writes a picture of a desktop, 400×300, red on
// the left and blue on the right.
func camera(t testing.TB, then string) []string {
	t.Helper()
	dir := t.TempDir()
	img := image.NewRGBA(image.Rect(0, 0, 400, 300))
	for y := range 300 {
		for x := range 400 {
			img.Set(x, y, map[bool]color.Color{true: red, false: blue}[x < 200])
		}
	}
	var raw bytes.Buffer
	if err := png.Encode(&raw, img); err != nil {
		t.Fatal(err)
	}
	source, program := filepath.Join(dir, "desktop.png"), filepath.Join(dir, "scrot")
	if err := os.WriteFile(source, raw.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+strings.ReplaceAll(then, "SOURCE", source)), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{program, "-o", "{file}"}
}

func TestDesktop(t *testing.T) {
	w := newWorld(t)
	w.opt.Desktop = camera(t, `cp SOURCE "$2"`)
	store := &media.Memory{}
	w.opt.Media = store
	w.open(t)
	res := w.take(t, map[string]any{"mode": "desktop"})
	img := w.picture(t, res)
	near(t, img, 10, 10, red)
	near(t, img, 390, 290, blue)
	if len(res.Attachments) != 1 || res.Attachments[0].Kind != chat.Image || res.Attachments[0].Ref == "" || !strings.Contains(res.Text, "taken by scrot") {
		t.Errorf("the model gets no picture: %+v", res)
	}
	part := w.picture(t, w.take(t, map[string]any{"region": "190,10,20,30"})) // desktop by default
	if part.Bounds().Dx() != 20 || part.Bounds().Dy() != 30 {
		t.Errorf("region: %v", part.Bounds())
	}
	near(t, part, 5, 5, red)
	near(t, part, 15, 25, blue)
	for name, args := range map[string]map[string]any{
		"outside":      {"region": "500,10,20,30"},
		"empty region": {"region": "0,0,0,10"},
		"no region":    {"region": "left half"},
		"huge region":  {"region": "0,0,99999,99999"},
		"url":          {"mode": "desktop", "url": "https://example.org/"},
		"full page":    {"mode": "desktop", "full_page": true},
		"no url":       {"mode": "webpage"},
		"mode":         {"mode": "window"},
		"both":         {"url": "https://example.org/", "region": "0,0,1,1", "full_page": true},
	} {
		want := tools.InvalidArgs
		if name == "both" {
			want = tools.Failed // without a browser that is said first
		}
		if res := w.take(t, args); res.Err != want {
			t.Errorf("%s: %s: %s", name, res.Err, res.Text)
		}
	}
}

func TestABrokenDesktop(t *testing.T) {
	for name, program := range map[string]string{"fails": "exit 1", "writes nothing": "exit 0", "writes no picture": `echo hello > "$2"`, "writes, then fails": `cp SOURCE "$2"; exit 1`} {
		w := newWorld(t)
		w.opt.Desktop = camera(t, program)
		if res := w.open(t).take(t, map[string]any{"mode": "desktop"}); res.OK || res.Err != tools.Failed {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
}

func TestWhatIsNotThereIsNotOffered(t *testing.T) {
	w := newWorld(t)
	if _, ok := screenshot.New(&w.opt); ok {
		t.Error("offered without a browser and a desktop")
	}
	w.opt.Desktop = camera(t, "")
	if res := w.open(t).take(t, map[string]any{"url": "https://example.org/"}); res.Err != tools.Failed || !strings.Contains(res.Text, "no Chromium") {
		t.Errorf("no browser: %s", res.Text)
	}
	w.opt.Desktop, w.opt.Chrome = nil, "/nonexistent/chromium"
	if res := w.open(t).take(t, map[string]any{"mode": "desktop"}); res.Err != tools.Failed || !strings.Contains(res.Text, "no desktop") {
		t.Errorf("no desktop: %s", res.Text)
	}
	if res := w.take(t, map[string]any{"url": "https://example.org/"}); res.OK || !strings.Contains(res.Text, "start the browser") {
		t.Errorf("bad path: %s", res.Text)
	}
}

func TestBackends(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, name := range []string{"scrot", "grim", "google-chrome"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := func(set ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for _, s := range set {
				if s == name {
					return ":0", true
				}
			}
			return "", false
		}
	}
	for name, c := range map[string]struct{ got, want []string }{
		"no desktop": {screenshot.Desktop(env()), nil},
		"x11":        {screenshot.Desktop(env("DISPLAY")), []string{dir + "/scrot", "-o", "{file}"}},
		"wayland":    {screenshot.Desktop(env("WAYLAND_DISPLAY", "DISPLAY")), []string{dir + "/grim", "{file}"}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got := screenshot.Chrome(""); got != dir+"/google-chrome" {
		t.Errorf("browser: %q", got)
	}
	if got := screenshot.Chrome("/no/such/browser"); got != "" {
		t.Errorf("configured and not there: %q", got)
	}
}

// A call that is ended takes the browser and its children with it.
func TestTheBrowserIsKilled(t *testing.T) { // alone: it looks for all browsers
	w := newWorld(t, "127.0.0.0/8")
	w.opt.Chrome = chrome(t)
	tool, _ := screenshot.New(&w.opt)
	asked := make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	end := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ask()
		select {
		case <-r.Context().Done():
		case <-end:
		}
	}))
	defer srv.Close()
	defer close(end)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := tool.Call(ctx, tools.Scope{}, []byte(`{"url":"`+srv.URL+`"}`))
		done <- err
	}()
	<-asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("want the cancellation, got %v", err)
	}
	running, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range running {
		line, _ := os.ReadFile(file) // gone meanwhile is what is wanted
		if strings.Contains(string(line), srv.URL) || strings.Contains(string(line), "magpie-browser-") && strings.Contains(string(line), "--remote-debugging-pipe") && parentIsUs(filepath.Dir(file)) {
			t.Errorf("still running: %s", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
}

func parentIsUs(dir string) bool {
	stat, _ := os.ReadFile(dir + "/status")
	return strings.Contains(string(stat), "\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n")
}

func TestConformance(t *testing.T) {
	w := newWorld(t)
	w.opt.Desktop = camera(t, `cp SOURCE "$2"`)
	tool, _ := screenshot.New(&w.opt)
	tooltest.Run(t, tool, &tooltest.Options{Good: []string{`{"mode":"desktop"}`, `{"region":"0,0,10,10"}`}, Workspace: w.dir})
	if s := tool.Spec(); s.Effect != tools.Writes || !s.Untrusted {
		t.Errorf("effect %s, untrusted %v", s.Effect, s.Untrusted)
	}
}

func FuzzArguments(f *testing.F) {
	w := newWorld(f)
	w.opt.Desktop = []string{"/bin/false"}
	w.open(f)
	f.Add(`{"mode":"desktop","region":"1,2,3,4"}`)
	f.Add(`{"type":"webpage","url":"file:///x","fullPage":"true"}`)
	f.Fuzz(func(t *testing.T, args string) {
		if res := w.exec.Run(t.Context(), tools.Scope{}, "screenshot", args); res.OK || strings.Contains(res.Text, "broke down") {
			t.Errorf("%s: %s", args, res.Text)
		}
	})
}
