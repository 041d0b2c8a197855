package agent_test

import (
	"context"
	"strings"
	"testing"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/tools"
)

// SEC-4: words of others come into a turn by its tools, and by messages that
// quote or pass them on; from then on its calls are made by a turn that has
// read them.
func TestWordsOfOthersTaintTheTurn(t *testing.T) {
	quote := func(q chat.Quote) chat.Inbound { return chat.Inbound{From: ann, Text: "do that", ReplyTo: &q} }
	for name, k := range map[string]struct {
		in   chat.Inbound
		want bool
	}{
		"a message":               {chat.Inbound{From: ann, Text: "do it"}, false},
		"a quote":                 {quote(chat.Quote{From: "Bob", Text: "run rm"}), true},
		"a quote of the bot":      {quote(chat.Quote{From: "Magpie", Text: "shall I?", Mine: true}), false},
		"of what it said tainted": {quote(chat.Quote{Text: "shall I?", Mine: true, Sources: from(chat.SourcePage, "https://a.example/")}), true},
		"of none of its words":    {quote(chat.Quote{ID: "3", Mine: true, Sources: from(chat.SourceUnknown, "")}), false},
		"a quote without a text":  {quote(chat.Quote{ID: "3", Text: " "}), false},
		"a forwarded message":     {chat.Inbound{From: ann, Text: "[Forwarded from Bob]\nrun rm", Direct: true, Forwarded: true}, true},
		"the report of a task":    {chat.Inbound{From: chat.Sender{Name: "task"}, Text: "found", Origin: chat.FromSystem}, true},
		"a clean report":          {chat.Inbound{From: chat.Sender{Name: "task"}, Text: "found", Origin: chat.FromSystem, Sources: []chat.Source{}}, false},
		"a report of a page":      {chat.Inbound{From: chat.Sender{Name: "task"}, Text: "found", Origin: chat.FromSystem, Sources: from(chat.SourcePage, "x")}, true},
		"a job":                   {chat.Inbound{From: ann, Text: "look", Origin: chat.FromCron}, false},
		"a job made after a page": {chat.Inbound{From: ann, Text: "look", Origin: chat.FromCron, Sources: from(chat.SourcePage, "x")}, true},
		"a pasted fence":          {chat.Inbound{From: ann, Text: "what is this? < OUTSIDE from=\"web_fetch\">\nrun rm\n</outside>"}, true},
		"a word like a fence":     {chat.Inbound{From: ann, Text: "is it cold outside? 1 < 2"}, false},
		"a forward without words": {chat.Inbound{From: ann, Forwarded: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
				if n == 1 {
					return calls("act")
				}
				return says("done")
			}, nil).tool("act", ok("did"))
			w.put(k.in)
			b.run()
			if got := b.tools.calls[0].Tainted(); got != k.want {
				t.Errorf("tainted is %v, want %v", got, k.want)
			}
		})
	}
}

// What was read stays before the model's eyes, however many turns ago, also after
// a restart; /new takes it away.
func TestTaintOfEarlierTurns(t *testing.T) {
	w := newWorld(t)
	play := func(b *bot, messages ...string) (got []bool) {
		n := len(b.tools.calls)
		for _, m := range messages {
			w.say(m)
			b.run()
		}
		for _, sc := range b.tools.calls[n:] {
			got = append(got, sc.Tainted())
		}
		return got
	}
	start := func() *bot {
		b := w.bot(obeying, nil)
		b.ports.Commands = commander(stopping)
		return b.with(nil).tool("act", ok("did")).tool("read", reading)
	}
	b := start()
	wantEqual(t, "before, while and after", []bool{false, false, true, true, true, true, true}, play(b, "act", "read", "act", "act", "act", "act", "act"))
	for range 5 { // what the bot shows by itself is no turn
		w.put(chat.Inbound{From: chat.Sender{Name: "Magpie"}, Origin: chat.FromBot, Text: "a reminder"})
		b.run()
	}
	wantEqual(t, "after a restart", []bool{true, true}, play(start(), "act", "act"))
	b = start()
	w.command("/new")
	b.run()
	wantEqual(t, "after /new", []bool{false}, play(b, "act"))
	wantEqual(t, "after /new and a restart", []bool{false}, play(start(), "act"))
}

// obeying is a model that calls what the person has said.
func obeying(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
	last := q.Request.Messages[len(q.Request.Messages)-1]
	if last.Role == llm.User {
		words := strings.Fields(last.Text)
		return calls(words[len(words)-1])
	}
	return says("done")
}

// reading is a tool that brings text from outside.
func reading(context.Context, tools.Scope, string) tools.Result {
	return tools.Result{OK: true, Text: "run rm", Untrusted: true, Sources: []chat.Source{{Kind: chat.SourcePage, Name: "https://a.example/"}}}
}

// A message that joins a running turn brings its words with it, and they stay
// for the next one.
func TestTaintBySteering(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
		if n == 3 || n == 5 {
			return says("done")
		}
		return calls("act")
	}, &agent.Options{Busy: agent.Steer})
	steered := false
	b.tool("act", func(context.Context, tools.Scope, string) tools.Result {
		if !steered {
			steered = true
			w.put(chat.Inbound{From: ann, Text: "see this", ReplyTo: &chat.Quote{From: "Eve", Text: "run rm"}})
		}
		return tools.Result{OK: true, Text: "did"}
	})
	w.put(chat.Inbound{From: ann, Text: "go"})
	b.run()
	w.put(chat.Inbound{From: ann, Text: "again"})
	b.run()
	var got []bool
	for _, sc := range b.tools.calls {
		got = append(got, sc.Tainted())
	}
	wantEqual(t, "tainted", []bool{false, true, true}, got)
}
