package cron

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestNag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		s, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(time.Minute)}, Nag: 5 * time.Minute})
		w.pass(12 * time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:06:00", "11-21 10:11:00")
		if f := w.sink.all(); f[0].Nag != 0 || f[1].Nag != 1 || f[2].Nag != 2 {
			t.Errorf("repeats %d, %d, %d", f[0].Nag, f[1].Nag, f[2].Nag)
		}
		for _, f := range w.sink.all() {
			must(t, w.store.Report(w.ctx, home, j.ID, f.Slot, receiptOf(f)))
		}
		w.pass(2 * reconcileEvery)
		if next, err := Next(w.get(j), w.clock.Now()); err != nil || !next.Equal(at(t, "2026-11-21T10:16:00Z")) || w.get(j).Over() {
			t.Errorf("next %s, %v", next, err)
		}
		_, err := w.store.Finish(w.ctx, home, j.ID, bob)
		check(t, "another", err, ErrNotYours)
		_, err = w.store.Finish(w.ctx, home, j.ID, ann)
		must(t, err)
		w.pass(2 * reconcileEvery)
		_, err = w.store.Get(w.ctx, home, j.ID)
		check(t, "done and delivered", err, ErrNotFound)
		if w.sink.count() != 3 || s.timers.count() != 0 {
			t.Errorf("fired %q, %d timers", w.sink.slots(), s.timers.count())
		}
	})
}

func TestNagEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(time.Minute)}, Nag: time.Minute})
		w.pass(2 * time.Hour)
		if got := w.get(j); w.sink.count() != 1+MaxNags || !got.Over() || got.Nagging != nil {
			t.Errorf("fired %d times, %+v", w.sink.count(), got.State)
		}
	})
}

// TestNagOfWhatRepeats: the next slot begins anew; Finish is for this time only.
func TestNagOfWhatRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:59:00Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "0 * * * *"}, Nag: 25 * time.Minute})
		w.pass(90 * time.Minute)
		want(t, w, "11-21 11:00:00", "11-21 11:25:00", "11-21 11:50:00", "11-21 12:00:00", "11-21 12:25:00")
		_, err := w.store.Finish(w.ctx, home, j.ID, ann)
		must(t, err)
		w.pass(time.Hour)
		if n := len(w.sink.all()); n != 7 {
			t.Errorf("fired %q, want 13:00 and 13:25 more", w.sink.slots())
		}
		// Paused, it is quiet; then it goes on.
		_, err = w.store.Pause(w.ctx, home, j.ID, ann)
		must(t, err)
		w.pass(26 * time.Minute)
		_, err = w.store.Resume(w.ctx, home, j.ID, ann)
		must(t, err)
		w.pass(4 * time.Minute)
		if n := len(w.sink.all()); n != 7 {
			t.Errorf("fired %q while it was paused", w.sink.slots())
		}
		w.pass(time.Minute)
		if got := w.sink.slots(); got[len(got)-1] != "11-21 14:00:00" {
			t.Errorf("fired %q", got)
		}
	})
}

// TestNagThatWasDown: one repeat stands for those that passed, or none if late
// ones are skipped.
func TestNagThatWasDown(t *testing.T) {
	for policy, late := range map[Policy]string{RunOnce: "11-21 10:51:00 late +3", Skip: ""} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "2026-11-21T10:00:00Z")
			_, stop := w.start()
			w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(time.Minute)}, Nag: 10 * time.Minute, Misfire: Misfire{Policy: policy}})
			w.pass(12 * time.Minute)
			stop()
			w.pass(43 * time.Minute)
			_, stop = w.start()
			defer stop()
			w.pass(7 * time.Minute)
			all := []string{"11-21 10:01:00", "11-21 10:11:00"}
			if late != "" {
				all = append(all, late)
			}
			want(t, w, append(all, "11-21 11:01:00")...)
		})
	}
}

