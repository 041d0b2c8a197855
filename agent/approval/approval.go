// Package approval asks people before a tool call runs. Every question is an
// entry of a table under a short id that follows from the call, so that a turn
// which is repeated after a crash finds its question, and the answer if there
// is one by now. Whoever may decide does so by a button, /approve or /deny.
// The package starts no goroutine.
package approval

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"magpie/agent/buttons"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// Verdict is what became of a question.
type Verdict string

// The verdicts; "" is an open question.
const (
	Allowed Verdict = "allowed"
	Denied  Verdict = "denied"
	Expired Verdict = "expired"
)

// Request is one question.
type Request struct {
	ID      string       `json:"id"` // what /approve takes: 6 characters
	Call    string       `json:"call"`
	Tool    string       `json:"tool"`
	What    string       `json:"what"` // the call in short, without secrets
	Addr    chat.Address `json:"addr"`
	Starter string       `json:"starter"` // sender id of who began the turn
	Until   time.Time    `json:"until"`
	Asked   bool         `json:"asked,omitempty"` // the question was sent
	Verdict Verdict      `json:"verdict,omitempty"`
	By      string       `json:"by,omitempty"`
}

// Options of a Desk. Table, Buttons and Publish are required.
type Options struct {
	Table   kv.Table
	Buttons Buttons
	Publish func(ctx context.Context, out chat.Outbound) error
	// Waits is told that a call waits for a person, and that it no longer does;
	// nil tells nobody.
	Waits func(sc tools.Scope, waits bool)
	// Admins are "<channel>:<sender id>" and may decide everything. Update
	// replaces them.
	Admins []string
	// Redact takes secrets out of what is shown; nil shows everything.
	Redact func(string) string
	Wait   time.Duration    // how long a question stands; 0 = 10 min
	Now    func() time.Time // nil = time.Now
}

// Buttons makes the buttons under a question.
type Buttons interface {
	Make(ctx context.Context, spec buttons.Spec, choices []buttons.Choice) ([]chat.Button, error)
}

const (
	// defaultWait is long enough to find the phone.
	defaultWait = 10 * time.Minute
	// keepFor is how long a decided question is remembered: as long as the
	// journal of the turn that asked.
	keepFor  = 24 * time.Hour
	idLength = 6
)

// Desk asks and takes answers. Safe for concurrent use, also by processes that
// share the table.
type Desk struct {
	opt    Options
	admins atomic.Pointer[[]string]
}

var _ tools.Approver = (*Desk)(nil)

