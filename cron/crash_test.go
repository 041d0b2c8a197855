package cron

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// TestCrashAtEveryStep kills a process after each of its effects around a due
// second and starts it again 3 s later.
func TestCrashAtEveryStep(t *testing.T) {
	for effects := range 8 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "2026-11-21T10:00:00Z")
			w.add(Job{Schedule: Schedule{Cron: "1 * * * *"}})
			kill := w.run(effects)
			w.pass(time.Minute + 3*time.Second)
			kill()
			defer w.run(-1)()
			w.pass(time.Second) // a claim of the dead is not waited for
			got := w.sink.slots()
			if len(got) != 1 || got[0][:14] != "11-21 10:01:00" {
				t.Errorf("killed after %d effects: %q", effects, got)
			}
		})
	}
}

// TestTheOtherProcessTakesOver: the clock put back does not keep the claim of
// a dead process.
func TestTheOtherProcessTakesOver(t *testing.T) {
	for _, step := range []time.Duration{0, -time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "2026-11-21T10:00:00Z")
			j := w.add(Job{Schedule: Schedule{Cron: "1 * * * *"}})
			defer w.run(-1)()
			w.pass(59 * time.Second)
			must(t, w.claimOfADeadProcess(j))
			w.clock.step(step)
			w.pass(2*time.Second + 2*takeover)
			if len(w.sink.all()) == 0 || !w.sink.all()[0].Slot.Equal(at(t, "2026-11-21T10:01:00Z")) || w.sink.all()[0].Attempt != 2 {
				t.Errorf("clock moved by %s: %q", step, w.sink.slots())
			}
		})
	}
}

func (w *world) claimOfADeadProcess(j Job) error {
	_, err := w.store.change(w.ctx, key(j.Addr, j.ID), func(j *Job) error {
		j.Pending = &Pending{Slot: at(w.t, "2026-11-21T10:01:00Z"), Claimed: w.clock.Now(), Attempts: 1}
		return nil
	})
	synctest.Wait()
	return err
}

// TestStopSettlesWhatWasFired: a graceful end leaves no claim that would be
// fired again.
func TestStopSettlesWhatWasFired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		j := w.add(Job{Schedule: Schedule{Cron: "1 * * * *"}})
		_, stop := w.startOn(w.table, func(ctx context.Context, f Fired) error {
			<-ctx.Done() // the end comes while the message is on its way, and it arrives
			return w.sink.fire(ctx, f)
		})
		w.pass(time.Minute + time.Second)
		stop()
		if got := w.get(j); got.Pending != nil || len(got.Runs) != 1 || got.Runs[0].Result != Sent {
			t.Errorf("state %+v", got.State)
		}
	})
}

// TestSettlesOnlyItsOwnClaim: while a slot is on its way its receipt comes and
// somebody asks for one more.
func TestSettlesOnlyItsOwnClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		j := w.add(Job{Schedule: Schedule{Cron: "1 * * * *"}})
		_, stop := w.startOn(w.table, func(ctx context.Context, f Fired) error {
			if !f.Manual {
				if err := w.store.Report(ctx, home, j.ID, f.Slot, receiptOf(f)); err != nil {
					return err
				}
				if _, err := w.store.RunNow(ctx, home, j.ID, ann); err != nil {
					return err
				}
			}
			return w.sink.fire(ctx, f)
		})
		defer stop()
		w.pass(time.Minute + time.Second)
		runs := w.get(j).Runs
		if len(w.sink.all()) != 2 || len(runs) != 2 || runs[0].Result != Delivered || !runs[1].Manual {
			t.Errorf("delivered %q, runs %+v", w.sink.slots(), runs)
		}
	})
}

func TestFailuresBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		w.sink.fail = func(Fired) error { return errors.New("full") }
		_, stop := w.start()
		defer stop()
		w.add(Job{Schedule: Schedule{Cron: "1 * * * *"}})
		w.pass(31 * time.Minute)
		if w.sink.count() < 8 || w.sink.count() > 12 {
			t.Errorf("%d attempts in half an hour, want about 10", w.sink.count())
		}
	})
}

func TestRunNowBeforeTheTimeKeepsTheOneShot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(time.Hour)}})
		_, err := w.store.RunNow(w.ctx, home, j.ID, ann)
		must(t, err)
		synctest.Wait()
		must(t, w.store.Report(w.ctx, home, j.ID, w.sink.all()[0].Slot, receiptOf(w.sink.all()[0])))
		w.pass(time.Hour + time.Second)
		want(t, w, "11-21 10:00:00 manual", "11-21 11:00:00")
		if got := w.get(j); len(got.Runs) != 2 || got.Runs[1].Result != Sent {
			t.Errorf("runs %+v, want it kept until its own receipt comes", got.Runs)
		}
	})
}

