package cron

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"magpie/internal/kv"
)

// process is a scheduler that can be killed at any of its effects on the
// outside, before or after the effect.
type process struct {
	w      *world
	left   int // effects until it dies; < 0 = never
	dead   bool
	cancel func()
}

var errDead = errors.New("the process is dead")

// effect says whether something still happens. Bubbles run several goroutines,
// so all of it is under the lock of the sink.
func (p *process) effect() error {
	p.w.sink.mu.Lock()
	defer p.w.sink.mu.Unlock()
	if p.dead {
		return errDead
	}
	if p.left == 0 {
		p.dead = true
		go p.cancel()
		return errDead
	}
	p.left--
	return nil
}

func (p *process) fire(ctx context.Context, f Fired) error {
	if err := p.effect(); err != nil {
		return err
	}
	if err := p.w.sink.fire(ctx, f); err != nil {
		return err
	}
	return p.effect()
}

// run starts the process; it dies after so many effects.
func (w *world) run(effects int) (stop func()) {
	p := &process{w: w, left: effects}
	table := &flaky{Table: w.table, before: p.of, after: p.of}
	ctx, cancel := context.WithCancel(w.ctx)
	p.cancel = cancel
	s := NewScheduler(w.storeOn(table), p.fire, &Options{Clock: w.clock, Workers: 4})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	synctest.Wait()
	return func() {
		w.sink.mu.Lock()
		p.dead = true // a stop by SIGKILL: nothing is settled any more
		w.sink.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
}

func (p *process) of(op, _ string) error {
	if op == "watch" {
		return nil
	}
	return p.effect()
}

// event is one thing that happens in the model.
type event struct {
	Kind    string
	Process int
	Seconds int
	Effects int
}

func (e event) String() string {
	return fmt.Sprintf("%s(%d, %ds, %d)", e.Kind, e.Process, e.Seconds, e.Effects)
}

// TestEverySlotOnceWhateverHappens drives three processes over one table:
// they start, are killed between any two of their effects, the clock is put
// forward and back. In the end the deliveries, by id, stand for each slot of
// each job exactly once.
func TestEverySlotOnceWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) event {
			return event{
				Kind:    rapid.SampledFrom([]string{"start", "start", "kill", "pass", "pass", "pass", "step", "report"}).Draw(r, "kind"),
				Process: rapid.IntRange(0, 2).Draw(r, "process"),
				Seconds: rapid.IntRange(1, 150).Draw(r, "seconds"),
				Effects: rapid.IntRange(-1, 12).Draw(r, "effects"),
			}
		}), 1, 25).Draw(r, "events")
		every := rapid.SliceOfN(rapid.IntRange(10, 120), 1, 3).Draw(r, "every")
		problem := ""
		synctest.Test(t, func(t *testing.T) { problem = model(t, events, every) })
		if problem != "" {
			r.Fatal(problem)
		}
	})
}

func model(t *testing.T, events []event, every []int) string {
	w := newWorld(t, "2026-11-21T10:00:00Z")
	var jobs []Job
	for _, seconds := range every {
		jobs = append(jobs, w.add(Job{Schedule: Schedule{Every: time.Duration(seconds) * time.Second}}))
	}
	once := w.add(Job{Mode: Agent, Schedule: Schedule{At: w.clock.Now().Add(45 * time.Second)}})
	var stops [3]func()
	start := func(i, effects int) {
		if stops[i] == nil {
			stops[i] = w.run(effects)
		}
	}
	kill := func(i int) {
		if stops[i] != nil {
			stops[i]()
			stops[i] = nil
		}
	}
	latest := w.clock.Now()
	for _, e := range events {
		switch e.Kind {
		case "start":
			start(e.Process, e.Effects)
		case "kill":
			kill(e.Process)
		case "pass":
			w.pass(time.Duration(e.Seconds) * time.Second)
		case "step":
			w.clock.step(time.Duration(e.Seconds-75) * time.Second)
		case "report":
			if got := w.sink.all(); len(got) > 0 {
				f := got[e.Seconds%len(got)]
				must(t, w.store.Report(w.ctx, home, f.Job.ID, f.Slot, receiptOf(f)))
			}
		}
		synctest.Wait()
		latest = later(latest, w.clock.Now())
	}
	// At last one process lives, and the clock is past all it showed before.
	for i := range stops {
		kill(i)
	}
	start(0, -1)
	w.pass(latest.Sub(w.clock.Now()) + 10*time.Minute)
	must(t, w.store.Ended(w.ctx, home, once.ID, once.Schedule.At)) // its turn had nothing to say
	w.pass(time.Second)
	kill(0)
	return verdict(w, jobs, once)
}

func verdict(w *world, jobs []Job, once Job) string {
	for _, j := range jobs {
		got := w.get(j)
		if behind := w.clock.Now().Sub(got.LastSlot); behind >= j.Schedule.Every {
			return fmt.Sprintf("every %s: the last slot is %s old", j.Schedule.Every, behind)
		}
		sum := 0
		for _, f := range w.sink.all() {
			if f.Job.ID == j.ID {
				sum += 1 + f.Missed
			}
		}
		if want := int(got.LastSlot.Sub(j.Anchor) / j.Schedule.Every); sum != want {
			return fmt.Sprintf("every %s: deliveries stand for %d slots, want %d", j.Schedule.Every, sum, want)
		}
	}
	count := 0
	for _, f := range w.sink.all() {
		if f.Job.ID == once.ID {
			count++
		}
	}
	if _, err := w.table.Get(w.ctx, key(home, once.ID)); count != 1 || !errors.Is(err, kv.ErrNotFound) {
		return fmt.Sprintf("the one-shot came %d times and then %v", count, err)
	}
	if w.sink.problem != nil {
		return w.sink.problem.Error()
	}
	return ""
}
