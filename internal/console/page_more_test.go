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
	"magpie/internal/need"
	"magpie/internal/pagetest"
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
	br.Until("document.querySelectorAll('.message').length === 3")
	br.Until("document.querySelectorAll('.file.card').length === 1")
	if n := br.Eval("document.querySelectorAll('#messages :is(script, iframe, style, object, embed, [onerror], [onload], [onclick], [onmouseover])').length"); n != "0" {
		t.Errorf("%s elements of the text became part of the page", n)
	}
	if n := br.Eval("[...document.querySelectorAll('#messages a[href]')].filter(a => !/^(https?:|mailto:)/.test(a.href)).length"); n != "0" {
		t.Errorf("%s links lead elsewhere", n)
	}
	if n := br.Eval("[...document.querySelectorAll('#messages .text a[href]')].filter(a => !a.rel.includes('noopener')).length"); n != "0" {
		t.Errorf("%s links without noopener", n)
	}
	if title := br.Eval("document.title"); title == "owned" {
		t.Errorf("a script ran: the title is %q", title)
	}
	br.Shot("evil")
	br.quiet(b.url)
}

func TestPageSurvivesARestart(t *testing.T) {
	b := newBot(t, func(w *web.Web, in chat.Inbound) { _ = reply(w, in, "echo: "+in.Text) })
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.say("before")
	br.Until("document.querySelector('#messages').innerText.includes('echo: before')")
	b.stop()
	br.Until("!document.querySelector('#banner').hidden && document.querySelector('#state').classList.contains('down')")
	br.say("while it was away 离线")
	br.Until("document.querySelector('#pending').innerText.includes('while it was away')")
	br.Shot("away")
	br.Complaints() // the browser reports requests that fail while nobody listens
	b.start()
	br.Until("document.querySelector('#state').classList.contains('up') && document.querySelector('#banner').hidden")
	br.Until("document.querySelector('#messages').innerText.includes('echo: while it was away 离线')")
	br.Until("document.querySelectorAll('#messages .message').length === 4 && document.querySelectorAll('#pending .message').length === 0")
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
	br.Do(chromedp.SetUploadFiles("#picker", []string{picture, text}, chromedp.NodeReady))
	br.Until("document.querySelectorAll('#attached .ready').length === 2 && document.querySelector('#attached img').naturalWidth === 240")
	br.Shot("attached")
	br.say("see")
	br.Until(`document.querySelector('#messages').innerText.includes('got "some notes"')`)
	br.Until("document.querySelector('.message.person img')?.naturalWidth === 240 && document.querySelector('.message.person .card').download === '笔记 & notes.txt'")
	br.Shot("sent")
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
	br.Do(pagetest.Size(320))
	br.open(b.url + "/?token=the-token")
	br.say(strings.Repeat("w", 100))
	br.Until("document.querySelectorAll('.message.bot .wide').length === 2")
	const narrow = "document.documentElement.scrollWidth <= 320 && document.querySelector('#scroll').scrollWidth <= document.querySelector('#scroll').clientWidth"
	br.Until(narrow)
	br.Shot("light")
	light := br.Eval("getComputedStyle(document.body).backgroundColor")
	br.Do(pagetest.Scheme("dark"))
	br.Until("getComputedStyle(document.body).backgroundColor !== '" + light + "'")
	br.Shot("dark")
	br.Eval("document.querySelector('#menu').click()")
	br.Until("getComputedStyle(document.querySelector('#side')).visibility === 'visible'")
	br.Until(narrow)
	br.Shot("menu")
	br.quiet(b.url)
}

