package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
	"magpie/internal/kv"
	"magpie/tools"
)

// calls makes the model answer a text with a tool call, and the result of the
// call with the result's text.
func (w *world) calls(by map[string]modelserver.Call) {
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "result: " + res[len(res)-1].Text}
		}
		for word, call := range by {
			if strings.Contains(r.LastUser(), word) {
				return modelserver.Answer{Calls: []modelserver.Call{call}}
			}
		}
		return modelserver.Echo(r)
	})
}

// notice waits until a press was answered and returns what its presser is told.
func (w *world) notice(b *bot, press string) (text string) {
	w.t.Helper()
	b.until("answer to press "+press, func() bool {
		for _, c := range w.tg.Requests("answerCallbackQuery") {
			if c.Params["callback_query_id"] == press {
				text = c.Params["text"]
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprint(w.tg.Requests("answerCallbackQuery")) })
	return text
}

// A press speaks as the person who pressed, once.
func TestButtons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.door = `allow: ["1001", "1002"], stream: false`
	w.calls(map[string]modelserver.Call{
		"choose": {Name: "message", Args: `{"content": "Tea or coffee?", "buttons": ["Tea", "Coffee"]}`},
	})
	const group, friend, stranger = -100500, 1002, 6666
	w.tg.AddPerson(telegram.Person{ID: friend, Name: "Bob"})
	w.tg.AddPerson(telegram.Person{ID: stranger, Name: "Eve"})
	w.tg.AddGroup(telegram.Group{ID: group, Title: "kitchen"})
	b := w.start("bot")
	b.ready()
	w.tg.Say(telegram.Said{From: owner, Chat: group, Text: "@magpie_test_bot let me choose"})
	asked := w.wait(group, "buttons", func(m []telegram.Message) bool { return len(m) == 1 && len(m[0].Keyboard) == 2 })[0]
	press := func(who int64, data string) string {
		id, err := w.tg.Press(who, group, asked.ID, data)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	coffee, tea := asked.Keyboard[1][0].Data, asked.Keyboard[0][0].Data
	if got := w.notice(b, press(stranger, tea)); !strings.Contains(got, "not allowed") {
		t.Errorf("a stranger's press is answered %q", got)
	}
	goOn := b.paused()
	first := press(friend, coffee)
	second := press(owner, tea) // the keyboard is still there for him
	goOn()
	w.wait(group, "the press answered as a message", func(m []telegram.Message) bool { return count(m, "Coffee") == 1 && len(m[0].Keyboard) == 0 })
	w.notice(b, first)
	if got := w.notice(b, second); !strings.Contains(got, "already") {
		t.Errorf("the second press is answered %q", got)
	}
	last := w.model.Requests()[w.model.Count()-1]
	if said := last.LastUser(); !strings.Contains(said, "Coffee") || !strings.Contains(said, "Bob") {
		t.Errorf("the model was told %q, want Coffee said by Bob", said)
	}
	if msgs := w.tg.Messages(group); count(msgs, "Tea") != 1 { // the question itself
		t.Errorf("the group shows %q", texts(msgs))
	}
}

// Buttons that the program knows nothing of (any more) are refused, and taken
// away.
func TestExpiredButtons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.calls(map[string]modelserver.Call{
		"choose": {Name: "message", Args: `{"content": "Tea or coffee?", "buttons": ["Tea"]}`},
	})
	b := w.start("bot")
	b.ready()
	w.say("let me choose")
	asked := w.wait(owner, "buttons", func(m []telegram.Message) bool { return len(m) == 1 && len(m[0].Keyboard) == 1 })[0]
	w.stored(b)
	clean(t, b.signal(syscall.SIGTERM))
	b = w.start("other") // has never seen the buttons
	b.ready()
	id, err := w.tg.Press(owner, owner, asked.ID, asked.Keyboard[0][0].Data)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.notice(b, id); !strings.Contains(got, "expired") {
		t.Errorf("the press is answered %q", got)
	}
	w.wait(owner, "buttons gone", func(m []telegram.Message) bool { return len(m[0].Keyboard) == 0 })
}

// Tools through the whole program: files inside the workspace, nothing outside
// of it, long results cut and kept, and an audit log that proves itself.
func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, _ := w.config("bot")
	dir := filepath.Dir(path)
	space := filepath.Join(dir, "space")
	w.extra = "workspace: " + space + "\ntools: {max_result_chars: 1000}\nagent: {busy: queue}"
	path, listen := w.config("bot")
	if err := os.MkdirAll(space, 0o700); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("all work and no play makes the magpie a dull bird\n", 100)
	if err := os.WriteFile(filepath.Join(space, "long.txt"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	w.calls(map[string]modelserver.Call{
		"write":   {Name: "write_file", Args: `{"file_path": "a/你好.txt", "content": "喜鹊 <b>&"}`},
		"read":    {Name: "read_file", Args: `{"path": "a/你好.txt"}`},
		"up":      {Name: "read_file", Args: `{"path": "../config.yaml"}`},
		"outside": {Name: "read_file", Args: `{"path": "/etc/passwd"}`},
		"long":    {Name: "read_file", Args: `{"path": "long.txt"}`},
		"type":    {Name: "read_file", Args: `{"path": 7, "colour": "red"}`},
		"clock":   {Name: "current_time", Args: `{"timezone": "Asia/Shanghai"}`},
	})
	b := w.startWith(path, listen)
	b.ready()
	n := 0
	ask := func(word string) string {
		w.say(word)
		n++
		msgs := w.wait(owner, word, func(m []telegram.Message) bool { return len(m) == n })
		return msgs[n-1].Text
	}
	for _, c := range []struct{ word, want string }{
		{"write", "created a/你好.txt"},
		{"read", "喜鹊 <b>&"},
		{"up", "not allowed"},
		{"outside", "outside the workspace"},
		{"type", "path"},
		{"clock", "Asia/Shanghai"},
	} {
		if got := ask(c.word); !strings.Contains(got, c.want) || strings.Contains(got, "root:") || strings.Contains(got, "data_dir") {
			t.Errorf("%s: %q, want %q in it", c.word, got, c.want)
		}
	}
	cut := ask("long")
	m := regexp.MustCompile(`tool_output/[0-9a-f]+\.txt`).FindString(cut)
	kept, err := os.ReadFile(filepath.Join(space, m))
	if m == "" || err != nil || strings.Count(string(kept), "dull bird") != 100 || len(cut) > 1100 {
		t.Errorf("the cut result (%d bytes) names %q, which holds %d bytes, %v", len(cut), m, len(kept), err)
	}
	clean(t, b.signal(syscall.SIGTERM))
	checkAudit(t, dir, 7)
}

// auditOf is the audit log of a program that has ended, and the table that
// knows its end.
func auditOf(t *testing.T, data string) (logs string, table kv.Table) {
	t.Helper()
	return filepath.Join(data, "audit_logs"), bustest.Open(t, bus.Options{Dir: filepath.Join(data, "bus")}).Table("audit")
}

// checkAudit verifies the audit log of a program that has ended, and that a
// changed one does not pass.
func checkAudit(t *testing.T, data string, calls int) {
	t.Helper()
	logs, table := auditOf(t, data)
	report, err := tools.VerifyAudit(t.Context(), logs, table)
	if err != nil || report.Records != 2*calls || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v; want %d records", report, err, 2*calls)
	}
	files, err := filepath.Glob(filepath.Join(logs, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("audit files %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	var r struct {
		Tool    string `json:"tool_name"`
		Channel string
		Sender  string
		Status  string
	}
	if err := json.Unmarshal([]byte(first), &r); err != nil || r.Tool != "write_file" || r.Channel != "telegram" || r.Sender != fmt.Sprint(owner) || r.Status != "running" {
		t.Errorf("the first record is %s", first)
	}
	replaceIn(t, files[0], "/etc/passwd", "/etc/hosts")
	if report, err := tools.VerifyAudit(t.Context(), logs, table); err != nil || len(report.Problems) == 0 {
		t.Errorf("a changed record passes: %+v, %v", report, err)
	}
}

// A stranger gets a code, an administrator lets him in with it, and then he is
// heard; nobody else is.
func TestPairing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.door = `allow: [], stream: false`
	path, listen := w.config("bot")
	replaceIn(t, path, "security: {", `security: {admins: ["telegram:1001"], `)
	const stranger, other, group = 7777, 8888, -100700
	w.tg.AddPerson(telegram.Person{ID: stranger, Name: "小明", Lang: "zh-hans"})
	w.tg.AddPerson(telegram.Person{ID: other, Name: "Eve"})
	w.tg.AddGroup(telegram.Group{ID: group, Title: "square"})
	b := w.startWith(path, listen)
	b.ready()
	w.tg.Say(telegram.Said{From: stranger, Chat: group, Text: "@magpie_test_bot hello"})
	w.tg.Say(telegram.Said{From: stranger, Text: "你好"})
	msgs := w.wait(stranger, "code", func(m []telegram.Message) bool { return len(m) == 1 })
	code := regexp.MustCompile(`[A-Z2-9]{8}`).FindString(msgs[0].Text)
	if code == "" || !strings.Contains(msgs[0].Text, "配对码") {
		t.Fatalf("the stranger is told %q", msgs[0].Text)
	}
	w.tg.Say(telegram.Said{From: stranger, Text: "/pair " + code}) // does not let himself in
	w.tg.Say(telegram.Said{From: other, Text: "let me in"})
	w.wait(other, "a code of his own", func(m []telegram.Message) bool { return len(m) == 1 && !strings.Contains(m[0].Text, code) })
	w.say("/pair AAAAAAAA")
	w.wait(owner, "no such code", func(m []telegram.Message) bool { return count(m, "no such code") == 1 })
	w.say("/pair " + strings.ToLower(code))
	w.wait(owner, "let in", func(m []telegram.Message) bool { return count(m, "小明") == 1 })
	w.wait(stranger, "welcome", func(m []telegram.Message) bool { return len(m) == 2 })
	w.tg.Say(telegram.Said{From: stranger, Text: "我能说话了吗"})
	w.wait(stranger, "heard", func(m []telegram.Message) bool { return count(m, "echo: 我能说话了吗") == 1 })
	w.tg.Say(telegram.Said{From: other, Text: "and me?"})
	clean(t, b.signal(syscall.SIGTERM))
	b = w.startWith(path, listen) // over a restart, too
	b.ready()
	w.tg.Say(telegram.Said{From: stranger, Text: "还在吗"})
	w.wait(stranger, "heard after the restart", func(m []telegram.Message) bool { return count(m, "echo: 还在吗") == 1 })
	w.stored(b)
	if told := w.tg.Messages(group); len(told) != 1 || count(told, "配对码") != 1 || count(told, "echo") != 0 || regexp.MustCompile(`[A-Z2-9]{8}`).MatchString(told[0].Text) {
		t.Errorf("a stranger who mentions the bot in a group is told once how to be let in, and no code there: %q", texts(told))
	}
	if count(w.tg.Messages(other), "echo") != 0 {
		t.Errorf("another stranger was heard: %q", texts(w.tg.Messages(other)))
	}
	for _, r := range w.model.Requests() {
		if strings.Contains(r.LastUser(), "你好") || strings.Contains(r.LastUser(), "me?") {
			t.Errorf("the model was asked %q by somebody who may not", r.LastUser())
		}
	}
}
