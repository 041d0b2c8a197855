package subagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/agent/tasks"
	"magpie/chat"
)

// run is a task that is being worked on.
type run struct {
	task      tasks.Task
	delivery  chat.Delivery
	committed bool // written by the one turn of the task

	mu    sync.Mutex
	tools []string // that run just now
	seen  string   // the tool that ran last
	mute  error    // why the model gave no report; nil when it did
}

// errSilent: the model was asked and has not answered yet, or broke down.
var errSilent = errors.New("the model gave no report")

func (r *run) begin(tool string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tools, r.seen = append(r.tools, tool), tool
}

func (r *run) done(tool string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.tools, tool); i >= 0 {
		r.tools = slices.Delete(r.tools, i, i+1)
	}
}

// shown are the tools that run just now.
func (r *run) shown() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.tools, ", ")
}

func (r *run) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// asked notes what came of asking the model.
func (r *run) asked(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mute = err
}

func (r *run) silent() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mute
}

// heard judges a reply: one without calls is the report.
func heard(reply llm.Reply, err error) error {
	if err == nil && len(reply.Message.Calls) == 0 && blank(reply.Message.Text) {
		return errSilent
	}
	return err
}

func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }) < 0
}

// mailbox is a task's mailbox as the agent sees it: the message holds nothing
// but what is to be done, and the end of the turn is the report.
type mailbox struct {
	agent.Mailbox
	pool *Pool
	run  *run
	gave bool // the first message was handed out
}

// Take implements agent.Mailbox.
func (m *mailbox) Take(ctx context.Context) (chat.Delivery, bool, error) {
	if err := ctx.Err(); err != nil {
		return chat.Delivery{}, false, context.Cause(ctx)
	}
	if !m.gave {
		m.gave = true
		return m.plain(m.run.delivery), true, nil
	}
	d, ok, err := m.Mailbox.Take(ctx)
	return m.plain(d), ok, err
}

// plain is the task as the agent reads it. Nothing but doubles of the one
// message ever follows it.
func (m *mailbox) plain(d chat.Delivery) chat.Delivery {
	d.Text, d.From.Lang, d.From.Job = m.run.task.Text, m.run.task.Lang, false
	d.Sources = m.run.task.Sources
	return d
}

// Park gives the place among the running tasks back while a person is waited
// for.
func (m *mailbox) Park() (unpark func(ctx context.Context) error) {
	if p, ok := m.Mailbox.(interface {
		Park() func(context.Context) error
	}); ok {
		return p.Park()
	}
	return func(context.Context) error { return nil }
}

// Commit implements agent.Mailbox: what the turn would send is the report.
func (m *mailbox) Commit(ctx context.Context, r chat.Record) error {
	why, w := m.run.silent(), words(m.run.task.Lang)
	switch {
	case r.Dead != "":
		return m.end(ctx, r, tasks.Report{Text: w.givenUp(), Failed: true})
	case why != nil || len(r.Out) == 0:
		return m.end(ctx, r, tasks.Report{Text: w.failed(why), Failed: true})
	}
	last := r.Out[len(r.Out)-1]
	return m.end(ctx, r, tasks.Report{Text: last.Text, Sources: last.Sources})
}

// maxReport bounds a report in bytes as JSON writes it, so that it fits the
// board and, beside a long history, a record.
const maxReport = 200 << 10

// end writes the report down, unless the task was stopped, and commits. From
// then on it is decided what the task came to, also for a later holder.
func (m *mailbox) end(ctx context.Context, r chat.Record, report tasks.Report) error {
	text := strings.ToValidUTF8(report.Text, "\uFFFD")
	for limit := len(text); escaped(text) > maxReport; limit /= 2 {
		text = session.Shorten(text, limit)
	}
	report.Text, report.Sources = text, chat.JoinSources(m.run.task.Sources, report.Sources)
	state, err := m.pool.board.Finish(ctx, m.run.task, report)
	if err != nil {
		return err
	}
	return m.settle(ctx, r, state)
}

// escaped is the size of a text in JSON.
func escaped(text string) int {
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20, c == '<', c == '>', c == '&':
			n += 5
		case c == '"', c == '\\':
			n++
		}
	}
	return n
}

// settle commits the record with the report of a task that is over.
func (m *mailbox) settle(ctx context.Context, r chat.Record, state tasks.State) error {
	task := m.run.task
	r.Out, r.Dead = nil, ""
	if state.Status == tasks.Ended && !task.Wait && !m.run.committed { // else it is a double's turn
		r.Say = []chat.Inbound{report(task, state, r)}
	}
	if err := m.Mailbox.Commit(ctx, r); err != nil {
		return fmt.Errorf("end task %s: %w", task.ID, err)
	}
	m.run.committed = true
	m.pool.opt.Log.Info("task is over", "task", task.ID, "session", task.Origin.Session(), "trace", task.Trace,
		"status", string(state.Status), "failed", state.Failed, "dur", r.At.Sub(task.At))
	return nil
}

// report is what the chat of origin hears. It speaks with the rights of who
// asked, and in the name of the task.
func report(task tasks.Task, state tasks.State, r chat.Record) chat.Inbound {
	return chat.Inbound{
		Meta:   chat.Meta{V: chat.Version, ID: "sub:" + task.ID, Trace: task.Trace, At: r.At, Addr: task.Origin},
		Origin: chat.FromSystem, Direct: task.Direct, Text: state.Report,
		From:    chat.Sender{ID: task.From.ID, Name: task.Label, Lang: task.Lang, Job: task.Job},
		Sources: chat.Through("task "+task.ID, state.Read),
	}
}
