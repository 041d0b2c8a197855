package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"magpie/chat"
)

// Owner works for one chat: it takes what is in the mailbox, in order, and
// returns nil when nothing is left. ctx ends before the lease on the chat does
// (cause ErrLost) and some time after the worker was told to stop; then the
// owner must return without committing. An error makes the chat wait a little
// before it is tried again.
type Owner func(ctx context.Context, mb *Mailbox) error

// WorkerOptions configure Own. Zero fields have the defaults named.
type WorkerOptions struct {
	// Turns is how many chats may have their messages worked on at once; 0 = 16.
	// Commands are answered beyond that.
	Turns int
	// Tasks: work on the mailboxes of background tasks and on no others. Without
	// it Own leaves those alone.
	Tasks bool
	// Grace is how long owners may go on after ctx of Own has ended; 0 = 5 s.
	Grace time.Duration
}

const (
	// sweepEvery is how often the stream is searched for chats that no wake-up
	// reached: after a crash of another process, or a lost wake-up.
	sweepEvery = 5 * time.Second
	// sweepShared is the same on an external server, where it is what takes the
	// chats of a killed worker over.
	sweepShared = time.Second
	// retryAfter is how long a chat rests whose owner failed.
	retryAfter = time.Second
)

type worker struct {
	b     *Bus
	owner Owner
	tasks bool // WorkerOptions.Tasks
	slots *semaphore.Weighted
	stop  context.Context // ends when no new chat may be taken
	held  context.Context // parent of all owners
	wg    sync.WaitGroup

	mu    sync.Mutex
	chats map[chat.SessionKey]*Mailbox // being worked on or queued here; nil before the lease is taken
	dirty map[chat.SessionKey]bool     // woken again meanwhile; true: by something else than a command
}

// maxKnown bounds chats.known; beyond it all are forgotten and read again.
const maxKnown = 10_000

// Own gives every chat that has something waiting, one after the other and
// each to one worker at a time over all processes, to owner. It blocks until
// ctx ends and every owner has returned.
func (b *Bus) Own(ctx context.Context, owner Owner, o *WorkerOptions) error {
	var opts WorkerOptions
	if o != nil {
		opts = *o
	}
	if opts.Turns <= 0 {
		opts.Turns = 16
	}
	if opts.Grace <= 0 {
		opts.Grace = 5 * time.Second
	}
	held, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	w := &worker{
		b: b, owner: owner, tasks: opts.Tasks, slots: semaphore.NewWeighted(int64(opts.Turns)), stop: ctx, held: held,
		chats: map[chat.SessionKey]*Mailbox{}, dirty: map[chat.SessionKey]bool{},
	}
	unsubscribe, err := b.onWake(w.heard)
	if err != nil {
		return fmt.Errorf("listen for wake-ups: %w", err)
	}
	w.sweepUntil(ctx)
	unsubscribe()
	giveUp := time.AfterFunc(opts.Grace, cancel)
	defer giveUp.Stop()
	w.wg.Wait()
	return nil
}

