package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// stranger is somebody whom the configuration does not name at first.
const stranger = 2002

// change is a part of the configuration that is replaced while the program
// runs, with what shows that it counts before and after.
type change struct {
	wiring
	from, to string
	after    func(t *testing.T, w *world, b *bot)
}

func (c change) run(t *testing.T) {
	before := c.check
	c.check = func(t *testing.T, w *world, b *bot) {
		w.tg.AddPerson(telegram.Person{ID: stranger, Name: "Bob", Username: "bob"})
		before(t, w, b)
		b.change(w.data("config.yaml"), c.from, c.to)
		c.after(t, w, b)
		if said := b.log.String(); strings.Contains(said, wiredKey) || strings.Contains(said, w.tg.Token()) {
			t.Error("a secret stands in the log")
		}
	}
	c.wiring.run(t)
}

const (
	taken   = "configuration read again"
	refused = "the last good one stays in force"
)

// change edits the configuration, each odd text to the one after it, tells the
// program, and waits until it was taken. All edits are one: the program might
// take the first of several by itself, and its word for that would be taken for
// the last.
func (b *bot) change(path string, fromTo ...string) {
	b.t.Helper()
	b.edit(path, taken, fromTo...)
}

func (b *bot) edit(path, want string, fromTo ...string) {
	b.t.Helper()
	text, err := os.ReadFile(path)
	for i := 0; i < len(fromTo); i += 2 {
		if err != nil || !strings.Contains(string(text), fromTo[i]) {
			b.t.Fatalf("%q does not stand in the configuration (%v)", fromTo[i], err)
		}
	}
	before := strings.Count(b.log.String(), want)
	replaceIn(b.t, path, string(text), strings.NewReplacer(fromTo...).Replace(string(text)))
	if err := b.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		b.t.Fatal(err)
	}
	b.until(want, func() bool { return strings.Count(b.log.String(), want) > before }, b.log.String)
}

// unheard checks that a stranger gets no answer: the owner, who asks after
// him, gets one.
func unheard(t *testing.T, w *world, b *bot) {
	w.tg.Say(telegram.Said{From: stranger, Text: "let me in"})
	w.stored(b)
	w.ask("are you there?")
	if n := count(w.tg.Messages(stranger), "echo"); n > 0 {
		t.Errorf("a stranger was answered: %v", w.tg.Messages(stranger))
	}
}

func heard(_ *testing.T, w *world, _ *bot) {
	w.tg.Say(telegram.Said{From: stranger, Text: "am I in?"})
	w.wait(stranger, "the stranger is answered", func(m []telegram.Message) bool { return count(m, "echo: am I in?") == 1 })
}

// gone checks that the owner gets no answer any more.
func gone(t *testing.T, w *world, b *bot) {
	heard(t, w, b)
	before := len(w.tg.Messages(owner))
	w.say("and I?")
	w.stored(b)
	w.tg.Say(telegram.Said{From: stranger, Text: "he is gone"})
	w.wait(stranger, "answer", func(m []telegram.Message) bool { return count(m, "echo: he is gone") == 1 })
	if after := w.tg.Messages(owner); len(after) != before {
		t.Errorf("the owner, who is no longer allowed, was answered: %v", after[before:])
	}
}

// runs has the model run a command.
func runs(command, want string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, b *bot) {
		w.calls(map[string]modelserver.Call{"run it": {Name: "exec", Args: fmt.Sprintf(`{"command": %q}`, command)}})
		shows("run it", want)(t, w, b)
	}
}

// offered checks that the model is offered one tool and not another.
func offered(without, with string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		w.ask("what can you do?")
		all := w.model.Requests()
		if r := all[len(all)-1]; r.Offers(without) || !r.Offers(with) {
			t.Errorf("offered: %s %v, %s %v; want only the second", without, r.Offers(without), with, r.Offers(with))
		}
	}
}

