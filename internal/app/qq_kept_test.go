package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
)

// TestLongAnswerIsToldWhole: on QQ two files with captions use up the replies
// to a message, and one more message the day's active ones; the long answer after
// them comes with the next contacts, to its last line.
func TestLongAnswerIsToldWhole(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{active: 1})
	f.only, f.common = []string{"qq"}, "stream: false, input_notify: false"
	f.workspace(map[string][]byte{"a.txt": []byte("a"), "b.txt": []byte("b")})
	var long strings.Builder
	const lines = 420
	for i := range lines {
		fmt.Fprintf(&long, "%s and some words more\n", mark(0, i))
	}
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		switch done := len(r.Results()); {
		case !strings.Contains(r.LastUser(), "go on"):
			return modelserver.Answer{Text: "fine"}
		case done == 0:
			return modelserver.Answer{Calls: []modelserver.Call{
				{Name: "send_media", Args: `{"file_paths": ["a.txt"], "message": "one"}`}, {Name: "send_media", Args: `{"file_paths": ["b.txt"], "message": "two"}`},
			}}
		}
		return modelserver.Answer{Text: long.String()}
	})
	b := f.start()
	chat := f.qq.join(0)
	f.qq.say(chat, "go on")
	f.wait(f.qq, chat, "the files", func(all []line) bool { return len(filesOf(all)) == 2 })
	b.await("the answer is a dead letter", func() bool {
		_, body := b.get("/metrics")
		return strings.Contains(body, `magpie_dead_letters{queue="out"} 1`)
	})
	number := regexp.MustCompile(`q0x\d+z`)
	var told []string
	for contact := 1; contact <= 6 && len(told) < lines; contact++ {
		f.qq.say(chat, "next")
		shown := f.wait(f.qq, chat, "the notice and the answer", func(all []line) bool {
			return holding(all, "fine") == contact && holding(all, "could not be delivered") == contact
		})
		told = nil
		for _, l := range shown {
			told = append(told, number.FindAllString(l.text, -1)...)
		}
	}
	for i, got := range told {
		if got != mark(0, i) {
			t.Fatalf("line %d is %s", i, got)
		}
	}
	if len(told) != lines {
		t.Errorf("%d of %d lines were told", len(told), lines)
	}
	clean(t, b.signal(syscall.SIGTERM))
}
