package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// wiring is a key of the configuration with what shows that it has arrived
// where it works. Each fails when its line in this package is missing.
type wiring struct {
	key      string
	model    string // more keys of the model
	security string // more keys of security
	limit    string // security.rate_limit.per_sender
	extra    string // more sections
	door     string
	early    func(w *world) // before the program starts
	check    func(t *testing.T, w *world, b *bot)
}

const wiredKey = "sk-wired-0123456789abcdef"

func (c wiring) run(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.model.RequireKey(wiredKey)
	w.models = fmt.Sprintf("[{name: main, provider: openai, base_url: %s, api_key: %s, model: scripted, %s}]", w.model.OpenAI(), wiredKey, c.model)
	w.extra, w.door = c.extra, c.door
	path, listen := w.config("bot")
	replaceIn(t, path, `rate_limit: {per_sender: ""}`, fmt.Sprintf("rate_limit: {per_sender: %q}, %s", c.limit, c.security))
	if c.early != nil {
		c.early(w)
	}
	b := w.startWith(path, listen)
	b.ready()
	c.check(t, w, b)
}

// data is the program's data folder.
func (w *world) data(parts ...string) string {
	return filepath.Join(append([]string{w.dir, "bot"}, parts...)...)
}

// ask says a text and returns the next message of the chat.
func (w *world) ask(text string) string {
	w.t.Helper()
	before := len(w.tg.Messages(w.person))
	w.say(text)
	msgs := w.wait(w.person, "answer to "+text, func(m []telegram.Message) bool { return len(m) > before })
	return msgs[before].Text
}

// shows says a text and wants all of the words in the next message.
func shows(text string, words ...string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		got := w.ask(text)
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("%q is answered %q, want %q in it", text, got, word)
			}
		}
	}
}

func TestBudgetKeysReachTheAccount(t *testing.T) {
	t.Parallel()
	for _, c := range []wiring{
		{key: "tokens_per_day", security: "budget: {tokens_per_day: 12}", check: shows("hello", "the bot's 12 tokens")},
		{key: "max_output_tokens", security: "budget: {tokens_per_day: 50000}", model: "max_output_tokens: 60000", check: shows("hello", "the bot's 50000 tokens")},
		{key: "timezone", security: "budget: {tokens_per_day: 14}", extra: "timezone: Pacific/Chatham", check: shows("hello", "00:00 +1")},
		{key: "per_sender_tokens_per_day", security: "budget: {per_sender_tokens_per_day: 13}", check: shows("hello", "your 13 tokens")},
		{key: "usd_per_day, price.input", security: "budget: {usd_per_day: 0.0001}", model: "price: {input: 1000}", check: shows("hello", "$0.0001")},
		{key: "usd_per_day, price.output", security: "budget: {usd_per_day: 0.0002}", model: "price: {output: 1000}", check: shows("hello", "$0.0002")},
	} {
		t.Run(c.key, c.run)
	}
}

func TestToolKeysReachTheTools(t *testing.T) {
	t.Parallel()
	for _, c := range []wiring{
		{key: "timeout", extra: "tools: {timeout: 1ms}", early: crowd, check: func(t *testing.T, w *world, b *bot) {
			w.calls(map[string]modelserver.Call{"list": {Name: "list_files", Args: `{"path": "."}`}})
			shows("list", "took longer than 1ms")(t, w, b)
		}},
		{key: "enabled", extra: `tools: {enabled: ["*", "-sleep"]}`, check: offers("sleep", "current_time")},
		{key: "policy.tool", extra: "tools: {policy: [{tool: sleep, action: deny}]}", check: offers("sleep", "current_time")},
		{key: "policy.channel", extra: "tools: {policy: [{tool: sleep, channel: telegram, action: deny}, {tool: current_time, channel: web, action: deny}]}", check: offers("sleep", "current_time")},
		{key: "policy.sender", extra: `tools: {policy: [{tool: sleep, sender: "1001", action: deny}, {tool: current_time, sender: "1002", action: deny}]}`, check: offers("sleep", "current_time")},
		{key: "policy.match", extra: `tools: {policy: [{tool: write_file, match: "^私", action: deny}]}`, check: checkMatch},
		{key: "max_concurrent", extra: "tools: {max_concurrent: 1}", check: checkInTurn},
		{key: "security.audit_log_enabled", security: "audit_log_enabled: false", check: func(t *testing.T, w *world, b *bot) {
			w.calls(map[string]modelserver.Call{"clock": {Name: "current_time", Args: `{"timezone": "Asia/Shanghai"}`}})
			shows("clock", "Asia/Shanghai")(t, w, b)
			if found, err := filepath.Glob(w.data("audit_logs", "*")); err != nil || len(found) > 0 {
				t.Errorf("audit files %v, %v; want none", found, err)
			}
		}},
		{key: "secrets in the audit log", check: checkSecrets},
	} {
		t.Run(c.key, c.run)
	}
}

// crowd fills the workspace with many more files than can be listed in a
// millisecond: on a busy machine the end of that comes late.
func crowd(w *world) {
	dir := w.data("workspace")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	for i := range 4000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), nil, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// offers wants the model to be offered one tool and not the other.
