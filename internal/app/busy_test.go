package app_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// slow is a model that holds back its answer to messages with a word until it
// is let go.
type slow struct {
	asked chan modelserver.Request // every request that holds the word
	open  chan struct{}
	once  sync.Once
}

// slowOn makes the model hold back whatever ends in a user message with word.
func (w *world) slowOn(word string) *slow {
	s := &slow{asked: make(chan modelserver.Request, 300), open: make(chan struct{})}
	w.t.Cleanup(s.letGo)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if strings.Contains(r.LastUser(), word) {
			s.asked <- r
			select {
			case <-s.open:
			case <-r.Gone:
			}
		}
		return modelserver.Echo(r)
	})
	return s
}

func (s *slow) letGo() { s.once.Do(func() { close(s.open) }) }

// said are the texts of people in a request, of the current turn and those
// before.
func said(r modelserver.Request) string {
	var all []string
	for _, m := range r.Messages {
		if m.Role == "user" {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, "|")
}

func texts(msgs []telegram.Message) string {
	var all []string
	for _, m := range msgs {
		all = append(all, m.Text)
	}
	return strings.Join(all, "|")
}

// taken waits until the agent has seen what was said before: a command is read
// in order with the rest, and answered while a turn runs.
func (w *world) taken() {
	w.t.Helper()
	before := count(w.tg.Messages(owner), "Time here")
	w.say("/status")
	w.wait(owner, "the status", func(m []telegram.Message) bool { return count(m, "Time here") > before })
}

// answers are the messages of a chat but for those of taken.
func answers(msgs []telegram.Message) string {
	return texts(slices.DeleteFunc(slices.Clone(msgs), func(m telegram.Message) bool { return strings.Contains(m.Text, "Time here") }))
}

// Two messages come while the model works on a first one.
func TestBusyModes(t *testing.T) {
	for mode, want := range map[string]string{
		"queue":     "echo: first slow|echo: second|echo: third",
		"collect":   "echo: first slow|echo: third",
		"interrupt": "echo: third",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.extra = "agent: {busy: " + mode + "}"
			s := w.slowOn("slow")
			b := w.start("bot")
			b.ready()
			w.say("first slow")
			r := receive(t, s.asked, "the model asked")
			w.say("second")
			w.say("third")
			w.stored(b)
			w.taken()
			if mode == "interrupt" {
				receive(t, r.Gone, "the request given up")
			}
			s.letGo()
			w.wait(owner, "last answer", func(m []telegram.Message) bool { return count(m, "echo: third") == 1 })
			w.say("end")
			msgs := w.wait(owner, "end", func(m []telegram.Message) bool { return count(m, "echo: end") == 1 })
			got := strings.TrimSuffix(answers(msgs), "|echo: end")
			if mode == "interrupt" { // the second may have had the time to be answered
				got = strings.TrimPrefix(got, "echo: second|")
			}
			if got != want {
				t.Errorf("%s: the chat shows %q, want %q", mode, got, want)
			}
			reqs := w.model.Requests()
			if got := said(reqs[len(reqs)-1]); got != "first slow|second|third|end" {
				t.Errorf("%s: the model knows of %q", mode, got)
			}
		})
	}
}

// A message that comes while a tool runs joins the turn: one answer for both.
func TestSteer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	reached, open := make(chan struct{}), make(chan struct{})
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Messages) == 1 {
			close(reached)
			<-open
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}}
		}
		return modelserver.Echo(r)
	})
	b := w.start("bot")
	b.ready()
	w.say("one")
	receive(t, reached, "the model asked")
	w.say("two")
	w.stored(b)
	w.taken()
	close(open)
	w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "echo: ") == 1 })
	w.say("end")
	msgs := w.wait(owner, "end", func(m []telegram.Message) bool { return count(m, "echo: end") == 1 })
	if got := answers(msgs); got != "echo: two|echo: end" {
		t.Errorf("the chat shows %q, want one answer for both", got)
	}
	if n := w.model.Count(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if got := said(w.model.Requests()[1]); got != "one|two" {
		t.Errorf("the second request of the turn holds %q", got)
	}
}

