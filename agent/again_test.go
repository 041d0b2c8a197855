package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/tools"
)

// withArgs is a reply with one call.
func withArgs(name, args string) (llm.Reply, error) {
	r, err := calls(name)
	r.Message.Calls[0].Args = args
	return r, err
}

// TOOL-16: it is the call that is withheld, however it is written, not the tool.
func TestFailingCallIsWithheld(t *testing.T) {
	w := newWorld(t)
	said := []string{`{"a":1,"b":2}`, `{"b":2, "a":1}`, " {\"a\":1,\n\"b\":2}", `{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":2,"b":2}`}
	b := w.bot(func(_ context.Context, n int, q model.Question) (llm.Reply, error) {
		if n <= len(said) {
			return withArgs("exec", said[n-1])
		}
		return says("gave up")
	}, nil)
	b.tool("read", ok("x")).tool("exec", func(_ context.Context, _ tools.Scope, args string) tools.Result {
		return tools.Result{Err: tools.Failed, Text: fmt.Sprintf("exit code 1 after %d ms", len(b.tools.ran()))}
	})
	w.say("go")
	b.run()
	if n := len(b.tools.ran()); n != 4 {
		t.Errorf("the failing tool ran %d times, want three times and once with other arguments", n)
	}
	for n := 1; n <= 6; n++ {
		if q := b.model.request(n); len(q.Tools) != 2 {
			t.Errorf("question %d is offered %d tools", n, len(q.Tools))
		}
	}
	past := lines(w.past())
	for i, want := range map[int]string{2: "exit code", 4: "failed the same way before", 6: "is withheld", 8: "is withheld", 10: "is withheld", 12: "exit code"} {
		if !strings.Contains(past[i], want) || i < 6 && strings.Contains(past[i], "is withheld") {
			t.Errorf("message %d is %q, want …%s…", i, past[i], want)
		}
	}
	if strings.Contains(past[12], "[") {
		t.Errorf("another call is told of the failures: %q", past[12])
	}
	// The next turn begins anew.
	ran := len(b.tools.ran())
	b.model.reply = func(_ context.Context, n int, q model.Question) (llm.Reply, error) {
		if q.Request.Messages[len(q.Request.Messages)-1].Role == llm.User {
			return withArgs("exec", said[0])
		}
		return says("gave up")
	}
	w.say("again")
	b.run()
	if n := len(b.tools.ran()); n != ran+1 {
		t.Errorf("in the next turn it ran %d times, want once", n-ran)
	}
}

// Three misses in three files, three time-outs of three commands: each is the
// first of its kind.
func TestFailuresOfDifferentCallsWithholdNothing(t *testing.T) {
	for _, res := range []tools.Result{
		{Err: tools.InvalidArgs, Text: "old_text is not in the file"}, {Err: tools.Timeout, Text: "took longer than 1s"}, {Err: tools.Permission, Text: "denied"},
	} {
		w := newWorld(t)
		b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
			if n <= 6 {
				return withArgs("edit", fmt.Sprintf(`{"path":"%d.txt"}`, n))
			}
			return says("done")
		}, nil)
		b.tool("edit", func(context.Context, tools.Scope, string) tools.Result { return res })
		w.say("go")
		b.run()
		if n := len(b.tools.ran()); n != 6 {
			t.Errorf("%s: ran %d times, want 6", res.Err, n)
		}
		if past := strings.Join(lines(w.past()), "\n"); strings.Contains(past, "withheld") || strings.Contains(past, "the same way") {
			t.Errorf("%s: the model is told\n%s", res.Err, past)
		}
	}
}

// What has failed may work after something was changed.
func TestAChangeForgetsFailures(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
		switch {
		case n == 4:
			return calls("write")
		case n <= 6:
			return calls("read")
		}
		return says("done")
	}, nil)
	b.tool("write", ok("written")).tool("read", func(context.Context, tools.Scope, string) tools.Result {
		if slices.Contains(b.tools.ran(), "write") {
			return tools.Result{OK: true, Text: "there"}
		}
		return tools.Result{Err: tools.NotFound, Text: "no such file"}
	})
	w.say("go")
	b.run()
	wantEqual(t, "ran", []string{"read", "read", "read", "write", "read", "read"}, b.tools.ran())
}

// A model that only repeats itself comes to an end, and the person is told how.
func TestRepeatingForEver(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(context.Context, int, model.Question) (llm.Reply, error) { return calls("exec") }, nil)
	b.tool("exec", func(context.Context, tools.Scope, string) tools.Result {
		return tools.Result{Err: tools.Failed, Text: "no"}
	})
	b.with(&agent.Options{MaxIterations: 7})
	w.say("go")
	b.run()
	if n := len(b.tools.ran()); n != 3 {
		t.Errorf("ran %d times, want 3", n)
	}
	if sent := w.sent(); len(sent) != 1 || !strings.Contains(sent[0], "After 7 steps") {
		t.Errorf("sent %q", sent)
	}
}

func TestDifferentFailuresAreNotTheSame(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
		if n <= 4 {
			return calls("exec")
		}
		return says("done")
	}, nil)
	b.tool("exec", func(context.Context, tools.Scope, string) tools.Result {
		return tools.Result{Err: tools.Failed, Text: strings.Repeat("x", len(b.tools.ran()))}
	})
	w.say("go")
	b.run()
	if n := len(b.tools.ran()); n != 4 {
		t.Errorf("ran %d times, want 4", n)
	}
}