func offers(without, with string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		w.ask("hello")
		r := w.model.Requests()[0]
		if r.Offers(without) || !r.Offers(with) {
			t.Errorf("offered: %s %v, %s %v; want only the second", without, r.Offers(without), with, r.Offers(with))
		}
	}
}

func checkMatch(t *testing.T, w *world, b *bot) {
	w.calls(map[string]modelserver.Call{
		"private": {Name: "write_file", Args: `{"file_path": "私/a.txt", "content": "x"}`},
		"public":  {Name: "write_file", Args: `{"file_path": "公/私.txt", "content": "x"}`},
	})
	shows("private", "policy of this bot does not allow")(t, w, b)
	shows("public", "created 公/私.txt")(t, w, b)
	if _, err := os.Stat(w.data("workspace", "私")); err == nil {
		t.Error("what the policy denies was written")
	}
}

// checkInTurn: of two calls, the second begins after the first has ended.
func checkInTurn(t *testing.T, w *world, b *bot) {
	w.model.Script(modelserver.Answer{Calls: []modelserver.Call{
		{Name: "sleep", Args: `{"duration": 0.3}`}, {Name: "sleep", Args: `{"duration": 0.31}`},
	}})
	shows("sleep twice", "echo: sleep twice")(t, w, b)
	log := w.audited()
	if n := strings.Count(log, "\n"); n != 4 {
		t.Fatalf("%d audit records, want 4:\n%s", n, log)
	}
	second := strings.Split(log, "\n")[1]
	if strings.Contains(second, `"running"`) {
		t.Errorf("the second record is the start of another call:\n%s", log)
	}
}

// audited is the audit log as it stands.
func (w *world) audited() string {
	w.t.Helper()
	files, err := filepath.Glob(w.data("audit_logs", "*.jsonl"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("audit files %v, %v", files, err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			w.t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// checkSecrets: what is secret here may go through a tool, but not into what
// is written about it.
func checkSecrets(t *testing.T, w *world, b *bot) {
	token := w.tg.Token()
	w.calls(map[string]modelserver.Call{
		"keep": {Name: "write_file", Args: fmt.Sprintf(`{"file_path": "a.txt", "content": "between %s and %s 之间"}`, wiredKey, token)},
	})
	shows("keep", "created a.txt")(t, w, b)
	text, err := os.ReadFile(w.data("workspace", "a.txt"))
	if err != nil || !strings.Contains(string(text), wiredKey) || !strings.Contains(string(text), token) {
		t.Fatalf("the file holds %q, %v", text, err)
	}
	log := w.audited()
	if !strings.Contains(log, "between") {
		t.Errorf("the call is not in the audit log:\n%s", log)
	}
	for name, secret := range map[string]string{"model's key": wiredKey, "token of Telegram": token} {
		if strings.Contains(log, secret) {
			t.Errorf("the %s stands in the audit log", name)
		}
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the %s stands in the log", name)
		}
	}
}

func TestDoorKeysReachTheDoors(t *testing.T) {
	t.Parallel()
	for _, c := range []wiring{
		{key: "rate_limit.per_sender", limit: "2/1h", check: func(t *testing.T, w *world, b *bot) {
			shows("one", "echo: one")(t, w, b)
			shows("two", "echo: two")(t, w, b)
			shows("three", "at most 2 messages in 1h")(t, w, b)
		}},
		{key: "pairing_ttl", security: "pairing_ttl: 7m", door: "allow: [], stream: false", check: shows("let me in", "good for 7 min")},
		{key: "pairing", door: "allow: [], pairing: false, stream: false", check: func(t *testing.T, w *world, b *bot) {
			w.say("let me in")
			w.stored(b)
			b.page(w.data(), "a").ask("is it quiet?", "echo: is it quiet?")
			if got := texts(w.tg.Messages(owner)); got != "" {
				t.Errorf("a stranger is told %q", got)
			}
		}},
		{key: "group", door: `allow: ["*"], group: open, groups: [-100300], stream: false`, check: checkGroups},
	} {
		t.Run(c.key, c.run)
	}
}

// checkGroups: in the one group that is open, everything is heard.
func checkGroups(t *testing.T, w *world, b *bot) {
	const open, other = -100300, -100301
	w.tg.AddGroup(telegram.Group{ID: open, Title: "open"})
	w.tg.AddGroup(telegram.Group{ID: other, Title: "other"})
	w.tg.Say(telegram.Said{From: owner, Chat: other, Text: "@magpie_test_bot do you hear me?"})
	w.stored(b)
	w.tg.Say(telegram.Said{From: owner, Chat: open, Text: "大家好"})
	w.wait(open, "answer without being mentioned", func(m []telegram.Message) bool { return count(m, "大家好") == 1 })
	for _, r := range w.model.Requests() {
		if strings.Contains(r.LastUser(), "do you hear me") {
			t.Error("a message of another group was heard")
		}
	}
}

// most is a model that notes how many requests it worked on at once.
type most struct {
	mu       sync.Mutex
	now, max int
}

func (m *most) reply(r modelserver.Request) modelserver.Answer {
	m.add(1)
	defer m.add(-1)
	pause := time.NewTimer(300 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-r.Gone:
	}
	return modelserver.Echo(r)
}

func (m *most) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += n
	m.max = max(m.max, m.now)
}

func (m *most) seen() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.max
}
