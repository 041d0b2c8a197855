package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/settings"
	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/internal/kv/kvtest"
	"magpie/subagent"
	"magpie/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	room = chat.Address{Channel: "telegram", Chat: "-100", Thread: "6"}
	ann  = chat.Sender{ID: "7", Name: "Ann"}
	scop = tools.Scope{Addr: room, Sender: ann, CallID: "s:1:0.0", Lang: "en", Trace: "tr", Zone: time.UTC}
)

// world is everything durable around one task: board, journal, the task's
// mailbox and what its records have said. Processes come and go.
type world struct {
	t                 testing.TB
	table, turn, sess kv.Table
	mu                sync.Mutex
	inbox             []chat.Delivery
	seq               uint64
	records           []chat.Stored
	again             bool // an earlier process is gone
	model             func(ctx context.Context, q model.Question) (llm.Reply, error)
	tool              func(ctx context.Context, sc tools.Scope, name string) tools.Result
}

func newWorld(t testing.TB) *world {
	return &world{
		t: t, table: &kv.Memory{}, turn: &kv.Memory{}, sess: &kv.Memory{},
		model: func(context.Context, model.Question) (llm.Reply, error) { return says("found it") },
		tool: func(context.Context, tools.Scope, string) tools.Result {
			return tools.Result{OK: true, Text: "content"}
		},
	}
}

func says(text string) (llm.Reply, error) {
	return llm.Reply{Message: llm.Message{Text: text}, Stop: llm.StopEnd, Model: "m"}, nil
}

func calls(names ...string) (llm.Reply, error) {
	r := llm.Reply{Stop: llm.StopTools, Model: "m"}
	for i, n := range names {
		r.Message.Calls = append(r.Message.Calls, llm.Call{ID: fmt.Sprint(n, i), Name: n, Args: "{}"})
	}
	return r, nil
}

// process is one life of the program; f may end it.
type process struct {
	*world
	f     *kvtest.Fate
	board *tasks.Board
	tasks *subagent.Tasks
	pool  *subagent.Pool
}

func (w *world) start(f *kvtest.Fate, o *subagent.Options) *process {
	if f == nil {
		f = kvtest.Dies(0, false)
	}
	p := &process{world: w, f: f, board: tasks.NewBoard(kvtest.Mortal{Table: w.table, Fate: f}, nil)}
	p.tasks = subagent.New(p.board, p.publish, o)
	p.pool = subagent.NewPool(p.board, agent.Ports{
		Model: asked{p}, Tools: used{p}, Settings: chosen{}, History: w.history, Turn: kvtest.Mortal{Table: w.turn, Fate: f}, Sess: w.sess,
	}, o)
	return p
}

func (p *process) publish(_ context.Context, in chat.Inbound) error {
	return p.f.Around(func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seq++
		p.inbox = append(p.inbox, chat.Delivery{Inbound: in, Seq: p.seq})
		return nil
	})
}

func (w *world) history(_ context.Context, _ chat.SessionKey, after uint64) ([]chat.Stored, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []chat.Stored
	for _, r := range w.records {
		if r.Seq > after {
			out = append(out, r)
		}
	}
	return out, nil
}

// work lets the process work on whatever waits.
func (p *process) work(ctx context.Context) error {
	p.mu.Lock()
	empty := len(p.inbox) == 0
	p.mu.Unlock()
	if empty {
		return nil
	}
	return p.pool.Own(ctx, p.inbox[0].Addr.Session(), &mailbox{p: p})
}

// said is what the records of tasks have put into other mailboxes, which know
// a message that they have had by its id.
func (w *world) said() (all []chat.Inbound) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := map[string]bool{}
	for _, r := range w.records {
		for _, in := range r.Say {
			if !known[in.ID] {
				all = append(all, in)
			}
			known[in.ID] = true
		}
	}
	return all
}

// one returns the only report.
func (w *world) one() chat.Inbound {
	w.t.Helper()
	all := w.said()
	if len(all) != 1 {
		w.t.Fatalf("%d reports, want one: %+v", len(all), all)
	}
	return all[0]
}

func (p *process) spawn(task string, wait bool) (tools.Result, error) {
	return p.tasks.Spawn(context.Background(), scop, task, "", wait)
}

// mustSpawn starts a task in the background.
func (p *process) mustSpawn(task string) {
	p.t.Helper()
	if res, err := p.spawn(task, false); err != nil {
		p.t.Fatalf("%+v, %v", res, err)
	}
}

// mailbox is one holder's view of the task's mailbox.
type mailbox struct {
	p     *process
	taken int
}

func (m *mailbox) Take(ctx context.Context) (chat.Delivery, bool, error) {
	if err := ctx.Err(); err != nil {
		return chat.Delivery{}, false, context.Cause(ctx)
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if m.taken >= len(m.p.inbox) {
		return chat.Delivery{}, false, nil
	}
	d := m.p.inbox[m.taken]
	d.Again = m.p.again
	m.taken++
	return d, true, nil
}

func (m *mailbox) Arrived() <-chan struct{}      { return nil }
func (m *mailbox) Control() <-chan chat.Delivery { return nil }

func (m *mailbox) Done(context.Context, chat.Delivery) error { return errors.New("no command") }

func (m *mailbox) Commit(ctx context.Context, r chat.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.p.f.Around(func() error {
		m.p.mu.Lock()
		defer m.p.mu.Unlock()
		if len(r.Out) != 0 {
			m.p.t.Errorf("a task sends %+v", r.Out)
		}
		m.p.inbox = m.p.inbox[len(r.Inputs):]
		m.taken -= len(r.Inputs)
		m.p.seq++
		m.p.records = append(m.p.records, chat.Stored{Record: r, Seq: m.p.seq})
		return nil
	})
}

// The ports of the agent of chats, as a task finds them.
type (
	asked  struct{ p *process }
	used   struct{ p *process }
	chosen struct{}
)

func (a asked) Ask(ctx context.Context, q model.Question) (r llm.Reply, err error) {
	err = a.p.f.Around(func() error { r, err = a.p.model(ctx, q); return err })
	return r, err
}

func (asked) Limits(string) model.Limits { return model.Limits{Context: 100_000, MaxOutput: 4000} }

func (used) Specs(sc tools.Scope) []tools.Spec {
	all := []tools.Spec{{Name: "read_file", Effect: tools.Reads}, {Name: "exec", Effect: tools.Acts}, {Name: "spawn", Effect: tools.Reads}}
	var offered []tools.Spec
	for _, s := range all {
		if subagent.Offer(sc, s) {
			offered = append(offered, s)
		}
	}
	return offered
}

func (u used) Run(ctx context.Context, sc tools.Scope, name, _ string) tools.Result {
	return u.p.tool(ctx, sc, name)
}

func (chosen) Load(_ context.Context, key chat.SessionKey) (settings.Settings, error) {
	if key != room.Session() {
		return settings.Settings{}, errors.New("settings of another chat")
	}
	return settings.Settings{Model: "big"}, nil
}

func (chosen) Zone(settings.Settings) *time.Location { return time.UTC }
