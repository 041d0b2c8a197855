package termchat_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/chat"
	"magpie/internal/screentest"
	"magpie/internal/termchat"
)

// person is a chat on a screen.
type person struct {
	*screentest.Screen
	t    *testing.T
	done chan error
}

func sitDown(t *testing.T, b *bot, columns, rows int) *person {
	t.Helper()
	t.Setenv("LC_ALL", "C")
	s := screentest.New(t, columns, rows)
	p := &person{Screen: s, t: t, done: make(chan error, 1)}
	client := &http.Client{Transport: &http.Transport{}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		p.done <- termchat.Run(ctx, termchat.Options{BaseURL: b.URL, Token: "the-token", In: s.TTY, Out: s.TTY, HTTP: client})
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		client.CloseIdleConnections()
	})
	return p
}

func (p *person) left() {
	p.t.Helper()
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Errorf("Run returned %v", err)
		}
	case <-time.After(patience):
		p.t.Fatalf("Run did not return")
	}
}

const first = `
Type a message. A line that ends in \ goes on. Ctrl-C clears
what is typed, then stops the answer, then leaves; /quit
leaves, /help helps.
`

// Everything begins in the first column, and the prompt stands below it.
func TestScreen(t *testing.T) {
	b := newBot(t, func(b *bot, in chat.Inbound) {
		b.say(in, "total 8\n-rw-r--r-- 1 ada ada 12 你好.txt\n\n\tgo.mod\nA line that is longer than the sixty columns which this terminal has, 也有中文，没有空格的长句子会在边上折行。\nend")
	})
	p := sitDown(t, b, 60, 20)
	p.Is(first + "›")
	p.Type("ls 目录\r")
	p.Is(first + `› ls 目录
total 8
-rw-r--r-- 1 ada ada 12 你好.txt

        go.mod
A line that is longer than the sixty columns which this
terminal has, 也有中文，没有空格的长句子会在边上折行。
end
›`)
	if x, y := p.Cursor(); x != 2 || y != 11 {
		t.Errorf("the cursor stands in %d, %d", x, y)
	}
	p.Type("/quit\r")
	p.left()
}

// What is typed stays below what comes in, and the reply grows in place.
func TestScreenStreams(t *testing.T) {
	step := make(chan string)
	b := newBot(t, func(b *bot, in chat.Inbound) {
		turn := "t" + in.ID
		ev := chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: turn}
		b.web.Event(ev)
		ev.Kind = chat.TurnDelta
		var all strings.Builder
		for {
			text := ""
			select {
			case text = <-step:
			case <-t.Context().Done(): // the test has failed
				return
			}
			if text == "" {
				break
			}
			all.WriteString(text)
			ev.Text = text
			b.web.Event(ev)
		}
		b.say(in, all.String())
		ev.Kind, ev.Text = chat.TurnEnded, ""
		b.web.Event(ev)
	})
	p := sitDown(t, b, 60, 16)
	p.Is(first + "›")
	p.Type("tell me\r")
	p.Is(first + "› tell me\n›")
	step <- "Once upon"
	p.Is(first + "› tell me\nOnce upon\n›")
	p.Type("and 然后")
	p.Is(first + "› tell me\nOnce upon\n› and 然后")
	step <- " a time there was a magpie, 喜鹊, which lost nothing."
	p.Is(first + "› tell me\nOnce upon a time there was a magpie, 喜鹊, which lost\nnothing.\n› and 然后")
	step <- "\n\nThe"
	p.Is(first + "› tell me\nOnce upon a time there was a magpie, 喜鹊, which lost\nnothing.\n\nThe\n› and 然后")
	p.Type("\x1b[D\x1b[D!")
	p.Is(first + "› tell me\nOnce upon a time there was a magpie, 喜鹊, which lost\nnothing.\n\nThe\n› and !然后")
	if x, y := p.Cursor(); x != 7 || y != 8 {
		t.Errorf("the cursor stands in %d, %d", x, y)
	}
	step <- " end."
	close(step)
	p.Is(first + "› tell me\nOnce upon a time there was a magpie, 喜鹊, which lost\nnothing.\n\nThe end.\n› and !然后")
	p.Type("\x03")
	p.Is(first + "› tell me\nOnce upon a time there was a magpie, 喜鹊, which lost\nnothing.\n\nThe end.\n›")
	p.Type("\x03")
	p.left()
}
