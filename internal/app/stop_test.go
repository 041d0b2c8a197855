package app_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// TestStopsWhateverHangs: the program ends within ten seconds of SIGTERM, in good
// order, though a model does not answer, a command runs, a platform takes no
// message and more is waiting; the next one does what was left, once.
func TestStopsWhateverHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue}"
	asked := make(chan string, 100)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		a := modelserver.Echo(r)
		switch said := r.LastUser(); {
		case strings.Contains(said, "think"):
			a.Fault = modelserver.Hang
			asked <- "think"
		case strings.Contains(said, "nap"):
			a = modelserver.Answer{Calls: []modelserver.Call{{Name: "exec", Args: `{"command": "sleep 60"}`}}}
			asked <- "nap"
		}
		return a
	})
	chats := map[int64][]string{4001: {"think", "later one"}, 4002: {"nap", "later two"}, 4003: {"send", "later three"}}
	for id := range chats {
		w.tg.AddPerson(telegram.Person{ID: id, Name: "p"})
	}
	w.tg.Fail(telegram.Fault{Method: "sendMessage"})
	b := w.start("bot")
	b.ready()
	for id, said := range chats {
		for _, text := range said {
			w.tg.Say(telegram.Said{From: id, Text: text})
		}
	}
	receive(t, asked, "a turn that hangs")
	receive(t, asked, "a second one")
	b.until("a send hangs", func() bool { return w.tg.Calls("sendMessage") > 0 }, func() string { return "no send" })
	w.stored(b)
	began := time.Now()
	clean(t, b.signal(syscall.SIGTERM))
	took := time.Since(began)
	t.Logf("it ended after %v", took)
	if took > stopWithin {
		t.Errorf("it ended after %v, want within %v", took, stopWithin)
	}
	w.model.Reply(nil)
	w.start("bot").ready()
	for id, said := range chats {
		msgs := w.wait(id, "both answers", func(m []telegram.Message) bool { return count(m, said[1]) > 0 })
		if len(msgs) != 2 || count(msgs, said[0]) != 1 {
			t.Errorf("chat %d shows %s", id, texts(msgs))
		}
	}
}
