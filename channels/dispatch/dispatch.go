// Package dispatch is the way out for one channel: it splits long texts, sends
// files, keeps to the platform's rate, tries again, shows typing and the reply
// while it is written, and leaves a receipt, around any channels.Channel. It
// also holds Intake, which fetches the files of what comes in.
//
// It does not know the bus: whoever consumes the outbound queue calls Deliver
// and reads the answer from its error. Only Run starts goroutines, and waits
// for them.
package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

// Files opens files of the media store; errors that wrap media.ErrNotFound
// mean that the file is gone.
type Files interface {
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
}

// Options tune a Dispatcher. nil and zero fields have defaults.
type Options struct {
	// Receipts say what was delivered. nil = in memory.
	Receipts Receipts
	// Drafts maps turns to the message that shows their unfinished reply,
	// "<id>.parts" to what has been sent of a message that is not done, and
	// "<id>.doubt" to since when one may have arrived. nil = in memory.
	Drafts kv.Table
	// Media holds the files to send. nil = there are none.
	Media Files
	// Rate is "auto" (or ""), "off", or a fixed rate such as "20/s"; see
	// CheckRate.
	Rate string
	// Stream shows replies while they are written, where the channel can.
	Stream bool
	// Patience is how long temporary failures of one step are tried again.
	// 0 = 10 min.
	Patience time.Duration
	// BlindPause is how long to wait before a message that may have arrived is
	// sent once more where the platform does not recognise the repeat. 0 = 5 s.
	BlindPause time.Duration
	Log        *slog.Logger // nil = silent
	// Notify is told of every message that was delivered (MessageSent). It
	// must not block.
	Notify func(chat.Event)
	// Count is told of what happens, for metrics: "sent", "retry", "resend"
	// (after an ambiguous failure), "rate_limited", "undeliverable", "edit",
	// "edit_skipped".
	Count func(what string)
}

// Undeliverable means that a message will never get through: it belongs to
// the dead letters.
type Undeliverable struct{ Err error }

func (u *Undeliverable) Error() string { return "undeliverable: " + u.Err.Error() }

// Unwrap gives the cause.
func (u *Undeliverable) Unwrap() error { return u.Err }

// Dispatcher sends the messages of one channel. Safe for concurrent use.
type Dispatcher struct {
	ch     channels.Channel
	limits channels.Limits
	opt    Options
	gov    *governor
	events chan chat.Event
	left   chan *draft // messages to take away

	mu      sync.Mutex
	turns   map[string]*turn        // running turns by id
	claimed map[string]time.Time    // turns whose final message came, and when
	unsaved map[string]chat.Receipt // delivered, but the receipt could not be stored yet
}

// New returns a Dispatcher for ch. A Rate that CheckRate refuses counts as
// "auto".
func New(ch channels.Channel, o *Options) *Dispatcher {
	d := &Dispatcher{
		ch: ch, limits: ch.Limits(),
		events: make(chan chat.Event, eventBuffer), left: make(chan *draft, removals),
		turns: map[string]*turn{}, claimed: map[string]time.Time{}, unsaved: map[string]chat.Receipt{},
	}
	if o != nil {
		d.opt = *o
	}
	if d.opt.Receipts == nil {
		d.opt.Receipts = &Remembered{}
	}
	if d.opt.Drafts == nil {
		d.opt.Drafts = &kv.Memory{}
	}
	if d.opt.Patience == 0 {
		d.opt.Patience = 10 * time.Minute
	}
	if d.opt.BlindPause == 0 {
		d.opt.BlindPause = blindPause
	}
	if d.opt.Log == nil {
		d.opt.Log = slog.New(slog.DiscardHandler)
	}
	if d.opt.Notify == nil {
		d.opt.Notify = func(chat.Event) {}
	}
	if d.opt.Count == nil {
		d.opt.Count = func(string) {}
	}
	d.gov = newGovernor(d.limits.Rate, d.opt.Rate)
	return d
}

