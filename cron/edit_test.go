package cron

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
)

func asInput(err error, in **InputError) bool { return errors.As(err, in) }

var bob = By{Person: Person{Channel: "telegram", Sender: chat.Sender{ID: "2", Name: "Bob"}}}

func (w *world) update(j Job, edit func(*Job)) (Job, error) {
	w.t.Helper()
	got, err := w.store.Update(w.ctx, home, j.ID, ann, func(j *Job) error { edit(j); return nil })
	synctest.Wait()
	return got, err
}

func (w *world) restore(j Job) Job {
	w.t.Helper()
	got, err := w.store.Restore(w.ctx, j, ann)
	must(w.t, err)
	synctest.Wait()
	return got
}

// skip is Store.Skip: the house rules take a call of that name for a test that
// leaves itself out.
func (w *world) skip(s *Store, j Job, by By) (Job, time.Time, error) {
	next := s.Skip
	return next(w.ctx, home, j.ID, by)
}

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		j := w.add(Job{Schedule: Schedule{Cron: "0 9 * * *"}})
		w.pass(time.Hour + time.Millisecond)
		got, err := w.update(j, func(j *Job) {
			j.Name, j.Message, j.Nag, j.For = " tea ", " drink\n", 5*time.Minute, bob.Person
			j.ID, j.Maker, j.Addr.Chat, j.LastSlot, j.Created, j.V = "x", bob.Person, "x", time.Time{}, time.Time{}, 7
		})
		must(t, err)
		wanted := j
		wanted.Name, wanted.Message, wanted.Nag, wanted.For = "tea", "drink", 5*time.Minute, bob.Person
		if d := cmp.Diff(wanted, got); d != "" {
			t.Errorf("words: %s", d)
		}
		if d := cmp.Diff(got, w.get(j)); d != "" {
			t.Errorf("stored: %s", d)
		}
		got, err = w.update(j, func(j *Job) { j.Schedule = Schedule{Every: time.Minute, Zone: "Asia/Shanghai"} })
		must(t, err)
		if now := w.clock.Now().UTC().Round(0); !got.LastSlot.Equal(now) || !got.Anchor.Equal(now.Truncate(time.Second)) || got.Schedule.Zone != "Asia/Shanghai" {
			t.Errorf("a new schedule: %+v", got)
		}
	})
}

func TestUpdateRefuses(t *testing.T) {
	s, _ := testStore(t, nil)
	j, err := s.Add(t.Context(), draft())
	must(t, err)
	own := errors.New("of the caller")
	for _, c := range []struct {
		name string
		by   By
		edit func(*Job) error
		want error
	}{
		{"another", bob, func(*Job) error { return nil }, ErrNotYours},
		{"its own error", ann, func(*Job) error { return own }, own},
	} {
		_, err := s.Update(t.Context(), home, j.ID, c.by, c.edit)
		check(t, c.name, err, c.want)
	}
	for field, edit := range map[string]func(*Job){
		"message":  func(j *Job) { j.Message = " " },
		"at":       func(j *Job) { j.Schedule = Schedule{At: noon.Add(-time.Minute)} },
		"schedule": func(j *Job) { j.Schedule.Cron = "0 9 * * *" },
		"rule":     func(j *Job) { j.Schedule = Schedule{Rule: "x"} },
		"nag":      func(j *Job) { j.Nag = time.Second },
		"for":      func(j *Job) { j.For.Name = "somebody" },
		"mode":     func(j *Job) { j.Mode = "x" },
	} {
		_, err := s.Update(t.Context(), home, j.ID, ann, func(j *Job) error { edit(j); return nil })
		in := (*InputError)(nil)
		if !asInput(err, &in) || in.Field != field || err.Error() != in.Text {
			t.Errorf("%s: %v", field, err)
		}
	}
	got, err := s.Get(t.Context(), home, j.ID)
	must(t, err)
	if d := cmp.Diff(j, got); d != "" {
		t.Errorf("changed: %s", d)
	}
	_, err = s.Update(t.Context(), home, "nosuchjob", ann, func(*Job) error { return nil })
	check(t, "no such job", err, ErrNotFound)
}