func TestPageInChinese(t *testing.T) {
	b := newBot(t, nil)
	br := openBrowser(t, chromedp.Flag("lang", "zh-CN"), chromedp.Flag("accept-lang", "zh-CN"), chromedp.Env("LANGUAGE=zh_CN", "LANG=zh_CN.UTF-8"))
	br.open(b.url + "/?token=the-token")
	if lang := br.Eval("navigator.language"); !strings.HasPrefix(lang, "zh") {
		need.Unmet(t, "this browser cannot be switched to Chinese, it says %s", lang)
	}
	br.Until("document.querySelector('#empty h2').textContent === '有什么可以帮你？' && document.querySelector('#text').placeholder.startsWith('输入消息')")
	if lang := br.Eval("document.documentElement.lang"); lang != "zh-CN" {
		t.Errorf("the page says its language is %q", lang)
	}
	br.Shot("zh")
	br.say("你好")
	br.Until("document.querySelectorAll('#messages .person').length === 1")
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
	br.Eval("document.querySelector('#text').focus()")
	br.Do(compose("nihao"), enter(229, false), enter(13, false))
	if n := br.Eval("document.querySelectorAll('.message').length"); n != "0" {
		t.Error("Enter sent the message while it was being composed")
	}
	br.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: "你好"})
		return err
	}))
	br.Do(enter(13, true), chromedp.KeyEvent("two"), enter(13, false))
	br.Until("document.querySelectorAll('#messages .person').length === 1")
	if in := b.inbound(); len(in) != 1 || !strings.HasSuffix(in[0].Text, "你好\ntwo") {
		t.Errorf("came in: %+v", in)
	}
	if v := br.Eval("document.querySelector('#text').value"); v != "" {
		t.Errorf("the message box keeps %q", v)
	}
	br.quiet(b.url)
}

func TestPageConversationsAndTabs(t *testing.T) {
	b := newBot(t, func(w *web.Web, in chat.Inbound) { _ = reply(w, in, "echo: "+in.Text) })
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.say("first talk")
	br.Until("document.querySelector('#messages').innerText.includes('echo: first talk')")
	first := br.Eval("location.hash")
	br.Eval("document.querySelector('#new').click()")
	br.Until("location.hash !== '" + first + "' && document.querySelectorAll('#messages .message').length === 0")
	br.Until("document.querySelector('#state').classList.contains('up')")
	br.say("second talk")
	br.Until("document.querySelector('#messages').innerText.includes('echo: second talk')")
	br.Until("document.querySelectorAll('#chats li').length === 2")
	// A message in the other conversation is marked, not shown here.
	old := chat.Inbound{Meta: chat.Meta{ID: "reminder", Addr: chat.Address{Channel: "web", Chat: strings.TrimPrefix(first, "#")}}}
	if err := reply(b.web, old, "time to stretch"); err != nil {
		t.Fatal(err)
	}
	br.Until("document.querySelectorAll('#chats .unread').length === 1 && document.title.startsWith('(1)')")
	br.Shot("unread")
	other := browser{br.Another()}
	other.open(b.url + "/" + first)
	other.Until("document.querySelector('#messages').innerText.includes('time to stretch')")
	other.say("from the other tab")
	br.Eval("location.hash = '" + first + "'")
	br.Until("document.querySelector('#messages').innerText.includes('echo: from the other tab')")
	br.Until("document.querySelectorAll('#chats .unread').length === 0")
	br.quiet(b.url)
}

func TestLoginPage(t *testing.T) {
	b := newBot(t, nil)
	br := openBrowser(t)
	br.Do(chromedp.Navigate(b.url + "/"))
	br.Shot("login")
	br.Complaints() // the browser reports the 401 that came with the login page
	login := func(token string) {
		br.Eval("document.querySelector('#token').focus()")
		br.Do(chromedp.KeyEvent(token), enter(13, false))
	}
	login("wrong")
	br.Until("document.querySelector('[role=alert]')?.textContent.includes('not the token')")
	br.Complaints() // and the 403
	login("the-token")
	br.Until("document.querySelector('#state')?.classList.contains('up')")
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
		br.Until(fmt.Sprintf("document.querySelectorAll('.message.bot').length === %d", i+1))
	}
	const atEnd = "(e => e.scrollHeight > 2 * e.clientHeight && e.scrollHeight - e.scrollTop - e.clientHeight < 2)(document.querySelector('#scroll'))"
	br.Until(atEnd)
	br.Do(chromedp.Reload())
	br.Until("document.querySelectorAll('.message.bot').length === 2")
	br.Until(atEnd)
	br.Until("document.querySelector('#bottom').hidden")
	br.Eval("document.querySelector('#scroll').scrollTop = 100")
	br.Until("!document.querySelector('#bottom').hidden")
	b.tell("more")
	br.Until("document.querySelectorAll('.message.bot').length === 3")
	if at := br.Eval("document.querySelector('#scroll').scrollTop"); at != "100" {
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
