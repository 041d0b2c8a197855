package cron

import (
	"cmp"
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
// forward and back. Meanwhile jobs are changed, slots skipped and changes taken
// back. In the end the deliveries, by id, stand for each slot of each job
// exactly once.
func TestEverySlotOnceWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) event {
			return event{
				Kind:    rapid.SampledFrom([]string{"start", "start", "kill", "pass", "pass", "pass", "step", "report", "skip", "update", "say", "restore", "finish"}).Draw(r, "kind"),
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
	var jobs []*ledger
	for i, seconds := range append(every, 35) {
		jobs = append(jobs, newLedger(w, everySo(w, i+len(every)+1, seconds))) // the last one is a rule
	}
	few := w.add(Job{Mode: Agent, Schedule: Schedule{Rule: "DTSTART:" + w.clock.Now().UTC().Add(20*time.Second).Format("20060102T150405") + "\nRRULE:FREQ=SECONDLY;INTERVAL=20;COUNT=4"}})
	nag := w.add(Job{Schedule: Schedule{At: w.clock.Now().Add(30 * time.Second)}, Nag: time.Minute})
	finished := false
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
		case "finish":
			finished = finished || finish(w, nag)
		default:
			jobs[e.Process%len(jobs)].change(e)
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
	ended(w, once)
	ended(w, few)
	w.pass(reconcileEvery)
	kill(0)
	return cmp.Or(nagVerdict(w, nag, finished), verdict(w, jobs, map[string]int{once.ID: 1, few.ID: 4}))
}

// ended says of the last turn of a job that it had nothing to say.
func ended(w *world, j Job) {
	if got, err := w.store.Get(w.ctx, home, j.ID); err == nil && len(got.Runs) > 0 {
		must(w.t, w.store.Ended(w.ctx, home, j.ID, got.Runs[len(got.Runs)-1].Slot))
	}
}

// everySo is an interval, as such or as a rule.
func everySo(w *world, kind, seconds int) Schedule {
	if kind%2 == 0 {
		return Schedule{Every: time.Duration(seconds) * time.Second}
	}
	return Schedule{Rule: fmt.Sprintf("DTSTART:%s\nRRULE:FREQ=SECONDLY;INTERVAL=%d", w.clock.Now().UTC().Format("20060102T150405"), seconds)}
}

// ledger knows which slots of a job have to come: those of each schedule that
// it had, from some slot on.
type ledger struct {
	w    *world
	job  Job // as it was stored when its schedule began to count
	from time.Time
	want int   // slots of earlier schedules, less what was skipped
	old  []Job // before each change
}

func newLedger(w *world, s Schedule) *ledger {
	j := w.add(Job{Schedule: s})
	return &ledger{w: w, job: j, from: j.LastSlot}
}

// count is how many slots a schedule has in (from, to].
func count(t *testing.T, j Job, from, to time.Time) int {
	p, err := j.Schedule.plan(j.Anchor, zoneOf)
	must(t, err)
	n := 0
	for next := p.next(from); !next.After(to); next = p.next(next) {
		n++
	}
	return n
}

// begin closes the account of the schedule that the job had and opens one for
// what it has now.
func (l *ledger) begin(before, after Job) {
	to := before.LastSlot
	if before.Pending != nil {
		to = later(to, before.Pending.Slot)
	}
	l.want += count(l.w.t, l.job, l.from, to)
	l.job, l.from = after, after.LastSlot
}

func (l *ledger) change(e event) {
	switch e.Kind {
	case "skip":
		l.skip()
	case "update":
		l.update(everySo(l.w, e.Seconds, 10+e.Seconds))
	case "say":
		l.say()
	case "restore":
		l.restore()
	}
}

// finish says that what nags is done, if it does.
func finish(w *world, nag Job) bool {
	got, err := w.store.Get(w.ctx, home, nag.ID)
	if err != nil || got.Nagging == nil {
		return false
	}
	_, err = w.store.Finish(w.ctx, home, nag.ID, ann)
	must(w.t, err)
	return true
}

func (l *ledger) skip() {
	_, slot, err := l.w.skip(l.w.store, l.job, ann)
	if errors.Is(err, ErrRunning) {
		return
	}
	must(l.w.t, err)
	if !slot.After(l.from) {
		l.w.t.Errorf("skipped %s, which was dealt with", slot)
	}
	l.want--
}

func (l *ledger) update(s Schedule) {
	before := l.w.get(l.job)
	after, err := l.w.update(l.job, func(j *Job) { j.Schedule = s })
	must(l.w.t, err)
	l.old = append(l.old, before)
	l.begin(before, after)
}

// say changes the words only: the account goes on.
func (l *ledger) say() {
	l.old = append(l.old, l.w.get(l.job))
	_, err := l.w.update(l.job, func(j *Job) { j.Message += "!" })
	must(l.w.t, err)
}

func (l *ledger) restore() {
	if len(l.old) == 0 {
		return
	}
	last := len(l.old) - 1
	l.begin(l.w.get(l.job), l.w.restore(l.old[last]))
	l.old = l.old[:last]
}

// nagVerdict: each repeat counts once, until it was done or there were enough.
func nagVerdict(w *world, j Job, finished bool) string {
	sum, rang := 0, 0
	for _, f := range w.sink.all() {
		switch {
		case f.Job.ID == j.ID && f.Nag == 0:
			rang++
		case f.Job.ID == j.ID:
			sum += 1 + f.Missed
		}
	}
	got, err := w.store.Get(w.ctx, home, j.ID)
	if err != nil && !errors.Is(err, ErrNotFound) { // it goes when it ended and was delivered
		return err.Error()
	}
	want := MaxNags
	if got.Nagging != nil {
		want = got.Nagging.Count
		if behind := w.clock.Now().Sub(got.nagAt(want)); behind >= j.Nag {
			return fmt.Sprintf("the last repeat is %s old", behind)
		}
	}
	if rang != 1 || !finished && sum != want || finished && (got.Nagging != nil || sum > MaxNags) {
		return fmt.Sprintf("it rang %d times and came again %d times, want %d; done: %v", rang, sum, want, finished)
	}
	return ""
}

func verdict(w *world, jobs []*ledger, ended map[string]int) string {
	sums := map[string]int{}
	for _, f := range w.sink.all() {
		sums[f.Job.ID] += 1 + f.Missed
	}
	for _, l := range jobs {
		got := w.get(l.job)
		p, err := got.Schedule.plan(got.Anchor, zoneOf)
		must(w.t, err)
		if next := p.next(got.LastSlot); !next.After(w.clock.Now()) {
			return fmt.Sprintf("%v: the slot of %s did not come", got.Schedule, next)
		}
		if want := l.want + count(w.t, l.job, l.from, got.LastSlot); sums[l.job.ID] != want {
			return fmt.Sprintf("%v: deliveries stand for %d slots, want %d", got.Schedule, sums[l.job.ID], want)
		}
	}
	for id, want := range ended {
		if _, err := w.table.Get(w.ctx, key(home, id)); sums[id] != want || !errors.Is(err, kv.ErrNotFound) {
			return fmt.Sprintf("what ends came %d times and then %v", sums[id], err)
		}
	}
	if w.sink.problem != nil {
		return w.sink.problem.Error()
	}
	return ""
}
