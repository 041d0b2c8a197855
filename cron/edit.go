package cron

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// Update changes Name, Message, Schedule, For, Nag, Mode and Sources of a job as edit
// says, checked and filled in like those of a new one, and returns the job as it
// was stored. A new schedule counts from now: what was due before and not on its
// way yet does not come. A paused job stays paused unless edit sets Paused to
// false. edit may be called several times; whatever else it changes is dropped.
// An error of edit and a change that cannot be (*InputError, ErrOver,
// ErrNotYours, ErrNotFound) leave the job as it was.
func (s *Store) Update(ctx context.Context, a chat.Address, id string, by By, edit func(*Job) error) (Job, error) {
	return s.change(ctx, key(a, id), func(j *Job) error {
		if !by.may(*j) {
			return ErrNotYours
		}
		wanted := *j
		if err := edit(&wanted); err != nil {
			return err
		}
		now, before := s.now(), *j
		j.Name, j.Message, j.Schedule = wanted.Name, wanted.Message, wanted.Schedule
		j.For, j.Nag, j.Mode, j.Sources = wanted.For, wanted.Nag, wanted.Mode, wanted.Sources
		var err error
		if *j, err = s.tidy(*j); err != nil {
			return err
		}
		if !j.Schedule.same(before.Schedule) {
			if err := j.Schedule.Check(now); err != nil {
				return err
			}
			j.Anchor, j.LastSlot = now.Truncate(time.Second), now
			if j.Schedule.At.IsZero() {
				// The clock may have been put back: no slot comes twice.
				j.LastSlot = later(now, j.lastRun())
			}
			j.hush()
		}
		switch {
		case j.Over():
			return ErrOver
		case before.Over(): // it counts again
			if err := s.room(ctx, j.Addr, s.opt.PerChat-1); err != nil {
				return err
			}
		}
		if j.Nagging != nil && j.Nag != before.Nag {
			last := before.nagAt(before.Nagging.Count)
			j.Nagging = nil
			j.nagFrom(later(now, last))
		}
		if before.Paused && !wanted.Paused {
			return j.resume(now)
		}
		return nil
	})
}

func (s Schedule) same(o Schedule) bool {
	return s.Every == o.Every && s.Cron == o.Cron && s.At.Equal(o.At) && s.Rule == o.Rule && canonical(s.Zone) == canonical(o.Zone)
}

// hush ends the repeats of what was delivered or is on its way.
func (j *Job) hush() {
	j.Nagging = nil
	if j.Pending != nil && !j.Pending.Manual {
		quiet := *j.Pending
		quiet.Quiet = true
		j.Pending = &quiet
	}
}

// Finish says that what was delivered is done: it does not come again until the
// next slot. It is no error when it would not have.
func (s *Store) Finish(ctx context.Context, a chat.Address, id string, by By) (Job, error) {
	return s.change(ctx, key(a, id), func(j *Job) error {
		if !by.may(*j) {
			return ErrNotYours
		}
		j.hush()
		return nil
	})
}

// Skip leaves out the next slot of a job and returns it. What is due already
// still comes. An *InputError when no slot would be left: then it is Remove that
// is wanted. ErrOver when there is none, ErrRunning when one that is late has to
// come first.
func (s *Store) Skip(ctx context.Context, a chat.Address, id string, by By) (Job, time.Time, error) {
	var left time.Time
	j, err := s.leaveOut(ctx, key(a, id), by, func(slot time.Time) time.Time {
		left = slot
		return slot
	})
	if err != nil {
		return Job{}, time.Time{}, err
	}
	return j, left, nil
}

// SkipUntil leaves out all slots of a job before a time, with the errors of Skip.
func (s *Store) SkipUntil(ctx context.Context, a chat.Address, id string, by By, until time.Time) (Job, error) {
	return s.leaveOut(ctx, key(a, id), by, func(slot time.Time) time.Time {
		if !slot.Before(until) {
			return time.Time{}
		}
		return until.Truncate(time.Second).Add(-time.Second)
	})
}

