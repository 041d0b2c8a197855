package cron

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"magpie/internal/kv"
)

// Fired is a slot on its way into a chat.
type Fired struct {
	// ID is SlotID of job and slot: the id of the message that is made of it.
	ID      string
	Job     Job
	Slot    time.Time // UTC
	Late    bool      // it should have come earlier; people are told
	Missed  int       // earlier slots that this delivery stands for, at most 1000
	Manual  bool      // RunNow
	Nag     int       // the n-th repeat of a delivery that is not done; 0 for a slot of the schedule
	Attempt int       // 1 for the first
}

// Fire puts a fired slot into its chat and returns once that is durable. It
// may be called again with the same ID, by this or another process, after it
// succeeded too; the slot, Late and Missed are the same then. An error is
// tried again after 10 s, doubled up to 320 s, unless it is ErrRefused.
type Fire func(ctx context.Context, f Fired) error

// ErrRefused in the error of a Fire says that this slot can never be
// delivered. The job keeps it as failed and goes on with the next one.
var ErrRefused = errors.New("the slot is refused")

// Clock tells the time and makes timers.
type Clock = clockwork.Clock

// Options are what a Scheduler can do without.
type Options struct {
	Clock   Clock        // nil = the real one
	Log     *slog.Logger // nil = none
	Workers int          // slots fired at once; 0 = 16
}

// Scheduler fires the jobs of a Store. Every process may run one.
type Scheduler struct {
	store   *Store
	fire    Fire
	clock   clockwork.Clock
	log     *slog.Logger
	workers int
	since   time.Time
	book    *book
	queue   *queue
	timers  *timers
	ready   chan struct{}
	// taking keeps the timer of a job in step with its page: without it the
	// watch and a worker could each set what the other's page says.
	taking sync.Mutex
}

// NewScheduler returns a Scheduler over the jobs of a store.
func NewScheduler(store *Store, fire Fire, options *Options) *Scheduler {
	o := Options{}
	if options != nil {
		o = *options
	}
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Workers <= 0 {
		o.Workers = 16
	}
	return &Scheduler{
		store: store, fire: fire, clock: o.Clock, log: o.Log, workers: o.Workers,
		book: newBook(), queue: newQueue(), ready: make(chan struct{}),
	}
}

// Ready is closed when all jobs have been read once.
func (s *Scheduler) Ready() <-chan struct{} { return s.ready }

// Status is what a Scheduler knows of the table.
type Status struct {
	Jobs   int              // entries that can be read
	Broken map[string]error // those that cannot, by key
}

// Status may be called at any time.
func (s *Scheduler) Status() Status {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	return Status{Jobs: len(s.book.pages), Broken: maps.Clone(s.book.broken)}
}

// Run fires slots until ctx ends, then waits for what it started and returns
// nil. A table that fails is tried again. It is called once.
func (s *Scheduler) Run(ctx context.Context) error {
	s.since = s.now()
	t, err := newTimers(s.clock, s.queue.push)
	if err != nil {
		return err
	}
	s.timers = t
	var wait sync.WaitGroup
	for range s.workers {
		wait.Go(func() { s.work(ctx) })
	}
	wait.Go(func() { s.watch(ctx) })
	wait.Go(func() { s.reconcile(ctx) })
	wait.Wait()
	return t.stop()
}

func (s *Scheduler) now() time.Time { return wallTime(s.clock) }

// The waits of a Scheduler.
const (
	// reconcileEvery bounds how late a slot is after the clock was put forward
	// or the table failed. Looking at 10 000 jobs takes milliseconds.
	reconcileEvery = 10 * time.Second
	// stepped is the difference between the time that passed and the time that
	// the clock shows from which on the timers are set anew.
	stepped = 2 * time.Second
	// A watch that failed is started again after watchAgain, doubled up to
	// watchSlow.
	watchAgain = time.Second
	watchSlow  = 30 * time.Second
)

// watch keeps the book like the table.
func (s *Scheduler) watch(ctx context.Context) {
	pause, loaded := watchAgain, false
	for ctx.Err() == nil {
		s.book.begin()
		err := s.store.table.Watch(ctx, "", func(e kv.Entry) error {
			if e.Key != "" {
				// Whoever held a claim before this process started may be gone.
				s.enter(e, !loaded)
				return nil
			}
			for _, key := range s.book.end() {
				s.retime(key)
			}
			pause = watchAgain
			if !loaded {
				loaded = true
				close(s.ready)
			}
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("watch of jobs ended", "err", err, "again_in", pause)
		select {
		case <-ctx.Done():
		case <-s.clock.After(pause):
		}
		pause = min(2*pause, watchSlow)
	}
}

// enter takes an entry of the table into the book, sets its timer and has the
// job looked at when something is due.
func (s *Scheduler) enter(e kv.Entry, free bool) {
	s.taking.Lock()
	defer s.taking.Unlock()
	before, after, known, err := s.book.enter(e, free)
	switch {
	case errors.Is(err, errOld):
		return
	case err != nil:
		s.log.Error("job entry is damaged and left alone", "job", e.Key, "err", err)
	}
	if !known || before.rev == 0 || before.timing() != after.timing() {
		s.setTimer(e.Key, after)
	}
	if known && after.wants(s.now()) {
		s.queue.push(e.Key)
	}
}

// retime sets the timer of a job anew.
func (s *Scheduler) retime(key string) {
	s.taking.Lock()
	defer s.taking.Unlock()
	p, _ := s.book.page(key)
	s.setTimer(key, p)
}

// setTimer sets or drops the timer as the page wants; the zero page wants none.
func (s *Scheduler) setTimer(key string, p page) {
	if p.rev == 0 || p.timing().off {
		s.timers.drop(key)
		return
	}
	if err := s.timers.set(key, p); err != nil {
		// reconcile fires the job nevertheless, later.
		s.log.Error("job has no timer", "job", key, "err", err)
	}
}

// reconcile looks at all jobs now and then: for slots that no timer announced,
// claims that nobody settled, and one-shots that are over.
func (s *Scheduler) reconcile(ctx context.Context) {
	for {
		before := s.now()
		select {
		case <-ctx.Done():
			return
		case <-s.clock.After(reconcileEvery):
		}
		now := s.now()
		jumped := (now.Sub(before) - reconcileEvery).Abs() > stepped
		s.book.each(func(key string, p page) {
			if p.wants(now) {
				s.queue.push(key)
			}
			if jumped && ctx.Err() == nil {
				s.retime(key)
			}
		})
	}
}
