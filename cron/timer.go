package cron

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
)

// timers has one gocron job for every job that is due some time. A timer only
// says "look at this job": which slots are due is decided from the job's entry,
// because gocron knows neither what was dealt with before it started nor other
// processes, and gives up slots that passed.
type timers struct {
	cron  gocron.Scheduler
	clock clockwork.Clock
	look  func(key string) // returns at once: gocron's shutdown spins until it does

	mu  sync.Mutex
	ids map[string]uuid.UUID
}

func newTimers(clock clockwork.Clock, look func(key string)) (*timers, error) {
	c, err := gocron.NewScheduler(gocron.WithClock(clock), gocron.WithLocation(time.UTC))
	if err != nil {
		return nil, fmt.Errorf("start gocron: %w", err)
	}
	c.Start()
	return &timers{cron: c, clock: clock, look: look, ids: map[string]uuid.UUID{}}, nil
}

// stop ends gocron and its goroutines.
func (t *timers) stop() error {
	if err := t.cron.Shutdown(); err != nil {
		return fmt.Errorf("stop gocron: %w", err)
	}
	return nil
}

// set starts the timer of a job anew from what the clock says now.
func (t *timers) set(key string, p page) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	beat := &beat{plan: p.plan, nag: p.job.nagSlot(), now: func() time.Time { return wallTime(t.clock) }}
	define := gocron.CronJob("", false) // beat takes the place of the expression
	task := gocron.NewTask(t.look, key)
	var job gocron.Job
	var err error
	if id, ok := t.ids[key]; ok {
		job, err = t.cron.Update(id, define, task, gocron.WithCronImplementation(beat))
	} else {
		job, err = t.cron.NewJob(define, task, gocron.WithCronImplementation(beat))
	}
	if err != nil {
		return fmt.Errorf("set the timer of job %q: %w", key, err)
	}
	if job != nil { // nil when gocron was stopped meanwhile
		t.ids[key] = job.ID()
	}
	return nil
}

// drop stops the timer of a job.
func (t *timers) drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.ids[key]; ok {
		delete(t.ids, key)
		_ = t.cron.RemoveJob(id) // it can only be unknown
	}
}

// wallTime is what the clock shows. A monotonic part would hide steps.
func wallTime(c clockwork.Clock) time.Time { return c.Now().UTC().Round(0) }

// beat gives gocron the slots of a plan and the next repeat. It is never asked for one that
// passed, and always has an answer: gocron walks from slot to slot until one
// lies ahead, without end where there is none.
type beat struct {
	plan plan
	nag  time.Time // one more slot
	now  func() time.Time
}

var _ gocron.Cron = (*beat)(nil)

// never is far enough.
const never = 50 * 365 * 24 * time.Hour

// IsValid implements gocron.Cron.
func (b *beat) IsValid(string, *time.Location, time.Time) error { return nil }

// Next implements gocron.Cron.
func (b *beat) Next(last time.Time) time.Time {
	last = later(last, b.now())
	next := b.plan.next(last)
	switch {
	case b.nag.After(last) && (next.IsZero() || b.nag.Before(next)):
		return b.nag
	case next.IsZero():
		return last.Add(never)
	}
	return next
}
