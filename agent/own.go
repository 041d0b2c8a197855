package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"magpie/agent/session"
	"magpie/chat"
)

// ErrLost: another worker has taken the chat over; what was begun here counts
// for nothing. A Mailbox reports it from Commit.
var ErrLost = errors.New("the chat was taken over by another worker")

// Mailbox is one chat's inbound messages, held by the caller of Own for as
// long as Own runs. Its methods may be called at the same time.
type Mailbox interface {
	// Take returns the chat's oldest message not yet taken by this holder;
	// false when there is none now. Only the first Take since the last Commit
	// may block, until the process has a free turn slot.
	Take(ctx context.Context) (chat.Delivery, bool, error)
	// Arrived has capacity 1: Take may have something new.
	Arrived() <-chan struct{}
	// Control gives slash commands and button presses, each to be Done.
	Control() <-chan chat.Delivery
	// Done says that a control message is dealt with.
	Done(ctx context.Context, d chat.Delivery) error
	// Commit writes the end of a turn in one durable step; the inputs of the
	// record are always the oldest messages taken and not yet committed, or
	// none. Any error means that nothing is known to be written; the chat is
	// dropped at once.
	Commit(ctx context.Context, r chat.Record) error
}

// writeWait bounds one durable write or read of state; the bus answers in
// milliseconds, or has a problem that a turn cannot wait for.
const writeWait = 20 * time.Second

// hold is a chat while it is held.
type hold struct {
	a   *Agent
	key chat.SessionKey
	mb  Mailbox

	intake
	load sync.Mutex                      // guards the loading of sess, and commits: one at a time
	sess atomic.Pointer[session.Session] // nil until it is loaded

	mu      sync.Mutex
	pending []chat.Delivery // taken, in order, not part of a turn yet
	now     *turn           // the running turn
	stopped uint64          // a /stop at this place of the order found no turn
	reset   chan struct{}   // not nil while a conversation is begun anew; closed then
	model   string          // that answered last
}

// intake is how messages come out of the mailbox.
type intake struct {
	take sync.Mutex    // one Take at a time
	came chan struct{} // capacity 1: pull has brought something
}

// Own holds one chat: it runs its turns, one after the other, and answers
// control messages also while a turn runs. It returns nil when Take has nothing
// and no control message is pending.
//
// The end of ctx ends the running turn at once, without a commit; its journal
// stays for the next holder, and Own returns the cause of ctx. To let a turn
// finish over a graceful stop, the caller lets Take find nothing and ends ctx
// later. After an error the messages not committed must be delivered again.
func (a *Agent) Own(ctx context.Context, key chat.SessionKey, mb Mailbox) error {
	h := &hold{a: a, key: key, mb: mb, intake: intake{came: make(chan struct{}, 1)}}
	for {
		err := h.shift(ctx)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		select {
		case d := <-mb.Control():
			if err := h.control(ctx, d); err != nil {
				return err
			}
		default:
			if sess := h.sess.Load(); sess != nil {
				a.sessions.Keep(sess)
			}
			return nil
		}
	}
}

// shift runs turns until there are no messages, and control messages beside
// them.
func (h *hold) shift(ctx context.Context) error {
	work := make(chan error, 1)
	go func() { work <- guarded(func() error { return h.work(ctx) }) }()
	var failed error
	for {
		select {
		case err := <-work:
			return errors.Join(failed, err)
		case d := <-h.mb.Control():
			if err := h.control(ctx, d); err != nil && failed == nil {
				failed = err // the turn that runs is not to blame
			}
		}
	}
}

// work runs one turn after the other while there are messages.
func (h *hold) work(run context.Context) error {
	for more := true; more; {
		if err := h.pull(run); err != nil {
			return err
		}
		var err error
		if more, err = h.one(run); err != nil {
			return err
		}
	}
	return context.Cause(run)
}

// one runs one turn; false when there is no message for it.
func (h *hold) one(run context.Context) (bool, error) {
	t, ctx := h.begin(run)
	if t == nil {
		return false, nil
	}
	defer h.end(t)
	return true, t.run(run, ctx)
}

// pull takes all messages that there are now.
func (h *hold) pull(ctx context.Context) error {
	h.take.Lock()
	defer h.take.Unlock()
	for {
		d, ok, err := h.mb.Take(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // the caller sees it
		case err != nil:
			return fmt.Errorf("take a message of %s: %w", h.key, err)
		case !ok:
			return nil
		}
		h.mu.Lock()
		h.pending = append(h.pending, d)
		h.mu.Unlock()
		select {
		case h.came <- struct{}{}:
		default:
		}
	}
}

// begin makes a turn of the oldest message, with the context of its work; nil
// when there is none.
func (h *hold) begin(run context.Context) (*turn, context.Context) {
	h.mu.Lock()
	for h.reset != nil {
		wait := h.reset
		h.mu.Unlock()
		select {
		case <-wait:
		case <-run.Done():
			return nil, nil
		}
		h.mu.Lock()
	}
	defer h.mu.Unlock()
	if len(h.pending) == 0 || run.Err() != nil {
		return nil, nil
	}
	t := newTurn(h, h.pending[0])
	h.pending = h.pending[1:]
	ctx, cancel := context.WithCancelCause(run)
	t.cancel = cancel
	if t.seq < h.stopped {
		t.cancel(&cutOff{seq: h.stopped})
	}
	h.now = t
	h.a.count.running.Add(1)
	return t, ctx
}

// end makes t no longer the running turn and wakes those who wait for that.
func (h *hold) end(t *turn) {
	h.mu.Lock()
	h.now = nil
	h.mu.Unlock()
	h.a.count.running.Add(-1)
	t.cancel(nil)
	close(t.done)
}

// session loads the chat's conversation once.
func (h *hold) session(ctx context.Context) (*session.Session, error) {
	h.load.Lock()
	defer h.load.Unlock()
	if sess := h.sess.Load(); sess != nil {
		return sess, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	s, err := h.a.sessions.Load(ctx, h.key)
	if err != nil {
		return nil, err
	}
	if n := s.Damaged(); n > 0 {
		h.a.opt.Log.Error("history entries could not be read and are left out", "session", h.key, "entries", n)
	}
	h.sess.Store(s)
	return s, nil
}

// said is the last text of the bot in the conversation; "" where that cannot be
// told soon.
func (h *hold) said(ctx context.Context) string {
	sess := h.sess.Load()
	if sess == nil {
		if !h.load.TryLock() { // a turn is loading it
			return ""
		}
		h.load.Unlock()
		ctx, cancel := context.WithTimeout(ctx, saidWait)
		defer cancel()
		var err error
		if sess, err = h.session(ctx); err != nil {
			return ""
		}
	}
	return sess.Said()
}

// saidWait bounds the look at what the bot has said.
const saidWait = 2 * time.Second

// commit writes a record and lets the conversation grow by its items.
func (h *hold) commit(ctx context.Context, r chat.Record, items []session.Item) error {
	sess, err := h.session(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	h.load.Lock()
	defer h.load.Unlock()
	if err := h.mb.Commit(ctx, r); err != nil {
		return fmt.Errorf("commit turn %s: %w", r.Turn, err)
	}
	sess.Add(r.Turn, r.Inputs, items)
	return nil
}
