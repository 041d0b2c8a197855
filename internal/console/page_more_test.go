package console_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"magpie/channels"
	"magpie/channels/web"
	"magpie/chat"
)

// evil are texts that try to become part of the page.
var evil = []string{
	`<script>document.title='owned'</script>`,
	`<img src=x onerror="document.title='owned'">`,
	`[click](javascript:document.title='owned')`,
	`![x](https://evil.example/track.png) ![y](javascript:alert(1))`,
	`<a href="https://evil.example" onclick="alert(1)">x</a> <https://e.example/"onmouseover="alert(1)>`,
	"```\"><script>document.title='owned'</script>\nx\n```",
	`<iframe src="https://evil.example/"></iframe><style>*{display:none}</style>`,
	`| a |` + "\n|---|\n" + `| <svg onload=alert(1)> |`,
}

func TestPageShowsEvilTextAsText(t *testing.T) {
	b := newBot(t, func(w *web.Web, in chat.Inbound) {
		tell(w, in, chat.TurnDelta, strings.Join(evil, "\n\n"))
		tell(w, in, chat.ToolRequested, evil[0])
		_ = reply(w, in, strings.Join(evil, "\n\n"), func(o *chat.Outbound) {
			o.Buttons = [][]chat.Button{{{Label: evil[1], Data: evil[0]}}}
		})
		_, err := w.SendMedia(context.Background(),
			chat.Outbound{Meta: chat.Meta{ID: "f" + in.ID, Addr: in.Addr}, Text: evil[0]},
			[]channels.Upload{{Attachment: chat.Attachment{Name: `<img src=x onerror=alert(1)>.html`}, Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("<script>alert(1)</script>")), nil
			}}})
		if err != nil {
			t.Error(err)
		}
	})
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.say(evil[1])
	br.until("document.querySelectorAll('.message').length === 3")
	br.until("document.querySelectorAll('.file.card').length === 1")
	if n := br.eval("document.querySelectorAll('#messages :is(script, iframe, style, object, embed, [onerror], [onload], [onclick], [onmouseover])').length"); n != "0" {
		t.Errorf("%s elements of the text became part of the page", n)
	}
	if n := br.eval("[...document.querySelectorAll('#messages a[href]')].filter(a => !/^(https?:|mailto:)/.test(a.href)).length"); n != "0" {
		t.Errorf("%s links lead elsewhere", n)
	}
	if n := br.eval("[...document.querySelectorAll('#messages .text a[href]')].filter(a => !a.rel.includes('noopener')).length"); n != "0" {
		t.Errorf("%s links without noopener", n)
	}
	if title := br.eval("document.title"); title == "owned" {
		t.Errorf("a script ran: the title is %q", title)
	}
	br.shot("evil")
	br.quiet(b.url)
}

func TestPageSurvivesARestart(t *testing.T) {
	b := newBot(t, func(w *web.Web, in chat.Inbound) { _ = reply(w, in, "echo: "+in.Text) })
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.say("before")
	br.until("document.querySelector('#messages').innerText.includes('echo: before')")
	b.stop()
	br.until("!document.querySelector('#banner').hidden && document.querySelector('#state').classList.contains('down')")
	br.say("while it was away 离线")
	br.until("document.querySelector('#pending').innerText.includes('while it was away')")
	br.shot("away")
	br.complaints() // the browser reports requests that fail while nobody listens
	b.start()
	br.until("document.querySelector('#state').classList.contains('up') && document.querySelector('#banner').hidden")
	br.until("document.querySelector('#messages').innerText.includes('echo: while it was away 离线')")
	br.until("document.querySelectorAll('#messages .message').length === 4 && document.querySelectorAll('#pending .message').length === 0")
	if n := len(b.inbound()); n != 2 {
		t.Errorf("%d messages came in, want 2", n)
	}
}

