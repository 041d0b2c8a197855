package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"magpie/agent"
	"magpie/agent/command"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// summing is obeying, and writes summaries.
func summing(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
	if strings.HasPrefix(q.Request.System, "You write the memory") {
		return says("SUMMARY")
	}
	return obeying(ctx, n, q)
}

// last says whether the newest call was made by a tainted turn.
func (b *bot) last() []chat.Source {
	b.w.t.Helper()
	calls := b.tools.calls
	if len(calls) == 0 {
		b.w.t.Fatal("no tool was called")
	}
	return calls[len(calls)-1].Sources
}

func (w *world) play(b *bot, messages ...string) []chat.Source {
	w.t.Helper()
	for _, m := range messages {
		w.say(m)
		b.run()
	}
	return b.last()
}

func acting(w *world, opt *agent.Options) *bot {
	b := w.bot(summing, opt)
	b.ports.Commands = commander(stopping)
	return b.with(opt).tool("act", ok("did")).tool("read", reading)
}

// What was read goes on to count when only a summary of it is left, of a summary
// of that too, also after a restart; and of a clean conversation none does.
func TestSourcesOfASummary(t *testing.T) {
	for _, first := range []string{"read", "act"} {
		t.Run(first, func(t *testing.T) {
			w := newWorld(t)
			small := &agent.Options{HistoryTokens: 600}
			b := acting(w, small)
			w.play(b, first)
			for i := range 20 {
				w.play(b, fmt.Sprintf("%d %s act", i, strings.Repeat("word ", 60)))
			}
			if !strings.Contains(b.model.request(len(b.model.requests())).System, "SUMMARY") {
				t.Fatal("there is no summary")
			}
			for name, b := range map[string]*bot{"here": b, "after a restart": acting(w, small)} {
				want := []chat.Source(nil)
				if first == "read" {
					want = from(chat.SourcePage, "https://a.example/")
				}
				wantEqual(t, name, want, w.play(b, "act"))
			}
			w.command("/new")
			b.run()
			wantEqual(t, "after /new", []chat.Source(nil), w.play(b, "act"))
		})
	}
}

// A summary that an older version has stored may be of anything.
func TestSourcesOfAnOldSummary(t *testing.T) {
	w := newWorld(t)
	b := acting(w, &agent.Options{HistoryTokens: 600})
	for i := range 20 {
		w.play(b, fmt.Sprintf("%d %s act", i, strings.Repeat("word ", 60)))
	}
	stored, err := kv.List(t.Context(), w.sess, "summary")
	if err != nil || len(stored) != 1 {
		t.Fatalf("%d summaries, %v", len(stored), err)
	}
	var point map[string]any
	if err := json.Unmarshal(stored[0].Value, &point); err != nil || point["sources"] == nil {
		t.Fatalf("%s, %v", stored[0].Value, err)
	}
	delete(point, "sources")
	old, err := json.Marshal(point)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.sess.Update(t.Context(), stored[0].Key, old, 0, 0); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "an old summary", from(chat.SourceUnknown, ""), w.play(acting(w, nil), "act"))
}

// What the bot says in a tainted turn may say again what it has read: when the
// page itself is not shown any more, its words still count. What is shown no more
// at all does not.
func TestSourcesOfWhatIsShown(t *testing.T) {
	w := newWorld(t)
	b := acting(w, nil)
	w.play(b, "read", "act")
	w.mu.Lock()
	var kept []chat.Stored
	w.records = append(kept, w.records[1:]...) // the page is gone, and what was said after it is not
	w.mu.Unlock()
	wantEqual(t, "its own words", from(chat.SourcePage, "https://a.example/"), w.play(acting(w, nil), "act"))

	tooLong := &llm.Error{Kind: llm.TooLong, Err: fmt.Errorf("context_length_exceeded")}
	w = newWorld(t)
	w.play(acting(w, nil), "read "+strings.Repeat("word ", 200)+" read")
	b = w.bot(func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
		if len(q.Request.Messages) > 3 || strings.HasPrefix(q.Request.System, "You write the memory") {
			return llm.Reply{}, tooLong // takes nothing but the turn itself
		}
		return obeying(ctx, n, q)
	}, nil).tool("act", ok("did"))
	b.model.limits = model.Limits{Context: 3000, MaxOutput: 100}
	if got := w.play(b, "act"); len(got) == 0 {
		t.Error("a turn that was first asked with the page is clean")
	}
}

// A reminder brings its sources into a clean conversation, and a job begins with
// them; a clean one does not.
func TestSourcesOfWhatTheBotShows(t *testing.T) {
	page := from(chat.SourcePage, "https://a.example/")
	for _, origin := range []chat.Origin{chat.FromBot, chat.FromCron, chat.FromSystem} {
		for _, sources := range [][]chat.Source{{}, page} {
			w := newWorld(t)
			b := acting(w, nil)
			w.put(chat.Inbound{From: ann, Origin: origin, Text: "act", Sources: sources})
			b.run()
			got := w.play(acting(w, nil), "act")
			if len(got) != len(sources) {
				t.Errorf("%s with %v: %v", origin, sources, got)
			}
		}
	}
}

// Answers say to the channels what was read for them; the words of a clean turn
// say that there is nothing.
func TestSourcesOfAnswers(t *testing.T) {
	w := newWorld(t)
	b := acting(w, nil)
	w.play(b, "act", "read", "act")
	var got []int
	for _, r := range w.records {
		got = append(got, len(r.Out[0].Sources))
	}
	wantEqual(t, "sources of the answers", []int{0, 1, 1}, got)
}

