package app_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/app"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// output runs a command that works and returns what it says.
func (w *world) output(config string, args ...string) string {
	w.t.Helper()
	b := launch(w.t, filepath.Dir(config), nil, append(args, "--config", config)...)
	b.ended <- receive(w.t, b.ended, "the end of the command")
	if code := b.cmd.ProcessState.ExitCode(); code != 0 {
		w.t.Fatalf("bot %v ends with %d:\n%s", args, code, b.log.String())
	}
	return b.log.String()
}

// inJSON is output as a value.
func inJSON[T any](w *world, config string, args ...string) (v T) {
	w.t.Helper()
	text := w.output(config, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		w.t.Fatalf("bot %v: %v in\n%s", args, err, text)
	}
	return v
}

// letter is a dead letter as `bot dlq list --json` shows it.
type letter struct {
	Number                             int
	Way, Reason, ID, Trace, Chat, From string
}

// Messages that were given up are listed, shown, dropped and sent again, asked
// of the running bot and of its store. Of a message that was sent in part only
// the rest is sent.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue}"
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.command(path, 0, "no dead letters", "dlq", "list")
	long := "The beginning. " + strings.Repeat("Word after word. ", 300) + "The end."
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if r.LastUser() == "a long one" {
			return modelserver.Answer{Text: long}
		}
		return modelserver.Echo(r)
	})
	w.tg.Fail(telegram.Fault{Method: "sendMessage", Skip: 1, Code: 403, Text: "Forbidden: for the test"})
	w.tg.Fail(telegram.Fault{Method: "sendMessage", Times: 2, Code: 403, Text: "Forbidden: again"})
	for i, text := range []string{"a long one", "drop this", "keep this"} {
		w.say(text)
		b.until("a dead letter", func() bool {
			_, body := b.get("/metrics")
			return metric(t, body, `magpie_dead_letters{queue="out"}`) == float64(i+1)
		}, func() string { return text })
	}
	letters := inJSON[[]letter](w, path, "dlq", "list")
	if len(letters) != 3 {
		t.Fatalf("dead letters %+v", letters)
	}
	for _, l := range letters {
		if l.Way != "out" || l.Chat != "telegram/1001" || !strings.Contains(l.Reason, "Forbidden") || l.Trace == "" {
			t.Errorf("dead letter %+v", l)
		}
	}
	n := func(i int) string { return fmt.Sprint(letters[i].Number) }
	w.command(path, 0, "telegram/1001", "dlq", "list")
	w.command(path, 0, "echo: drop this", "dlq", "show", n(1))
	w.command(path, 0, "dropped: 1", "dlq", "drop", n(1))
	w.command(path, 1, "no such dead letter; bot dlq list shows", "dlq", "resubmit", n(1))
	w.command(path, 0, "resubmitted: 1", "dlq", "resubmit", n(0))
	msgs := w.wait(owner, "the rest of the long one", func(m []telegram.Message) bool { return count(m, "The end.") == 1 })
	if count(msgs, "The beginning.") != 1 {
		t.Errorf("the chat shows %q", texts(msgs))
	}
	clean(t, b.signal(syscall.SIGTERM))

	w.command(path, 0, "Forbidden", "dlq", "list")
	w.command(path, 2, "want either numbers", "dlq", "drop")
	w.command(path, 2, "no number of a dead letter", "dlq", "drop", "x")
	w.command(path, 0, "resubmitted: 1", "dlq", "resubmit", "--all")
	w.command(path, 0, "no dead letters", "dlq", "list")
	w.startWith(path, listen).ready()
	w.wait(owner, "the last one", func(m []telegram.Message) bool { return count(m, "echo: keep this") == 1 })
	w.say("end")
	msgs = w.wait(owner, "the end", func(m []telegram.Message) bool { return count(m, "echo: end") == 1 })
	if count(msgs, "echo: drop this") != 0 || count(msgs, "echo: keep this") != 1 || count(msgs, "The beginning.") != 1 {
		t.Errorf("the chat shows %q", texts(msgs))
	}
}