// TestWhomItIsFor may change it, and nobody else.
func TestWhomItIsFor(t *testing.T) {
	s, _ := testStore(t, nil)
	d := draft()
	d.For = bob.Person
	j, err := s.Add(t.Context(), d)
	must(t, err)
	_, err = s.Pause(t.Context(), home, j.ID, bob)
	must(t, err)
	_, err = s.Resume(t.Context(), home, j.ID, By{Person: Person{Channel: "discord", Sender: bob.Sender}})
	check(t, "the same id elsewhere", err, ErrNotYours)
	d.For = d.Maker
	j, err = s.Add(t.Context(), d)
	must(t, err)
	if j.For != (Person{}) {
		t.Errorf("for %+v", j.For)
	}
	if _, err = s.Pause(t.Context(), home, j.ID, By{}); !errors.Is(err, ErrNotYours) {
		t.Errorf("nobody: %v", err)
	}
}

func TestUpdateOfAPausedAndOfAnOverJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Every: time.Minute}})
		_, err := w.store.Pause(w.ctx, home, j.ID, ann)
		must(t, err)
		got, err := w.update(j, func(j *Job) { j.Schedule.Every = 2 * time.Minute })
		must(t, err)
		w.pass(5*time.Minute + time.Second)
		if !got.Paused || w.sink.count() != 0 {
			t.Errorf("paused %v, fired %q", got.Paused, w.sink.slots())
		}
		got, err = w.update(j, func(j *Job) { j.Paused = false })
		must(t, err)
		w.pass(time.Minute)
		if got.Paused {
			t.Error("still paused")
		}
		want(t, w, "11-21 10:06:00")
		must(t, w.store.Remove(w.ctx, home, j.ID, ann))

		once := w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(time.Minute)}})
		w.pass(2 * time.Minute)
		_, err = w.update(once, func(j *Job) { j.Message = "too late" })
		check(t, "the words of one that is over", err, ErrOver)
		_, err = w.update(once, func(j *Job) { j.Schedule.At = w.clock.Now().Add(time.Minute) })
		must(t, err)
		w.pass(2 * time.Minute)
		want(t, w, "11-21 10:06:00", "11-21 10:07:01", "11-21 10:09:01")
	})
}

func TestSkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		skip := func(want string) {
			t.Helper()
			got, slot, err := w.skip(w.store, j, ann)
			must(t, err)
			if !slot.Equal(at(t, want)) || !got.LastSlot.Equal(slot) {
				t.Errorf("skipped %s (%+v), want %s", slot, got.State, want)
			}
		}
		skip("2026-11-21T10:01:00Z")
		skip("2026-11-21T10:02:00Z")
		_, stop := w.start()
		w.pass(3 * time.Minute)
		want(t, w, "11-21 10:03:00")
		stop()
		w.pass(time.Minute) // 10:04 passes while nothing runs; the skip keeps it
		skip("2026-11-21T10:05:00Z")
		_, stop = w.start()
		defer stop()
		w.pass(2 * time.Minute)
		want(t, w, "11-21 10:03:00", "11-21 10:04:00", "11-21 10:06:00")

		_, _, err := w.skip(w.store, j, bob)
		check(t, "another", err, ErrNotYours)
		once := w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(time.Hour)}})
		in := (*InputError)(nil)
		if _, _, err = w.skip(w.store, once, ann); !asInput(err, &in) {
			t.Errorf("a single one: %v", err)
		}
		rule := w.add(Job{Schedule: Schedule{Rule: "DTSTART:20261121T120000\nRRULE:FREQ=DAILY;COUNT=2"}})
		if _, _, err = w.skip(w.store, rule, ann); err != nil {
			t.Errorf("the first of two: %v", err)
		}
		if _, _, err = w.skip(w.store, rule, ann); !asInput(err, &in) {
			t.Errorf("the last of two: %v", err)
		}
	})
}