func TestPageUploads(t *testing.T) {
	b := newBot(t, func(w *web.Web, in chat.Inbound) {
		if len(in.Attachments) != 2 {
			t.Errorf("attachments %+v", in.Attachments)
			return
		}
		r, err := w.Fetch(context.Background(), in.Attachments[1])
		if err != nil {
			t.Error(err)
			return
		}
		data, err := io.ReadAll(r)
		_ = reply(w, in, fmt.Sprintf("got %q (%v), %s", data, err, in.Attachments[0].Kind))
	})
	dir := t.TempDir()
	picture := filepath.Join(dir, "dot.png")
	text := filepath.Join(dir, "笔记 & notes.txt")
	var dots bytes.Buffer
	if err := png.Encode(&dots, image.NewGray(image.Rect(0, 0, 240, 120))); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{picture: dots.Bytes(), text: []byte("some notes")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.do(chromedp.SetUploadFiles("#picker", []string{picture, text}, chromedp.NodeReady))
	br.until("document.querySelectorAll('#attached .ready').length === 2 && document.querySelector('#attached img').naturalWidth === 240")
	br.shot("attached")
	br.say("see")
	br.until(`document.querySelector('#messages').innerText.includes('got "some notes"')`)
	br.until("document.querySelector('.message.person img')?.naturalWidth === 240 && document.querySelector('.message.person .card').download === '笔记 & notes.txt'")
	br.shot("sent")
	br.quiet(b.url)
}

func TestPageOnAPhone(t *testing.T) {
	wide := "| " + strings.Repeat("column | ", 12) + "\n|" + strings.Repeat("---|", 12) + "\n| " + strings.Repeat("value | ", 12) +
		"\n\n```\n" + strings.Repeat("long line of code ", 20) + "\n```\n\n" + strings.Repeat("unbroken", 40)
	b := newBot(t, func(w *web.Web, in chat.Inbound) {
		_ = reply(w, in, rich+"\n\n"+wide, func(o *chat.Outbound) {
			o.Buttons = [][]chat.Button{{{Label: strings.Repeat("a very long label ", 5), Data: "a"}, {Label: "No", Data: "b"}}}
		})
	})
	br := openBrowser(t)
	br.do(phone(320))
	br.open(b.url + "/?token=the-token")
	br.say(strings.Repeat("w", 100))
	br.until("document.querySelectorAll('.message.bot .wide').length === 2")
	const narrow = "document.documentElement.scrollWidth <= 320 && document.querySelector('#scroll').scrollWidth <= document.querySelector('#scroll').clientWidth"
	br.until(narrow)
	br.shot("light")
	light := br.eval("getComputedStyle(document.body).backgroundColor")
	br.do(scheme("dark"))
	br.until("getComputedStyle(document.body).backgroundColor !== '" + light + "'")
	br.shot("dark")
	br.eval("document.querySelector('#menu').click()")
	br.until("getComputedStyle(document.querySelector('#side')).visibility === 'visible'")
	br.until(narrow)
	br.shot("menu")
	br.quiet(b.url)
}

func TestPageInChinese(t *testing.T) {
	b := newBot(t, nil)
	br := openBrowser(t, chromedp.Flag("lang", "zh-CN"), chromedp.Flag("accept-lang", "zh-CN"), chromedp.Env("LANGUAGE=zh_CN", "LANG=zh_CN.UTF-8"))
	br.open(b.url + "/?token=the-token")
	if lang := br.eval("navigator.language"); !strings.HasPrefix(lang, "zh") {
		if os.Getenv("MAGPIE_TEST_REQUIRE") == "1" {
			t.Fatalf("this browser cannot be switched to Chinese, it says %s", lang)
		}
		t.Skipf("this browser cannot be switched to Chinese, it says %s", lang)
	}
	br.until("document.querySelector('#empty h2').textContent === '有什么可以帮您?' && document.querySelector('#text').placeholder.startsWith('输入消息')")
	if lang := br.eval("document.documentElement.lang"); lang != "zh-CN" {
		t.Errorf("the page says its language is %q", lang)
	}
	br.shot("zh")
	br.say("你好")
	br.until("document.querySelectorAll('#messages .person').length === 1")
	if in := b.inbound(); len(in) != 1 || !strings.HasPrefix(in[0].From.Lang, "zh") {
		t.Errorf("came in: %+v", in)
	}
	br.quiet(b.url)
}

// enter presses Enter as a keyboard does: the text of a key is typed only when
// the page lets it.
func enter(code int64, shift bool) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		p := input.DispatchKeyEventParams{Type: "keyDown", Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: code}
		if shift {
			p.Modifiers = 8
		}
		if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, p); err != nil {
			return err
		}
		p.Type, p.Text = "keyUp", ""
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, p)
		return err
	})
}

func compose(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.ImeSetComposition, input.ImeSetCompositionParams{Text: text, SelectionStart: int64(len(text)), SelectionEnd: int64(len(text))})
		return err
	})
}

