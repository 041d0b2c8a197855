package app_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// literalReminders are texts of which Markdown would make something else.
func literalReminders() []string {
	return []string{
		"fix __init__.py, 2*3*4=24", "run `go test ./...` <b>now</b>", "# not a heading", "> no quotation", "1. no list", "~~kept~~ ||shown|| $x$",
		"[text](target) and [x]: y", "| a | b |", "a\\*b & &amp; <script>", "snake_case **and** *stars*",
	}
}

// The words of a reminder arrive on every platform as they were written.
func TestFiveLiteralReminders(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{})
	a := f.agenda()
	chats := map[side]string{}
	f.each(func(p side) {
		chats[p] = p.join(0)
		for i, text := range literalReminders() {
			add(t, a.jobs, jobOn(p, chats[p], mark(5, i)+" "+text, in(time.Second)))
			add(t, a.jobs, jobOn(p, chats[p], text+" "+mark(6, i), in(time.Second)))
		}
	})
	b := f.start()
	f.each(func(p side) {
		for i, text := range literalReminders() {
			for who, want := range map[int]string{5: "⏰ " + mark(5, i) + " " + text, 6: "⏰ " + text + " " + mark(6, i)} {
				for _, one := range f.wait(p, chats[p], "the reminder", has(mark(who, i))) {
					if strings.Contains(one.text, mark(who, i)) && visible(one.text) != want {
						t.Errorf("%s shows %q, want %q", p.name(), one.text, want)
					}
				}
			}
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}

// visible is what a person sees of a reminder without the note of one that is
// late, and without buttons that are written out.
func visible(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
