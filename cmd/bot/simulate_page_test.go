package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"magpie/internal/pagetest"
)

// tab is a browser with the page of bot simulate.
type tab struct{ *pagetest.Browser }

func openTab(t *testing.T, url string) tab {
	t.Helper()
	b := tab{pagetest.Open(t, chromedp.Flag("lang", "en"), chromedp.WindowSize(900, 760))}
	b.Do(chromedp.Navigate(url))
	return b
}

func (b tab) say(text string) {
	b.T.Helper()
	b.Eval(fmt.Sprintf("(document.querySelector('#text').value = %q, document.querySelector('#composer').requestSubmit())", text))
}

// attach picks a file, given in base64, as a person does.
func (b tab) attach(name, data string) {
	b.T.Helper()
	b.Eval(fmt.Sprintf(`(() => {
		const bytes = Uint8Array.from(atob(%q), (c) => c.charCodeAt(0));
		const files = new DataTransfer();
		files.items.add(new File([bytes], %q));
		const picker = document.querySelector("#picker");
		picker.files = files.files;
		picker.dispatchEvent(new Event("change"));
	})()`, data, name))
	b.Until("!document.querySelector('#attached').hidden")
}

// size makes the window as small as a phone's, dark or light.
func (b tab) size(width int64, scheme string) {
	b.T.Helper()
	b.Do(pagetest.Size(width), pagetest.Scheme(scheme))
}

var pageAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`)

// startPage starts the program with its page and returns the address.
func startPage(t *testing.T, dir string) (url string, stop func() error) {
	t.Helper()
	cmd := bot(t, dir, []string{"TMPDIR=" + dir}, "simulate", "--page")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for url == "" && lines.Scan() {
		url = pageAddress.FindString(lines.Text())
	}
	stop = sync.OnceValue(func() error {
		_ = cmd.Process.Signal(syscall.SIGINT)
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = stop() })
	if url == "" {
		t.Fatalf("no address: %v", lines.Err())
	}
	return url, stop
}

// shows is true when the last message of the bot holds a text.
func shows(text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#messages .bot')].at(-1)?.textContent.includes(%q)", text)
}

// noteCut has the page note that it has shown a cut: that may last for less
// time than lies between two looks at it.
const noteCut = `(() => {
	const state = document.querySelector("#state");
	window.wasCut = false;
	new MutationObserver(() => { window.wasCut ||= state.className === ""; }).observe(state, { attributes: true });
})()`

func TestSimulatePage(t *testing.T) {
	t.Parallel()
	pagetest.Chromium(t)
	dir := t.TempDir()
	url, stop := startPage(t, dir)
	b := openTab(t, url)
	b.Until("document.querySelector('#state').classList.contains('up')")
	b.say("write 你好 to a.txt")
	b.Until("document.querySelectorAll('.buttons button').length === 3")
	b.Shot("question")
	b.Eval("document.querySelector('.buttons button').click()")
	b.Until(shows("created a.txt"))
	b.Until("document.querySelector('#messages .note') && !document.querySelector('.buttons')")
	b.attach("红.png", dot)
	b.say("")
	b.Until("document.querySelector('#messages .person img')?.naturalWidth === 1")
	b.Until(shows("I cannot look at pictures"))
	for i, name := range []string{"feishu", "discord", "dingtalk", "qq", "telegram"} {
		b.Eval("document.querySelector('[data-platform=" + name + "]').click()")
		b.Eval("document.querySelector('[data-place=group]').click()")
		b.Until("document.querySelector('#state').classList.contains('up') && !document.querySelector('#messages .bot')")
		trouble := []string{"429", "502", "drop"}[i%3]
		b.Eval("document.querySelector('[data-fault=\"" + trouble + "\"]').click()")
		b.Until("!document.querySelector('#problem').hidden")
		b.say("你好")
		b.Until(shows("我是离线助手"))
		b.Eval(noteCut)
		b.Eval("document.querySelector('[data-cut=\"0\"]').click()")
		b.Until("window.wasCut")
		b.Until("document.querySelector('#state').classList.contains('up')")
		b.say("hello")
		b.Until(shows("Hello! I am"))
		b.Until("document.querySelectorAll('#messages .person').length === 2")
	}
	b.check(url)
	if err := stop(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	b.Until("!document.querySelector('#problem').hidden") // the page says that the program is gone
}

// check looks at what is the same for every page: width, languages, and that
// nobody else was asked.
func (b tab) check(url string) {
	b.T.Helper()
	for _, scheme := range []string{"dark", "light"} {
		b.size(320, scheme)
		b.Until("document.documentElement.scrollWidth <= 320 && document.body.scrollWidth <= 320")
		b.Shot("320-" + scheme)
	}
	b.Eval("document.querySelector('#language').click()")
	b.Until("document.documentElement.lang === 'zh' && document.querySelector('[data-platform=feishu]').textContent === '飞书'")
	b.Until("document.querySelectorAll('#messages .bot').length >= 2")
	b.Shot("320-zh")
	for _, bad := range b.Complaints() {
		b.T.Errorf("the browser complains: %s", bad)
	}
	for _, ask := range b.Asked() {
		if !strings.HasPrefix(ask, url) {
			b.T.Errorf("asked for %s", ask)
		}
	}
}
