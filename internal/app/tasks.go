package app

import (
	"context"

	"magpie/agent/tasks"
	"magpie/bus"
	"magpie/chat"
	"magpie/subagent"
)

// newTasks makes what starts background tasks.
func (p *program) newTasks(board *tasks.Board) *subagent.Tasks {
	return subagent.New(board, func(ctx context.Context, in chat.Inbound) error {
		return p.bus.PublishInbound(ctx, in, false)
	}, p.taskOptions())
}

func (p *program) taskOptions() *subagent.Options {
	return &subagent.Options{
		Timeout:       p.cfg.Subagent.Timeout,
		MaxIterations: p.cfg.Subagent.MaxIterations,
		MaxTools:      p.cfg.Tools.MaxConcurrent,
		Log:           p.log,
	}
}

// tasks works on background tasks until ctx ends.
func (b *brain) tasks(ctx context.Context) error {
	return b.p.bus.Own(ctx, own(b.pool.Own), &bus.WorkerOptions{
		Turns: b.p.cfg.Subagent.MaxConcurrent, Tasks: true, Grace: turnGrace,
	})
}