// Deliver sends one message completely. It blocks, for minutes when the
// platform is in trouble; messages of one chat must be given strictly one
// after the other, different chats may come at once. A message that has a
// receipt is skipped, and of one that was sent in part only the rest is sent.
//
// nil: done, the receipt is stored. *Undeliverable: it never will be. Any
// other error (credentials, a long rate limit, the store, ctx): try again
// later with the same message.
func (d *Dispatcher) Deliver(ctx context.Context, out chat.Outbound) error {
	began := time.Now().UTC()
	done, err := d.delivered(ctx, out)
	if err != nil {
		return err
	}
	draft, err := d.claim(ctx, out)
	if err != nil {
		return err
	}
	if done {
		draft.forget(ctx)
		return nil
	}
	job := &job{d: d, out: out, draft: draft}
	err = job.run(ctx)
	var dead *Undeliverable
	if errors.As(err, &dead) {
		d.opt.Count("undeliverable")
		d.giveUp(ctx, job, dead)
		return err
	}
	if err != nil {
		return fmt.Errorf("deliver %q: %w", out.ID, err)
	}
	if err := d.finish(ctx, out, chat.Receipt{Began: began, Refs: job.progress.Refs, Parts: job.parts()}); err != nil {
		return fmt.Errorf("store the receipt of %q: %w", out.ID, err)
	}
	job.draft.forget(ctx)
	job.forget(ctx)
	return nil
}

// delivered reports whether out has a receipt. A receipt with an error is none:
// the message may have been taken out of the dead letters again.
func (d *Dispatcher) delivered(ctx context.Context, out chat.Outbound) (bool, error) {
	d.mu.Lock()
	unsaved, ok := d.unsaved[out.ID]
	d.mu.Unlock()
	if ok {
		return true, d.finish(ctx, out, unsaved)
	}
	r, found, err := d.opt.Receipts.Receipt(ctx, out.ID)
	if err != nil {
		return false, fmt.Errorf("look for a receipt of %q: %w", out.ID, err)
	}
	return found && r.Err == "", nil
}

// finish stores the receipt: the one durable write of an ordinary message.
func (d *Dispatcher) finish(ctx context.Context, out chat.Outbound, r chat.Receipt) error {
	r.ID, r.Trace, r.Addr, r.At = out.ID, out.Trace, out.Addr, time.Now().UTC()
	err := d.receipt(ctx, r)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		if len(d.unsaved) < maxUnsaved {
			d.unsaved[out.ID] = r // so that this process does not send it twice
		}
		return err
	}
	delete(d.unsaved, out.ID)
	d.opt.Count("sent")
	d.opt.Log.InfoContext(ctx, "message sent", "session", out.Addr.Session(), "trace", out.Trace, "id", out.ID,
		"parts", len(r.Refs), "dur", r.At.Sub(r.Began))
	d.opt.Notify(chat.Event{
		V: chat.Version, Kind: chat.MessageSent, At: r.At,
		Addr: out.Addr, Trace: out.Trace, Turn: out.Turn, Text: out.ID,
	})
	return nil
}

// giveUp leaves a receipt that says why, for those who ask what became of a
// message. It is best effort: the dead letter is the record that counts.
func (d *Dispatcher) giveUp(ctx context.Context, j *job, dead *Undeliverable) {
	r := chat.Receipt{
		ID: j.out.ID, Trace: j.out.Trace, Addr: j.out.Addr, At: time.Now().UTC(),
		Refs: j.progress.Refs, Parts: j.parts(), Err: dead.Err.Error(),
	}
	if err := d.receipt(ctx, r); err != nil {
		d.opt.Log.WarnContext(ctx, "receipt of an undeliverable message not stored", "trace", j.out.Trace, "err", err)
	}
}

const (
	maxUnsaved  = 1024 // receipts kept in memory while the store is in trouble
	storeTries  = 4
	storePause  = 250 * time.Millisecond // before the second try; doubles
	callTimeout = time.Minute            // one call to the platform
	fileTimeout = 5 * time.Minute        // one upload
)

func (d *Dispatcher) receipt(ctx context.Context, r chat.Receipt) error {
	return stumble(ctx, func() error { return d.opt.Receipts.Store(ctx, r) })
}

// stumble writes, and again when the store stumbles.
func stumble(ctx context.Context, write func() error) error {
	for try, pause := 1, storePause; ; try, pause = try+1, pause*2 {
		err := write()
		if err == nil || try == storeTries {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// load reads the value of key into v.
func load(ctx context.Context, t kv.Table, key string, v any) (found bool, err error) {
	e, err := t.Get(ctx, key)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(e.Value, v)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