// TestDoneWhileItIsOnItsWay: who is done before the delivery is settled is not
// asked again.
func TestDoneWhileItIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		j := w.add(Job{Schedule: Schedule{Cron: "0 * * * *"}, Nag: time.Minute})
		_, stop := w.startOn(w.table, func(ctx context.Context, f Fired) error {
			if err := w.sink.fire(ctx, f); err != nil {
				return err
			}
			_, err := w.store.Finish(ctx, home, j.ID, ann)
			return err
		})
		defer stop()
		w.pass(90 * time.Minute)
		want(t, w, "11-21 11:00:00")
	})
}

// TestUndoOfDone: it comes again, and no repeat comes twice.
func TestUndoOfDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "0 * * * *"}, Nag: 10 * time.Minute})
		w.pass(time.Hour + time.Second)
		rang := w.get(j)
		w.pass(10 * time.Minute)
		_, err := w.store.Finish(w.ctx, home, j.ID, ann)
		must(t, err)
		w.restore(rang) // as it was before the repeat of 11:10
		w.pass(10 * time.Minute)
		want(t, w, "11-21 11:00:00", "11-21 11:10:00", "11-21 11:20:00")

		slower, err := w.update(j, func(j *Job) { j.Nag = 20 * time.Minute })
		must(t, err)
		w.pass(20 * time.Minute)
		w.restore(rang)
		w.pass(10 * time.Minute)
		want(t, w, "11-21 11:00:00", "11-21 11:10:00", "11-21 11:20:00", "11-21 11:40:01", "11-21 11:50:01")
		if slower.Nag != 20*time.Minute {
			t.Error(slower.Nag)
		}
	})
}

// once reports ids that were fired again after they arrived.
func (w *world) once() {
	w.t.Helper()
	if n := len(w.sink.all()); w.sink.count() != n || w.sink.problem != nil {
		w.t.Errorf("%d slots were fired %d times (%v): %q", n, w.sink.count(), w.sink.problem, w.sink.slots())
	}
}

// TestUndoOfWordsLater: slots came since; they do not come again.
func TestUndoOfWordsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		_, err := w.update(j, func(j *Job) { j.Message = "new" })
		must(t, err)
		w.pass(3 * time.Minute)
		if got := w.restore(j); got.Message != j.Message {
			t.Errorf("message %q", got.Message)
		}
		w.pass(time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:02:00", "11-21 10:03:00", "11-21 10:04:00")
		w.once()
	})
}

// TestUndoWhileOneIsOnItsWay: the claim stays.
func TestUndoWhileOneIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		w.sink.fail = func(Fired) error { return errors.New("full") }
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "*/10 * * * *"}})
		w.pass(10 * time.Minute)
		w.restore(j)
		w.sink.mu.Lock()
		w.sink.fail = nil
		w.sink.mu.Unlock()
		w.pass(9 * time.Minute)
		want(t, w, "11-21 10:10:00")
	})
}

// TestChangesAfterTheClockWasPutBack: no slot comes twice.
func TestChangesAfterTheClockWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		w.pass(3 * time.Minute)
		w.clock.step(-2 * time.Minute)
		_, err := w.update(j, func(j *Job) { j.Schedule.Cron = "*/1 * * * 6" })
		must(t, err)
		w.pass(3 * time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:02:00", "11-21 10:03:00", "11-21 10:04:00")
		w.once()
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "0 * * * *"}, Nag: time.Minute})
		w.pass(time.Hour + 3*time.Minute)
		_, err := w.store.Pause(w.ctx, home, j.ID, ann)
		must(t, err)
		w.clock.step(-2 * time.Minute)
		_, err = w.store.Resume(w.ctx, home, j.ID, ann)
		must(t, err)
		w.pass(4 * time.Minute)
		want(t, w, "11-21 11:00:00", "11-21 11:01:00", "11-21 11:02:00", "11-21 11:03:00", "11-21 11:04:00", "11-21 11:05:00")
		w.once()
	})
}