// leaveOut leaves out the slots up to what last makes of the next one; none for
// the zero time.
func (s *Store) leaveOut(ctx context.Context, key string, by By, last func(slot time.Time) time.Time) (Job, error) {
	return s.change(ctx, key, func(j *Job) error {
		if !by.may(*j) {
			return ErrNotYours
		}
		p, err := j.Schedule.plan(j.Anchor, zoneOf)
		if err != nil {
			return err
		}
		now := s.now()
		if err := j.claimDue(p, now); err != nil {
			return err
		}
		slot := p.next(later(j.dealt(), now))
		if slot.IsZero() {
			return ErrOver
		}
		end := last(slot)
		switch {
		case end.IsZero():
		case p.next(end).IsZero():
			return wrong("schedule", "it does not come again after that; remove it instead")
		default:
			j.LastSlot = end
		}
		return nil
	})
}

// dealt is the last slot that was dealt with, or is about to be: after the clock
// was put back it may lie ahead.
func (j *Job) dealt() time.Time {
	if j.Pending == nil || j.Pending.Manual || j.Pending.Nag > 0 {
		return j.LastSlot
	}
	return later(j.LastSlot, j.Pending.Slot)
}

// claimDue claims what is due, for any process to take: the slots up to now
// are about to be forgotten.
func (j *Job) claimDue(p plan, now time.Time) error {
	if j.Paused {
		return nil
	}
	if j.Pending != nil {
		if next := p.next(j.dealt()); !next.IsZero() && !next.After(now) {
			return ErrRunning
		}
		return nil
	}
	due, step := decide(*j, p, now, time.Time{})
	if step == claim {
		due.Pending.Claimed, due.Pending.Attempts = time.Time{}, 0
	}
	*j = due
	return nil
}

// Restore puts a job back as it was: after Remove with its state, after any
// other change with what it says and the place in its schedule. What was
// delivered since stays delivered; slots that passed meanwhile are dealt with as
// the misfire policy says.
func (s *Store) Restore(ctx context.Context, j Job, by By) (Job, error) {
	if !by.may(j) {
		return Job{}, ErrNotYours
	}
	at := key(j.Addr, j.ID)
	if _, err := j.usable(at, zoneOf); err != nil {
		return Job{}, fmt.Errorf("restore job %q: %w", cut(j.ID, 40), err)
	}
	for {
		got, err := s.change(ctx, at, func(now *Job) error {
			if !by.may(*now) {
				return ErrNotYours
			}
			*now = j.since(*now)
			return nil
		})
		if !errors.Is(err, ErrNotFound) {
			return got, err
		}
		if got, err = s.put(ctx, j); !errors.Is(err, kv.ErrConflict) {
			return got, err
		}
	}
}

// since is a job as it was, with what came of it afterwards.
func (j Job) since(now Job) Job {
	quiet := j.Pending != nil && j.Pending.Quiet
	same := j.Pending != nil && now.Pending != nil && j.Pending.Slot.Equal(now.Pending.Slot)
	j.Pending, j.Runs = now.Pending, now.Runs
	if same {
		p := *now.Pending
		p.Quiet = quiet
		j.Pending = &p
	}
	before := j.LastSlot
	j.LastSlot = later(before, now.lastRun())
	j.Nagging = j.naggingSince(now, j.LastSlot.After(before))
	return j
}

// lastRun is the last slot of the schedule that was dealt with or is on its
// way; what was skipped by hand does not count.
func (j Job) lastRun() (last time.Time) {
	for _, r := range j.Runs {
		if !r.Manual && r.Nag == 0 {
			last = later(last, r.Slot)
		}
	}
	if p := j.Pending; p != nil && !p.Manual && p.Nag == 0 {
		last = later(last, p.Slot)
	}
	return last
}

// naggingSince is Nagging of a job as it was; rang says whether a slot came
// since.
func (j Job) naggingSince(now Job, rang bool) *Nagging {
	switch {
	case j.Nag == 0 || !rang && j.Nagging == nil:
		return nil
	case now.Nagging != nil && j.Nag == now.Nag:
		return now.Nagging
	case now.Nagging != nil:
		return &Nagging{Since: now.nagAt(now.Nagging.Count)}
	case rang:
		return nil
	}
	n := *j.Nagging
	for _, r := range now.Runs {
		if r.Nag > n.Count && j.nagAt(r.Nag).Equal(r.Slot) {
			n.Count = r.Nag
		}
	}
	return &n
}