// asks checks which model is asked.
func asks(model string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		w.ask("which model?")
		all := w.model.Requests()
		if got := all[len(all)-1].Model; got != model {
			t.Errorf("asked %q, want %q", got, model)
		}
	}
}

// TestChangesNeedNoRestart replaces one part after the other in programs that
// run.
func TestChangesNeedNoRestart(t *testing.T) {
	t.Parallel()
	owned := `allow: ["1001"], pairing: false, stream: false`
	for _, c := range []change{
		{wiring{key: "allow", door: owned, check: unheard}, `["1001"]`, `["1001", "2002"]`, heard},
		{wiring{key: "disallow", door: owned, check: unheard}, `allow: ["1001"]`, `allow: ["2002"]`, gone},
		{wiring{key: "admins", door: owned, check: unheard}, `security: {`, `security: {admins: ["telegram:2002"], `, heard},
		{wiring{key: "rate limit", limit: "100/1h", check: shows("one", "echo")}, "100/1h", "1/1h", shows("two", "Too fast")},
		{wiring{key: "budget", security: "budget: {tokens_per_day: 500000}", check: shows("one", "echo")}, "500000", "17", shows("two", "the bot's 17 tokens")},
		{wiring{key: "models", check: asks("scripted")}, "model: scripted", "model: another", asks("another")},
		{wiring{key: "tools.enabled", extra: `tools: {enabled: ["*"]}`, check: offered("no_such_tool", "sleep")}, `["*"]}`, `["*", "-sleep"]}`, offered("sleep", "current_time")},
		{wiring{key: "policy", extra: "tools: {policy: []}", check: offered("no_such_tool", "sleep")}, "policy: []", "policy: [{tool: sleep, action: deny}]", offered("sleep", "current_time")},
		{wiring{key: "exec patterns", extra: "tools: {exec: {deny_patterns: []}}", check: runs("echo forbidden", "exit_code: 0")}, "deny_patterns: []", "deny_patterns: [forbidden]", runs("echo forbidden", "deny_patterns")},
		{wiring{key: "exec", extra: "tools: {exec: {enabled: true}}", check: offered("no_such_tool", "exec")}, "enabled: true}", "enabled: false}", offered("exec", "sleep")},
		{wiring{key: "limits", extra: "tools: {exec: {timeout: 1m}}", check: runs("sleep 0.3", "exit_code: 0")}, "timeout: 1m", "timeout: 100ms", runs("sleep 60", "stopped after 100ms")},
	} {
		t.Run(c.key, c.run)
	}
}

// TestTurnKeepsWhatItBeganWith changes policy and model while a turn waits for
// the model: that turn ends as it began, the next one is held to the new ones.
func TestTurnKeepsWhatItBeganWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "tools: {policy: []}\nagent: {busy: queue}"
	asked, goOn := make(chan string, 10), make(chan struct{})
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		asked <- r.Model
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "result: " + res[0].Text}
		}
		select {
		case <-goOn:
		case <-r.Gone:
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "write_file", Args: `{"path": "a.txt", "content": "你好"}`}}}
	})
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.say("write")
	if got := receive(t, asked, "the first question"); got != "scripted" {
		t.Errorf("asked %q", got)
	}
	b.change(path, "model: scripted", "model: another", "policy: []", "policy: [{tool: write_file, action: deny}]")
	close(goOn)
	w.wait(owner, "the turn ends as it began", func(m []telegram.Message) bool { return count(m, "result: created a.txt") == 1 })
	if got := receive(t, asked, "the second question"); got != "scripted" {
		t.Errorf("in the middle of a turn %q was asked", got)
	}
	w.say("write again")
	if got := receive(t, asked, "the third question"); got != "another" {
		t.Errorf("the next turn asks %q", got)
	}
	w.wait(owner, "the next turn is refused", func(m []telegram.Message) bool {
		return count(m, "result: error") == 1 && count(m, "created a.txt") == 1
	})
}

// inForce is what /readyz says of the configuration.
type inForce struct {
	OK      bool
	Restart []string `json:"restart_for"`
}

