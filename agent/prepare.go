package agent

import (
	"context"
	"fmt"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/agent/session"
	"magpie/agent/settings"
	"magpie/chat"
	"magpie/tools"
)

// env is what a turn works with from its first to its last step.
type env struct {
	kit     *Kit
	scope   tools.Scope
	prefer  string // the model that the chat has chosen
	specs   []tools.Spec
	effects map[string]tools.Effect
	defs    []llm.ToolDef
	system  string
	limits  model.Limits
	fixed   int // estimated tokens of system prompt and tools
}

// defaultContext is assumed of a model that does not say what it can take.
const defaultContext = 128_000

// prepare reads what the chat has chosen, and writes the system prompt.
func (t *turn) prepare(ctx context.Context) error {
	p, first := &t.h.a.ports, t.first()
	bounded, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	set, err := p.Settings.Load(bounded, t.h.key)
	if err != nil {
		return fmt.Errorf("load settings of %s: %w", t.h.key, err)
	}
	e := &t.env
	sender := first.From
	if first.Origin == chat.FromSystem {
		sender.Name = "" // it is the task's; nobody in the chat has that name
	}
	e.scope = tools.Scope{
		Addr: first.Addr, Sender: sender, Direct: first.Direct,
		Trace: first.Trace, Turn: t.id, Zone: p.Settings.Zone(set),
		Lang:    settings.LangAfter(set, first.From, first.Text, func() string { return t.h.said(bounded) }),
		FromJob: first.Origin == chat.FromCron || first.From.Job,
	}
	e.prefer = set.Model
	e.limits = t.env.kit.Model.Limits(e.prefer)
	if e.limits.Context <= 0 {
		e.limits.Context = defaultContext
	}
	e.specs = t.env.kit.Tools.Specs(e.scope)
	e.effects = make(map[string]tools.Effect, len(e.specs))
	e.defs = make([]llm.ToolDef, 0, len(e.specs))
	for _, s := range e.specs {
		e.effects[s.Name] = s.Effect
		e.defs = append(e.defs, llm.ToolDef{Name: s.Name, Description: s.Description, Schema: s.Schema})
		e.fixed += session.Tokens(s.Name) + session.Tokens(s.Description) + session.Tokens(string(s.Schema))
	}
	return t.writePrompt(bounded)
}

// writePrompt builds the system prompt; again when the summary has changed.
func (t *turn) writePrompt(ctx context.Context) error {
	sess, err := t.h.session(ctx)
	if err != nil {
		return err
	}
	e := &t.env
	before := session.Tokens(e.system)
	e.system, err = t.h.a.ports.Prompt.Build(ctx, prompt.Input{
		Addr: e.scope.Addr, Sender: e.scope.Sender, Direct: e.scope.Direct,
		Zone: e.scope.Zone, Lang: e.scope.Lang, Specs: e.specs, Summary: sess.Summary(),
	})
	if err != nil {
		return fmt.Errorf("write the prompt of %s: %w", t.h.key, err)
	}
	e.fixed += session.Tokens(e.system) - before
	return nil
}

// payer is who the turn's tokens are counted for.
func (t *turn) payer() string {
	return t.first().Addr.Channel + ":" + t.first().From.ID
}

// budget is how many tokens of history are shown before they are compacted.
func (t *turn) budget() int {
	if n := t.env.kit.HistoryTokens; n > 0 {
		return n
	}
	return t.env.limits.Context * 6 / 10
}

// room is how many tokens of messages the model takes at all.
func (t *turn) room() int {
	return max(t.env.limits.Context-t.env.limits.MaxOutput-t.env.fixed, leastRoom)
}

// leastRoom keeps a conversation possible when a configuration leaves none.
const leastRoom = 1000
