package cron

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func want(t *testing.T, w *world, slots ...string) {
	t.Helper()
	if d := cmp.Diff(slots, w.sink.slots()); d != "" {
		t.Errorf("delivered:\n%s", d)
	}
}

func TestEveryFiresOnItsSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Every: 90 * time.Second}})
		w.pass(89 * time.Second)
		want(t, w)
		w.pass(time.Second)
		want(t, w, "11-21 10:01:30")
		w.pass(3 * time.Minute)
		want(t, w, "11-21 10:01:30", "11-21 10:03:00", "11-21 10:04:30")
		f := w.sink.all()[0]
		if f.ID != "cron:"+j.ID+":2026-11-21T10:01:30Z" || f.Job.Message != "喝水" || f.Job.Addr != home || f.Attempt != 1 {
			t.Errorf("fired %+v", f)
		}
		runs := w.get(j).Runs
		if len(runs) != 3 || runs[2].Result != Sent || !runs[2].Slot.Equal(at(t, "2026-11-21T10:04:30Z")) {
			t.Errorf("history %+v", runs)
		}
	})
}

// TestTwoProcesses: both see every change at once, and together they fire each
// slot once.
func TestTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		_, stopA := w.start()
		_, stopB := w.start()
		defer stopB()
		w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		w.pass(2 * time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:02:00")
		stopA()
		w.pass(time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:02:00", "11-21 10:03:00")
		if w.sink.count() != 3 {
			t.Errorf("fired %d times for 3 slots: the claim does not hold", w.sink.count())
		}
	})
}

func TestOneShot(t *testing.T) {
	silent := &chat.Receipt{}
	shown := &chat.Receipt{ID: "x", Refs: []chat.MessageRef{{ID: "9"}}}
	failed := &chat.Receipt{ID: "x", Err: "the quota is spent"}
	for _, c := range []struct {
		mode    Mode
		receipt *chat.Receipt
		gone    bool
		result  Result
	}{
		{Agent, nil, false, Sent},
		{Agent, silent, true, ""},
		{Agent, shown, true, ""},
		{Agent, failed, false, Failed},
		{Notify, nil, false, Sent},
		{Notify, shown, true, ""},
		{Notify, failed, false, Failed},
	} {
		t.Run(fmt.Sprintf("%s %+v", c.mode, c.receipt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "2026-11-21T10:00:00Z")
				_, stop := w.start()
				defer stop()
				j := w.add(Job{Mode: c.mode, Schedule: Schedule{At: w.clock.Now().Add(20*time.Minute + 1)}})
				w.pass(20*time.Minute + time.Second)
				want(t, w, "11-21 10:20:01")
				switch slot := w.sink.all()[0].Slot; c.receipt {
				case nil:
				case silent:
					must(t, w.store.Ended(w.ctx, home, j.ID, slot))
				default:
					must(t, w.store.Report(w.ctx, home, j.ID, slot, *c.receipt))
				}
				synctest.Wait()
				got, err := w.store.Get(w.ctx, home, j.ID)
				if c.gone {
					if !errors.Is(err, ErrNotFound) {
						t.Errorf("got %v, want it removed after success", err)
					}
					return
				}
				must(t, err)
				if !got.Over() || got.UnderWay() != (c.receipt == nil) || len(got.Runs) != 1 || got.Runs[0].Result != c.result {
					t.Errorf("runs %+v, want one %s", got.Runs, c.result)
				}
				w.pass(keepOver + time.Minute)
				if _, err := w.store.Get(w.ctx, home, j.ID); !errors.Is(err, ErrNotFound) {
					t.Errorf("after a week: %v", err)
				}
				want(t, w, "11-21 10:20:01")
			})
		})
	}
}

func TestMisfire(t *testing.T) {
	within := Misfire{Policy: RunIfWithin, Within: 10 * time.Minute}
	for _, c := range []struct {
		name    string
		policy  Misfire
		down    time.Duration // from 10:00 on; slots at :05 and :35
		want    []string
		skipped int
	}{
		{"nothing missed", Misfire{}, 4 * time.Minute, nil, 0},
		{"run_once", Misfire{}, 20 * time.Minute, []string{"11-21 10:05:00 late"}, 0},
		{"run_once, several are one", Misfire{}, 3 * time.Hour, []string{"11-21 12:35:00 late +5"}, 0},
		{"run_once, the last just now", Misfire{}, 35*time.Minute + time.Second, []string{"11-21 10:35:00 late +1"}, 0},
		{"skip", Misfire{Policy: Skip}, 3 * time.Hour, nil, 1},
		{"skip, down over the slot for seconds", Misfire{Policy: Skip}, 5*time.Minute + 3*time.Second, nil, 1},
		{"skip, back on the second", Misfire{Policy: Skip}, 35 * time.Minute, []string{"11-21 10:35:00"}, 0},
		{"run_if_within: within", within, 15 * time.Minute, []string{"11-21 10:05:00 late"}, 0},
		{"run_if_within: a second more", within, 15*time.Minute + time.Second, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "2026-11-21T10:00:00Z")
				j := w.add(Job{Schedule: Schedule{Cron: "5,35 * * * *"}, Misfire: c.policy})
				w.pass(c.down)
				_, stop := w.start()
				defer stop()
				w.pass(time.Second)
				want(t, w, c.want...)
				skipped := 0
				for _, r := range w.get(j).Runs {
					if r.Result == Skipped {
						skipped++
					}
				}
				if skipped != c.skipped {
					t.Errorf("%d lines of skipped slots, want %d", skipped, c.skipped)
				}
				w.pass(time.Hour) // and it goes on as ever, two an hour
				if got := len(w.sink.slots()); got != len(c.want)+2 {
					t.Errorf("%d deliveries after another hour, want %d", got, len(c.want)+2)
				}
			})
		})
	}
}

