package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

func TestAgentKeysReachTheAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []wiring{
		{key: "max_iterations", extra: "agent: {max_iterations: 2}", check: checkIterations},
		{key: "max_turns", extra: "agent: {max_turns: 1}", check: checkTurns},
		{key: "debounce", extra: "agent: {busy: queue, debounce: 10s}", early: func(w *world) {
			w.say("one")
			w.say("two")
		}, check: func(t *testing.T, w *world, _ *bot) {
			w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "echo: two") == 1 })
			if got := said(w.model.Requests()[0]); got != "one|two" {
				t.Errorf("the model is asked %q, want both messages at once", got)
			}
		}},
		{key: "history_tokens", extra: "agent: {history_tokens: 500}", check: checkHistory},
		{key: "system_prompt_file", extra: "agent: {system_prompt_file: prompt.txt}", early: func(w *world) {
			if err := os.WriteFile(w.data("prompt.txt"), []byte("You are 小喜鹊, a bird.\n"), 0o600); err != nil {
				w.t.Fatal(err)
			}
		}, check: system("You are 小喜鹊, a bird.\n\n")},
		{key: "timezone", extra: "timezone: Pacific/Chatham", check: system("Pacific/Chatham")},
		{key: "max_output_tokens", model: "max_output_tokens: 1234", check: func(t *testing.T, w *world, _ *bot) {
			w.ask("hello")
			if body := string(w.model.Requests()[0].Body); !strings.Contains(body, "1234") {
				t.Errorf("the request does not hold the limit: %.200s", body)
			}
		}},
		{key: "context_tokens", model: "context_tokens: 1000, max_output_tokens: 100", check: checkHistory},
		{key: "tool_calls: xml", model: "tool_calls: xml", check: written(
			"<invoke name=\"current_time\">\n<parameter name=\"timezone\">Asia/Shanghai</parameter>\n</invoke>",
			`<tool_result name="current_time"`)},
		{key: "tool_calls: json", model: "tool_calls: json", check: written(
			"```json\n{\"tool\": \"current_time\", \"arguments\": {\"timezone\": \"Asia/Shanghai\"}}\n```",
			`{"tool_result":"current_time"`)},
	} {
		t.Run(c.key, c.run)
	}
}

// system wants a text in the system prompt.
func system(want string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		w.ask("hello")
		if got := w.model.Requests()[0].System; !strings.Contains(got, want) {
			t.Errorf("the system prompt lacks %q:\n%s", want, got)
		}
	}
}

// checkIterations: a model that always wants one more call gets no further
// than its limit.
func checkIterations(t *testing.T, w *world, b *bot) {
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if r.Offers("current_time") {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}}
		}
		return modelserver.Answer{Text: "enough"}
	})
	shows("go on for ever", "enough")(t, w, b)
	if n := w.model.Count(); n != 2 {
		t.Errorf("%d model calls, want 2", n)
	}
}

func checkTurns(t *testing.T, w *world, _ *bot) {
	m := &most{}
	w.model.Reply(m.reply)
	const first, people = 4000, 3
	for i := range int64(people) {
		w.tg.AddPerson(telegram.Person{ID: first + i, Name: fmt.Sprint("p", i)})
		w.tg.Say(telegram.Said{From: first + i, Text: "hello"})
	}
	for i := range int64(people) {
		w.wait(first+i, "answer", func(m []telegram.Message) bool { return count(m, "echo: hello") == 1 })
	}
	if n := m.seen(); n != 1 {
		t.Errorf("%d turns at once, want 1", n)
	}
}

// checkHistory: a history that has grown too long is summarised.
func checkHistory(t *testing.T, w *world, _ *bot) {
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Tools) == 0 { // the request for a summary
			return modelserver.Answer{Text: "summary: 一首长诗"}
		}
		return modelserver.Answer{Text: "fine"}
	})
	w.ask(strings.Repeat("nevermore and evermore. ", 160))
	w.ask("thank you")
	w.ask("good bye")
	reqs := w.model.Requests()
	last := reqs[len(reqs)-1]
	if !strings.Contains(last.System, "summary: 一首长诗") || strings.Contains(said(last), "nevermore") {
		t.Errorf("the history was not summarised: %.300q; %d requests", said(last), len(reqs))
	}
}

// written is a model that writes its calls as text.
func written(call, result string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		w.model.Reply(func(r modelserver.Request) modelserver.Answer {
			if strings.Contains(r.LastUser(), result) {
				return modelserver.Answer{Text: "result: " + r.LastUser()}
			}
			return modelserver.Answer{Text: call}
		})
		if got := w.ask("what time is it?"); !strings.HasPrefix(got, "result: ") || !strings.Contains(got, "Asia/Shanghai") {
			t.Errorf("the chat shows %q", got)
		}
		if r := w.model.Requests()[0]; len(r.Tools) > 0 || !strings.Contains(r.System, "current_time") {
			t.Errorf("%d tools offered natively, want them in the prompt", len(r.Tools))
		}
	}
}

// While a tool runs, the page shows which, and what the agent says of it.
func TestPageShowsTheToolThatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.calls(map[string]modelserver.Call{"rest": {Name: "sleep", Args: `{"duration": 60}`}})
	b := w.start("bot")
	b.ready()
	p := b.page(w.data(), "live")
	if status, body := p.say("have a rest"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	p.live("sleep runs", func(s goesOn) bool {
		return s.Busy && s.Tool.Name == "sleep" && s.Tool.State == "runs" && strings.Contains(s.Line, "sleep")
	})
	if status, body := p.say("/stop"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	p.live("nothing runs", func(s goesOn) bool { return !s.Busy })
}

// goesOn is a live event.
type goesOn struct {
	Busy bool
	Line string
	Tool struct{ Name, State string }
}

// live follows the conversation until what goes on in it is what ok accepts.
func (p *page) live(what string, ok func(goesOn) bool) {
	p.t.Helper()
	p.follow(what, "live", func(data []byte) bool {
		var s goesOn
		if err := json.Unmarshal(data, &s); err != nil {
			p.t.Fatalf("event %s: %v", data, err)
		}
		return ok(s)
	})
}

// stopWithin is what the end of the program may take, whatever hangs, on a slow
// machine. The program keeps to 10 s by a clock of its own: it gives up after
// 9 s with exit code 1 (TestUntilSignal), so a clean end came before.
const stopWithin = 30 * time.Second

// A platform that does not answer cannot hold up the end, and what was not
// confirmed is sent by the next life.
func TestStopWhileASendHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	b := w.start("bot")
	b.ready()
	w.tg.Fail(telegram.Fault{Method: "sendMessage"})
	w.say("hello")
	b.until("the send hangs", func() bool { return w.tg.Calls("sendMessage") == 1 },
		func() string { return fmt.Sprint(w.tg.Calls("sendMessage"), " sends") })
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-b.ended:
		b.ended <- err
		clean(t, err)
	case <-time.After(stopWithin):
		t.Fatalf("the bot does not end within %v", stopWithin)
	}
	w.start("bot").ready()
	w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "echo: hello") == 1 })
}