func (b *bot) inForce() (said inForce) {
	b.t.Helper()
	status, body := b.get("/readyz")
	all := struct{ Configuration *inForce }{&said}
	if err := json.Unmarshal([]byte(body), &all); err != nil || status != 200 || !strings.Contains(body, "restart_for") {
		b.t.Fatalf("/readyz says %d %s (%v)", status, body, err)
	}
	return said
}

// command runs another command of the program beside the running one.
func (b *bot) command(args ...string) (said string) {
	b.t.Helper()
	other := launch(b.t, b.cmd.Dir, nil, append(args, "--config", filepath.Join(b.cmd.Dir, "config.yaml"))...)
	other.await("the end of the command", other.gone)
	return other.log.String()
}

// TestBadChangeIsNotTaken: a file that is wrong in one part leaves everything
// as it was, and is said; the watch finds it mended.
func TestBadChangeIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.tg.AddPerson(telegram.Person{ID: stranger, Name: "Bob", Username: "bob"})
	w.door = `allow: ["1001"], pairing: false, stream: false`
	w.extra = "tools: {policy: []}"
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	if said := b.inForce(); !said.OK || len(said.Restart) > 0 {
		t.Errorf("at the start: %+v", said)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.ReplaceAll(string(text), `["1001"]`, `["1001", "2002"]`)
	bad = strings.ReplaceAll(bad, "policy: []", `policy: [{tool: sleep, match: "[", action: deny}]`)
	b.edit(path, refused, string(text), bad)
	unheard(t, w, b)
	if b.inForce().OK {
		t.Error("/readyz calls the bad file good")
	}
	before := strings.Count(b.log.String(), taken)
	replaceIn(t, path, `match: "[",`, "") // nobody tells the program
	b.until("the mended file is found", func() bool { return strings.Count(b.log.String(), taken) > before }, b.log.String)
	heard(t, w, b)
	if !b.inForce().OK {
		t.Error("/readyz calls the mended file bad")
	}
}

// TestWhatNeedsARestartIsNamed, and only as long as it differs.
func TestWhatNeedsARestartIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {max_turns: 5, busy: queue}\nmedia: {max_bytes: 1000000}"
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	token := w.tg.Token()
	b.change(path, token, "1234:other-secret-token", "max_bytes: 1000000", "max_bytes: 2000000",
		"max_turns: 5, busy: queue", "max_turns: 6, busy: collect")
	if got := strings.Join(b.inForce().Restart, " "); got != "agent.max_turns media.max_bytes channels.telegram.token" {
		t.Errorf("a restart is needed for %q", got)
	}
	b.until("the log names the key", func() bool { return strings.Contains(b.log.String(), "channels.telegram.token") }, b.log.String)
	if said := b.log.String(); strings.Contains(said, "other-secret-token") || strings.Contains(said, token) {
		t.Error("the log shows its value")
	}
	if said := b.command("doctor"); !strings.Contains(said, "FAIL  configuration in force: these keys have changed since the start of the running bot: agent.max_turns,") {
		t.Errorf("the doctor says\n%s", said)
	}
	w.ask("do you still have your token?")
	b.change(path, "1234:other-secret-token", token, "max_bytes: 2000000", "max_bytes: 1000000", "max_turns: 6", "max_turns: 5")
	if got := b.inForce().Restart; len(got) > 0 {
		t.Errorf("everything is as at the start, and a restart is needed for %q", got)
	}
}

