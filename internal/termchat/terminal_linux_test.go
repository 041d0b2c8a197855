package termchat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/internal/termchat"
)

func TestTerminal(t *testing.T) {
	step := make(chan struct{})
	b := newBot(t, func(b *bot, in chat.Inbound) {
		if in.Text == "/stop" {
			close(step)
			return
		}
		turn := "t" + in.ID
		ev := chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: turn}
		b.web.Event(ev)
		ev.Kind, ev.Text = chat.TurnDelta, "first row\nand half of the sec"
		b.web.Event(ev)
		<-step
		b.say(in, "first row\nand half of the second 好")
		ev.Kind, ev.Text = chat.TurnEnded, ""
		b.web.Event(ev)
	})
	history := filepath.Join(t.TempDir(), "sub", "history")
	p := sitDown(t, b, 60, 24, func(o *termchat.Options) { o.History = history })
	p.Shows("Type a message")
	p.Type("hello 你好\r")
	p.Shows("first row")
	p.Type("\x03") // Ctrl-C while the bot is at work
	p.Shows("and half of the second 好")
	if n := strings.Count(p.Raw(), "first row"); n != 1 {
		t.Errorf("the first row is shown %d times: %q", n, p.Raw())
	}
	if got := b.inbound(); len(got) != 2 || got[0].Text != "hello 你好" || got[1].Text != "/stop" {
		t.Errorf("came in: %+v", got)
	}
	p.Type("/quit\r")
	p.left()
	if data, err := os.ReadFile(history); err != nil || !strings.Contains(string(data), "hello 你好") {
		t.Errorf("the history holds %q, %v", data, err)
	}
}

func TestTerminalLeaves(t *testing.T) {
	for name, keys := range map[string]string{"Ctrl-C": "\x03", "Ctrl-D": "\x04", "/quit": "/quit\r"} {
		t.Run(name, func(t *testing.T) {
			p := sitDown(t, newBot(t, echo), 60, 24)
			p.Shows("›")
			p.Type(keys)
			p.left()
		})
	}
}
