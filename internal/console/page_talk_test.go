package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"magpie/channels/web"
	"magpie/chat"
)

const rich = "# Plan\n\nHere is **what** I found, with `code` and [a link](https://example.org/):\n\n" +
	"- [x] read the file\n- [ ] write the answer\n\n```go\nfunc main() {\n\tfmt.Println(\"你好\")\n}\n```\n\n" +
	"| city | °C |\n|---|--:|\n| 北京 | 21 |\n| Oslo | 9 |\n\n> quoted words\n\nThat is all."

func TestPageTalks(t *testing.T) {
	step := make(chan struct{})
	b := newBot(t, func(w *web.Web, in chat.Inbound) {
		if in.Press != nil {
			_ = w.AnswerPress(t.Context(), in.Addr, chat.Answer{Press: in.Press.ID, Message: in.Press.Message, Notice: "noted 好"})
			_ = reply(w, in, "You chose "+in.Press.Data)
			return
		}
		tell(w, in, chat.TurnStarted, "")
		tell(w, in, chat.ToolRequested, "read_file")
		<-step
		tell(w, in, chat.TurnDelta, "Half of **the")
		<-step
		tell(w, in, chat.TurnEnded, "")
		if err := reply(w, in, rich, func(o *chat.Outbound) {
			o.Buttons = [][]chat.Button{{{Label: "Yes", Data: "yes:1"}, {Label: "不要", Data: "no:1"}}}
		}); err != nil {
			t.Error(err)
		}
	})
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	if at := br.Eval("location.href"); strings.Contains(at, "token") {
		t.Errorf("the token stays in the address: %s", at)
	}
	br.Shot("empty")
	br.say("Hello 你好")
	br.Until("document.querySelector('#doing').textContent.includes('read_file')")
	br.Shot("tool")
	step <- struct{}{}
	br.Until("document.querySelector('#draft').textContent.includes('Half of')")
	br.Shot("stream")
	step <- struct{}{}
	br.Until("document.querySelectorAll('.message.bot').length === 1 && document.querySelector('#live').hidden")
	br.Until("document.querySelectorAll('.message.bot table td').length === 4 && document.querySelectorAll('.code .copy').length === 1")
	br.Shot("final")
	br.Eval("[...document.querySelectorAll('.choice')].find(e => e.textContent === '不要').click()")
	br.Until("[...document.querySelectorAll('.message.bot')].some(e => e.innerText.includes('You chose no:1'))")
	br.Until("document.querySelector('#problem.quiet')?.textContent === 'noted 好'")
	br.Until("document.querySelectorAll('.choice').length === document.querySelectorAll('#ideas .choice').length")
	before := br.Eval("document.querySelector('#messages').innerText")
	br.Do(chromedp.Reload())
	br.Until("document.querySelectorAll('.message').length === 3")
	if after := br.Eval("document.querySelector('#messages').innerText"); after != before {
		t.Errorf("after a reload the page shows %q, before %q", after, before)
	}
	if n := len(b.inbound()); n != 2 {
		t.Errorf("%d messages came in, want the message and the press", n)
	}
	br.quiet(b.url)
}
