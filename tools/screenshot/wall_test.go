package screenshot_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/internal/need"
	"magpie/tools"
	"magpie/tools/screenshot"
	"magpie/tools/shell/sandbox"
)

// spy is a browser that tells what it can do of what one that was taken over
// would try.
const spy = `#!/bin/bash
said=
cat "$SECRET" >/dev/null 2>&1 && said="$said secret"
cat /proc/$BOT/environ >/dev/null 2>&1 && said="$said environ"
ls "$WORKSPACE" >/dev/null 2>&1 && said="$said workspace"
touch "$WORKSPACE/x" 2>/dev/null && said="$said written"
(exec 5<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null && said="$said loopback"
kill -0 $BOT 2>/dev/null && said="$said signal"
touch "$HOME/x" && said="$said profile"
printf '{"id":1,"error":{"message":"can:%s"}}\0' "$said" >&4
`

// A browser that has been taken over reaches its profile, and nothing else: no
// file of the bot, no service of the machine, no process.
func TestWallOfTheBrowser(t *testing.T) {
	if wall() == nil || !wall().Guards() {
		need.Unmet(t, "there is no sandbox with a guarded network here")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		need.Unmet(t, "bash is not installed")
	}
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("k3y"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	_, port, _ := net.SplitHostPort(service.Addr().String())
	w.opt.Chrome = filepath.Join(t.TempDir(), "spy")
	text := strings.NewReplacer("$SECRET", secret, "$WORKSPACE", w.dir, "$PORT", port, "$BOT", strconv.Itoa(os.Getpid())).Replace(spy)
	if err := os.WriteFile(w.opt.Chrome, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	for says, behind := range map[string]func() *sandbox.Sandbox{
		"can: profile": wall,
		"can: secret environ workspace written loopback signal profile": nil, // it is no bad spy
	} {
		w.opt.Wall = behind
		if res := w.open(t).take(t, map[string]any{"url": "https://example.org/"}); !strings.Contains(res.Text, says) {
			t.Errorf("it says %q, want %q", res.Text, says)
		}
	}
}

// A real page is taken by each wall there is, and by none.
func TestPagesBehindEachWall(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<title>喜鹊</title><body style='background:#f00'>"))
	}))
	defer srv.Close()
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap, sandbox.Off} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, "127.0.0.1")
			w.opt.Chrome = chrome(t)
			s, err := sandbox.New(sandbox.Options{Want: kind})
			if err != nil {
				need.Unmet(t, "%v", err)
			}
			w.opt.Wall = func() *sandbox.Sandbox { return s }
			if kind == sandbox.Off {
				w.opt.Wall = nil
			}
			res := w.open(t).take(t, map[string]any{"url": srv.URL})
			if !res.OK || !strings.Contains(res.Text, "Page: 喜鹊") {
				t.Fatalf("%+v", res)
			}
			if r, g, b, _ := w.picture(t, res).At(640, 400).RGBA(); r>>8 != 255 || g != 0 || b != 0 {
				t.Errorf("the page's colour is %d %d %d", r>>8, g>>8, b>>8)
			}
		})
	}
}

// count allows what it is asked about, and counts.
type count int

func (c *count) Approve(context.Context, tools.Scope, tools.Spec, json.RawMessage) error {
	*c++
	return nil
}

// In a tainted turn the desktop asks, however it is said; a page does not.
func TestTaintedDesktopAsks(t *testing.T) {
	w := newWorld(t)
	w.opt.Desktop = camera(t, `cp SOURCE "$2"`)
	w.opt.Chrome = "/nonexistent/chromium"
	tool, _ := screenshot.New(&w.opt)
	reg := &tools.Registry{}
	if err := reg.Register(tool); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]count{
		`{"mode":"desktop"}`: 1, `{}`: 1, `{"region":"0,0,10,10"}`: 1, `{"type":"desktop"}`: 1, `{"mode":"DESKTOP"}`: 1, `{"mode":null}`: 1,
		`{"url":"https://example.org/"}`: 0, `{"mode":"webpage","url":"https://example.org/"}`: 0,
	} {
		for _, sources := range [][]chat.Source{nil, {{Kind: chat.SourcePage, Name: "https://example.org/"}}} {
			var asked count
			e := tools.NewExecutor(reg, &tools.Options{Approver: &asked})
			res := e.Run(t.Context(), tools.Scope{Heard: tools.Heard{Sources: sources}}, "screenshot", args)
			if sources == nil && asked != 0 || sources != nil && asked != want && res.Err != tools.InvalidArgs {
				t.Errorf("%s after %v: asked %d times; %+v", args, sources, asked, res)
			}
		}
	}
}
