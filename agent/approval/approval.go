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
	"log/slog"
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
	Stopped Verdict = "stopped" // the turn ended before
	Changed Verdict = "changed" // it is about what would no longer run
)

// Request is one question.
type Request struct {
	ID   string `json:"id"` // what /approve takes: 6 characters
	Call string `json:"call"`
	About
	Addr    chat.Address `json:"addr"`
	Starter string       `json:"starter"` // sender id of who began the turn
	Until   time.Time    `json:"until"`   // in the chat's time zone
	Lang    string       `json:"lang,omitempty"`
	Asked   bool         `json:"asked,omitempty"` // the question was sent
	Told    bool         `json:"told,omitempty"`  // a later message was told of it
	End
}

// About is what a question is about.
type About struct {
	Tool   string `json:"tool"`
	What   string `json:"what"`             // the call in short, without secrets
	Digest string `json:"digest,omitempty"` // of what was shown
	Rule   string `json:"rule,omitempty"`   // of what a standing permission is for
}

// End is how a question was decided.
type End struct {
	Verdict Verdict   `json:"verdict,omitempty"`
	By      string    `json:"by,omitempty"`
	Name    string    `json:"name,omitempty"` // of By, for people
	At      time.Time `json:"at,omitzero"`
	Always  bool      `json:"always,omitempty"` // allowed from then on
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
	// Redact takes secrets out of what is shown, and nothing that could be code;
	// nil shows everything.
	Redact func(string) string
	// Over says whether the end of a context, by its cause, is the end of the
	// turn: otherwise the turn is only handed on, and its question stands. nil:
	// it never is.
	Over func(cause error) bool
	Log  *slog.Logger     // nil = silent
	Wait time.Duration    // how long a question stands; 0 = 10 min
	Now  func() time.Time // nil = time.Now
}

// Buttons makes the buttons under a question.
type Buttons interface {
	MakeRows(ctx context.Context, spec buttons.Spec, rows [][]buttons.Choice) ([][]chat.Button, error)
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Over == nil {
		o.Over = func(error) bool { return false }
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
// done before for this very call, and waits for the verdict. What a standing
// permission is for is not asked about.
func (d *Desk) Approve(ctx context.Context, sc tools.Scope, spec tools.Spec, args json.RawMessage) error {
	q := tools.QuestionOf(ctx)
	if q == nil {
		q = tools.Asking(spec, args, tools.Shown{})
	}
	if rule, ok, err := d.permits(ctx, sc, q.Rule); err != nil {
		return fmt.Errorf("look for permissions: %w", err)
	} else if ok {
		q.Answer = tools.Answer{Rule: true, Verdict: string(Allowed), By: rule.By, Name: rule.Name, At: d.opt.Now()}
		return nil
	}
	if sc.Sender.ID == "" && len(*d.admins.Load()) == 0 {
		return tools.Errorf(tools.Permission, "this call of %s needs an approval, and there is nobody who may give it; find another way or say so", spec.Name)
	}
	req, err := d.decided(ctx, sc, spec, q)
	if req.Verdict != "" {
		q.Answer = tools.Answer{ID: req.ID, Verdict: string(req.Verdict), By: req.By, Name: req.Name, At: req.At}
	}
	if err != nil {
		return err
	}
	switch req.Verdict {
	case Allowed:
		return nil
	case Denied:
		return tools.Errorf(tools.Permission, "this call of %s was asked about and denied by a person; do not try it again in another form, go on without it", spec.Name)
	}
	return tools.Errorf(tools.Permission, "nobody answered within %s whether %s may do this; it was not done. Say so, and that the person can ask again", d.opt.Wait, spec.Name)
}

// decided puts the question, if it was not put before, and waits for its end.
func (d *Desk) decided(ctx context.Context, sc tools.Scope, spec tools.Spec, q *tools.Question) (Request, error) {
	req, err := d.open(ctx, sc, spec, q)
	if err != nil {
		return req, fmt.Errorf("ask for approval: %w", err)
	}
	if req.Verdict == "" {
		d.opt.Waits(sc, true)
		defer d.opt.Waits(sc, false)
	}
	if req.Verdict == "" && !req.Asked {
		err = d.ask(ctx, sc, req, q)
	}
	if err == nil {
		req, err = d.await(ctx, req)
	}
	if err != nil {
		if ctx.Err() != nil && d.opt.Over(context.Cause(ctx)) {
			req = d.over(ctx, req, Stopped)
		}
		return req, fmt.Errorf("wait for approval: %w", err)
	}
	if req.Verdict == Expired {
		d.tell(ctx, req)
	}
	return req, nil
}

// open finds the question of this call, or notes a new one. A question that was
// put about the same call when it would have done something else is over, with
// its answer.
func (d *Desk) open(ctx context.Context, sc tools.Scope, spec tools.Spec, q *tools.Question) (Request, error) {
	until := d.opt.Now().Add(d.opt.Wait)
	if sc.Zone != nil {
		until = until.In(sc.Zone)
	}
	req := Request{
		Call: sc.CallID, Addr: sc.Addr, Starter: sc.Sender.ID, Until: until, Lang: sc.Lang,
		About: About{Tool: spec.Name, What: d.summary(q, sc.Lang), Digest: q.Digest, Rule: q.Rule},
	}
	if err := d.supersede(ctx, req); err != nil {
		return req, err
	}
	for n := 0; ; n++ {
		found, mine, err := d.place(ctx, &req, fmt.Sprint(sc.CallID, "\n", q.Digest, "\n", n))
		if err != nil {
			return req, err
		}
		if mine {
			return req, nil
		}
		if found.Verdict != Changed {
			return found, nil
		}
	}
}

// place notes req under the id that a seed gives, or returns what is noted there
// for the same call.
func (d *Desk) place(ctx context.Context, req *Request, seed string) (found Request, mine bool, err error) {
	sum := sha256.Sum256([]byte(seed))
	name := base32.StdEncoding.EncodeToString(sum[:])
	// Two calls with the same six characters are told apart by more of them.
	for n := idLength; n <= len(name); n++ {
		req.ID = name[:n]
		value, err := json.Marshal(*req)
		if err != nil {
			return found, false, err
		}
		_, err = d.opt.Table.Create(ctx, req.ID, value, keepFor)
		if err == nil || !errors.Is(err, kv.ErrConflict) {
			return found, err == nil, err
		}
		found, err := d.load(ctx, req.ID)
		if err != nil || found.Call == req.Call && found.Digest == req.Digest {
			return found, false, err
		}
	}
	return found, false, errors.New("no free id")
}

// supersede ends the other questions of a call.
func (d *Desk) supersede(ctx context.Context, now Request) error {
	all, err := d.requests(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Call == now.Call && r.Digest != now.Digest && (r.Verdict == "" || r.Verdict == Allowed) {
			d.over(ctx, r, Changed)
		}
	}
	return nil
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
			r.Verdict, r.At = Expired, d.opt.Now()
		}
		return nil
	})
}