func TestPageKeys(t *testing.T) {
	b := newBot(t, nil)
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.eval("document.querySelector('#text').focus()")
	br.do(compose("nihao"), enter(229, false), enter(13, false))
	if n := br.eval("document.querySelectorAll('.message').length"); n != "0" {
		t.Error("Enter sent the message while it was being composed")
	}
	br.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: "你好"})
		return err
	}))
	br.do(enter(13, true), chromedp.KeyEvent("two"), enter(13, false))
	br.until("document.querySelectorAll('#messages .person').length === 1")
	if in := b.inbound(); len(in) != 1 || !strings.HasSuffix(in[0].Text, "你好\ntwo") {
		t.Errorf("came in: %+v", in)
	}
	if v := br.eval("document.querySelector('#text').value"); v != "" {
		t.Errorf("the message box keeps %q", v)
	}
	br.quiet(b.url)
}

func TestPageConversationsAndTabs(t *testing.T) {
	b := newBot(t, func(w *web.Web, in chat.Inbound) { _ = reply(w, in, "echo: "+in.Text) })
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.say("first talk")
	br.until("document.querySelector('#messages').innerText.includes('echo: first talk')")
	first := br.eval("location.hash")
	br.eval("document.querySelector('#new').click()")
	br.until("location.hash !== '" + first + "' && document.querySelectorAll('#messages .message').length === 0")
	br.until("document.querySelector('#state').classList.contains('up')")
	br.say("second talk")
	br.until("document.querySelector('#messages').innerText.includes('echo: second talk')")
	br.until("document.querySelectorAll('#chats li').length === 2")
	// A message in the other conversation is marked, not shown here.
	old := chat.Inbound{Meta: chat.Meta{ID: "reminder", Addr: chat.Address{Channel: "web", Chat: strings.TrimPrefix(first, "#")}}}
	if err := reply(b.web, old, "time to stretch"); err != nil {
		t.Fatal(err)
	}
	br.until("document.querySelectorAll('#chats .unread').length === 1 && document.title.startsWith('(1)')")
	br.shot("unread")
	ctx, cancel := chromedp.NewContext(br.ctx)
	defer cancel()
	other := watch(t, ctx)
	other.open(b.url + "/" + first)
	other.until("document.querySelector('#messages').innerText.includes('time to stretch')")
	other.say("from the other tab")
	br.eval("location.hash = '" + first + "'")
	br.until("document.querySelector('#messages').innerText.includes('echo: from the other tab')")
	br.until("document.querySelectorAll('#chats .unread').length === 0")
	br.quiet(b.url)
}

func TestLoginPage(t *testing.T) {
	b := newBot(t, nil)
	br := openBrowser(t)
	br.do(chromedp.Navigate(b.url + "/"))
	br.shot("login")
	br.complaints() // the browser reports the 401 that came with the login page
	login := func(token string) {
		br.eval("document.querySelector('#token').focus()")
		br.do(chromedp.KeyEvent(token), enter(13, false))
	}
	login("wrong")
	br.until("document.querySelector('[role=alert]')?.textContent.includes('not the token')")
	br.complaints() // and the 403
	login("the-token")
	br.until("document.querySelector('#state')?.classList.contains('up')")
	br.quiet(b.url)
}

// A conversation opens at its end, whatever its last messages are, and stays
// where a person has scrolled to.
func TestPageOpensAtTheEnd(t *testing.T) {
	long := strings.Repeat("One more line of a long answer.\n\n", 40)
	b := newBot(t, func(w *web.Web, in chat.Inbound) {
		if err := reply(w, in, in.Text+"\n\n"+long); err != nil {
			t.Error(err)
		}
	})
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	for i, q := range []string{"first", "second"} {
		br.say(q)
		br.until(fmt.Sprintf("document.querySelectorAll('.message.bot').length === %d", i+1))
	}
	const atEnd = "(e => e.scrollHeight > 2 * e.clientHeight && e.scrollHeight - e.scrollTop - e.clientHeight < 2)(document.querySelector('#scroll'))"
	br.until(atEnd)
	br.do(chromedp.Reload())
	br.until("document.querySelectorAll('.message.bot').length === 2")
	br.until(atEnd)
	br.until("document.querySelector('#bottom').hidden")
	br.eval("document.querySelector('#scroll').scrollTop = 100")
	br.until("!document.querySelector('#bottom').hidden")
	b.tell("more")
	br.until("document.querySelectorAll('.message.bot').length === 3")
	if at := br.eval("document.querySelector('#scroll').scrollTop"); at != "100" {
		t.Errorf("the page moved to %s although somebody had scrolled up", at)
	}
}

// tell lets the bot say something by itself in the conversation that was
// written to last.
func (b *bot) tell(text string) {
	b.t.Helper()
	taken := b.inbound()
	in := taken[len(taken)-1]
	in.ID += "-" + text
	if err := reply(b.web, in, text); err != nil {
		b.t.Error(err)
	}
}