func TestSettle(t *testing.T) {
	j := Job{Schedule: Schedule{At: noon}, State: State{LastSlot: noon, Pending: &Pending{Slot: noon.Add(time.Second), Manual: true}}}
	if j.Over() && j.served(noon.Add(keepOver*2)) {
		t.Error("finished while something is on its way")
	}
	j.settle(noon, Sent, "")
	if !j.LastSlot.Equal(noon) {
		t.Error("a manual run moved the last slot")
	}
	j.Pending = &Pending{Slot: noon.Add(-time.Hour)}
	j.settle(noon, Sent, "")
	if !j.LastSlot.Equal(noon) {
		t.Error("the last slot went back")
	}
	old := j.Runs
	a, b := j, j
	a.remember(Run{Late: true})
	b.remember(Run{})
	if len(old) != 2 || !a.Runs[2].Late || b.Runs[2].Late {
		t.Error("two copies of a job share their history")
	}
}

func TestBookTakesNothingOld(t *testing.T) {
	b := newBook()
	d := draft()
	d.V, d.ID, d.Mode, d.Misfire = Version, "a", Notify, Misfire{Policy: Skip}
	d.State = State{Anchor: noon, LastSlot: noon}
	value, err := encode(d)
	must(t, err)
	e := kv.Entry{Key: key(home, "a"), Value: value, Revision: 5}
	if _, _, known, err := b.enter(e, false); !known || err != nil {
		t.Fatal(known, err)
	}
	e.Revision, e.Deleted = 4, true
	if _, _, _, err := b.enter(e, false); !errors.Is(err, errOld) {
		t.Errorf("got %v", err)
	}
	if _, ok := b.page(e.Key); !ok {
		t.Error("an old deletion removed the page")
	}
}

func TestBeatNeverLooksBack(t *testing.T) {
	once := planOf(t, Schedule{At: noon}, "2026-01-01T00:00:00Z")
	b := &beat{plan: once, now: func() time.Time { return noon.Add(time.Hour) }}
	for last := (time.Time{}); last.Before(noon.AddDate(200, 0, 0)); {
		next := b.Next(last)
		if !next.After(b.now()) || !next.After(last) {
			t.Fatalf("after %s comes %s", last, next)
		}
		last = next
	}
	b.plan = planOf(t, Schedule{Every: time.Second}, "1990-01-01T00:00:00Z")
	if got := b.Next(noon.AddDate(-30, 0, 0)); !got.Equal(b.now().Add(time.Second)) {
		t.Errorf("got %s, want the slot ahead", got)
	}
}

func TestTimersFollowTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		s, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Every: time.Hour}})
		count := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := len(s.timers.cron.Jobs()); got != want || s.timers.count() != want {
				t.Errorf("%d timers, want %d", got, want)
			}
		}
		count(1)
		_, err := w.store.Pause(w.ctx, home, j.ID, ann)
		must(t, err)
		count(0)
		_, err = w.store.Resume(w.ctx, home, j.ID, ann)
		must(t, err)
		count(1)
		must(t, w.store.Remove(w.ctx, home, j.ID, ann))
		count(0)
	})
}

// crowd adds a job of somebody else right before the first Create.
type crowd struct {
	kv.Table
	first func()
}

func (c *crowd) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if f := c.first; f != nil {
		c.first = nil
		f()
	}
	return c.Table.Create(ctx, key, value, ttl)
}

func TestLimitHoldsAgainstAnotherProcess(t *testing.T) {
	table := &crowd{Table: &kv.Memory{}}
	s, err := NewStore(table, &StoreOptions{PerChat: 1})
	must(t, err)
	table.first = func() {
		_, err := s.Add(t.Context(), draft())
		must(t, err)
	}
	_, err = s.Add(t.Context(), draft())
	check(t, "the second", err, ErrTooMany)
	jobs, err := s.List(t.Context(), home)
	must(t, err)
	if len(jobs) != 1 {
		t.Errorf("%d jobs, want 1", len(jobs))
	}
}

