package cron

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// errSame ends a change that finds nothing to change.
var errSame = errors.New("nothing to change")

// change edits a job as it stands in the table, again from the start when
// somebody else was faster, and returns what was stored.
func (s *Store) change(ctx context.Context, at string, edit func(*Job) error) (Job, error) {
	var after Job
	err := kv.Modify(ctx, s.table, at, 0, func(old []byte) ([]byte, error) {
		if old == nil {
			_, id, _ := strings.Cut(at, ".")
			return nil, notFound(id)
		}
		j, _, err := decode(at, old, zoneOf)
		if err != nil {
			return nil, err
		}
		if err := edit(&j); err != nil {
			return nil, err
		}
		after = j
		return encode(j)
	})
	switch {
	case err == nil:
		return after, nil
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrCorrupt), errors.Is(err, errSame), errors.Is(err, ErrNotYours),
		errors.Is(err, ErrOver), errors.Is(err, ErrRunning), errors.Is(err, ErrTooMany):
		return Job{}, err
	}
	if input, ok := errors.AsType[*InputError](err); ok {
		return Job{}, input
	}
	return Job{}, fmt.Errorf("change job: %w", err)
}

// Pause stops a job until Resume. A slot that is being fired still comes.
func (s *Store) Pause(ctx context.Context, a chat.Address, id string, by By) (Job, error) {
	return s.change(ctx, key(a, id), func(j *Job) error {
		if !by.may(*j) {
			return ErrNotYours
		}
		if j.Over() {
			return ErrOver
		}
		j.Paused = true
		return nil
	})
}

// Resume lets a paused job go on with the next slot from now; those that
// passed meanwhile are not made up for. One that has none is refused with
// ErrOver and stays paused.
func (s *Store) Resume(ctx context.Context, a chat.Address, id string, by By) (Job, error) {
	return s.change(ctx, key(a, id), func(j *Job) error {
		switch {
		case !by.may(*j):
			return ErrNotYours
		case j.Over():
			return ErrOver
		case j.Paused:
			return j.resume(s.now())
		case j.LastSlot.After(s.now()): // what was left out comes
			j.LastSlot = s.now()
		}
		return nil
	})
}

// resume lets a paused job go on from now.
func (j *Job) resume(now time.Time) error {
	p, err := j.Schedule.plan(j.Anchor, zoneOf)
	if err != nil {
		return err
	}
	if j.nagSlot().IsZero() && p.next(later(j.LastSlot, now)).IsZero() {
		return ErrOver
	}
	j.Paused = false
	j.LastSlot = later(j.LastSlot, now)
	if j.Nagging != nil {
		j.nagFrom(now)
	}
	return nil
}

// RunNow asks for one delivery besides the schedule, of a paused job too. It
// returns when that is stored; a Scheduler of any process fires it. ErrRunning
// when a slot is being fired.
func (s *Store) RunNow(ctx context.Context, a chat.Address, id string, by By) (Job, error) {
	return s.change(ctx, key(a, id), func(j *Job) error {
		if !by.may(*j) {
			return ErrNotYours
		}
		if j.Pending != nil {
			return ErrRunning
		}
		// A slot of the schedule is a whole second; this one never is, so that
		// the two are never taken for the same delivery.
		slot := s.now().Truncate(time.Millisecond)
		if slot.Nanosecond() == 0 {
			slot = slot.Add(time.Millisecond)
		}
		j.Pending = &Pending{Slot: slot, Manual: true}
		return nil
	})
}

// Remove forgets a job. An admin may remove a damaged entry.
func (s *Store) Remove(ctx context.Context, a chat.Address, id string, by By) error {
	j, err := s.Get(ctx, a, id)
	switch {
	case errors.Is(err, ErrCorrupt) && by.Admin:
	case err != nil:
		return err
	case !by.may(j):
		return ErrNotYours
	}
	if err := s.table.Delete(ctx, key(a, id)); err != nil {
		return fmt.Errorf("remove job %q: %w", id, err)
	}
	return nil
}

// Report stores what became of the delivery of a slot: the receipt that came
// for SlotID(id, slot). A job that is gone, a slot that is forgotten and a
// report that came before are no errors. A one-shot that was delivered, or
// whose task is done, is removed by the Schedulers.
func (s *Store) Report(ctx context.Context, a chat.Address, id string, slot time.Time, receipt chat.Receipt) error {
	receipt.Refs = receipt.Refs[:min(len(receipt.Refs), maxRefs)]
	receipt.Err = cut(receipt.Err, maxErr)
	return s.outcome(ctx, key(a, id), slot, func(r *Run) {
		r.Result, r.Err, r.Receipt = Delivered, receipt.Err, &receipt
		if receipt.Err != "" {
			r.Result = Failed
		}
	})
}

// Ended is Report for a task whose turn ended without an answer.
func (s *Store) Ended(ctx context.Context, a chat.Address, id string, slot time.Time) error {
	return s.outcome(ctx, key(a, id), slot, func(r *Run) { r.Result, r.Err = Done, "" })
}

// outcome has the line of a slot that is neither delivered nor done changed.
func (s *Store) outcome(ctx context.Context, at string, slot time.Time, note func(*Run)) error {
	_, err := s.change(ctx, at, func(j *Job) error {
		if j.Pending != nil && j.Pending.Slot.Equal(slot) {
			// Faster than the process that fired it could say so.
			j.settle(s.now(), Sent, "")
		}
		for i := len(j.Runs) - 1; i >= 0; i-- {
			r := &j.Runs[i]
			if !r.Slot.Equal(slot) || r.Result == Skipped {
				continue
			}
			if r.Result == Delivered || r.Result == Done {
				return errSame
			}
			note(r)
			return nil
		}
		return errSame
	})
	if errors.Is(err, errSame) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
