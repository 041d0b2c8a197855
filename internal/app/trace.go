package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/bus"
	"magpie/chat"
	"magpie/tools"
)

// TraceInput is the input of the operation trace.
type TraceInput struct {
	ID string `json:"id"` // a trace, or the id of a message of either way, or of a turn
}

// Trace is the way of one message, as far as the store and the audit log tell.
type Trace struct {
	Traces []string    `json:"traces"` // of the message, and of the turn that it joined
	Chat   string      `json:"chat"`   // address
	Steps  []TraceStep `json:"steps"`  // in order of time
}

// TraceStep is one step of the way. It holds no text of anybody's.
type TraceStep struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Detail string    `json:"detail,omitempty"`
	TookMS float64   `json:"took_ms,omitempty"` // of a step that has a duration
}

// trace gathers what is known of a message.
func trace(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[TraceInput](raw)
	if err != nil {
		return nil, err
	}
	if in.ID == "" {
		return nil, errors.New("want the id of a trace or a message")
	}
	t := &tracer{s: s, seen: map[string]bool{}}
	// A message that was refused is known by the answer that says so.
	for _, id := range append([]string{in.ID}, refusedAs(in.ID)...) {
		if err := t.follow(ctx, id); err != nil {
			return nil, err
		}
		if len(t.out.Steps) > 0 {
			break
		}
	}
	if len(t.out.Steps) == 0 {
		return nil, fmt.Errorf("nothing is known of %q: want a trace from the log, or the id of a message; receipts are kept for 72 hours, histories until they are cleared. "+
			"Of a message that was not taken in (its sender is not paired, or wrote too fast) nothing is kept but the answer, if there was one", in.ID)
	}
	steps := t.out.Steps
	sort.SliceStable(steps, func(i, j int) bool { return steps[i].At.Before(steps[j].At) })
	return t.out, nil
}

// tracer puts a way together.
type tracer struct {
	s    state
	out  Trace
	seen map[string]bool // ids that were asked for, and things that were found
}

