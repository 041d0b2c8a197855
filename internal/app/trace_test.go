package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// logLine is a line of a log in JSON.
type logLine struct {
	Msg, Session, Trace, Channel, Tool, ID string
}

// logged reads the lines of the log that are about somebody's message.
func logged(t testing.TB, text string) []logLine {
	t.Helper()
	var all []logLine
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		var l logLine
		if !strings.HasPrefix(lines.Text(), "{") {
			continue // the greeting
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if l.Session != "" || l.ID != "" {
			all = append(all, l)
		}
	}
	return all
}

// way is what bot trace --json prints.
type way struct {
	Traces []string
	Chat   string
	Steps  []wayStep
}

type wayStep struct {
	At     time.Time
	What   string
	Detail string
	TookMS float64 `json:"took_ms"`
}

func (v way) steps() string {
	var all []string
	for _, s := range v.Steps {
		all = append(all, s.What)
	}
	return strings.Join(all, ", ")
}

func (v way) detail(what string) string {
	for _, s := range v.Steps {
		if s.What == what {
			return s.Detail
		}
	}
	return ""
}

// A message can be followed from the platform to the receipt: in the log by its
// trace, and by bot trace with the trace or the id of any message that belongs
// to it, also when the bot does not run.
func TestTrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	replaceIn(t, path, "log: {level: info}", "log: {level: info, format: json}")
	w.model.Script(
		modelserver.Answer{Calls: []modelserver.Call{{Name: "sleep", Args: `{"duration": 0.01}`}}},
		modelserver.Answer{Calls: []modelserver.Call{{Name: "write_file", Args: `{"path": "a.txt", "content": "x"}`}}},
		modelserver.Answer{Text: "a secret answer"},
	)
	b := w.startWith(path, listen)
	b.ready()
	w.say("a secret question")
	w.wait(owner, "answer", func(m []telegram.Message) bool { return len(m) == 1 })
	var lines []logLine
	stages := []string{"message received", "model call", "tool call", "message sent", "turn"}
	b.until("the log tells of each stage", func() bool {
		lines = logged(t, b.log.String())
		for _, s := range stages {
			if !slices.ContainsFunc(lines, func(l logLine) bool { return l.Msg == s }) {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprint(lines) })
	trace, in, out := lines[0].Trace, "", ""
	for _, l := range lines {
		if l.Trace != trace || len(trace) != 16 || l.Session != lines[0].Session {
			t.Errorf("line %+v, want trace %q", l, trace)
		}
		switch l.Msg {
		case "message received":
			in = l.ID
		case "message sent":
			out = l.ID
		}
	}
	if strings.Contains(b.log.String(), "secret") {
		t.Error("the log holds what was said")
	}
	followed(w, path, trace, []string{in, out})
	shown := w.output(path, "trace", trace)
	if !strings.Contains(shown, "model replied") || strings.Contains(shown, "secret") {
		t.Errorf("people are shown\n%s", shown)
	}
	w.command(path, 1, "nothing is known of", "trace", "a secret question")
	w.command(path, 2, "want bot trace ID", "trace")
	clean(t, b.signal(syscall.SIGTERM))
	followed(w, path, trace, []string{in, out})
}

// followed asks for the way by each of its ids.
func followed(w *world, path, trace string, ends []string) {
	w.t.Helper()
	const steps = "received, stored, turn begun, model replied, tool, model replied, tool, model replied, committed, sent, receipt"
	for _, id := range append(ends, trace) {
		got := inJSON[way](w, path, "trace", id)
		if got.steps() != steps || got.Chat != "telegram/1001" || !slices.Equal(got.Traces, []string{trace}) {
			w.t.Errorf("%s: %q of %v in %q, want %q", id, got.steps(), got.Traces, got.Chat, steps)
			continue
		}
		if !slices.IsSortedFunc(got.Steps, func(a, b wayStep) int { return a.At.Compare(b.At) }) {
			w.t.Errorf("%s: the steps are not in order: %+v", id, got.Steps)
		}
		if got.detail("received") != ends[0] || got.detail("tool") != "sleep ok" || !strings.HasPrefix(got.detail("sent"), ends[1]+" as ") ||
			got.detail("model replied") != "calls sleep" || got.Steps[4].TookMS < 10 {
			w.t.Errorf("%s: %+v", id, got.Steps)
		}
	}
}

// A message that is not answered yet shows how far it is: it waits, its turn
// runs, or its program was killed in the middle.
func TestTraceOfWhatIsNotDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue}"
	path, listen := w.config("bot")
	reached := make(chan bool, 10)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Results()) == 0 {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "write_file", Args: `{"path": "a.txt", "content": "x"}`}}}
		}
		reached <- true
		return modelserver.Answer{Fault: modelserver.Hang}
	})
	b := w.startWith(path, listen)
	b.ready()
	w.say("first")
	receive(t, reached, "the second model call")
	w.say("second")
	w.stored(b)
	const first, second = "telegram:telegram:1001:1", "telegram:telegram:1001:2"
	const running = "received, stored, model replied, tool begun, tool done, waits"
	if got := inJSON[way](w, path, "trace", first); got.steps() != running || got.detail("tool done") != "write_file ok" {
		t.Errorf("a turn that runs shows %q, want %q: %+v", got.steps(), running, got)
	}
	if got := inJSON[way](w, path, "trace", second); got.steps() != "received, stored, waits" {
		t.Errorf("a message that waits shows %q", got.steps())
	}
	b.kill()
	if got := inJSON[way](w, path, "trace", first); got.steps() != running {
		t.Errorf("after the kill it shows %q", got.steps())
	}
	w.model.Reply(nil)
	b = w.startWith(path, listen)
	b.ready()
	w.wait(owner, "both answers", func(m []telegram.Message) bool { return len(m) == 2 })
	b.settled()
	got := inJSON[way](w, path, "trace", first).steps()
	if !strings.HasSuffix(got, "committed, sent, receipt") || strings.Count(got, "tool") != 1 {
		t.Errorf("the turn that was resumed shows %q", got)
	}
}

// A message that joined a running turn leads to that turn.
func TestTraceOfAMessageThatJoined(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	asked, answer := make(chan bool, 10), make(chan bool, 10)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		asked <- true
		<-answer
		if r.LastUser() == "first" && len(r.Results()) == 0 {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}}
		}
		return modelserver.Answer{Text: "both"}
	})
	b := w.startWith(path, listen)
	b.ready()
	w.say("first")
	receive(t, asked, "the first model call")
	w.say("second")
	w.stored(b)
	close(answer)
	w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "both") == 1 })
	b.settled()
	got := inJSON[way](w, path, "trace", "telegram:telegram:1001:2")
	if !strings.HasSuffix(got.steps(), "committed, sent, receipt") || strings.Count(got.steps(), "received") != 2 ||
		strings.Count(got.steps(), "turn begun") != 1 || len(got.Traces) != 2 {
		t.Errorf("%q of %v", got.steps(), got.Traces)
	}
}
