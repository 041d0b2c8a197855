// Package pagetest drives a headless Chromium for the tests of pages. It is
// for tests only. The browser is closed by the test's cleanup.
package pagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"magpie/internal/need"
)

const (
	// patience bounds every wait for the browser.
	patience = 2 * time.Minute
	// answer is how long one answer of a page is waited for.
	answer = 5 * time.Second
)

// Chromium finds the browser.
func Chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("MAGPIE_TEST_CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	need.Unmet(t, "no Chromium found (install chromium, or name it in MAGPIE_TEST_CHROME): the page is not tested")
	return ""
}

// Browser is a tab of a headless Chromium with everything it complained about
// and asked for.
type Browser struct {
	T     *testing.T
	ctx   context.Context
	mu    sync.Mutex
	bad   []string
	hosts map[string]bool
}

// Open starts a Chromium and opens a tab.
func Open(t *testing.T, flags ...chromedp.ExecAllocatorOption) *Browser {
	t.Helper()
	opts := append(append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...),
		chromedp.ExecPath(Chromium(t)), chromedp.NoSandbox, chromedp.Flag("disable-background-networking", true),
		chromedp.UserDataDir(profile(t)), chromedp.WindowSize(1100, 800), chromedp.WSURLReadTimeout(patience),
		chromedp.Env("LANG=C.UTF-8")) // else it cannot read files with names beyond ASCII
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), append(opts, flags...)...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		bound, cancelBound := context.WithTimeout(ctx, patience)
		defer cancelBound()
		_ = chromedp.Cancel(bound) // waits for the process
		cancel()
		cancelAlloc()
	})
	return watch(t, ctx)
}

// profile is a folder for the browser. Its helpers may write there for a moment
// after it has ended, which would make the removal by t.TempDir fail.
func profile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "magpie-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if os.RemoveAll(dir) == nil {
				return
			}
			<-time.After(20 * time.Millisecond)
		}
		t.Logf("%s is left behind", dir)
	})
	return dir
}

// watch opens the tab of ctx. That must happen with the context that lives as
// long as the tab.
func watch(t *testing.T, ctx context.Context) *Browser {
	t.Helper()
	b := &Browser{T: t, ctx: ctx, hosts: map[string]bool{}}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		_, err2 := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
		_, err3 := cdp.Call(ctx, t, page.Enable, page.EnableParams{})
		return errors.Join(err, err2, err3)
	}))
	return b
}

// Another opens a second tab of the same browser.
func (b *Browser) Another() *Browser {
	b.T.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.T.Cleanup(cancel)
	return watch(b.T, ctx)
}

func (b *Browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.bad = append(b.bad, fmt.Sprintf("exception %s %+v", ev.ExceptionDetails.Text, ev.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" {
			b.bad = append(b.bad, fmt.Sprintf("console.%s %+v", ev.Type, ev.Args))
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			b.bad = append(b.bad, ev.Entry.Text+" "+ev.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		b.bad = append(b.bad, "dialog: "+ev.Message)
	case *network.EventRequestWillBeSent:
		b.hosts[ev.Request.URL] = true
	}
}

// Complaints returns what the console said and empties it.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := b.bad
	b.bad = nil
	return bad
}

// Do carries actions out.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Shot("failed")
		b.T.Fatalf("%v; the console says %q", err, b.Complaints())
	}
}

// Shot saves a picture into the folder MAGPIE_TEST_SHOTS, when that is set.
func (b *Browser) Shot(name string) {
	dir := os.Getenv("MAGPIE_TEST_SHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.T.Logf("screenshot: %v", err)
		return
	}
	file := strings.ReplaceAll(b.T.Name(), "/", "-") + "-" + name + ".png"
	if err := os.WriteFile(filepath.Join(dir, file), png, 0o600); err != nil {
		b.T.Log(err)
	}
}

// Until waits for a JavaScript expression to be true. Errors are looked past:
// the page may be changing.
func (b *Browser) Until(expr string) {
	b.T.Helper()
	if err := b.within(patience, expr); err != nil {
		b.Shot("failed")
		b.T.Fatalf("never true: %s (%v); the console says %q", expr, err, b.Complaints())
	}
}

// Within is Until for what may not happen: whether it did in that time.
func (b *Browser) Within(most time.Duration, expr string) bool { return b.within(most, expr) == nil }

func (b *Browser) within(most time.Duration, expr string) error {
	ctx, cancel := context.WithTimeout(b.ctx, most)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := b.ask(ctx, expr)
		if err == nil && is {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cmp.Or(err, context.Cause(ctx))
		}
	}
}

// ask asks once. An answer that never comes is given up soon, so that Until can
// ask again: the page that was asked may be gone.
func (b *Browser) ask(ctx context.Context, expr string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expr+")"))
}

// Eval returns a JavaScript expression as text.
func (b *Browser) Eval(expr string) string {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expr+")"))
	if err != nil {
		b.T.Fatalf("%s: %v", expr, err)
	}
	return text
}

// Asked returns the addresses that the tab has asked for.
func (b *Browser) Asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.hosts))
}

// Size makes the window as small as a phone's.
func Size(width int64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: 640, DeviceScaleFactor: 1, Mobile: true,
		})
		return err
	})
}

// Scheme makes the person prefer light or dark.
func Scheme(name string) chromedp.Action[chromedp.Void] {
	return media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: name})
}

func media(features ...*emulation.MediaFeature) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
}
