package console_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

	"magpie/channels"
	"magpie/channels/web"
	"magpie/chat"
	"magpie/internal/console"
	"magpie/internal/kv"
)

const pagePatience = 30 * time.Second

// chromium finds the browser, or skips the test; MAGPIE_TEST_REQUIRE=1 makes
// that a failure.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("MAGPIE_TEST_CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const why = "no Chromium found (install chromium, or name it in MAGPIE_TEST_CHROME): the chat page is not tested"
	if os.Getenv("MAGPIE_TEST_REQUIRE") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// bot is the console with the chat page and a scripted agent, on a port that
// stays the same when it is started again.
type bot struct {
	t      *testing.T
	table  kv.Memory
	listen string
	answer func(w *web.Web, in chat.Inbound)
	stop   func()
	web    *web.Web
	url    string

	mu    sync.Mutex
	taken []chat.Inbound
}

func newBot(t *testing.T, answer func(*web.Web, chat.Inbound)) *bot {
	t.Helper()
	b := &bot{t: t, listen: "127.0.0.1:0", answer: answer}
	b.start()
	t.Cleanup(func() { b.stop() })
	return b
}

func (b *bot) start() {
	b.t.Helper()
	ch, err := web.New("web", nil, channels.Deps{Table: &b.table})
	if err != nil {
		b.t.Fatal(err)
	}
	b.web = ch.(*web.Web)
	srv, err := console.New(console.Config{Listen: b.listen, Token: "the-token", Key: []byte("key")},
		console.Route{Pattern: "/", Handler: b.web.Handler(), MaxBody: 32 << 20})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := srv.Listen(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.url = srv.URL()
	b.listen = strings.TrimPrefix(b.url, "http://")
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var answers sync.WaitGroup
	wg.Go(func() {
		if err := srv.Run(ctx); err != nil {
			b.t.Errorf("console: %v", err)
		}
	})
	wg.Go(func() {
		w := b.web
		err := w.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			b.mu.Lock()
			b.taken = append(b.taken, in)
			b.mu.Unlock()
			if b.answer != nil {
				answers.Go(func() { b.answer(w, in) })
			}
			return nil
		})
		if err != nil {
			b.t.Errorf("channel: %v", err)
		}
	})
	b.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		answers.Wait()
	})
}

func (b *bot) inbound() []chat.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]chat.Inbound{}, b.taken...)
}

func reply(w *web.Web, in chat.Inbound, text string, change ...func(*chat.Outbound)) error {
	msg := chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: "out:" + in.ID, Addr: in.Addr}, Text: text, Final: true, Turn: "t" + in.ID}
	for _, c := range change {
		c(&msg)
	}
	_, err := w.Send(context.Background(), msg)
	return err
}

func tell(w *web.Web, in chat.Inbound, kind chat.EventKind, text string) {
	ev := chat.Event{Kind: kind, Addr: in.Addr, Turn: "t" + in.ID, Text: text}
	if kind == chat.ToolRequested {
		ev.Text, ev.Tool = "", &chat.ToolEvent{Name: text}
	}
	w.Event(ev)
}

// browser is one headless Chromium with everything it complained about and
// asked for.
type browser struct {
	t     *testing.T
	ctx   context.Context
	mu    sync.Mutex
	bad   []string
	hosts map[string]bool
}

func openBrowser(t *testing.T, flags ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	opts := append(append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...),
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.Flag("disable-background-networking", true),
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1100, 800))
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), append(opts, flags...)...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		bound, cancelBound := context.WithTimeout(ctx, pagePatience)
		defer cancelBound()
		_ = chromedp.Cancel(bound) // waits for the process
		cancel()
		cancelAlloc()
	})
	return watch(t, ctx)
}

// watch opens the tab of ctx. That must happen with the context that lives as
// long as the tab.
func watch(t *testing.T, ctx context.Context) *browser {
	t.Helper()
	b := &browser{t: t, ctx: ctx, hosts: map[string]bool{}}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		_, err2 := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
		_, err3 := cdp.Call(ctx, t, page.Enable, page.EnableParams{})
		return errors.Join(err, err2, err3)
	}))
	return b
}

func (b *browser) listen(ev any) {
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

// complaints returns what the console said and empties it.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := b.bad
	b.bad = nil
	return bad
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.shot("failed")
		b.t.Fatalf("%v; the console says %q", err, b.complaints())
	}
}

// shot saves a picture into the folder MAGPIE_TEST_SHOTS, when that is set.
func (b *browser) shot(name string) {
	dir := os.Getenv("MAGPIE_TEST_SHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("screenshot: %v", err)
		return
	}
	file := strings.ReplaceAll(b.t.Name(), "/", "-") + "-" + name + ".png"
	if err := os.WriteFile(filepath.Join(dir, file), png, 0o600); err != nil {
		b.t.Log(err)
	}
}

// until waits for a JavaScript expression to be true. Errors are looked past:
// the page may be changing.
func (b *browser) until(expr string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expr+")"))
		if err == nil && is {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.shot("failed")
			b.t.Fatalf("never true: %s (%v); the console says %q", expr, err, b.complaints())
		}
	}
}

// eval returns a JavaScript expression as text.
func (b *browser) eval(expr string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expr+")"))
	if err != nil {
		b.t.Fatalf("%s: %v", expr, err)
	}
	return text
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	b.until("document.querySelector('#state')?.classList.contains('up')")
}

func (b *browser) say(text string) {
	b.t.Helper()
	b.eval("document.querySelector('#text').focus()")
	b.do(chromedp.KeyEvent(text), enter(13, false))
}

// quiet fails when the browser complained, or asked anybody but the bot.
func (b *browser) quiet(url string) {
	b.t.Helper()
	for _, c := range b.complaints() {
		b.t.Errorf("the browser complains: %s", c)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for asked := range b.hosts {
		if !strings.HasPrefix(asked, url+"/") && !strings.HasPrefix(asked, "blob:") && asked != "about:blank" {
			b.t.Errorf("the page asked for %s", asked)
		}
	}
}

func phone(width int64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: 640, DeviceScaleFactor: 1, Mobile: true,
		})
		return err
	})
}

func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}