// TestBusyProcessSkipsNothing: a slot that waits for its turn was not missed.
func TestBusyProcessSkipsNothing(t *testing.T) {
	j := Job{Misfire: Misfire{Policy: Skip}, State: State{LastSlot: at(t, "2026-11-21T10:00:00Z")}}
	p := planOf(t, Schedule{Cron: "* * * * *"}, "2026-11-21T00:00:00Z")
	now := at(t, "2026-11-21T10:01:40Z")
	if _, step := decide(j, p, now, now.Add(-time.Hour)); step != claim {
		t.Errorf("step %d for a process that ran all the time, want claim", step)
	}
	if _, step := decide(j, p, now, now.Add(-time.Second)); step != skip {
		t.Errorf("step %d for one that has just started, want skip", step)
	}
	j.Paused = true // between the timer and now
	if _, step := decide(j, p, now, now.Add(-time.Hour)); step != idle {
		t.Errorf("a paused job: step %d, want none", step)
	}
}

func TestClockSteps(t *testing.T) {
	for _, c := range []struct {
		name string
		cron string
		from string
		step time.Duration
		pass time.Duration
		want []string
	}{
		{"forward over a slot", "0 11 * * *", "2026-11-21T10:00:00Z", 90 * time.Minute, 10 * time.Second, []string{"11-21 11:00:00 late"}},
		{"forward to just before a slot", "0 11 * * *", "2026-11-21T10:00:00Z", time.Hour - 15*time.Second, 15 * time.Second, []string{"11-21 11:00:00"}},
		{"forward a little", "0 11 * * *", "2026-11-21T10:59:00Z", time.Second, 60 * time.Second, []string{"11-21 11:00:00"}},
		{"back: not before the clock shows it", "0 11 * * *", "2026-11-21T10:59:00Z", -time.Hour, 61 * time.Minute, []string{"11-21 11:00:00"}},
		{"back a little", "0 11 * * *", "2026-11-21T10:59:00Z", -time.Second, 61 * time.Second, []string{"11-21 11:00:00"}},
		{"back over slots that came", "0 10,11,12 * * *", "2026-11-21T11:30:00Z", -2 * time.Hour, 3 * time.Hour, []string{"11-21 12:00:00"}},
		{"over the skipped hour", "30 2 * * *", "2026-03-08T06:55:00Z", 0, 10 * time.Minute, []string{"03-08 07:00:00"}},
		{"over the doubled hour", "30 1 * * *", "2026-11-01T05:00:00Z", 0, 3 * time.Hour, []string{"11-01 05:30:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.from)
				_, stop := w.start()
				defer stop()
				zone := ""
				if c.step == 0 {
					zone = "America/New_York"
				}
				j := w.add(Job{Schedule: Schedule{Cron: c.cron, Zone: zone}})
				w.clock.step(c.step)
				w.pass(c.pass - 2*time.Second)
				early := len(w.sink.slots())
				w.pass(2 * time.Second)
				want(t, w, c.want...)
				if c.step < 0 && c.pass < 2*time.Hour && early > 0 {
					t.Errorf("came before the clock showed it")
				}
				if got := w.get(j); got.Pending != nil {
					t.Errorf("a claim is left: %+v", got.Pending)
				}
			})
		})
	}
}

func TestPauseResumeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:30Z")
		_, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Cron: "* * * * *"}})
		_, err := w.store.Pause(w.ctx, home, j.ID, ann)
		must(t, err)
		w.pass(3 * time.Minute)
		want(t, w)
		_, err = w.store.RunNow(w.ctx, home, j.ID, ann)
		must(t, err)
		if _, err = w.store.RunNow(w.ctx, home, j.ID, ann); !errors.Is(err, ErrRunning) {
			t.Errorf("twice at once: %v", err)
		}
		synctest.Wait()
		want(t, w, "11-21 10:03:30 manual")
		_, err = w.store.Resume(w.ctx, home, j.ID, ann)
		must(t, err)
		w.pass(time.Minute)
		want(t, w, "11-21 10:03:30 manual", "11-21 10:04:00")
		must(t, w.store.Remove(w.ctx, home, j.ID, ann))
		w.pass(10 * time.Minute)
		want(t, w, "11-21 10:03:30 manual", "11-21 10:04:00")
	})
}
