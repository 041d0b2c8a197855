package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/agent/settings"
	"magpie/chat"
	"magpie/tools"
)

// script is the model: reply answers the n-th question (from 1) of its life.
type script struct {
	w      *world
	limits model.Limits
	reply  func(ctx context.Context, n int, q model.Question) (llm.Reply, error)

	mu    sync.Mutex
	asked []llm.Request
}

func (s *script) Limits(string) model.Limits { return s.limits }

func (s *script) Ask(ctx context.Context, q model.Question) (llm.Reply, error) {
	s.mu.Lock()
	s.asked = append(s.asked, q.Request)
	n := len(s.asked)
	s.mu.Unlock()
	if err := illegal(q.Request.Messages); err != nil {
		s.w.mu.Lock()
		s.w.violated("question %d: %v: %+v", n, err, q.Request.Messages)
		s.w.mu.Unlock()
	}
	return s.reply(ctx, n, q)
}

func (s *script) requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// request is the n-th request, from 1.
func (s *script) request(n int) llm.Request {
	all := s.requests()
	if n > len(all) {
		s.w.t.Fatalf("the model was asked %d times, not %d", len(all), n)
	}
	return all[n-1]
}

// box is the tools: name → what it does. Names that begin with "read" read.
type box struct {
	w    *world
	runs map[string]func(ctx context.Context, sc tools.Scope, args string) tools.Result

	mu    sync.Mutex
	calls []tools.Scope
	names []string
}

func effect(name string) tools.Effect {
	if strings.HasPrefix(name, "read") {
		return tools.Reads
	}
	return tools.Acts
}

func (b *box) Specs(tools.Scope) []tools.Spec {
	var specs []tools.Spec
	for name := range b.runs {
		specs = append(specs, tools.Spec{Name: name, Description: "does " + name, Effect: effect(name), Schema: []byte(`{"type":"object"}`)})
	}
	slices.SortFunc(specs, func(a, b tools.Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs
}

func (b *box) Run(ctx context.Context, sc tools.Scope, name, args string) tools.Result {
	b.mu.Lock()
	b.calls, b.names = append(b.calls, sc), append(b.names, name)
	b.mu.Unlock()
	fn := b.runs[name]
	if fn == nil {
		return tools.Result{Err: tools.NotFound, Text: "no tool " + name}
	}
	if effect(name) != tools.Reads {
		if err := sc.Caller.Begin(ctx); err != nil {
			return tools.Result{Err: tools.Failed, Text: "not noted"}
		}
	}
	return fn(ctx, sc, args)
}

func (b *box) ran() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.names)
}

type prompts struct{ built int }

func (p *prompts) Build(_ context.Context, in prompt.Input) (string, error) {
	p.built++
	return "You are a test. " + in.Summary, nil
}

type chosen struct{ settings.Settings }

func (c chosen) Load(context.Context, chat.SessionKey) (settings.Settings, error) {
	return c.Settings, nil
}
func (chosen) Zone(settings.Settings) *time.Location { return time.UTC }

// bot is one process: an agent over the world.
type bot struct {
	*agent.Agent
	w     *world
	model *script
	tools *box
	ports agent.Ports
}

func (w *world) bot(reply func(ctx context.Context, n int, q model.Question) (llm.Reply, error), opt *agent.Options) *bot {
	b := &bot{w: w, model: &script{w: w, reply: reply}, tools: &box{w: w, runs: map[string]func(context.Context, tools.Scope, string) tools.Result{}}}
	b.ports = agent.Ports{
		Model: b.model, Tools: b.tools, Prompt: &prompts{}, Settings: chosen{}, History: w.history, Event: w.event,
		Turn: w.turn, Sess: w.sess,
		Publish: func(_ context.Context, out chat.Outbound) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.published = append(w.published, out)
			return nil
		},
	}
	return b.with(opt)
}

// with makes the agent anew from b's ports.
func (b *bot) with(opt *agent.Options) *bot {
	b.Agent = agent.New(b.ports, opt)
	return b
}

// run holds the chat until nothing is left.
func (b *bot) run() {
	b.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := b.Own(ctx, addr.Session(), b.w.hold()); err != nil {
		b.w.t.Fatal(err)
	}
}

// tool adds a tool.
func (b *bot) tool(name string, fn func(ctx context.Context, sc tools.Scope, args string) tools.Result) *bot {
	b.tools.runs[name] = fn
	return b
}

func ok(text string) func(context.Context, tools.Scope, string) tools.Result {
	return func(context.Context, tools.Scope, string) tools.Result { return tools.Result{OK: true, Text: text} }
}

// says is a reply in text, calls one with calls.
func says(text string) (llm.Reply, error) {
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, Text: text}, Stop: llm.StopEnd, Model: "scripted"}, nil
}

func calls(names ...string) (llm.Reply, error) {
	r := llm.Reply{Message: llm.Message{Role: llm.Assistant}, Stop: llm.StopTools, Model: "scripted"}
	for i, name := range names {
		// The ids repeat from reply to reply, as those of some servers do.
		r.Message.Calls = append(r.Message.Calls, llm.Call{ID: fmt.Sprint("c", i), Name: name, Args: "{}"})
	}
	return r, nil
}

// echo answers with the last message.
func echo(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
	msgs := q.Request.Messages
	return says("echo: " + msgs[len(msgs)-1].Text)
}

// lines are "role: text" of a conversation.
func lines(msgs []llm.Message) []string {
	var out []string
	for _, m := range msgs {
		text := m.Text
		for _, c := range m.Calls {
			text += "→" + c.Name
		}
		out = append(out, string(m.Role)+": "+text)
	}
	return out
}