// TestVariablesBesideTheConfiguration: .env gives a key, and another one when
// it changes; no command of the model's reads it.
func TestVariablesBesideTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.models = fmt.Sprintf("[{name: main, provider: openai, base_url: %s, api_key: '${MODEL_KEY}', model: scripted}]", w.model.OpenAI())
	path, listen := w.config("bot")
	file := filepath.Join(filepath.Dir(path), ".env")
	first, second := "sk-first-0123456789", "sk-second-0123456789"
	if err := os.WriteFile(file, []byte("# keys\nMODEL_KEY="+first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.model.RequireKey(first)
	b := w.startWith(path, listen)
	b.ready()
	shows("one", "echo: one")(t, w, b)
	w.model.RequireKey(second)
	b.change(file, first, second)
	shows("two", "echo: two")(t, w, b)
	w.calls(map[string]modelserver.Call{"run it": {Name: "exec", Args: `{"command": "cat ../../.env; echo end"}`}})
	if got := w.ask("run it"); strings.Contains(got, "sk-") || !strings.Contains(got, "end") && !strings.Contains(got, "outside") {
		t.Errorf("a command reads the variables: %s", got)
	}
	w.calls(map[string]modelserver.Call{"say it": {Name: "exec", Args: fmt.Sprintf(`{"command": "echo %s %s"}`, first, second)}})
	shows("say it", "exit_code: 0")(t, w, b)
	if said := b.log.String() + w.audited(); strings.Contains(said, first) || strings.Contains(said, second) || !strings.Contains(said, "echo ***") {
		t.Errorf("a key stands in the log, the one of before or the new one:\n%s", w.audited())
	}
}

// TestEmptiedFileIsNotTaken: a program that had a configuration keeps it when
// nothing is left in the file, and says so until something stands there again.
func TestEmptiedFileIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = `tools: {policy: [{tool: sleep, action: deny}]}`
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, nothing := range []string{"", "\n \n", "# log: {level: debug}\n", "---\n", "null\n", "~"} {
		b.edit(path, refused, string(text), nothing)
		if b.inForce().OK {
			t.Errorf("%q: /readyz calls it good", nothing)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b.change(path, string(text), string(text))
		if !b.inForce().OK {
			t.Errorf("after %q /readyz calls the file bad", nothing)
		}
	}
	b.edit(path, refused, string(text), "")
	offered("sleep", "current_time")(t, w, b)
	if !strings.Contains(b.log.String(), "config.yaml is empty: put back what stood in it, or write {}") {
		t.Error("the log does not say what to do")
	}
	before := strings.Count(b.log.String(), taken)
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.until("{} is taken", func() bool { return strings.Count(b.log.String(), taken) > before }, b.log.String)
}

// TestMissingFileIsNotTaken: without a configuration the program runs with its
// defaults, but one that has lost its file keeps what it had.
func TestMissingFileIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = `tools: {policy: [{tool: sleep, action: deny}]}`
	path, listen := w.config("bot")
	b := launch(t, filepath.Dir(path), nil, "run") // finds ./config.yaml
	b.listen = listen
	b.ready()
	offered("sleep", "current_time")(t, w, b)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	b.until("the file is missed", func() bool { return strings.Contains(b.log.String(), refused) }, b.log.String)
	offered("sleep", "current_time")(t, w, b)
	if b.inForce().OK {
		t.Error("/readyz calls it good")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	b.until("the file is back", func() bool { return strings.Contains(b.log.String(), taken) }, b.log.String)
	if !b.inForce().OK {
		t.Error("/readyz does not see the file")
	}
}

// TestCommandsFindTheRunningBot: also when the configuration has another
// address and another token since its start.
func TestCommandsFindTheRunningBot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.ask("hello")
	b.change(path, fmt.Sprintf("listen: %q", listen), fmt.Sprintf("token: quite-another-token-0123456789, listen: %q", freeAddr(t)))
	for _, c := range []struct{ args, want string }{
		{"health", "ok"},
		{"session list", "telegram"},
		{"restore nothing.tar.gz", "the bot is running at http://" + listen},
		{"doctor", "FAIL  configuration in force: these keys have changed since the start of the running bot: web.listen, web.token"},
	} {
		if got := b.command(strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Errorf("bot %s says\n%s\nwant %q", c.args, got, c.want)
		}
	}
	b.kill()
	if got := b.command("health"); strings.Contains(got, "ok") || !strings.Contains(got, "no bot answers at") {
		t.Errorf("after a kill bot health says\n%s", got)
	}
}
