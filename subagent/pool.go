package subagent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"magpie/agent"
	"magpie/agent/session"
	"magpie/agent/tasks"
	"magpie/chat"
)

// Pool works on background tasks. Safe for concurrent use.
type Pool struct {
	board *tasks.Board
	opt   Options
	agent *agent.Agent
	ports agent.Ports

	mu   sync.Mutex
	runs map[chat.SessionKey]*run // the tasks that are being worked on here
}

// The sessions of tasks are used once; a few are kept for those that are
// handed back.
const keptSessions, keptBytes = 4, 256 << 10

// NewPool returns a Pool over the ports of the agent of chats, of which it
// uses all but Prompt, Commands, Media, Publish and Say.
func NewPool(board *tasks.Board, ports agent.Ports, o *Options) *Pool {
	p := &Pool{board: board, opt: o.withDefaults(), ports: ports, runs: map[chat.SessionKey]*run{}}
	own := agent.Ports{
		Model: asker{p}, Tools: toolset{p}, Prompt: prompter{p}, Settings: chooser{p},
		History: ports.History, Turn: ports.Turn, Sess: ports.Sess, Event: p.event,
	}
	p.agent = agent.New(own, &agent.Options{
		MaxIterations: p.opt.MaxIterations, MaxConcurrent: p.opt.MaxTools, Busy: agent.Queue,
		Now: p.opt.Now, Log: p.opt.Log, History: &session.Options{Sessions: keptSessions, Bytes: keptBytes},
	})
	return p
}

// Stats returns the counts of tasks as those of turns.
func (p *Pool) Stats() agent.Stats { return p.agent.Stats() }

// event passes on what happens in tasks, but for the text while it is written:
// nobody reads along.
func (p *Pool) event(ev chat.Event) {
	if p.ports.Event != nil && ev.Kind != chat.TurnDelta {
		p.ports.Event(ev)
	}
}

// The causes of the end of a task's context.
var (
	errStopped = errors.New("the task was stopped by a person")
	errTimeout = errors.New("the task's time is over")
)

// Ended says whether the end of a context, by its cause, is the end of a task
// rather than its way to another process.
func Ended(cause error) bool { return errors.Is(cause, errStopped) || errors.Is(cause, errTimeout) }

// Own holds one task's mailbox, as agent.Agent.Own holds a chat's, and works
// on the task in it.
func (p *Pool) Own(ctx context.Context, key chat.SessionKey, mb agent.Mailbox) error {
	for {
		d, ok, err := mb.Take(ctx)
		if err != nil || !ok {
			return err
		}
		task, err := tasks.Parse(d.Inbound)
		if err != nil {
			p.opt.Log.Error("a task cannot be read", "session", key, "err", err)
			r := p.record(key, d)
			r.Dead = err.Error()
			err = mb.Commit(ctx, r)
		} else {
			err = p.one(ctx, key, mb, &run{task: task, delivery: d})
		}
		if err != nil {
			return err
		}
	}
}

// record is an empty end of a task.
func (p *Pool) record(key chat.SessionKey, d chat.Delivery) chat.Record {
	return chat.Record{
		V: chat.Version, Turn: fmt.Sprintf("%s:%d", key, d.Seq), Trace: d.Trace, At: p.opt.Now(),
		Inputs: []chat.Input{{Seq: d.Seq, ID: d.ID}},
	}
}

// one works on one task.
func (p *Pool) one(ctx context.Context, key chat.SessionKey, mb agent.Mailbox, r *run) error {
	state, err := p.board.Begin(ctx, r.task)
	if err != nil {
		return err
	}
	box := &mailbox{Mailbox: mb, pool: p, run: r}
	if state.Over() { // an earlier holder came as far as that, or it was stopped before it began
		return box.settle(ctx, p.record(key, r.delivery), state)
	}
	cause, err := p.work(ctx, key, box, p.opt.Timeout-state.Spent)
	switch {
	case r.committed:
		return err
	case ctx.Err() != nil:
		p.leave(ctx, r)
		return context.Cause(ctx)
	case errors.Is(cause, errStopped):
		if state, err = p.board.Begin(ctx, r.task); err != nil {
			return err
		}
		return box.settle(ctx, p.record(key, r.delivery), state)
	case errors.Is(cause, errTimeout):
		text := words(r.task.Lang).tooLong(p.opt.Timeout, r.last())
		return box.end(ctx, p.record(key, r.delivery), tasks.Report{Text: text, Failed: true})
	}
	return err
}

// work lets the agent work on the task until it is committed, stopped or out
// of time, and returns why its context ended.
func (p *Pool) work(ctx context.Context, key chat.SessionKey, box *mailbox, left time.Duration) (cause, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timed, free := context.WithTimeoutCause(ctx, left, errTimeout)
	defer free()
	p.mu.Lock()
	p.runs[key] = box.run
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.runs, key)
		p.mu.Unlock()
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		switch state, err := p.board.Await(timed, box.run.task); {
		case err == nil && state.Status == tasks.Stopped:
			cancel(errStopped)
		case err != nil && timed.Err() == nil:
			p.opt.Log.Warn("a task cannot be stopped for now", "session", key, "err", err)
		}
	}()
	err = p.agent.Own(timed, key, box)
	cause = context.Cause(timed)
	cancel(nil)
	<-watched
	return cause, err
}

// handOverWait bounds the last write about a task that is handed over: the
// program may be about to end, or the bus may be away.
const handOverWait = 2 * time.Second

// leave notes the time spent on a task that somebody else will go on with.
func (p *Pool) leave(ctx context.Context, r *run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverWait)
	defer cancel()
	p.note(ctx, r, 0)
}

// running is the task that is being worked on under key.
func (p *Pool) running(key chat.SessionKey) *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[key]
}

// note tells the board what a task does. It is for people's eyes, so that a
// failure is no reason to end the task.
func (p *Pool) note(ctx context.Context, r *run, calls int) {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	if _, err := p.board.Note(ctx, r.task, r.shown(), calls); err != nil && ctx.Err() == nil {
		p.opt.Log.Warn("the state of a task was not noted", "task", r.task.ID, "err", err)
	}
}