// New returns a Desk.
func New(o Options) *Desk {
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Waits == nil {
		o.Waits = func(tools.Scope, bool) {}
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	d := &Desk{opt: o}
	d.Update(o.Admins)
	return d
}

// Update replaces the administrators, also for questions that stand already.
func (d *Desk) Update(admins []string) { d.admins.Store(&admins) }

// Approve implements tools.Approver: it asks in the chat of sc, unless that was
// done before for this call, and waits for the verdict.
func (d *Desk) Approve(ctx context.Context, sc tools.Scope, spec tools.Spec, args json.RawMessage) error {
	if sc.Sender.ID == "" && len(*d.admins.Load()) == 0 {
		return tools.Errorf(tools.Permission, "this call of %s needs an approval, and there is nobody who may give it; find another way or say so", spec.Name)
	}
	req, err := d.open(ctx, sc, spec, args)
	if err != nil {
		return fmt.Errorf("ask for approval: %w", err)
	}
	if req.Verdict == "" {
		d.opt.Waits(sc, true)
		defer d.opt.Waits(sc, false)
	}
	if req.Verdict == "" && !req.Asked {
		if err := d.ask(ctx, sc, req); err != nil {
			return fmt.Errorf("ask for approval: %w", err)
		}
	}
	if req, err = d.await(ctx, req); err != nil {
		return fmt.Errorf("wait for approval: %w", err)
	}
	switch req.Verdict {
	case Allowed:
		return nil
	case Denied:
		return tools.Errorf(tools.Permission, "this call of %s was asked about and denied by a person; do not try it again in another form, go on without it", spec.Name)
	}
	return tools.Errorf(tools.Permission, "nobody answered within %s whether %s may do this; it was not done. Say so, and that the person can ask again", d.opt.Wait, spec.Name)
}

// open finds the question of this call, or notes a new one.
func (d *Desk) open(ctx context.Context, sc tools.Scope, spec tools.Spec, args json.RawMessage) (Request, error) {
	req := Request{
		Call: sc.CallID, Tool: spec.Name, What: strings.TrimSpace(d.describe(sc, spec, args) + "\n\n" + tools.Reason(ctx)),
		Addr: sc.Addr, Starter: sc.Sender.ID, Until: d.opt.Now().Add(d.opt.Wait),
	}
	sum := sha256.Sum256([]byte(sc.CallID))
	name := base32.StdEncoding.EncodeToString(sum[:])
	// Two calls with the same six characters are told apart by more of them.
	for n := idLength; n <= len(name); n++ {
		req.ID = name[:n]
		value, err := json.Marshal(req)
		if err != nil {
			return req, err
		}
		_, err = d.opt.Table.Create(ctx, req.ID, value, keepFor)
		if err == nil || !errors.Is(err, kv.ErrConflict) {
			return req, err
		}
		found, err := d.load(ctx, req.ID)
		if err == nil && found.Call == req.Call && found.What != req.What {
			return req, tools.Errorf(tools.Permission, "what this call of %s would do is not what was asked about, so it was not done; call it again to ask anew", spec.Name)
		}
		if err != nil || found.Call == req.Call {
			return found, err
		}
	}
	return req, errors.New("no free id")
}

func (d *Desk) load(ctx context.Context, id string) (req Request, err error) {
	e, err := d.opt.Table.Get(ctx, id)
	if err != nil {
		return req, err
	}
	if err := json.Unmarshal(e.Value, &req); err != nil {
		return req, fmt.Errorf("decode approval %q: %w", id, err)
	}
	return req, nil
}

// describe writes a call for people: its main argument, else all of them.
func (d *Desk) describe(sc tools.Scope, spec tools.Spec, args json.RawMessage) string {
	text := string(args)
	var values map[string]any
	if json.Unmarshal(args, &values) == nil {
		if main, ok := values[spec.Main].(string); ok && len(values) == 1 {
			text = main
		}
	}
	return shown(strings.ToValidUTF8(d.opt.Redact(text), "\uFFFD"), sc.Lang)
}

// ask sends the question. A crash in between sends it again under the same id,
// which the bus knows.
func (d *Desk) ask(ctx context.Context, sc tools.Scope, req Request) error {
	made, err := d.opt.Buttons.Make(ctx, buttons.Spec{
		Addr: req.Addr, Senders: d.deciders(req), Expires: req.Until.Sub(d.opt.Now()), Once: true, Action: ActionName,
	}, choices(req.ID, sc.Lang))
	if err != nil {
		return err
	}
	out := chat.Outbound{
		Meta: chat.Meta{
			V: chat.Version, ID: "out:" + string(req.Addr.Session()) + ":ask:" + req.ID,
			Trace: sc.Trace, At: d.opt.Now(), Addr: req.Addr,
		},
		Text: question(req, sc), Buttons: [][]chat.Button{made}, Sources: sc.Sources,
	}
	if err := d.opt.Publish(ctx, out); err != nil {
		return err
	}
	_, err = d.change(ctx, req.ID, func(r *Request) error {
		r.Asked = true
		return nil
	})
	return err
}

// deciders are the sender ids that may decide in the chat of req.
func (d *Desk) deciders(req Request) []string {
	var ids []string
	if req.Starter != "" {
		ids = append(ids, req.Starter)
	}
	for _, admin := range *d.admins.Load() {
		if id, ok := strings.CutPrefix(admin, req.Addr.Channel+":"); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// change lets fn change a request, again when somebody else was faster.
func (d *Desk) change(ctx context.Context, id string, fn func(*Request) error) (req Request, err error) {
	err = kv.Modify(ctx, d.opt.Table, id, keepFor, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, kv.ErrNotFound
		}
		req = Request{}
		if err := json.Unmarshal(old, &req); err != nil {
			return nil, fmt.Errorf("decode approval %q: %w", id, err)
		}
		if err := fn(&req); err != nil {
			return nil, err
		}
		return json.Marshal(req)
	})
	return req, err
}

// errDecided ends the Watch of await.
var errDecided = errors.New("decided")

// await returns the request once it has a verdict; at the latest at its end it
// gets one.
func (d *Desk) await(ctx context.Context, req Request) (Request, error) {
	if req.Verdict != "" {
		return req, nil
	}
	wait, cancel := context.WithTimeout(ctx, max(0, req.Until.Sub(d.opt.Now())))
	defer cancel()
	err := d.opt.Table.Watch(wait, req.ID, func(e kv.Entry) error {
		var now Request
		if e.Key != req.ID || e.Deleted || json.Unmarshal(e.Value, &now) != nil || now.Verdict == "" {
			return nil
		}
		req = now
		return errDecided
	})
	switch {
	case errors.Is(err, errDecided):
		return req, nil
	case ctx.Err() != nil:
		return req, context.Cause(ctx)
	case err != nil:
		return req, err
	}
	return d.change(ctx, req.ID, func(r *Request) error {
		if r.Verdict == "" {
			r.Verdict = Expired
		}
		return nil
	})
}
