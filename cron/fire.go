package cron

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/internal/kv"
)

// The bounds of one step. The fire ends before others take it over.
const (
	fireTimeout  = 8 * time.Second
	tableTimeout = 5 * time.Second
)

func (s *Scheduler) work(ctx context.Context) {
	for {
		key, ok := s.queue.pop(ctx)
		if !ok {
			return
		}
		if err := s.handle(ctx, key); err != nil && ctx.Err() == nil {
			// The entry says what is left to do; reconcile comes back to it.
			s.log.Warn("job is tried again", "job", key, "err", err)
		}
	}
}

// handle does what is due for one job: claim, fire, settle.
func (s *Scheduler) handle(ctx context.Context, key string) error {
	p, ok := s.book.page(key)
	if !ok {
		return nil
	}
	now := s.now()
	if p.finished(now) {
		return s.remove(ctx, key)
	}
	next, step := decide(p.job, p.plan, now, s.since)
	if step == idle {
		// The timer came before the clock showed the time, or another process
		// was faster.
		if p.due.After(now) {
			s.retime(key)
		}
		return nil
	}
	switch ok, err := s.put(ctx, key, p.rev, next); {
	case err != nil:
		return err
	case !ok || step == skip:
		return nil
	}
	return s.deliver(ctx, key, next)
}

// put stores the entry if nobody changed it; ok says so. In any case the book
// has what stands in the table afterwards.
func (s *Scheduler) put(ctx context.Context, key string, rev uint64, j Job) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	value, err := encode(j)
	if err != nil {
		return false, err
	}
	stored, err := s.store.table.Update(ctx, key, value, rev, 0)
	if err == nil {
		s.enter(kv.Entry{Key: key, Value: value, Revision: stored}, false)
		return true, nil
	}
	if !errors.Is(err, kv.ErrConflict) {
		return false, fmt.Errorf("claim: %w", err)
	}
	e, err := s.store.table.Get(ctx, key)
	if errors.Is(err, kv.ErrNotFound) {
		e = kv.Entry{Key: key, Revision: rev + 1, Deleted: true}
	} else if err != nil {
		return false, fmt.Errorf("read what another process stored: %w", err)
	}
	s.enter(e, false)
	return false, nil
}

func (s *Scheduler) deliver(ctx context.Context, key string, j Job) error {
	p := *j.Pending
	err := s.call(ctx, Fired{
		ID: SlotID(j.ID, p.Slot), Job: j, Slot: p.Slot, Late: p.Late, Missed: p.Missed, Manual: p.Manual, Nag: p.Nag, Attempt: p.Attempts,
	})
	if err != nil && ctx.Err() != nil {
		return nil // stopped in the middle: the claim stays for the next start
	}
	// What was fired is settled even when the end comes now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
	defer cancel()
	_, settled := s.store.change(ctx, key, func(j *Job) error {
		switch {
		case j.Pending == nil || !j.Pending.Slot.Equal(p.Slot):
			return errSame // another process or a receipt was faster
		case err == nil:
			j.settle(s.now(), Sent, "")
		case errors.Is(err, ErrRefused):
			j.settle(s.now(), Failed, err.Error())
		default:
			j.Pending.Err, j.Pending.Claimed = cut(err.Error(), maxErr), s.now()
		}
		return nil
	})
	if errors.Is(settled, errSame) || errors.Is(settled, ErrNotFound) {
		settled = nil
	}
	return errors.Join(err, settled)
}

func (s *Scheduler) call(ctx context.Context, f Fired) error {
	ctx, cancel := context.WithTimeout(ctx, fireTimeout)
	defer cancel()
	if err := s.fire(ctx, f); err != nil {
		return fmt.Errorf("fire %q: %w", f.ID, err)
	}
	return nil
}

func (s *Scheduler) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	if err := s.store.table.Delete(ctx, key); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return nil
}