func (w *worker) sweepUntil(ctx context.Context) {
	every := sweepEvery
	if w.b.srv == nil {
		every = sweepShared
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := w.sweep(ctx); err != nil && ctx.Err() == nil {
			w.b.log.Warn("sweep failed, next one soon", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep wakes every chat that has a message in the stream.
func (w *worker) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	filter := "in.>"
	if w.tasks {
		filter = "in.*." + laneTask
	}
	var info *jetstream.StreamInfo
	err := w.b.patiently(ctx, func(ctx context.Context) (err error) {
		info, err = w.b.streams.in.Info(ctx, jetstream.WithSubjectFilter(filter))
		return err
	})
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if sid, lane, ok := parseIn(subject); ok {
			w.heard(sid, lane)
		}
	}
	return nil
}

// heard takes in a wake-up if it is for this worker: a task's mailbox has
// nothing but its task, and a chat's none.
func (w *worker) heard(sid chat.SessionKey, lane string) {
	if (lane == laneTask) == w.tasks {
		w.woken(sid, lane == laneControl)
	}
}

// woken notes that a chat has something new and starts working on it unless
// that is being done here already.
func (w *worker) woken(sid chat.SessionKey, control bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mb, here := w.chats[sid]; here {
		w.dirty[sid] = w.dirty[sid] || !control
		if mb != nil {
			mb.ring()
		}
		if mb == nil && control {
			// Queued for a turn slot: a command need not wait for one.
			w.start(sid, true)
		}
		return
	}
	w.start(sid, control)
}

// start works on a chat in a goroutine of its own; w.mu is held.
func (w *worker) start(sid chat.SessionKey, control bool) {
	if w.stop.Err() != nil {
		return
	}
	if _, here := w.chats[sid]; !here {
		w.chats[sid] = nil
	}
	w.wg.Go(func() { w.work(sid, control) })
}

// work waits for a turn slot (a command does not), takes the lease, runs the
// owner and looks once more after giving the lease back.
func (w *worker) work(sid chat.SessionKey, control bool) {
	slot := &slot{sem: w.slots}
	if !control && slot.take(w.stop) != nil {
		w.forget(sid)
		return
	}
	defer slot.free()
	if !w.claim(sid) {
		return // a command got here first and works on everything
	}
	err := w.hold(sid, slot)
	slot.free()
	again, control := w.finish(sid)
	switch {
	case errors.Is(err, errHeld):
		return // the holder has heard the same wake-up; if it died, the sweep comes
	case err != nil && w.stop.Err() == nil:
		w.b.log.Warn("chat rests after an error", "session", sid, "err", err)
		w.wakeLater(sid)
	case again:
		w.woken(sid, control)
	}
}

// claim makes this goroutine the one that works on the chat.
func (w *worker) claim(sid chat.SessionKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mb, here := w.chats[sid]; !here || mb != nil {
		return false
	}
	w.chats[sid] = newMailbox(w.b, sid)
	delete(w.dirty, sid)
	return true
}

func (w *worker) forget(sid chat.SessionKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mb := w.chats[sid]; mb == nil {
		delete(w.chats, sid)
		delete(w.dirty, sid)
	}
}

// finish ends the work on a chat and reports whether something came meanwhile.
func (w *worker) finish(sid chat.SessionKey) (again, control bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	message, again := w.dirty[sid]
	delete(w.chats, sid)
	delete(w.dirty, sid)
	return again, !message
}

func (w *worker) wakeLater(sid chat.SessionKey) {
	w.wg.Go(func() {
		select {
		case <-w.stop.Done():
		case <-time.After(retryAfter):
			w.woken(sid, false)
		}
	})
}

// hold runs the owner under the lease.
func (w *worker) hold(sid chat.SessionKey, s *slot) error {
	if w.stop.Err() != nil {
		return nil
	}
	w.mu.Lock()
	mb := w.chats[sid]
	w.mu.Unlock()
	l, ctx, err := w.b.acquire(w.held, string(sid))
	if err != nil {
		return err
	}
	known, ok := w.b.chats.recall(sid)
	mb.hold = holding{slot: s, stop: w.stop, orphaned: l.orphaned, begun: time.Now()}
	if ok {
		mb.standing = known
	}
	if err = mb.begin(ctx, !ok); err == nil {
		w.b.chats.held.Store(sid, mb)
		err = w.run(ctx, mb)
		w.b.chats.held.Delete(sid)
	}
	if err == nil && w.b.srv != nil {
		w.b.chats.remember(mb) // before somebody else may hold the chat
	}
	l.release()
	if err == nil {
		// What came between the owner's last look and the release was refused
		// to other workers: look once more.
		if left := mb.waiting(w.held); left {
			w.mu.Lock()
			w.dirty[sid] = true
			w.mu.Unlock()
		}
	}
	return err
}

// remember notes where a chat stands that is given back in good order.
func (c *chats) remember(mb *Mailbox) {
	s := mb.settled()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[mb.sid] = s
}

// recall says, once, where a chat stood when it was given back here.
func (c *chats) recall(sid chat.SessionKey) (standing, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.known[sid]
	delete(c.known, sid)
	return s, ok
}

func (w *worker) run(ctx context.Context, mb *Mailbox) (err error) {
	listening, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		mb.listen(listening)
	}()
	defer func() {
		stop()
		<-done
		if p := recover(); p != nil {
			err = fmt.Errorf("owner of chat %s panicked: %v\n%s", mb.sid, p, debug.Stack())
		}
	}()
	return w.owner(ctx, mb)
}

// slot is the right to run a turn; it is taken at most once and given back.
type slot struct {
	sem    *semaphore.Weighted
	mu     sync.Mutex
	has    bool
	parked int // waits of the owner that are under way
}

func (s *slot) take(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has || s.parked > 0 {
		return nil
	}
	if err := s.sem.Acquire(ctx, 1); err != nil {
		return err
	}
	s.has = true
	return nil
}

// park gives the slot back without letting take want it again before unpark.
func (s *slot) park() {
	s.mu.Lock()
	s.parked++
	s.mu.Unlock()
	s.free()
}

func (s *slot) unpark(ctx context.Context) error {
	s.mu.Lock()
	s.parked--
	s.mu.Unlock()
	return s.take(ctx)
}

func (s *slot) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has {
		s.sem.Release(1)
		s.has = false
	}
}