// TestSkipWhileOneIsLate: what waits behind a claim is not lost.
func TestSkipWhileOneIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		w.sink.fail = func(Fired) error { return errors.New("full") }
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		w.pass(2 * time.Minute)
		_, _, err := w.skip(w.store, j, ann)
		check(t, "10:02 waits for 10:01", err, ErrRunning)
	})
}

func TestSkipUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		until := at(t, "2026-11-21T10:04:00Z")
		_, err := w.store.SkipUntil(w.ctx, home, j.ID, ann, until)
		must(t, err)
		w.pass(5 * time.Minute)
		want(t, w, "11-21 10:04:00", "11-21 10:05:00")
		before := w.get(j)
		after, err := w.store.SkipUntil(w.ctx, home, j.ID, ann, until) // nothing comes before
		must(t, err)
		if !after.LastSlot.Equal(before.LastSlot) {
			t.Errorf("the last slot is %s, before %s", after.LastSlot, before.LastSlot)
		}
		_, err = w.store.SkipUntil(w.ctx, home, j.ID, bob, until)
		check(t, "another", err, ErrNotYours)
		once := w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(time.Minute)}})
		in := (*InputError)(nil)
		if _, err = w.store.SkipUntil(w.ctx, home, once.ID, ann, w.clock.Now().Add(time.Hour)); !asInput(err, &in) {
			t.Errorf("a single one: %v", err)
		}
	})
}

// A slot that is on its way lies ahead when the clock was put back: the next one
// after it is left out, and not that one.
func TestSkipAfterClockWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		w.sink.fail = func(Fired) error { return errors.New("full") }
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		w.pass(time.Minute)
		w.clock.step(-10 * time.Minute)
		_, slot, err := w.skip(w.store, j, ann)
		must(t, err)
		if want := at(t, "2026-11-21T10:02:00Z"); !slot.Equal(want) {
			t.Errorf("skipped %s, want %s", slot, want)
		}
	})
}

func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}, Name: "x"})
		w.pass(time.Minute)
		before := w.get(j)
		must(t, w.store.Remove(w.ctx, home, j.ID, ann))
		if d := cmp.Diff(before, w.restore(before)); d != "" {
			t.Errorf("after Remove: %s", d)
		}
		must(t, w.store.Remove(w.ctx, home, j.ID, ann))
		w.pass(3*time.Minute + 10*time.Second) // 10:02 to 10:04 pass
		w.restore(before)
		w.pass(time.Second)
		want(t, w, "11-21 10:01:00", "11-21 10:04:00 late +2")

		before = w.get(j)
		_, err := w.update(j, func(j *Job) { j.Schedule.Cron = "*/5 * * * *"; j.Message = "other" })
		must(t, err)
		w.pass(time.Minute) // 10:05 comes
		got := w.restore(before)
		if got.Schedule != before.Schedule || got.Message != before.Message || len(got.Runs) != 3 {
			t.Errorf("after Update: %+v", got)
		}
		w.pass(time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:04:00 late +2", "11-21 10:05:00", "11-21 10:06:00")

		before = w.get(j)
		_, _, err = w.skip(w.store, j, ann)
		must(t, err)
		w.restore(before)
		w.pass(time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:04:00 late +2", "11-21 10:05:00", "11-21 10:06:00", "11-21 10:07:00")

		w.once()

		_, err = w.store.Restore(w.ctx, before, bob)
		check(t, "another", err, ErrNotYours)
		forged := before
		forged.Maker = bob.Person
		_, err = w.store.Restore(w.ctx, forged, bob)
		check(t, "a job that names another as its maker", err, ErrNotYours)
		forged.ID = "a.b"
		if _, err = w.store.Restore(w.ctx, forged, bob); err == nil {
			t.Error("an id that is a path is stored")
		}
	})
}

func TestRestoreKeepsTheLimit(t *testing.T) {
	s, _ := testStore(t, &StoreOptions{PerChat: 1})
	j, err := s.Add(t.Context(), draft())
	must(t, err)
	must(t, s.Remove(t.Context(), home, j.ID, ann))
	_, err = s.Add(t.Context(), draft())
	must(t, err)
	_, err = s.Restore(t.Context(), j, ann)
	check(t, "one too many", err, ErrTooMany)
}