// follow asks for an id. What belongs to the turn of a message is found under
// the turn's trace.
func (t *tracer) follow(ctx context.Context, id string) error {
	for todo := []string{id}; len(todo) > 0; todo = t.unasked() {
		for _, id := range todo {
			if err := t.ask(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tracer) once(key string) bool {
	was := t.seen[key]
	t.seen[key] = true
	return !was
}

// unasked are the traces that were come across and not asked for yet.
func (t *tracer) unasked() []string {
	var todo []string
	for _, id := range t.out.Traces {
		if !t.seen["asked "+id] {
			todo = append(todo, id)
		}
	}
	return todo
}

func (t *tracer) ask(ctx context.Context, id string) error {
	t.once("asked " + id)
	found, err := t.s.bus.Find(ctx, id)
	for _, f := range found {
		if err != nil {
			return err
		}
		switch {
		case f.In != nil:
			err = t.waiting(ctx, f.In, f.Stored)
		case f.Record != nil:
			err = t.record(ctx, f.Record)
		case f.Out != nil:
			t.queued(f.Out, f.Stored)
		case f.Receipt != nil:
			t.receipt(f.Receipt, f.Stored)
		case f.Dead != nil:
			t.dead(f.Dead, f.Stored)
		}
	}
	return err
}

func (t *tracer) belongs(addr chat.Address, trace string) {
	if t.out.Chat == "" && addr != (chat.Address{}) {
		t.out.Chat = addr.String()
	}
	if trace != "" && !slices.Contains(t.out.Traces, trace) {
		t.out.Traces = append(t.out.Traces, trace)
	}
}

func (t *tracer) step(at time.Time, took time.Duration, what, format string, args ...any) {
	if at.IsZero() {
		return // written by a version that did not note it
	}
	t.out.Steps = append(t.out.Steps, TraceStep{
		At: at, What: what, Detail: fmt.Sprintf(format, args...), TookMS: float64(took.Microseconds()) / 1000,
	})
}

func (t *tracer) arrived(in chat.Input) {
	t.belongs(chat.Address{}, in.Trace)
	t.step(in.At, 0, "received", "%s", in.ID)
	t.step(in.Stored, 0, "stored", "place %d", in.Seq)
}

// waiting is a message that no turn has answered yet; one may be about it.
func (t *tracer) waiting(ctx context.Context, in *chat.Delivery, stored time.Time) error {
	if !t.once("in " + in.ID) {
		return nil
	}
	t.belongs(in.Addr, in.Trace)
	t.arrived(chat.Input{Seq: in.Seq, ID: in.ID, Trace: in.Trace, At: in.At, Stored: stored})
	steps, err := agent.Journal(ctx, t.s.bus.Table("turn"), in.Addr.Session(), in.Seq)
	if err != nil {
		return err
	}
	t.journal(steps)
	t.step(time.Now(), 0, "waits", "not answered yet")
	return nil
}

// journal tells of a turn that has not ended.
func (t *tracer) journal(steps []agent.Step) {
	names := map[string]string{}
	replies := 0
	for _, s := range steps {
		switch s.Kind {
		case "reply":
			for i, name := range s.Tools {
				names[fmt.Sprintf("%d.%d", replies, i)] = name
			}
			replies++
			t.replied(s.At, s.Tools)
		case "intent":
			t.step(s.At, 0, "tool begun", "%s", names[s.Call])
		case "done":
			t.step(s.At, 0, "tool done", "%s %s", names[s.Call], outcome(s.OK))
		default:
			t.step(s.At, 0, "turn", "%s", s.Kind)
		}
	}
}

func outcome(ok bool) string {
	if ok {
		return "ok"
	}
	return "failed"
}

func (t *tracer) replied(at time.Time, calls []string) {
	detail := "answer"
	if len(calls) > 0 {
		detail = "calls " + strings.Join(calls, ", ")
	}
	t.step(at, 0, "model replied", "%s", detail)
}

// record is a turn that has ended.
func (t *tracer) record(ctx context.Context, r *chat.Record) error {
	if !t.once("record " + r.Turn) {
		return nil
	}
	t.belongs(r.Addr, r.Trace)
	for _, in := range r.Inputs {
		t.arrived(in)
	}
	t.step(r.Began, 0, "turn begun", "%s", r.Turn)
	calls, err := tools.AuditedCalls(ctx, auditDir(t.s.cfg), r.Turn+":", r.Began, r.At)
	if err != nil {
		return err
	}
	for _, c := range calls {
		t.step(c.Timestamp, time.Duration(c.DurationMS*float64(time.Millisecond)), "tool", "%s %s", c.Tool, c.Status)
	}
	t.items(r.Items, len(calls) > 0)
	t.step(r.At, 0, "committed", "messages to send: %d", len(slices.DeleteFunc(slices.Clone(r.Out), quiet)))
	if r.Dead != "" {
		t.step(r.At, 0, "given up", "%s", r.Dead)
	}
	for _, out := range r.Out {
		t.belongs(out.Addr, out.Trace)
	}
	return nil
}

// items tells of the model's replies, and of its tools unless the audit log has
// done so.
func (t *tracer) items(items []json.RawMessage, audited bool) {
	for _, raw := range items {
		it, err := session.Decode(raw)
		switch {
		case err != nil: // bot session show tells
		case it.Reset:
			t.step(it.At, 0, "new conversation", "")
		case it.Message.Role == llm.Assistant:
			var names []string
			for _, c := range it.Message.Calls {
				names = append(names, c.Name)
			}
			t.replied(it.At, names)
		case it.Message.Role == llm.Tool && !audited:
			t.step(it.At, 0, "tool done", "%s %s", it.Message.Name, outcome(!it.Message.Failed))
		}
	}
}

// quiet says that out tells a job of the end of its turn, and a chat nothing.
func quiet(out chat.Outbound) bool { return out.Slot != nil && out.Slot.Quiet }

func (t *tracer) queued(out *chat.Outbound, stored time.Time) {
	if !quiet(*out) && t.once("out "+out.ID) {
		t.belongs(out.Addr, out.Trace)
		t.refused(stored, out.ID)
		t.step(stored, 0, "queued", "%s", out.ID)
		t.step(time.Now(), 0, "waits", "not sent yet")
	}
}

func (t *tracer) receipt(r *chat.Receipt, stored time.Time) {
	if !t.once("receipt "+r.ID) || r.ID == "" { // what was sent of a message is kept beside
		return
	}
	t.belongs(chat.Address{}, r.Trace)
	began := r.Began
	if began.IsZero() {
		began = r.At
	}
	t.refused(began, r.ID)
	if r.Err != "" {
		t.step(stored, 0, "not sent", "%s: %s", r.ID, r.Err)
		return
	}
	var refs []string
	for _, ref := range r.Refs {
		refs = append(refs, ref.ID)
		t.belongs(chat.Address{Channel: ref.Channel, Chat: ref.Chat}, "")
	}
	t.step(r.At, r.At.Sub(began), "sent", "%s as %s", r.ID, strings.Join(refs, ", "))
	t.step(stored, 0, "receipt", "%s", r.ID)
}

func (t *tracer) dead(d *bus.DeadLetter, stored time.Time) {
	if !t.once(fmt.Sprint("dead ", d.Seq)) {
		return
	}
	switch {
	case d.In != nil:
		t.belongs(d.In.Addr, d.In.Trace)
	case d.Out != nil:
		t.belongs(d.Out.Addr, d.Out.Trace)
		t.refused(stored, d.Out.ID)
	}
	t.step(stored, 0, "dead letter", "%d: %s", d.Seq, d.Reason)
}