// Commands are answered while a turn runs, /stop ends it, and the next message
// works.
func TestStopWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s := w.slowOn("slow")
	b := w.start("bot")
	b.ready()
	w.say("something slow")
	r := receive(t, s.asked, "the model asked")
	w.say("/status")
	w.wait(owner, "status during the turn", func(m []telegram.Message) bool { return len(m) == 1 })
	w.say("/HELP@magpie_test_bot")
	w.wait(owner, "help during the turn", func(m []telegram.Message) bool { return count(m, "/stop") == 1 })
	w.say("/stop")
	w.wait(owner, "confirmation", func(m []telegram.Message) bool { return count(m, "Stopped.") == 1 })
	receive(t, r.Gone, "the request given up")
	w.say("and now?")
	msgs := w.wait(owner, "next answer", func(m []telegram.Message) bool { return count(m, "echo: and now?") == 1 })
	if count(msgs, "something slow") != 0 {
		t.Errorf("the stopped turn was answered: %q", texts(msgs))
	}
	b.idle()
	w.say("/stop")
	w.wait(owner, "nothing to stop", func(m []telegram.Message) bool { return count(m, "Nothing is running") == 1 })
	clean(t, b.signal(15))
}

// /stop ends a running tool as well, long before its time.
func TestStopWhileAToolRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	asked := make(chan struct{}, 10)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if strings.Contains(r.LastUser(), "sleep") {
			asked <- struct{}{}
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "sleep", Args: `{"duration": 290}`}}}
		}
		return modelserver.Echo(r)
	})
	b := w.start("bot")
	b.ready()
	w.say("sleep well")
	receive(t, asked, "the model asked")
	w.say("/停止")
	w.wait(owner, "confirmation", func(m []telegram.Message) bool { return len(m) == 1 })
	w.say("awake?")
	w.wait(owner, "next answer", func(m []telegram.Message) bool { return count(m, "echo: awake?") == 1 })
}

// noticeEvery is for how long one notice of a full mailbox speaks.
const noticeEvery = 10 * time.Second

// A hundred messages may wait; the one after them is refused, and the person
// is told; /stop still gets through, and every other message is answered.
func TestFullMailbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue}"
	s := w.slowOn("slow")
	b := w.start("bot")
	b.ready()
	w.say("slow 0")
	receive(t, s.asked, "the model asked")
	const waiting = 104 // the one that is worked on still has its place
	began := time.Now().Truncate(noticeEvery)
	for i := range waiting {
		w.say(fmt.Sprintf("message <%d>", i))
	}
	w.stored(b)
	w.wait(owner, "told that the mailbox is full", func(m []telegram.Message) bool { return count(m, "100 messages") > 0 })
	most := 1 + int(time.Since(began)/noticeEvery)
	w.say("/stop")
	w.wait(owner, "stopped", func(m []telegram.Message) bool { return count(m, "Stopped.") == 1 })
	s.letGo()
	w.waitFor(3*time.Minute, owner, "last message that had room", func(m []telegram.Message) bool { return count(m, "message <98>") > 0 })
	w.say("end")
	msgs := w.wait(owner, "end", func(m []telegram.Message) bool { return count(m, "echo: end") == 1 })
	if n := count(msgs, "100 messages"); n > most {
		t.Errorf("told %d times that the mailbox is full, want one notice for all of ten seconds", n)
	}
	for i := range waiting {
		want := 1
		if i >= 99 {
			want = 0 // refused, and told
		}
		if n := count(msgs, fmt.Sprintf("message <%d>", i)); n != want {
			t.Errorf("message %d answered %d times, want %d", i, n, want)
		}
	}
}
