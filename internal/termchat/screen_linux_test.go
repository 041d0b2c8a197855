package termchat_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
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

func sitDown(t *testing.T, b *bot, columns, rows int, change ...func(*termchat.Options)) *person {
	t.Helper()
	for _, name := range []string{"TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID", "WT_SESSION", "TERM_PROGRAM", "TERM"} {
		t.Setenv(name, "") // the emulator is none of these
	}
	t.Setenv("LC_ALL", "C")
	s := screentest.New(t, columns, rows)
	p := &person{Screen: s, t: t, done: make(chan error, 1)}
	client := &http.Client{Transport: &http.Transport{}}
	o := termchat.Options{BaseURL: b.URL, Token: "the-token", In: s.TTY, Out: s.TTY, HTTP: client}
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { p.done <- termchat.Run(ctx, o) })
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

// resized changes the window; the signal comes by itself only to a program
// whose controlling terminal it is.
func (p *person) resized(columns, rows int) {
	p.t.Helper()
	p.Until("everything that was written", func() bool { return strings.HasSuffix(p.Raw(), "\x1b[?2026l") })
	before := len(p.Raw())
	p.Resize(columns, rows)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		p.t.Fatal(err)
	}
	p.Until("it is drawn anew", func() bool {
		after := p.Raw()
		return len(after) > before && strings.HasSuffix(after, "\x1b[?2026l")
	})
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
			ev.Text = all.String()
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

// A paste is one message, however many lines it has, and waits for Enter.
func TestScreenPaste(t *testing.T) {
	b := newBot(t, echo)
	p := sitDown(t, b, 60, 30)
	p.Is(first + "›")
	p.Type("看: ")
	p.Shows("看:")
	p.Paste("func main() {\r\n\tprint(1)\r\n}\r\x1b]0;no title\x07")
	p.Is(first + "› 看: func main() {\n…     print(1)\n… }\n… ]0;no title")
	p.Type("\x1b[A\x1b[A\x1b[H/")
	p.Is(first + "› 看: func main() {\n… /    print(1)\n… }\n… ]0;no title")
	p.Type("\x7f\r")
	p.Shows("you said: ")
	p.Shows("\n›")
	if got := b.inbound(); len(got) != 1 || got[0].Text != "看: func main() {\n\tprint(1)\n}\n]0;no title" {
		t.Errorf("came in: %+v", got)
	}
	p.Type("\x1b[A") // the whole of it comes back
	p.Until("the message again", func() bool {
		return strings.HasSuffix(p.Text(), "› 看: func main() {\n…     print(1)\n… }\n… ]0;no title")
	})
	p.Type("\x03one\\\rtwo\x1b\rthree\r")
	p.Shows("you said: one\ntwo\nthree")
}

// A long paste is one message, whole.
func TestScreenLongPaste(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "%d 一行很长的文字 and some more of it, to make it long\n", i)
	}
	b := newBot(t, func(b *bot, in chat.Inbound) { b.say(in, fmt.Sprint("bytes: ", len(in.Text))) })
	p := sitDown(t, b, 60, 12)
	p.Shows("›")
	p.Type("\x1b[200~" + text.String() + "\x1b[201~")
	p.Shows("… 2999 一行很长的文字")
	p.Type("end\r")
	p.Shows(fmt.Sprint("bytes: ", text.Len()+3))
	if got := b.inbound(); len(got) != 1 || got[0].Text != text.String()+"end" {
		t.Errorf("%d messages came in", len(got))
	}
}

// Nothing that the model or a tool says reaches the terminal as a command.
func TestScreenIsNotSteered(t *testing.T) {
	const evil = "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x1b\\\x1b[2J\x1b[1;1H\x1b[31m\u009b5A\u0090q\u009c\x1bP+q\x1b\\\x1bc\x1b[?1049h\x08\x08\x7f\u202eabc\u2066\u2069"
	const shown = "]0;title]52;c;ZXZpbA==\\[2J[1;1H[31m5AqP+q\\c[?1049habc"
	step := make(chan struct{})
	b := newBot(t, func(b *bot, in chat.Inbound) {
		turn := "t" + in.ID
		ev := chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: turn}
		b.web.Event(ev)
		ev.Kind, ev.Text = chat.TurnDelta, evil
		b.web.Event(ev)
		select {
		case <-step:
		case <-t.Context().Done():
			return
		}
		b.say(in, evil+"\n1 "+evil, func(o *chat.Outbound) {
			o.Buttons = [][]chat.Button{{{Label: "go" + evil[:20], Data: "y"}}}
		})
	})
	p := sitDown(t, b, 70, 30)
	p.Shows("›")
	p.Type("go\r")
	p.Shows(shown)
	close(step)
	p.Shows("1 " + shown)
	p.Shows("1) go")
	p.Until("the prompt", func() bool { return strings.HasSuffix(p.Text(), "\n›") })
	for _, bad := range []string{"\x1b]", "\x1bP", "\x1bc", "\x07", "\x08", "\u009b", "\u202e", "\u2066", "\x1b[2J", "\x1b[31m", "1049"} {
		if strings.Contains(strings.ReplaceAll(p.Raw(), "[?1049habc", ""), bad) {
			t.Errorf("%q was written to the terminal", bad)
		}
	}
}

