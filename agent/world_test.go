package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/chat"
	"magpie/internal/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	addr = chat.Address{Channel: "test", Chat: "1"}
	ann  = chat.Sender{ID: "7", Name: "Ann", Lang: "en"}
	bob  = chat.Sender{ID: "8", Name: "Bob", Lang: "en"}
)

// world is everything durable around one chat: the mailbox, the history, the
// tables. Holders come and go; the world stays. It refuses what the bus
// refuses and notes what must never happen.
type world struct {
	t    testing.TB
	turn kv.Table
	sess kv.Table

	mu      sync.Mutex
	seq     uint64
	inbox   []chat.Delivery // not committed
	ctl     []chat.Delivery // not done
	records []chat.Stored
	held    *mailbox
	crashed uint64        // messages up to this one may have been begun by a holder that is gone
	slot    chan struct{} // not nil: Take waits for its end
	seen
}

// seen is what came out of the agent without being durable, and what must
// never happen.
type seen struct {
	published []chat.Outbound
	events    []chat.Event
	wrong     []string
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, turn: &kv.Memory{}, sess: &kv.Memory{}}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, v := range w.wrong {
			t.Error("violation: " + v)
		}
	})
	return w
}

func (w *world) violated(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// put stores an inbound message.
func (w *world) put(in chat.Inbound) chat.Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.store(in)
	if w.held != nil {
		select {
		case w.held.arrived <- struct{}{}:
		default:
		}
	}
	return d
}

// store is put without a signal to the holder; w.mu is held.
func (w *world) store(in chat.Inbound) chat.Delivery {
	w.seq++
	if in.Addr == (chat.Address{}) {
		in.Addr = addr
	}
	if in.ID == "" {
		in.ID = fmt.Sprintf("in:%d", w.seq)
	}
	if in.Origin == "" {
		in.Origin = chat.FromPerson
	}
	d := chat.Delivery{Inbound: in, Seq: w.seq}
	w.inbox = append(w.inbox, d)
	return d
}

func said(text string) chat.Inbound {
	return chat.Inbound{From: ann, Text: text, Direct: true, MessageID: fmt.Sprint("m", text)}
}

func (w *world) say(text string) chat.Delivery { return w.put(said(text)) }

// command stores a control message, and then what is said right after it,
// before the holder can act on the first.
func (w *world) command(text string, then ...string) {
	w.mu.Lock()
	w.seq++
	d := chat.Delivery{Seq: w.seq, Inbound: chat.Inbound{From: ann, Text: text, Direct: true}}
	d.ID, d.Addr = fmt.Sprintf("ctl:%d", w.seq), addr
	w.ctl = append(w.ctl, d)
	for _, next := range then {
		w.store(said(next))
	}
	held := w.held
	w.mu.Unlock()
	if held != nil {
		held.control <- d
	}
}

// crash notes that the present holder is gone without having finished.
func (w *world) crash() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crashed, w.held = w.seq, nil
}

// mailbox is one holder's view; a later holder makes it lost.
type mailbox struct {
	w       *world
	taken   uint64
	arrived chan struct{}
	control chan chat.Delivery
}

func (w *world) hold() *mailbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	mb := &mailbox{w: w, arrived: make(chan struct{}, 1), control: make(chan chat.Delivery, 100)}
	for _, d := range w.ctl {
		mb.control <- d
	}
	w.held = mb
	return mb
}

func (m *mailbox) Take(ctx context.Context) (chat.Delivery, bool, error) {
	if m.w.slot != nil {
		select {
		case <-m.w.slot:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return chat.Delivery{}, false, err
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, d := range m.w.inbox {
		if d.Seq > m.taken {
			m.taken = d.Seq
			d.Again = d.Seq <= m.w.crashed
			return d, true, nil
		}
	}
	return chat.Delivery{}, false, nil
}

func (m *mailbox) Arrived() <-chan struct{}      { return m.arrived }
func (m *mailbox) Control() <-chan chat.Delivery { return m.control }

func (m *mailbox) Done(_ context.Context, d chat.Delivery) error {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.w.ctl = slices.DeleteFunc(m.w.ctl, func(c chat.Delivery) bool { return c.Seq == d.Seq })
	return nil
}

func (m *mailbox) Commit(ctx context.Context, r chat.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := m.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != m {
		return fmt.Errorf("refused: %w", agent.ErrLost)
	}
	if len(r.Inputs) > len(w.inbox) {
		w.violated("record of %d inputs, %d are there", len(r.Inputs), len(w.inbox))
		return errors.New("refused")
	}
	for i, in := range r.Inputs {
		if d := w.inbox[i]; d.Seq != in.Seq || d.ID != in.ID || d.Seq > m.taken {
			w.violated("input %d of %s is %+v, the mailbox has %d %q (taken up to %d)", i, r.Turn, in, d.Seq, d.ID, m.taken)
		}
	}
	for _, o := range r.Out {
		if o.Text == "" || o.ID == "" || o.Addr != addr {
			w.violated("outbound %+v", o)
		}
	}
	w.inbox = w.inbox[len(r.Inputs):]
	w.seq++
	w.records = append(w.records, chat.Stored{Record: r, Seq: w.seq})
	return nil
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

func (w *world) event(e chat.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// deltas are the texts shown while replies were written.
func (w *world) deltas() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == chat.TurnDelta {
			out = append(out, e.Text)
		}
	}
	return out
}

// sent are the texts that records send, in order.
func (w *world) sent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []string{}
	for _, r := range w.records {
		for _, o := range r.Out {
			out = append(out, o.Text)
		}
	}
	return out
}

// answered lists the input ids of each record.
func (w *world) answered() [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out [][]string
	for _, r := range w.records {
		ids := []string{}
		for _, in := range r.Inputs {
			ids = append(ids, in.ID)
		}
		out = append(out, ids)
	}
	return out
}

// unasked says of each text that records send whether nobody asked for it.
func (w *world) unasked() (all []bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.records {
		for _, o := range r.Out {
			all = append(all, o.Unasked)
		}
	}
	return all
}

// past is the whole stored conversation.
func (w *world) past() []llm.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var msgs []llm.Message
	for _, r := range w.records {
		for _, raw := range r.Items {
			it, err := session.Decode(raw)
			if err != nil {
				w.t.Fatal(err)
			}
			if !it.Reset {
				msgs = append(msgs, it.Message)
			}
		}
	}
	return msgs
}

// illegal says what a model's server would refuse in a conversation.
func illegal(msgs []llm.Message) error {
	ids := map[string]bool{}
	open := []string{}
	for i, m := range msgs {
		switch {
		case m.Role == llm.Tool && (len(open) == 0 || open[0] != m.CallID):
			return fmt.Errorf("message %d: result of %q, open are %q", i, m.CallID, open)
		case m.Role == llm.Tool:
			open = open[1:]
		case len(open) > 0:
			return fmt.Errorf("message %d: calls %q have no result", i, open)
		case i == 0 && m.Role != llm.User:
			return fmt.Errorf("begins with %q", m.Role)
		}
		if strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 && len(m.Images) == 0 {
			return fmt.Errorf("message %d: empty", i)
		}
		for _, c := range m.Calls {
			if c.ID == "" || ids[c.ID] {
				return fmt.Errorf("message %d: call id %q is empty or not unique", i, c.ID)
			}
			ids[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %q have no result", open)
	}
	return nil
}
