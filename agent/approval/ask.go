package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/agent/buttons"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// ask sends the question. A crash in between sends it again under the same id,
// which the bus knows.
func (d *Desk) ask(ctx context.Context, sc tools.Scope, req Request, q *tools.Question) error {
	if err := d.keep(ctx, req.ID, q); err != nil {
		return err
	}
	text, whole := d.question(req, sc, q)
	rows, err := d.rows(ctx, req, whole)
	if err != nil {
		return err
	}
	out := chat.Outbound{
		Meta: chat.Meta{
			V: chat.Version, ID: messageID(req), Trace: sc.Trace, At: d.opt.Now(), Addr: req.Addr,
		},
		Text: text, Buttons: rows, Sources: sc.Sources,
	}
	// Whoever stops the turn just now finds the question asked, or not.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWait)
	defer cancel()
	if err := d.opt.Publish(ctx, out); err != nil {
		return err
	}
	_, err = d.change(ctx, req.ID, func(r *Request) error {
		r.Asked = true
		return nil
	})
	return err
}

func messageID(r Request) string { return "out:" + string(r.Addr.Session()) + ":ask:" + r.ID }

// rows are the buttons of a question. They outlive it, so that a press of one
// that is over is answered.
func (d *Desk) rows(ctx context.Context, req Request, whole bool) ([][]chat.Button, error) {
	spec := buttons.Spec{Addr: req.Addr, Senders: d.deciders(req), Expires: keepFor, Once: true, Action: ActionName}
	rows, err := d.opt.Buttons.MakeRows(ctx, spec, choices(req.ID, req.Lang))
	if err != nil || whole {
		return rows, err
	}
	spec.Once = false // to look decides nothing
	more, err := d.opt.Buttons.MakeRows(ctx, spec, [][]buttons.Choice{{showAll(req.ID, req.Lang)}})
	return append(rows, more...), err
}

// tellWait bounds what is written when the turn that asked is over already.
const tellWait = 10 * time.Second

// over ends a question that nobody has to answer any more and says so under it.
// What fails is made good by its end in time.
func (d *Desk) over(ctx context.Context, req Request, why Verdict) Request {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWait)
	defer cancel()
	now, err := d.change(ctx, req.ID, func(r *Request) error {
		if r.Verdict == "" || r.Verdict == Allowed && why == Changed {
			r.Verdict, r.At = why, d.opt.Now()
		}
		return nil
	})
	if err != nil {
		return req
	}
	if now.Verdict == why {
		d.tell(ctx, now)
	}
	return now
}

// tell writes under a question how it ended. Nothing waits for it: a question
// that is not marked is over all the same.
func (d *Desk) tell(ctx context.Context, r Request) {
	if !r.Asked && r.By == "" { // who has answered has seen it, noted or not
		return
	}
	id := messageID(r)
	err := d.opt.Publish(ctx, chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: id + ":" + string(r.Verdict), At: d.opt.Now(), Addr: r.Addr},
		Text: ending(r), Answer: &chat.Answer{Under: id},
	})
	if err != nil {
		d.opt.Log.Warn("the end of a question was not written under it", "session", r.Addr.Session(), "question", r.ID, "err", err)
	}
}

// requests are all that are remembered.
func (d *Desk) requests(ctx context.Context) ([]Request, error) {
	entries, err := kv.List(ctx, d.opt.Table, "")
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	var all []Request
	for _, e := range entries {
		var r Request
		if json.Unmarshal(e.Value, &r) == nil && r.ID == e.Key && r.Call != "" {
			all = append(all, r)
		}
	}
	return all, nil
}

// maxKept bounds in bytes what is kept of a call to be shown whole: a value of
// the table holds no more.
const maxKept = 400 << 10

// keep stores all that a question is about, for those who ask for it.
func (d *Desk) keep(ctx context.Context, id string, q *tools.Question) error {
	parts := make([]tools.Part, 0, len(q.Parts))
	left := maxKept / 2 // JSON may need twice as much
	for _, p := range q.Parts {
		p.Text = d.opt.Redact(p.Text)
		if len(p.Text) > left {
			p.Text = middle(p.Text, left/4, "")
		}
		left -= min(left, len(p.Text))
		parts = append(parts, p)
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	_, err = d.opt.Table.Update(ctx, id+".whole", raw, 0, keepFor)
	return err
}

// Whole is all that a question of a chat is about, as CommonMark in the chat's
// language; ErrUnknown when there is none of that id.
func (d *Desk) Whole(ctx context.Context, a chat.Address, id, lang string) (string, error) {
	req, err := d.load(ctx, canonical(id))
	if errors.Is(err, kv.ErrNotFound) || err == nil && req.Addr != a {
		return "", ErrUnknown
	}
	if err != nil {
		return "", err
	}
	e, err := d.opt.Table.Get(ctx, req.ID+".whole")
	if errors.Is(err, kv.ErrNotFound) {
		return "", ErrUnknown
	}
	if err != nil {
		return "", err
	}
	var parts []tools.Part
	if err := json.Unmarshal(e.Value, &parts); err != nil {
		return "", fmt.Errorf("decode what question %q is about: %w", id, err)
	}
	return heading(req.Tool, req.ID) + "\n\n" + listed(parts, lang), nil
}

// errAsked ends the Watch of Waiting.
var errAsked = errors.New("asked")

// Waiting says to somebody who writes while a question of the chat stands that
// it does; "" when that was said before. A question that is about to be sent is
// waited for.
func (d *Desk) Waiting(ctx context.Context, a chat.Address, lang string) (string, error) {
	err := d.opt.Table.Watch(ctx, "", func(e kv.Entry) error {
		var r Request
		if !e.Deleted && json.Unmarshal(e.Value, &r) == nil && r.Addr == a && r.Asked && r.Verdict == "" {
			return errAsked
		}
		return nil
	})
	if !errors.Is(err, errAsked) {
		return "", err
	}
	open, err := d.Open(ctx, a)
	if err != nil {
		return "", err
	}
	for _, r := range open {
		if !r.Asked || r.Told {
			continue
		}
		first := false
		if _, err := d.change(ctx, r.ID, func(r *Request) error {
			first = !r.Told && r.Verdict == ""
			r.Told = true
			return nil
		}); err != nil {
			return "", err
		}
		if first {
			return waiting(r, lang), nil
		}
	}
	return "", nil
}
