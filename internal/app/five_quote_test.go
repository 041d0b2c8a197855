package app_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/qq"
)

// reply answers the message of the bot that l is.
func reply(p side, chat string, l line, text string) {
	p.drive().Say(driver.Said{Chat: chat, Text: text, ReplyTo: l.id})
}

// TestFiveOwnWords: who quotes the bot has the model read what it had written,
// sign by sign, whatever the platform makes of it; also what stands in a later
// message of the answer, and after a restart.
func TestFiveOwnWords(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed=%v", streamed), func(t *testing.T) {
			t.Parallel()
			f := newFive(t, fiveOptions{markdown: true, cards: streamed})
			if streamed {
				f.common = "stream: true"
				f.qq.Grant(qq.Policy{Streams: true})
			}
			f.ownWords(t)
		})
	}
}

func (f *five) ownWords(t *testing.T) {
	answer := "## 结果\n\n**Bold** and `code` 。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" + strings.Repeat("第一段 has *many* words [here](https://example.org/x).\n\n", 90) + "- the last line of it"
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if strings.Contains(r.LastUser(), "tell me") {
			return streamed(answer)(r) // at once where nothing is streamed
		}
		return modelserver.Answer{Text: "seen"}
	})
	b := f.start()
	chats := map[side]string{}
	f.each(func(p side) {
		chats[p] = p.join(0)
		p.say(chats[p], "tell me")
	})
	f.each(func(p side) {
		f.wait(p, chats[p], "the answer", has("the last line of it"))
	})
	for life := range 2 {
		f.each(func(p side) {
			shown := p.shown(chats[p])
			var quoted strings.Builder
			n := 0
			for _, l := range shown {
				if holding([]line{l}, "seen") > 0 {
					continue
				}
				word := fmt.Sprintf("why %s %d %d", p.name(), life, n)
				n++
				before := len(p.shown(chats[p]))
				reply(p, chats[p], l, word)
				f.wait(p, chats[p], "an answer to the quote", func(all []line) bool { return len(all) > before })
				quoted.WriteString(f.quoted(t, word) + "\n")
			}
			if got, want := words(quoted.String()), words(answer); got != want {
				t.Errorf("%s, life %d: in %d quotes (-want +read):\n%s", p.name(), life, n, cmp.Diff(want, got))
			}
		})
		if life == 0 {
			clean(t, b.signal(syscall.SIGTERM))
			b = f.start()
		}
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// words is a text without spaces, some of which go where it is cut.
func words(text string) string { return strings.Join(strings.Fields(text), "") }

// quoted is what the model has read as the quote of a message that says word.
func (f *five) quoted(t *testing.T, word string) string {
	t.Helper()
	for _, r := range f.model.Requests() {
		said := r.LastUser()
		if !strings.HasSuffix(said, word) {
			continue
		}
		head, rest, _ := strings.Cut(said, "\n")
		text, _, ok := strings.Cut(rest, "\n</quoted>")
		if head != `<quoted from="you">` || !ok {
			t.Errorf("the model reads %q", said)
		}
		return text
	}
	t.Errorf("the model never read %q", word)
	return ""
}
