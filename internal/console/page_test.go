package console_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"magpie/channels"
	"magpie/channels/web"
	"magpie/chat"
	"magpie/internal/console"
	"magpie/internal/kv"
	"magpie/internal/pagetest"
	"magpie/internal/portlock"
)

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
	b := &bot{t: t, listen: portlock.Free(t), answer: answer}
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
		console.Route{Pattern: "/", Handler: b.web.Handler(), MaxBody: 32 << 20},
		console.Route{Pattern: "POST /api/op/", Operator: true, Handler: text("operated")})
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

// browser is a browser with the chat page.
type browser struct{ *pagetest.Browser }

func openBrowser(t *testing.T, flags ...chromedp.ExecAllocatorOption) browser {
	t.Helper()
	return browser{pagetest.Open(t, flags...)}
}

func (b browser) open(url string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(url))
	b.Until("document.querySelector('#state')?.classList.contains('up')")
}

func (b browser) say(text string) {
	b.T.Helper()
	b.Eval("document.querySelector('#text').focus()")
	b.Do(chromedp.KeyEvent(text), enter(13, false))
}

// quiet fails when the browser complained, or asked anybody but the bot.
func (b browser) quiet(url string) {
	b.T.Helper()
	for _, c := range b.Complaints() {
		b.T.Errorf("the browser complains: %s", c)
	}
	for _, asked := range b.Asked() {
		if !strings.HasPrefix(asked, url+"/") && !strings.HasPrefix(asked, "blob:") && !strings.HasPrefix(asked, "data:") && asked != "about:blank" {
			b.T.Errorf("the page asked for %s", asked)
		}
	}
}