// A window of another size shows the same, whole; long lines break at its edge.
func TestScreenResized(t *testing.T) {
	b := newBot(t, echo)
	p := sitDown(t, b, 60, 16)
	p.Is(first + "›")
	p.Type("one\r")
	p.Is(first + "› one\nyou said: one\n›")
	p.resized(40, 12)
	p.Type("a line that is much longer than the 24 columns that are left 还有中文")
	p.Until("the line in rows of 40 columns", func() bool {
		return strings.HasSuffix(p.Text(), "you said: one\n› a line that is much longer than the 2\n  4 columns that are left 还有中文")
	})
	p.resized(24, 12)
	p.Until("the line in rows of 24 columns", func() bool {
		return strings.HasSuffix(p.Text(), "you said: one\n› a line that is much l\n  onger than the 24 col\n  umns that are left 还\n  有中文")
	})
	p.resized(50, 12)
	p.Until("the line in rows of 50 columns", func() bool {
		return strings.HasSuffix(p.Text(), "you said: one\n› a line that is much longer than the 24 columns\n  that are left 还有中文")
	})
	p.Type("\x01\x0b\r") // all of it is cut
	p.Until("the prompt", func() bool { return strings.HasSuffix(p.Text(), "you said: one\n›") })
	p.resized(8, 5)
	p.Type("窄窗口也能用\r")
	p.Until("a narrow answer", func() bool { return strings.HasSuffix(p.Text(), "said: 窄\n窗口也能\n用\n›") })
}

// More text than the window has rows scrolls by whole, and so does a message
// that is longer than it.
func TestScreenHigherThanTheWindow(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	b := newBot(t, func(b *bot, in chat.Inbound) { b.say(in, strings.Join(lines, "\n")) })
	p := sitDown(t, b, 60, 8)
	p.Shows("›")
	p.Type("\x1b[200~" + strings.Join(lines[:20], "\n") + "\x1b[201~")
	p.Is("leaves, /help helps.\n… line 13\n… line 14\n… line 15\n… line 16\n… line 17\n… line 18\n… line 19")
	p.Type("\r")
	p.Is(strings.Join(lines[33:], "\n") + "\n›")
	if got := b.inbound(); len(got) != 1 || got[0].Text != strings.Join(lines[:20], "\n") {
		t.Errorf("came in: %+v", got)
	}
	all := strings.Join(p.Past(), "\n")
	if want := "› line 0\n… line 1\n… line 2\n"; !strings.Contains(all, want) || !strings.Contains(all, "\n… line 19\nline 0\nline 1\nline 2\n") {
		t.Errorf("above the window stands\n%s", all)
	}
}

// Ctrl-C clears what is typed, then stops the answer, then leaves.
func TestScreenInterrupt(t *testing.T) {
	b := newBot(t, func(b *bot, in chat.Inbound) {
		ev := chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: "t"}
		if in.Text == "/stop" {
			b.say(in, "Stopped.", func(o *chat.Outbound) { o.Final, o.Turn = false, "" })
			ev.Kind = chat.TurnEnded
		}
		b.web.Event(ev)
		if in.Text != "/stop" {
			ev.Kind, ev.Text = chat.TurnDelta, "thinking"
			b.web.Event(ev)
		}
	})
	p := sitDown(t, b, 60, 20)
	p.Is(first + "›")
	p.Type("work\r")
	p.Is(first + "› work\nthinking\n›")
	p.Type("wait, 不要")
	p.Is(first + "› work\nthinking\n› wait, 不要")
	p.Type("\x03")
	p.Is(first + "› work\nthinking\n›")
	p.Type("\x03")
	p.Shows("Stopped.")
	p.Is(first + "› work\nStopped.\n›")
	if got := b.inbound(); len(got) != 2 || got[1].Text != "/stop" {
		t.Errorf("came in: %+v", got)
	}
	p.Type("\x04") // as Ctrl-C: it leaves
	p.left()
	p.Is(first + "› work\nStopped.")
}

// Accents and signs made of several characters are one each.
func TestScreenCharacters(t *testing.T) {
	b := newBot(t, echo)
	p := sitDown(t, b, 40, 20)
	p.Shows("›")
	p.Type("e")
	p.Type("\u0301x👩‍👧好🇨🇳z")
	p.Type("\x1b[D\x7f\x7f\x7f\x7f\x7f\x05!\r")
	p.Shows("you said: z!")
	p.Type("ab\x1b[Dc\x02\x06\x06\x17de\x15f\x19\r") // ac|b, cut the words, put back
	p.Shows("you said: fde")
}

// NO_COLOR is heard; otherwise Markdown has colours and keeps its characters.
func TestScreenColours(t *testing.T) {
	for name, want := range map[string]bool{"": true, "1": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", name)
			b := newBot(t, func(b *bot, in chat.Inbound) { b.say(in, "- `/help` is **bold**\n```\ncode\n```") })
			p := sitDown(t, b, 60, 20)
			p.Is(first + "›")
			p.Type("?\r")
			p.Is(first + "› ?\n- `/help` is **bold**\n```\ncode\n```\n›")
			if got := strings.Contains(p.Raw(), code("`/help`")) && strings.Contains(p.Raw(), code("code")); got != want {
				t.Errorf("coloured: %v, want %v: %q", got, want, p.Raw())
			}
			if !want && strings.Contains(p.Raw(), "\x1b[2m") {
				t.Error("dimmed, although no colours are wanted")
			}
		})
	}
}

func code(text string) string { return "\x1b[36m" + text + "\x1b[0m" }

// A connection that breaks is told, and what is typed stays.
func TestScreenConnectionLost(t *testing.T) {
	b := newBot(t, echo)
	p := sitDown(t, b, 60, 20)
	p.Is(first + "›")
	p.Type("one\r")
	p.Is(first + "› one\nyou said: one\n›")
	p.Type("half a li")
	p.Shows("› half a li")
	b.CloseClientConnections()
	const told = first + "› one\nyou said: one\n(the connection is gone, trying again…)\n(connected again)\n"
	p.Is(told + "› half a li")
	p.Type("ne\r")
	p.Is(told + "› half a line\nyou said: half a line\n›")
}
