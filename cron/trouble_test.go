package cron

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/kv"
)

func TestFailingFireIsTriedAgainUnderTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		full := errors.New("the chat is full")
		var ids []string
		w.sink.fail = func(f Fired) error {
			ids = append(ids, fmt.Sprint(f.Attempt, " ", f.Slot.Format("15:04")))
			if len(ids) < 3 {
				return full
			}
			return nil
		}
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "5 * * * *"}})
		w.pass(5*time.Minute + time.Second)
		if p := w.get(j).Pending; p == nil || p.Err == "" {
			t.Errorf("pending %+v, want it to say why", p)
		}
		w.pass(time.Minute)
		want(t, w, "11-21 10:05:00")
		if d := cmp.Diff([]string{"1 10:05", "2 10:05", "3 10:05"}, ids); d != "" {
			t.Error(d)
		}
	})
}

func TestRefusedSlotIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		w.sink.fail = func(f Fired) error {
			if f.Slot.Minute() == 5 {
				return fmt.Errorf("%w: no such chat", ErrRefused)
			}
			return nil
		}
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "5,6 * * * *"}})
		w.pass(6 * time.Minute)
		want(t, w, "11-21 10:06:00")
		runs := w.get(j).Runs
		if len(runs) != 2 || runs[0].Result != Failed || runs[0].Err == "" || runs[1].Result != Sent {
			t.Errorf("runs %+v", runs)
		}
	})
}

func TestDamagedEntryIsReportedAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		good := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		bad := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		s, stop := w.start()
		defer stop()
		at := key(home, bad.ID)
		damage := []byte(`{"v":1,"id":"` + bad.ID)
		_, err := w.table.Update(w.ctx, at, damage, 0, 0)
		must(t, err)
		w.pass(time.Minute)
		if st := s.Status(); st.Jobs != 1 || !errors.Is(st.Broken[at], ErrCorrupt) {
			t.Errorf("status %+v", st)
		}
		for _, f := range w.sink.all() {
			if f.Job.ID != good.ID {
				t.Errorf("the damaged job fired")
			}
		}
		jobs, err := w.store.List(w.ctx, home)
		if len(jobs) != 1 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("list has %d jobs and %v", len(jobs), err)
		}
		_, err = w.store.Pause(w.ctx, home, bad.ID, By{Admin: true})
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("pause: %v", err)
		}
		if err := w.store.Remove(w.ctx, home, bad.ID, ann); !errors.Is(err, ErrCorrupt) {
			t.Errorf("remove by the maker: %v", err)
		}
		e, err := w.table.Get(w.ctx, at)
		must(t, err)
		if d := cmp.Diff(string(damage), string(e.Value)); d != "" {
			t.Errorf("the entry was changed: %s", d)
		}
		must(t, w.store.Remove(w.ctx, home, bad.ID, By{Admin: true}))
		synctest.Wait()
		if st := s.Status(); len(st.Broken) != 0 {
			t.Errorf("still broken: %v", st.Broken)
		}
	})
}

// TestTableFails: errors of every kind for minutes, the watch too, and no slot
// is lost or doubled.
func TestTableFails(t *testing.T) {
	for _, op := range []string{"get", "update", "watch"} {
		for _, when := range []string{"before", "after"} {
			t.Run(op+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, "2026-11-21T10:00:30Z")
					var broken atomic.Bool
					broken.Store(true)
					fail := func(what, _ string) error {
						if broken.Load() && what == op {
							return errors.New("no connection")
						}
						return nil
					}
					f := &flaky{Table: w.table}
					if when == "before" {
						f.before = fail
					} else {
						f.after = fail
					}
					j := w.add(Job{Schedule: Schedule{Every: 40 * time.Second}})
					_, stop := w.startOn(f, w.sink.fire)
					defer stop()
					w.pass(3 * time.Minute)
					broken.Store(false)
					w.pass(4 * time.Minute)
					covered(t, w, j)
				})
			})
		}
	}
}

// covered checks that the deliveries stand for each slot of an `every` job up
// to its last one exactly once.
func covered(t *testing.T, w *world, j Job) {
	t.Helper()
	got := w.get(j)
	sum := 0
	for _, f := range w.sink.all() {
		if !f.Manual && f.Job.ID == j.ID {
			sum += 1 + f.Missed
		}
	}
	want := int(w.clock.Now().Sub(j.Anchor) / j.Schedule.Every)
	if behind := w.clock.Now().Sub(got.LastSlot); sum != want || behind >= j.Schedule.Every {
		t.Errorf("deliveries stand for %d slots, want %d; the last slot is %s old", sum, want, behind)
	}
}

func TestWatchThatEndsIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		cut := make(chan struct{})
		f := &cutTable{Table: w.table, cut: cut}
		s, stop := w.startOn(f, w.sink.fire)
		defer stop()
		gone := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		close(cut) // the watch ends, and meanwhile things change
		synctest.Wait()
		must(t, w.store.Remove(w.ctx, home, gone.ID, ann))
		w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		w.pass(5 * time.Second)
		if jobs, timers := s.Status().Jobs, s.timers.count(); jobs != 1 || timers != 1 {
			t.Errorf("%d jobs with %d timers, want 1", jobs, timers)
		}
		w.pass(26 * time.Second)
		want(t, w, "11-21 10:01:00")
	})
}

// cutTable ends its first watch with an error when cut is closed.
type cutTable struct {
	kv.Table
	cut  chan struct{}
	once sync.Once
}

func (c *cutTable) Watch(ctx context.Context, prefix string, fn func(kv.Entry) error) (err error) {
	first := false
	c.once.Do(func() { first = true })
	if !first {
		return c.Table.Watch(ctx, prefix, fn)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.Table.Watch(ctx, prefix, fn) }()
	select {
	case err = <-ended:
	case <-c.cut:
		cancel()
		<-ended
		err = errors.New("the connection is gone")
	}
	return err
}
