package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

func wantEqual[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPlainTurn(t *testing.T) {
	w, now := newWorld(t), time.Now()
	b := w.bot(func(_ context.Context, n int, q model.Question) (llm.Reply, error) {
		q.OnText("你")
		q.OnText("你好")
		return says(fmt.Sprintf("你好 %d", n))
	}, &agent.Options{Now: func() time.Time { return now }}) // a text that follows at once is not shown
	first := w.say("在吗")
	b.run()
	w.say("再来")
	b.run()

	wantEqual(t, "sent", []string{"你好 1", "你好 2"}, w.sent())
	wantEqual(t, "answered", [][]string{{"in:1"}, {"in:3"}}, w.answered())
	wantEqual(t, "second request", []string{"user: 在吗", "assistant: 你好 1", "user: 再来"}, lines(b.model.request(2).Messages))
	wantEqual(t, "deltas", []string{"你", "你"}, w.deltas())
	out := w.records[0].Out[0]
	id := fmt.Sprintf("%s:%d", addr.Session(), first.Seq)
	if out.ID != "out:"+id+":0" || out.Turn != id || !out.Final || out.Addr != addr || w.records[0].Turn != id {
		t.Errorf("outbound %+v of turn %q", out, w.records[0].Turn)
	}
	if left, err := kv.List(t.Context(), w.turn, ""); err != nil || len(left) != 0 {
		t.Errorf("a turn without tools wrote %d journal entries, %v", len(left), err)
	}
	var kinds []chat.EventKind
	for _, e := range w.events {
		kinds = append(kinds, e.Kind)
	}
	wantEqual(t, "events", []chat.EventKind{
		chat.TurnStarted, chat.TurnDelta, chat.TurnEnded,
		chat.TurnStarted, chat.TurnDelta, chat.TurnEnded,
	}, kinds)
	wantEqual(t, "stats", agent.Stats{Turns: 2}, b.Stats())
}

func TestToolLoop(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
		switch n {
		case 1:
			return calls("read", "read")
		case 2:
			return calls("act")
		default:
			return says("done")
		}
	}, nil).tool("read", ok("content")).tool("act", ok(""))
	w.say("go")
	b.run()
	wantEqual(t, "history", []string{
		"user: go", "assistant: →read→read", "tool: content", "tool: content",
		"assistant: →act", "tool: [no output]", "assistant: done",
	}, lines(w.past()))
	seen := map[string]bool{}
	for _, sc := range b.tools.calls {
		if sc.CallID == "" || seen[sc.CallID] || sc.Sender != ann || sc.Addr != addr || sc.Zone == nil || sc.Turn == "" {
			t.Errorf("scope %+v", sc)
		}
		seen[sc.CallID] = true
	}
}

// TOOL-9: several calls in one reply run in parallel when all only read, three
// at most, else in order.
func TestParallelCalls(t *testing.T) {
	for name, want := range map[string]int64{"read": 3, "act": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var now, most atomic.Int64
				b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
					if n == 1 {
						return calls("read", "read", name, "read", "read", "read")
					}
					return says("done")
				}, nil)
				work := func(ctx context.Context, _ tools.Scope, _ string) tools.Result {
					most.Store(max(most.Load(), now.Add(1)))
					defer now.Add(-1)
					<-time.After(time.Second)
					return tools.Result{OK: true, Text: "ok"}
				}
				b.tool("read", work).tool("act", work)
				w.say("go")
				b.run()
				if most.Load() != want {
					t.Errorf("%d calls at once, want %d", most.Load(), want)
				}
			})
		})
	}
}

