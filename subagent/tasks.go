// Package subagent runs tasks in the background: Tasks starts one for a tool
// call, a Pool works on them as package agent works on chats. A task is a
// mailbox of its own with one message in it, so lease, order, journal and
// commit are those of chats; its record puts the report into the mailbox of
// the chat that asked. How far a task is stands on a tasks.Board.
//
// It is no second agent: the turn loop is package agent's, and this package
// gives it ports of its own. Pool.Own starts a goroutine and waits for it;
// nothing else starts one.
package subagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"magpie/agent"
	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/tools"
)

const (
	// mostOpen bounds the tasks of one chat that wait or run, since each costs.
	mostOpen = 32
	// maxLabel bounds a label in runes.
	maxLabel = 60
	// writeWait bounds the starting of a task: two writes.
	writeWait = 20 * time.Second
	// defaultTimeout is how long one task may run.
	defaultTimeout = 20 * time.Minute
)

// Options of Tasks and Pool; zero fields mean the defaults.
type Options struct {
	// Timeout is how long one task may run, whatever it does; 20 minutes. The
	// time it waits for a place, or between two processes, does not count.
	Timeout time.Duration
	// MaxIterations are the model calls of one task; 15. The last one is
	// offered no tools.
	MaxIterations int
	MaxTools      int              // tools of one task that run at once; 3
	Now           func() time.Time // time.Now
	Log           *slog.Logger     // nothing is logged
}

func (o *Options) withDefaults() Options {
	opt := Options{}
	if o != nil {
		opt = *o
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.MaxIterations <= 0 {
		opt.MaxIterations = 15
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return opt
}

// Tasks starts background tasks. Safe for concurrent use.
type Tasks struct {
	board   *tasks.Board
	publish func(ctx context.Context, in chat.Inbound) error
	opt     Options
}

// New returns Tasks that are noted on board. publish stores a message in its
// mailbox; a message with an ID that it has taken before is the same message.
func New(board *tasks.Board, publish func(ctx context.Context, in chat.Inbound) error, o *Options) *Tasks {
	return &Tasks{board, publish, o.withDefaults()}
}

// errWaited ends the wait for a report that takes too long.
var errWaited = errors.New("the time for waiting is over")

// Spawn starts a task for the call of sc, or finds the one that the same call
// has started before. With wait it blocks until the task is over, at most
// twice the time that a task may run; a turn that a person cuts off ends its
// task too, one that is handed over to another process leaves it to be found
// again.
func (t *Tasks) Spawn(ctx context.Context, sc tools.Scope, task, label string, wait bool) (tools.Result, error) {
	switch {
	case sc.Depth > 0:
		return tools.Result{}, tools.Errorf(tools.Permission, "a background task cannot start others; do the work here")
	case strings.TrimSpace(task) == "":
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "task is empty; want everything that the background agent must know: it sees nothing of this chat")
	case sc.CallID == "":
		return tools.Result{}, errors.New("a task needs the id of its call")
	}
	job := tasks.Task{
		ID: tasks.ID(sc.CallID), Label: labelOf(label, task), Text: strings.ToValidUTF8(task, "\uFFFD"),
		Origin: sc.Addr, From: sc.Sender, Direct: sc.Direct, Lang: sc.Lang, Trace: sc.Trace, At: t.opt.Now(),
		Wait: wait, Job: sc.FromJob, Sources: sc.Sources,
	}
	if err := t.start(ctx, job); err != nil {
		return tools.Result{}, err
	}
	if wait {
		return t.await(ctx, sc, job)
	}
	return tools.Result{Text: fmt.Sprintf("task %s (%s) works in the background. Its report will come into this chat by itself: tell the person that you are on it, and do not wait.", job.ID, job.Label)}, nil
}

// start notes the task and puts it into its mailbox. The end of the turn does
// not cut this in two.
func (t *Tasks) start(ctx context.Context, job tasks.Task) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	open, err := t.board.List(ctx, job.Origin)
	if err != nil {
		return err
	}
	if len(open) >= mostOpen && !has(open, job.ID) {
		return tools.Errorf(tools.Failed, "%d background tasks of this chat are not done yet, more are not possible; wait for their reports, or do this one here", len(open))
	}
	state, _, err := t.board.Open(ctx, job)
	if err != nil || state.Over() {
		return err
	}
	in, err := job.Message()
	if err == nil {
		err = t.publish(ctx, in)
	}
	if err != nil {
		_, stopErr := t.board.Stop(ctx, job)
		return errors.Join(fmt.Errorf("start task %s: %w", job.ID, err), stopErr)
	}
	return nil
}

func has(open []tasks.State, id string) bool {
	for _, s := range open {
		if s.ID == id {
			return true
		}
	}
	return false
}

// await waits for the report, without a place among the running turns.
func (t *Tasks) await(ctx context.Context, sc tools.Scope, job tasks.Task) (tools.Result, error) {
	var state tasks.State
	wait := func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeoutCause(ctx, 2*t.opt.Timeout, errWaited)
		defer cancel()
		state, err = t.board.Await(ctx, job)
		return err
	}
	var err error
	if sc.Caller != nil {
		err = sc.Caller.Wait(ctx, wait)
	} else {
		err = wait(ctx)
	}
	switch {
	case state.Over():
	case errors.Is(context.Cause(ctx), agent.ErrStopped):
		return tools.Result{}, errors.Join(err, t.give(ctx, job))
	case errors.Is(err, errWaited):
		if err := t.give(ctx, job); err != nil {
			return tools.Result{}, err
		}
		return tools.Result{}, tools.Errorf(tools.Timeout, "the task %s did not end within %s and was stopped; ask for less, or go on without it", job.ID, 2*t.opt.Timeout)
	default:
		return tools.Result{}, err
	}
	switch {
	case state.Status == tasks.Stopped:
		return tools.Result{}, tools.Errorf(tools.Failed, "the task %s was stopped by a person; do not go on with it unless asked", job.ID)
	}
	res := tools.Result{Untrusted: true, Sources: chat.Through("task "+job.ID, state.Read)}
	if state.Read == nil { // an older version wrote it
		res.Sources = []chat.Source{{Kind: chat.SourceTask, Name: job.Label, At: state.Noted}}
	}
	if state.Failed {
		return res, tools.Errorf(tools.Failed, "%s", state.Report)
	}
	res.Text = state.Report
	return res, nil
}

// give gives a task up that nobody waits for any more.
func (t *Tasks) give(ctx context.Context, job tasks.Task) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	_, err := t.board.Stop(ctx, job)
	return err
}

// labelOf is the label given, else the beginning of the task, on one line and
// without the marks that fences and code spans are made of.
func labelOf(label, task string) string {
	if strings.TrimSpace(label) == "" {
		label = task
	}
	label = strings.ToValidUTF8(label[:min(len(label), 8*maxLabel)], "")
	label = strings.Join(strings.FieldsFunc(label, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune("`<>[]*_\"", r)
	}), " ")
	if runes := []rune(label); len(runes) > maxLabel {
		return string(runes[:maxLabel]) + "…"
	}
	return label
}