// Conversations are listed, shown and cleared, asked of the running bot and of
// its store. What was cleared is in no file of the history and in no prompt.
func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.tg.AddPerson(telegram.Person{ID: 7, Name: "Bea"})
	path, listen := w.config("bot")
	w.command(path, 0, "no sessions", "session", "list")
	b := w.startWith(path, listen)
	b.ready()
	w.ask("my number is 4711")
	w.ask("and a second")
	w.tg.Say(telegram.Said{From: 7, Text: "hello"})
	w.wait(7, "answer", func(m []telegram.Message) bool { return len(m) == 1 })
	b.settled()
	list := inJSON[[]struct {
		Session, Chat  string
		Turns, Waiting int
	}](w, path, "session", "list")
	if len(list) != 2 || list[0].Chat != "telegram/7" || list[1].Chat != "telegram/1001" || list[1].Turns != 2 || list[1].Waiting != 0 {
		t.Fatalf("sessions %+v", list)
	}
	w.command(path, 0, list[1].Session, "session", "list", "-n", "2")
	w.command(path, 0, "echo: my number is 4711", "session", "show", "telegram/1001")
	w.command(path, 0, "4 messages", "session", "show", list[1].Session)
	w.command(path, 0, "echo: and a second", "session", "show", "telegram:1001", "-n", "1")
	w.command(path, 1, `there is no session "telegram/99"; bot session list`, "session", "show", "telegram/99")
	w.command(path, 1, "there is no session", "session", "clear", "telegram")
	w.command(path, 2, "want bot session clear SESSION", "session", "clear")
	w.command(path, 0, "cleared: telegram/1001, 2 turns", "session", "clear", "telegram/1001")
	w.ask("what was it?")
	if got := w.lastAsked(); strings.Contains(got, "4711") {
		t.Errorf("the model is shown what was cleared: %q", got)
	}
	w.tg.Say(telegram.Said{From: 7, Text: "hello again"})
	w.wait(7, "answer", func(m []telegram.Message) bool { return len(m) == 2 })
	if got := w.lastAsked(); got != "hello|hello again" {
		t.Errorf("another chat is asked %q", got)
	}
	clean(t, b.signal(syscall.SIGTERM))

	w.command(path, 0, "echo: what was it?", "session", "show", "telegram/1001")
	w.command(path, 0, "cleared: telegram/7, 2 turns", "session", "clear", list[0].Session)
	w.cleared(path, map[string]int{"telegram/7": 0, "telegram/1001": 1})
	w.command(path, 0, "cleared: telegram/7, 0 turns", "session", "clear", list[0].Session)
	shown := w.output(path, "session", "show", "telegram/7")
	if strings.Contains(shown, "hello") || !strings.Contains(shown, "new") {
		t.Errorf("after clearing it shows\n%s", shown)
	}
	if !strings.Contains(shown, "\n0 turns; 0 messages wait\n") {
		t.Errorf("after clearing it shows\n%s", shown)
	}
	w.startWith(path, listen).ready()
	w.tg.Say(telegram.Said{From: 7, Text: "once more"})
	w.wait(7, "answer", func(m []telegram.Message) bool { return len(m) == 3 })
	if got := w.lastAsked(); got != "once more" {
		t.Errorf("the model is asked %q", got)
	}
}

// lastAsked is what the model was asked last.
func (w *world) lastAsked() string {
	reqs := w.model.Requests()
	return said(reqs[len(reqs)-1])
}

// cleared wants these turns in the chats, and no time where there are none.
func (w *world) cleared(path string, want map[string]int) {
	w.t.Helper()
	got := map[string]int{}
	for _, s := range inJSON[[]app.Session](w, path, "session", "list") {
		if got[s.Chat] = s.Turns; s.Last.IsZero() != (s.Turns == 0) {
			w.t.Errorf("session %+v", s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Error(diff)
	}
}

// Strangers are let in and shut out from the shell, while the bot runs and
// while it does not.
func TestPairs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.door = `allow: [], stream: false`
	w.tg.AddPerson(telegram.Person{ID: 7, Name: "Bea"})
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.command(path, 0, "nobody was let in", "pair", "list")
	code := regexp.MustCompile("[A-Z2-9]{8}").FindString
	first := code(w.ask("may I?"))
	w.tg.Say(telegram.Said{From: 7, Text: "and I?"})
	second := code(w.wait(7, "a code", func(m []telegram.Message) bool { return len(m) == 1 })[0].Text)
	w.command(path, 0, first, "pair", "list")
	w.command(path, 1, "unknown or expired pairing code", "pair", "approve", "AAAAAAAA")
	w.command(path, 0, "let in: Ada (telegram:1001)", "pair", "approve", strings.ToLower(first))
	w.wait(owner, "welcome", func(m []telegram.Message) bool { return len(m) == 2 })
	if got := w.ask("hello"); got != "echo: hello" {
		t.Errorf("who was let in hears %q", got)
	}
	clean(t, b.signal(syscall.SIGTERM))

	w.command(path, 0, "let in: Bea (telegram:7)", "pair", "approve", second)
	w.command(path, 0, "shut out: telegram:1001", "pair", "revoke", "telegram:1001")
	w.command(path, 1, "was not let in by a code", "pair", "revoke", "telegram:1001")
	w.command(path, 1, "want <channel>:<sender id>", "pair", "revoke", "1001")
	people := inJSON[[]struct{ Person, Code string }](w, path, "pair", "list")
	if len(people) != 1 || people[0].Person != "telegram:7" || people[0].Code != "" {
		t.Errorf("people %+v", people)
	}
	w.startWith(path, listen).ready()
	w.wait(7, "welcome after the start", func(m []telegram.Message) bool { return len(m) == 2 })
	if got := w.ask("hello?"); strings.Contains(got, "echo") {
		t.Errorf("who was shut out hears %q", got)
	}
}
