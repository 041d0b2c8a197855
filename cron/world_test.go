package cron

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"magpie/chat"
	"magpie/internal/kv"
)

// stepClock shows the time of the test's bubble, moved by what somebody set:
// timers run on, as those of a machine do when its clock is put forward or back.
type stepClock struct {
	clockwork.Clock
	moved atomic.Int64
}

func (c *stepClock) Now() time.Time       { return time.Now().Add(time.Duration(c.moved.Load())) }
func (c *stepClock) step(d time.Duration) { c.moved.Add(int64(d)) }
func (c *stepClock) put(to time.Time)     { c.moved.Store(int64(to.Sub(time.Now().Round(0)))) }

// sink is a chat that takes what was fired once for each id.
type sink struct {
	mu    sync.Mutex
	calls int
	got   []Fired // the first of each id
	byID  map[string]Fired
	// problem: an id came with two meanings
	problem error
	fail    func(Fired) error // nil = takes all
}

func (s *sink) fire(_ context.Context, f Fired) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail != nil {
		if err := s.fail(f); err != nil {
			return err
		}
	}
	old, again := s.byID[f.ID]
	if !again {
		s.got = append(s.got, f)
		s.byID[f.ID] = f
		return nil
	}
	if old.Missed != f.Missed || old.Late != f.Late {
		s.problem = fmt.Errorf("%s stood for %d earlier slots (late: %v), then for %d (%v)", f.ID, old.Missed, old.Late, f.Missed, f.Late)
	}
	return nil
}

func receiptOf(f Fired) chat.Receipt {
	return chat.Receipt{ID: f.ID, Refs: []chat.MessageRef{{Channel: f.Job.Addr.Channel, Chat: f.Job.Addr.Chat, ID: "1"}}}
}

// all returns what was delivered, once for each id.
func (s *sink) all() []Fired {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// count is how often something was fired, repeats and failures too.
func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *sink) slots() []string {
	var all []string
	for _, f := range s.all() {
		text := f.Slot.Format("01-02 15:04:05")
		if f.Late {
			text += " late"
		}
		if f.Missed > 0 {
			text += fmt.Sprintf(" +%d", f.Missed)
		}
		if f.Manual {
			text += " manual"
		}
		all = append(all, text)
	}
	return all
}

// world is a table with a store, a clock and a sink, in a bubble.
type world struct {
	t     *testing.T
	ctx   context.Context
	clock *stepClock
	table kv.Table
	store *Store
	sink  *sink
}

var home = chat.Address{Channel: "telegram", Chat: "-100", Thread: "7"}

var ann = By{Person: Person{Channel: "telegram", Sender: chat.Sender{ID: "1", Name: "Ann"}}}

func newWorld(t *testing.T, now string) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), clock: &stepClock{Clock: clockwork.NewRealClock()}, table: &kv.Memory{}, sink: &sink{byID: map[string]Fired{}}}
	w.clock.put(at(t, now))
	w.store = w.storeOn(w.table)
	return w
}

func (w *world) storeOn(table kv.Table) *Store {
	w.t.Helper()
	s, err := NewStore(table, &StoreOptions{Now: w.clock.Now, Zone: "UTC"})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// start runs a scheduler; stop ends it and waits.
func (w *world) start() (s *Scheduler, stop func()) { return w.startOn(w.table, w.sink.fire) }

func (w *world) startOn(table kv.Table, fire Fire) (s *Scheduler, stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	s = NewScheduler(w.storeOn(table), fire, &Options{Clock: w.clock})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	synctest.Wait()
	return s, func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
}

func (w *world) add(j Job) Job {
	w.t.Helper()
	if j.Addr == (chat.Address{}) {
		j.Addr = home
	}
	if j.Message == "" {
		j.Message = "喝水"
	}
	if j.Maker.ID == "" {
		j.Maker = ann.Person
	}
	j, err := w.store.Add(w.ctx, j)
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return j
}

func (w *world) get(j Job) Job {
	w.t.Helper()
	got, err := w.store.Get(w.ctx, j.Addr, j.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count is how many jobs have a timer.
func (t *timers) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ids)
}

// flaky is a table that fails or stops as a test wants.
type flaky struct {
	kv.Table
	before func(op, key string) error // an error: nothing is done
	after  func(op, key string) error // an error: it is done, but nobody is told
}

func (f *flaky) do(op, key string, fn func() error) error {
	if f.before != nil {
		if err := f.before(op, key); err != nil {
			return err
		}
	}
	err := fn()
	if f.after != nil && err == nil {
		err = f.after(op, key)
	}
	return err
}

func (f *flaky) Get(ctx context.Context, key string) (e kv.Entry, err error) {
	err = f.do("get", key, func() error { e, err = f.Table.Get(ctx, key); return err })
	return e, err
}

func (f *flaky) Update(ctx context.Context, key string, value []byte, rev uint64, ttl time.Duration) (n uint64, err error) {
	err = f.do("update", key, func() error { n, err = f.Table.Update(ctx, key, value, rev, ttl); return err })
	return n, err
}

func (f *flaky) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (n uint64, err error) {
	err = f.do("create", key, func() error { n, err = f.Table.Create(ctx, key, value, ttl); return err })
	return n, err
}

func (f *flaky) Delete(ctx context.Context, key string) error {
	return f.do("delete", key, func() error { return f.Table.Delete(ctx, key) })
}

func (f *flaky) Watch(ctx context.Context, prefix string, fn func(kv.Entry) error) error {
	return f.do("watch", prefix, func() error { return f.Table.Watch(ctx, prefix, fn) })
}
