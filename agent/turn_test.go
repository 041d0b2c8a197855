package agent_test

import (
	"context"
	"errors"
	"fmt"
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