func TestRunNowAndResumeAtOddTimes(t *testing.T) {
	now := noon
	s, _ := testStore(t, &StoreOptions{Now: func() time.Time { return now }})
	j, err := s.Add(t.Context(), draft())
	must(t, err)
	got, err := s.RunNow(t.Context(), home, j.ID, ann)
	must(t, err)
	if got.Pending.Slot.Nanosecond() == 0 {
		t.Error("a run by hand could be taken for a slot of the schedule")
	}
	_, err = s.Pause(t.Context(), home, j.ID, ann)
	must(t, err)
	now = noon.Add(-time.Hour) // the clock was put back
	got, err = s.Resume(t.Context(), home, j.ID, ann)
	must(t, err)
	if !got.LastSlot.Equal(noon) {
		t.Errorf("the last slot went back to %s", got.LastSlot)
	}
	// What was skipped was not delivered, whatever is reported.
	_, err = s.change(t.Context(), key(home, j.ID), func(j *Job) error {
		j.remember(Run{Slot: noon, Result: Skipped})
		return nil
	})
	must(t, err)
	must(t, s.Report(t.Context(), home, j.ID, noon, chat.Receipt{}))
	got, err = s.Get(t.Context(), home, j.ID)
	must(t, err)
	if got.Runs[0].Result != Skipped {
		t.Errorf("run %+v", got.Runs[0])
	}
}

// TestCrashInAChange kills a process after each effect of a change of a job
// while another one fires it: it is made or not, and the slots come once.
func TestCrashInAChange(t *testing.T) {
	changes := map[string]func(s *Store, j Job) error{
		"update": func(s *Store, j Job) error {
			_, err := s.Update(context.Background(), home, j.ID, ann, func(j *Job) error { j.Message = "new"; return nil })
			return err
		},
		"skip": func(s *Store, j Job) error {
			_, _, err := (&world{ctx: context.Background()}).skip(s, j, ann)
			return err
		},
		"restore": func(s *Store, j Job) error {
			j.Message = "new"
			_, err := s.Restore(context.Background(), j, ann)
			return err
		},
	}
	for name, change := range changes {
		made := 0
		for effects := range 6 {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "2026-11-21T10:00:30Z")
				defer w.run(-1)()
				j := w.add(Job{Schedule: Schedule{Rule: "DTSTART:20261121T100100\nRRULE:FREQ=MINUTELY"}})
				w.pass(time.Minute)
				p := &process{w: w, left: effects, cancel: func() {}}
				err := change(w.storeOn(&flaky{Table: w.table, before: p.of, after: p.of}), j)
				if err != nil && !errors.Is(err, errDead) {
					t.Fatal(err)
				}
				got := w.get(j)
				skipped := got.LastSlot.After(w.clock.Now())
				if err == nil {
					made++
					if !skipped && got.Message != "new" {
						t.Errorf("%s: not made", name)
					}
				}
				w.pass(2 * time.Minute)
				slots := []string{"11-21 10:01:00", "11-21 10:02:00", "11-21 10:03:00"}
				if skipped {
					slots = []string{slots[0], slots[2]}
				}
				want(t, w, slots...)
			})
		}
		if made == 0 || made == 6 {
			t.Errorf("%s was made %d times of 6", name, made)
		}
	}
}

// TestCrashInRestore: put back after Remove, at each step, and again by whoever
// repeats it.
func TestCrashInRestore(t *testing.T) {
	for effects := range 8 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "2026-11-21T10:00:30Z")
			j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
			stop := w.run(-1)
			w.pass(time.Minute)
			before := w.get(j)
			must(t, w.store.Remove(w.ctx, home, j.ID, ann))
			w.pass(time.Minute)
			p := &process{w: w, left: effects, cancel: func() {}}
			if _, err := w.storeOn(&flaky{Table: w.table, before: p.of, after: p.of}).Restore(w.ctx, before, ann); err != nil && !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			stop()
			defer w.run(-1)()
			w.restore(before)
			w.restore(before)
			w.pass(time.Minute)
			if got := w.sink.slots(); len(got) != 3 || got[1][:14] != "11-21 10:02:00" || got[2] != "11-21 10:03:00" {
				t.Errorf("killed after %d effects: %q", effects, got)
			}
		})
	}
}

// TestCrashWhileNagging kills a process after each of its effects around a
// repeat.
func TestCrashWhileNagging(t *testing.T) {
	for effects := range 14 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "2026-11-21T10:00:00Z")
			j := w.add(Job{Schedule: Schedule{Cron: "1 10 * * *"}, Nag: time.Minute})
			kill := w.run(effects)
			w.pass(2*time.Minute + 3*time.Second)
			kill()
			defer w.run(-1)()
			w.pass(62 * time.Second)
			sum := 0
			for _, f := range w.sink.all() {
				sum += 1 + f.Missed
			}
			// After a death before it rang, the repeats count from 10:02:03.
			if n := w.get(j).Nagging; w.sink.all()[0].Nag != 0 || sum != 1+n.Count || n.Count != 2 && (n.Count != 1 || n.Since.Second() != 3) || w.sink.problem != nil {
				t.Errorf("killed after %d effects: %q, %v", effects, w.sink.slots(), w.sink.problem)
			}
		})
	}
}