func TestNeverMoreCallsThanAllowed(t *testing.T) {
	for _, limit := range []int{1, 2, 20} {
		w := newWorld(t)
		b := w.bot(func(_ context.Context, n int, q model.Question) (llm.Reply, error) {
			if (len(q.Request.Tools) == 0) != (n == limit) {
				t.Errorf("limit %d: question %d is offered %d tools", limit, n, len(q.Request.Tools))
			}
			r, err := calls("read")
			r.Message.Text = fmt.Sprintf("thought %d", n)
			return r, err
		}, nil).tool("read", ok("x"))
		b.with(&agent.Options{MaxIterations: limit})
		w.say("go")
		b.run()
		if n := len(b.model.requests()); n != limit {
			t.Errorf("limit %d: %d questions", limit, n)
		}
		wantEqual(t, "sent", []string{fmt.Sprintf("thought %d", limit)}, w.sent())
		if err := illegal(w.past()); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// ends is a reply that ends for that reason.
func ends(text string, stop llm.Stop) func(int) (llm.Reply, error) {
	return func(int) (llm.Reply, error) {
		r, err := says(text)
		r.Stop = stop
		return r, err
	}
}

func endings() map[string]ending {
	return map[string]ending{
		"length":          {ends("a long", llm.StopLength), 1, "a long\n\n_(The answer was cut off"},
		"length, nothing": {ends(" ", llm.StopLength), 1, "The model used up"},
		"filter":          {ends("I", llm.StopFilter), 1, "I\n\n_(The model's provider refused"},
		"filter, nothing": {ends("", llm.StopFilter), 1, "_(The model's provider refused"},
		"empty":           {ends("", llm.StopEnd), 2, "The model gave no answer, twice"},
		"empty once": {func(n int) (llm.Reply, error) {
			if n == 1 {
				return says("\n")
			}
			return says("now")
		}, 2, "now"},
		"invalid UTF-8": {ends("a\xffb", llm.StopEnd), 1, "a\uFFFDb"},
		"down":          {func(int) (llm.Reply, error) { return llm.Reply{}, &llm.Error{Err: errors.New("secret cause")} }, 1, "I could not reach a model"},
		"budget":        {func(int) (llm.Reply, error) { return llm.Reply{}, noticed{} }, 1, "en: used up"},
		"cut-off call": {func(n int) (llm.Reply, error) {
			if n == 1 {
				r, err := calls("act")
				r.Stop = llm.StopLength
				return r, err
			}
			return says("shorter")
		}, 2, "shorter"},
	}
}

type ending struct {
	reply func(n int) (llm.Reply, error)
	asked int
	want  string
}

func TestEndings(t *testing.T) {
	for name, tt := range endings() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) { return tt.reply(n) }, nil)
			b.tool("act", ok("acted"))
			w.say("hi")
			b.run()
			if got := w.sent(); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("sent %q, want %q…", got, tt.want)
			}
			if n := len(b.model.requests()); n != tt.asked {
				t.Errorf("asked %d times, want %d", n, tt.asked)
			}
			if len(b.tools.ran()) > 0 {
				t.Error("a call that was cut off was run")
			}
			wantEqual(t, "inputs", [][]string{{"in:1"}}, w.answered())
			b.model.reply = echo
			w.say("again")
			b.run()
			if err := illegal(w.past()); err != nil {
				t.Errorf("history: %v", err)
			}
		})
	}
}

type noticed struct{}

func (noticed) Error() string             { return "over budget" }
func (noticed) Notice(lang string) string { return lang + ": used up" }

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
	b.tool("exec", func(context.Context, tools.Scope, string) tools.Result { return tools.Result{Err: tools.Failed, Text: "no"} })
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

func TestAnsweredByTool(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(_ context.Context, n int, q model.Question) (llm.Reply, error) {
		if n == 1 {
			return calls("message")
		}
		q.OnText("I have sent it")
		return says("I have sent it")
	}, nil).tool("message", func(context.Context, tools.Scope, string) tools.Result {
		return tools.Result{OK: true, Text: "sent", Answered: true}
	})
	w.say("go")
	b.run()
	wantEqual(t, "sent", []string{}, w.sent())
	wantEqual(t, "deltas", nil, w.deltas())
	if past := lines(w.past()); past[len(past)-1] != "assistant: I have sent it" {
		t.Errorf("history ends with %q", past[len(past)-1])
	}
}

func TestPanicsAreTold(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
		switch n {
		case 1:
			panic("model code is broken")
		case 2:
			return calls("read_bad", "read_bad")
		}
		return says("fine")
	}, nil).tool("read_bad", func(context.Context, tools.Scope, string) tools.Result { panic("tool code is broken") })
	w.say("one")
	w.put(chat.Inbound{From: bob, Text: "二", Direct: true})
	b.run()
	got := w.sent()
	if len(got) != 2 || !strings.HasPrefix(got[0], "Something went wrong") || got[1] != "fine" {
		t.Errorf("sent %q", got)
	}
	wantEqual(t, "stats", agent.Stats{Turns: 2, Panics: 3}, b.Stats())
	if err := illegal(w.past()); err != nil {
		t.Error(err)
	}
}