// guarded are tools that a tainted turn asks about, in the real executor.
type guarded struct {
	*tools.Executor
	reg   *tools.Registry
	asked int
	deny  bool
}

func (g *guarded) Approve(context.Context, tools.Scope, tools.Spec, json.RawMessage) error {
	g.asked++
	if g.deny {
		return tools.Errorf(tools.Permission, "denied")
	}
	return nil
}

type line struct {
	Command string `json:"command,omitempty"`
	Dir     string `json:"dir,omitempty"`
}

func newGuarded(t testing.TB, rules ...tools.Rule) *guarded {
	t.Helper()
	reg := &tools.Registry{}
	g := &guarded{reg: reg}
	for _, s := range []tools.Spec{
		{Name: "exec", Category: tools.Code, Effect: tools.Acts, Main: "command"},
		{Name: "web_search", Category: tools.Network, Effect: tools.Reads, Untrusted: true, Main: "command"},
		{Name: "write_file", Category: tools.File, Effect: tools.Writes},
		{Name: "set_env", Category: tools.System, Effect: tools.Writes},
		{Name: "remind", Category: tools.System, Effect: tools.Writes},
		{Name: "send", Category: tools.System, Effect: tools.Acts, Main: "command"},
	} {
		s.Description = "does it"
		if err := reg.Register(tools.New(s, func(context.Context, tools.Scope, line) (tools.Result, error) {
			return tools.Result{Text: "did"}, nil
		})); err != nil {
			t.Fatal(err)
		}
	}
	policy, err := tools.NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	g.Executor = tools.NewExecutor(reg, &tools.Options{Approver: g, Policy: policy})
	return g
}

// ordered is a model that makes the call that a message is: "exec {…}".
func ordered(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
	if strings.HasPrefix(q.Request.System, "You write the memory") {
		return says("SUMMARY")
	}
	last := q.Request.Messages[len(q.Request.Messages)-1]
	if name, args, is := strings.Cut(last.Text, " {"); is && last.Role == llm.User {
		return llm.Reply{Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{Name: name, Args: "{" + args}}}}, nil
	}
	return says("done")
}

// The same call that was allowed in a conversation is not asked about again, also
// after a restart, until something else was changed or read, or /new was said.
func TestAllowedIsNotAskedAgain(t *testing.T) {
	const search, build = `web_search {"command":"x"}`, `exec {"command":"make","dir":"a"}`
	w := newWorld(t)
	g := newGuarded(t)
	start := func() *bot {
		b := w.bot(ordered, nil)
		b.ports.Tools, b.ports.Commands = g, commander(stopping)
		return b.with(nil)
	}
	b := start()
	for _, k := range []struct {
		say  string
		asks int
	}{
		{build, 0},
		{search, 0},
		{build, 1},
		{build, 0},
		{`exec {"dir":"a","command":"make"}`, 0}, // the same, written otherwise
		{`exec {"command":"make","dir":"b"}`, 1},
		{`exec {"command":"make all","dir":"a"}`, 1},
		{build, 0},
		{"restart", 0},
		{build, 0},
		{`write_file {"command":"Makefile"}`, 0},
		{build, 1},
		{build, 0},
		{`set_env {"command":"CC"}`, 0},
		{build, 1},
		{`web_search {"command":"y"}`, 0},
		{build, 1},
		{build, 0},
		{"/new", 0},
		{build, 0},
		{search, 0},
		{build, 1},
	} {
		before := g.asked
		switch k.say {
		case "restart":
			b = start()
		case "/new":
			w.command(k.say)
			b.run()
		default:
			w.say(k.say)
			b.run()
		}
		if got := g.asked - before; got != k.asks {
			t.Errorf("%s asks %d times, want %d", k.say, got, k.asks)
		}
	}
	g.deny = true // what was denied is asked about again
	for range 2 {
		before := g.asked
		w.say(`exec {"command":"rm x"}`)
		b.run()
		if g.asked != before+1 {
			t.Error("a denied call was not asked about again")
		}
	}
	g.deny = false
	w.put(chat.Inbound{From: bob, Text: build, Direct: true}) // it was Ann who allowed it
	before := g.asked
	b.run()
	if g.asked != before+1 {
		t.Error("what one person allowed runs for another")
	}
}

// A rule that asks always asks.
func TestAllowedAgainstRules(t *testing.T) {
	w := newWorld(t)
	g := newGuarded(t, tools.Rule{Tool: "exec", Action: tools.Ask})
	b := w.bot(ordered, nil)
	b.ports.Tools = g
	b = b.with(nil)
	for _, say := range []string{`web_search {"command":"x"}`, `exec {"command":"a"}`, `exec {"command":"a"}`} {
		w.say(say)
		b.run()
	}
	if g.asked != 2 {
		t.Errorf("asked %d times, want 2", g.asked)
	}
}

// /why says what the conversation holds, also while the turn runs that reads.
func TestWhy(t *testing.T) {
	w := newWorld(t)
	var got []string
	b := acting(w, nil)
	b.ports.Commands = commander(func(ctx context.Context, d chat.Delivery, c command.Chat) string {
		if d.Text == "/new" {
			return fmt.Sprint(c.Reset(ctx))
		}
		why := c.Status(ctx).Why
		got = append(got, fmt.Sprint(len(why.Sources), len(why.Summarised)))
		return ""
	})
	b = b.with(nil).tool("act", ok("did")).tool("read", reading)
	ask := func() {
		w.command("/why")
		b.run()
	}
	ask()
	w.play(b, "read")
	ask()
	w.command("/new")
	b.run()
	ask()
	wantEqual(t, "sources, and those summarised", []string{"0 0", "1 0", "0 0"}, got)
}
