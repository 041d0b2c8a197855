package app_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// keyed are the messages that have buttons.
func keyed(all []telegram.Message) (kept []telegram.Message) {
	for _, m := range all {
		if len(m.Keyboard) > 0 {
			kept = append(kept, m)
		}
	}
	return kept
}

// question waits for a question that holds those words and still has buttons.
func (w *world) question(words string) telegram.Message {
	w.t.Helper()
	var found telegram.Message
	w.wait(owner, "the question with "+words, func(all []telegram.Message) bool {
		for _, m := range keyed(all) {
			if strings.Contains(m.Text, words) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func (w *world) press(m telegram.Message, row, column int) {
	w.t.Helper()
	if _, err := w.tg.Press(owner, owner, m.ID, m.Keyboard[row][column].Data); err != nil {
		w.t.Fatal(err)
	}
}

// does has the model make the calls of a message "do NAME", one after the other,
// and repeat the last result.
func (w *world) does(calls map[string][]modelserver.Call) {
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		_, name, _ := strings.Cut(r.LastUser(), "do ")
		todo, n, last := calls[name], 0, ""
		for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != "user"; i-- {
			if m := r.Messages[i]; m.Role == "tool" {
				n++
				last = cmp.Or(last, m.Text)
			}
		}
		switch {
		case len(todo) == 0:
			return modelserver.Echo(r)
		case n < len(todo):
			return modelserver.Answer{Calls: todo[n : n+1]}
		}
		return modelserver.Answer{Text: "outcome: " + last}
	})
}

func (w *world) auditLog(name string) string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, name, "audit_logs", "*.jsonl"))
	if err != nil || len(files) != 1 {
		w.t.Fatalf("the audit log: %v, %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return string(raw)
}

const askForCommands = `tools: {policy: [{tool: exec, action: ask}, {tool: write_file, action: ask}]}`

// What is asked is what runs: code under the name of a secret, and what the chat
// has set for its commands; the audit log has it, and the decision.
func TestTheWholeCommandIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = askForCommands
	const evil = `BUILD_KEY="$(echo a; touch PWNED)" true; : --grep=cookie: -1; echo --token=$(id -u) ftp://u:p@h`
	w.does(map[string][]modelserver.Call{"it": {
		{Name: "set_env", Args: `{"key":"MY_TOKEN","value":"$(touch A1)"}`},
		{Name: "exec", Args: `{"command":` + quoted(evil) + `,"timeout":7}`},
	}})
	b := w.start("bot")
	b.ready()
	w.say("do it")
	q := w.question("BUILD_KEY")
	for _, want := range []string{evil, "MY_TOKEN=$(touch A1)", filepath.Join("bot", "workspace")} {
		if !strings.Contains(q.Text, want) {
			t.Errorf("the question lacks %q:\n%s", want, q.Text)
		}
	}
	w.press(q, 0, 1)
	msgs := w.wait(owner, "the outcome", func(m []telegram.Message) bool { return count(m, "outcome:") == 1 && count(m, "Denied by") == 1 })
	if len(keyed(msgs)) > 0 {
		t.Errorf("buttons are left: %+v", keyed(msgs))
	}
	log := w.auditLog("bot")
	for _, want := range []string{quoted(evil), `$(touch A1)`, `"event":"decision"`, `"verdict":"denied","by":"1001"`, `"digest":"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %s:\n%s", want, log)
		}
	}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// A file that changes under a question is asked about again, over a kill too.
func TestAFileChangesUnderTheQuestion(t *testing.T) {
	for name, kill := range map[string]bool{"running": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.extra = askForCommands
			w.does(map[string][]modelserver.Call{"it": {{Name: "write_file", Args: `{"path":"note.txt","content":"mine"}`}}})
			b := w.start("bot")
			b.ready()
			w.say("do it")
			first := w.question("+mine")
			if kill {
				b.sent() // else Telegram, which knows no repeat, shows the question twice
				_ = b.signal(syscall.SIGKILL)
			}
			if err := os.WriteFile(filepath.Join(w.dir, "bot", "workspace", "note.txt"), []byte("precious\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if kill {
				w.start("bot").ready()
			} else {
				w.press(first, 0, 0)
			}
			second := w.question("-precious")
			if second.ID == first.ID || w.note("bot") != "precious\n" {
				t.Fatalf("asked %+v, the file holds %q", second, w.note("bot"))
			}
			w.wait(owner, "the end of the first", func(m []telegram.Message) bool { return count(m, "what it would do has changed") == 1 })
			w.press(second, 0, 0)
			msgs := w.wait(owner, "the outcome", func(m []telegram.Message) bool { return count(m, "outcome: overwritten") == 1 && len(keyed(m)) == 0 })
			if w.note("bot") != "mine\n" || count(msgs, "Allowed by") == 0 {
				t.Errorf("the file holds %q, the chat shows %q", w.note("bot"), texts(msgs))
			}
		})
	}
}

// While a question waits whoever writes is told so, once; after /stop it says
// that it is over, and so does an answer to it.
func TestStoppedUnderTheQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = askForCommands
	w.does(map[string][]modelserver.Call{"it": {{Name: "exec", Args: `{"command":"touch A1"}`}}})
	b := w.start("bot")
	b.ready()
	w.say("do it")
	q := w.question("touch A1")
	id := regexp.MustCompile(`/approve ([A-Z2-7]{6})`).FindStringSubmatch(q.Text)[1]
	w.say("are you there?")
	w.wait(owner, "a word", func(m []telegram.Message) bool { return count(m, "I am waiting for an answer") == 1 })
	w.say("and now?")
	w.stored(b)
	w.say("/stop")
	msgs := w.wait(owner, "the end", func(m []telegram.Message) bool { return count(m, "the turn was stopped") == 1 && len(keyed(m)) == 0 })
	if count(msgs, "I am waiting for an answer") != 1 {
		t.Errorf("told more than once: %q", texts(msgs))
	}
	w.say("/approve " + id)
	w.wait(owner, "that it is over", func(m []telegram.Message) bool { return count(m, "This question is over") == 1 })
	if _, err := os.Stat(filepath.Join(w.dir, "bot", "workspace", "A1")); err == nil {
		t.Error("it ran after /stop")
	}
}

// What is always allowed in a chat is not asked about again, also after a
// restart, until it is taken back.
func TestAlwaysAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = askForCommands
	w.does(map[string][]modelserver.Call{
		"it":      {{Name: "exec", Args: `{"command":"echo hi"}`}},
		"another": {{Name: "exec", Args: `{"command":"echo ho"}`}},
		"set":     {{Name: "set_env", Args: `{"key":"APP_EDITION","value":"2"}`}},
	})
	b := w.start("bot")
	b.ready()
	outcomes := func(n int) func(m []telegram.Message) bool {
		return func(m []telegram.Message) bool { return count(m, "outcome:") == n }
	}
	w.say("do it")
	w.press(w.question("echo hi"), 1, 0)
	w.wait(owner, "the first outcome", outcomes(1))
	_ = b.signal(syscall.SIGTERM)
	w.start("bot").ready()
	w.say("do it")
	msgs := w.wait(owner, "the second outcome", outcomes(2))
	if count(msgs, "May I?") != 1 {
		t.Errorf("asked again: %q", texts(msgs))
	}
	w.say("do another")
	w.press(w.question("echo ho"), 0, 1)
	w.wait(owner, "the third outcome", outcomes(3))
	w.say("/审批")
	w.wait(owner, "the list", func(m []telegram.Message) bool { return count(m, "1. exec: echo hi") == 1 })
	w.say("do set")
	w.wait(owner, "the fourth outcome", outcomes(4))
	w.say("do it") // in another environment
	w.press(w.question("APP_EDITION=2"), 1, 0)
	w.wait(owner, "the fifth outcome", outcomes(5))
	w.say("/approvals remove 2")
	w.wait(owner, "taken back", func(m []telegram.Message) bool { return count(m, "Taken back") == 1 })
	w.say("do it")
	w.press(w.question("APP_EDITION=2"), 0, 0)
	w.wait(owner, "the sixth outcome", outcomes(6))
}

// A long command shows in the chat that it runs, and what it said last.
func TestProgressInAChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.does(map[string][]modelserver.Call{"it": {{Name: "exec", Args: `{"command":"echo building part 7; while [ ! -e go ]; do sleep 0.1; done"}`}}})
	w.door = `allow: ["*"], stream: true`
	b := w.start("bot")
	b.ready()
	w.say("do it")
	b.until("what it does is shown", func() bool {
		shown := w.tg.Draft(owner)
		return strings.Contains(shown, "⏳ exec") && strings.Contains(shown, "building part 7")
	}, func() string { return w.tg.Draft(owner) })
	if err := os.WriteFile(filepath.Join(w.dir, "bot", "workspace", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	msgs := w.wait(owner, "the outcome", func(m []telegram.Message) bool { return count(m, "outcome:") == 1 })
	if strings.Contains(texts(msgs), "⏳") {
		t.Errorf("progress is left: %q", texts(msgs))
	}
}

// Of a long command the beginning and the end are shown, and how much is not; a
// button and a command give the whole, also in Chinese.
func TestALongCommandIsShownWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = askForCommands
	long := strings.Repeat("true 喜鹊; ", 300) + "touch MIDDLE; " + strings.Repeat("true 喜鹊; ", 300) + "touch END"
	w.does(map[string][]modelserver.Call{"it": {{Name: "exec", Args: `{"command":` + quoted(long) + `}`}}})
	b := w.start("bot")
	b.ready()
	w.say("do it")
	q := w.question("touch END")
	if strings.Contains(q.Text, "MIDDLE") || !strings.Contains(q.Text, "characters are not shown here") {
		t.Errorf("the question is %q", q.Text)
	}
	if _, err := w.tg.Press(owner, owner, q.ID, q.Keyboard[2][0].Data); err != nil {
		t.Fatal(err)
	}
	w.wait(owner, "the whole", func(m []telegram.Message) bool { return count(m, "touch MIDDLE") == 1 })
	w.question("touch END") // it still stands
	id := regexp.MustCompile(`/approve ([A-Z2-7]{6})`).FindStringSubmatch(q.Text)[1]
	w.say("/审批 " + strings.ToLower(id))
	w.wait(owner, "the whole again", func(m []telegram.Message) bool { return count(m, "touch MIDDLE") == 2 })
	w.press(q, 0, 1)
	w.wait(owner, "the outcome", func(m []telegram.Message) bool { return count(m, "outcome:") == 1 })
	if log := w.auditLog("bot"); !strings.Contains(log, quoted(long)) {
		t.Error("the audit log lacks the whole command")
	}
}
