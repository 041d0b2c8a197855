package subagent

import (
	"context"
	"slices"
	"time"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/agent/settings"
	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/tools"
)

// The agent's ports as a task has them. Each finds the task by its mailbox and
// asks the port of chats in the name of the chat of origin.

// asker counts what a task costs for the chat and the person that asked.
type asker struct{ p *Pool }

// Ask implements agent.Model.
func (a asker) Ask(ctx context.Context, q model.Question) (llm.Reply, error) {
	r := a.p.running(q.Session)
	if r == nil {
		return llm.Reply{}, errSilent
	}
	q.Session, q.Payer, q.OnText = r.task.Origin.Session(), r.task.Payer(), nil
	r.asked(errSilent) // until it answers; it may break down
	reply, err := a.p.ports.Model.Ask(ctx, q)
	r.asked(heard(reply, err))
	return reply, err
}

// Limits implements agent.Model.
func (a asker) Limits(prefer string) model.Limits { return a.p.ports.Model.Limits(prefer) }

// chooser knows what the chat of origin has chosen.
type chooser struct{ p *Pool }

// Load implements agent.Settings.
func (c chooser) Load(ctx context.Context, key chat.SessionKey) (settings.Settings, error) {
	if r := c.p.running(key); r != nil {
		key = r.task.Origin.Session()
	}
	return c.p.ports.Settings.Load(ctx, key)
}

// Zone implements agent.Settings.
func (c chooser) Zone(set settings.Settings) *time.Location { return c.p.ports.Settings.Zone(set) }

// toolset runs the tools of a task in the scope of the chat of origin: its
// policy holds, its people are asked, and what the turn that asked had read
// counts.
type toolset struct{ p *Pool }

// Specs implements agent.Tools.
func (t toolset) Specs(sc tools.Scope) []tools.Spec {
	sc, _ = t.scope(sc)
	return t.p.ports.Tools.Specs(sc)
}

// Run implements agent.Tools.
func (t toolset) Run(ctx context.Context, sc tools.Scope, name, args string) tools.Result {
	sc, r := t.scope(sc)
	if r == nil {
		return t.p.ports.Tools.Run(ctx, sc, name, args)
	}
	if sc.Caller != nil {
		sc.Caller = &waiter{sc.Caller, t.p, r}
	}
	r.begin(name)
	t.p.note(ctx, r, 1)
	res := t.p.ports.Tools.Run(ctx, sc, name, args)
	r.done(name)
	t.p.note(ctx, r, 0)
	return res
}

func (t toolset) scope(sc tools.Scope) (tools.Scope, *run) {
	r := t.p.running(sc.Addr.Session())
	sc.Depth = 1
	if r != nil {
		sc.Addr, sc.Sender, sc.Direct = r.task.Origin, r.task.From, r.task.Direct
		sc.FromJob = r.task.Job
	}
	return sc, r
}

// waiter shows that a task waits for a person.
type waiter struct {
	tools.Caller
	p *Pool
	r *run
}

// Ask implements tools.Caller.
func (w *waiter) Ask(ctx context.Context, fn func(context.Context) error) error {
	w.r.begin(tasks.Approval)
	w.p.note(ctx, w.r, 0)
	defer w.r.done(tasks.Approval)
	return w.Caller.Ask(ctx, fn)
}

// offered are the tools of tasks: files, commands and the web.
func offered() []string {
	return []string{
		"read_file", "write_file", "edit_file", "undo_edit", "list_dir", "list_files", "file_search",
		"delete_file", "move_file", "get_file_info",
		"exec",
		"web_fetch", "web_search", "http_get", "http_post", "http_request",
	}
}

// Offer says whether a tool exists in a scope: in a task only those for files,
// commands and the web do. It fits tools.Options.Offer.
func Offer(sc tools.Scope, spec tools.Spec) bool {
	return sc.Depth == 0 || slices.Contains(offered(), spec.Name)
}

// prompter writes the short prompt of tasks.
type prompter struct{ p *Pool }

// Build implements agent.Prompt.
func (w prompter) Build(_ context.Context, in prompt.Input) (string, error) {
	return brief(in, w.p.opt.MaxIterations, w.p.opt.Now()), nil
}
