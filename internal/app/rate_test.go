package app_test

import (
	"fmt"
	"strings"
	"testing"
)

// limited starts a bot with a limit on what one person may send.
func limited(t *testing.T, limit string) (*world, *bot, string) {
	t.Helper()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	replaceIn(t, path, `per_sender: ""`, "per_sender: "+limit)
	b := w.startWith(path, listen)
	b.ready()
	return w, b, path
}

// Whoever holds the token of the console is the owner: a pipe and the page are
// answered whole and in order, whatever limit there is for people.
func TestOwnerHasNoLimit(t *testing.T) {
	t.Parallel()
	w, b, path := limited(t, "1/10h")
	for _, n := range []int{25, 200} {
		var in, want strings.Builder
		for i := range n {
			fmt.Fprintf(&in, "line %d of %d\n", i, n)
			fmt.Fprintf(&want, "echo: line %d of %d\n", i, n)
		}
		w.fed(path, strings.NewReader(in.String()), 0, want.String(), "chat")
	}
	p := b.page(w.data(), "tab")
	for i := range 30 {
		p.ask(fmt.Sprintf("post %d.", i), fmt.Sprintf("echo: post %d.", i))
	}
}

// A person over the limit is told so, in the language of the message, and heard
// again when the window is over.
func TestWhoIsTooFastIsToldAndHeardAgain(t *testing.T) {
	t.Parallel()
	w, b, _ := limited(t, "1/3s")
	for _, c := range []struct{ text, told string }{
		{"hello", "Too fast: at most 1 messages in 3s."},
		{"你好", "消息太快了：每 3 秒最多 1 条。"},
	} {
		// until says the text now and then until there is a new message.
		until := func(prefix string) {
			t.Helper()
			begun := func() (n int) {
				for _, m := range w.tg.Messages(owner) {
					if strings.HasPrefix(m.Text, prefix) {
						n++
					}
				}
				return n
			}
			before, polls := begun(), 0
			b.await(prefix, func() bool {
				if polls%20 == 0 {
					w.say(c.text)
				}
				polls++
				return begun() > before
			})
		}
		until(c.told)
		until("echo: " + c.text)
	}
}
