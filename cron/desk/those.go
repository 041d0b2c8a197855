package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/cron"
	"magpie/cron/intent"
)

// those are the jobs that "them" and "both" mean: those last spoken of or shown
// together. Without such ones they are all, or the only one spoken of.
func (d *Desk) those(ctx context.Context, w wish, jobs []cron.Job, rang []rung) (found []cron.Job, err error) {
	list, err := recall[shown](ctx, d.memory, w.room("shown"))
	if err != nil {
		return nil, err
	}
	last, err := d.topic(ctx, w.Who, rang)
	if d.jobs.Now().Sub(list.At) < shownFor && (len(last.IDs) < 2 || list.At.After(last.At)) {
		last.IDs = list.IDs
	}
	for _, id := range last.IDs {
		found = append(found, withID(jobs, id)...)
	}
	switch {
	case err == nil && w.in.Op == intent.Done:
		return d.both(w, found, jobs, rang)
	case len(found) > 1 || err != nil:
		return found, err
	case w.in.Ref.All:
		return jobs, nil
	}
	return d.it(ctx, w, false, jobs, rang)
}

// both are two that are done: those that rang of late, else those told together.
func (d *Desk) both(w wish, told, jobs []cron.Job, rang []rung) ([]cron.Job, error) {
	var late []cron.Job
	for _, r := range rang {
		if d.jobs.Now().Sub(r.Slot) < lately {
			late = append(late, r.Job)
		}
	}
	for _, two := range [][]cron.Job{late, told} {
		if len(two) == 2 {
			return two, nil
		}
	}
	return nil, d.which(w, jobs)
}

// ordered is the job that comes first of all, or last.
func (d *Desk) ordered(ctx context.Context, w wish, jobs []cron.Job, rang []rung) []cron.Job {
	found := slices.DeleteFunc(slices.Clone(jobs), func(j cron.Job) bool { return j.Paused || next(j, d.jobs.Now()).IsZero() })
	if w.in.Ref.Order < 0 {
		return found[max(0, len(found)-1):]
	}
	found = found[:min(1, len(found))]
	list, _ := recall[shown](ctx, d.memory, w.room("shown"))
	if last, err := d.topic(ctx, w.Who, rang); err == nil && len(list.IDs) > 0 && list.At.After(last.At) && d.jobs.Now().Sub(list.At) < shownFor {
		if first := withID(jobs, list.IDs[0]); len(first) > 0 { // of the day that was asked for
			return first
		}
	}
	if it, _ := d.it(ctx, w, false, jobs, rang); w.in.Ref.Last && len(it) == 1 && !single(it[0]) && len(withID(found, it[0].ID)) == 0 {
		return append(found, it[0]) // or the next time of that one?
	}
	return found
}

// comesAt says that a job comes at a time of the day, as intent.Ref has it.
func comesAt(j cron.Job, clock string, now time.Time) bool {
	t := next(j, now)
	for range 24 {
		at := t.Format("15:04")
		for _, one := range strings.Split(clock, "/") {
			if from, to, part := strings.Cut(one, "-"); at == one || part && from <= at && at < to {
				return !t.IsZero()
			}
		}
		t = next(j, t)
	}
	return false
}

// numbered is the job with a number in the list last shown, -1 = the last one,
// which with Last is the one spoken of since.
// Without such a list, and when it has no such number, the question is which.
func (d *Desk) numbered(ctx context.Context, w wish, jobs []cron.Job, rang []rung) ([]cron.Job, error) {
	list, err := recall[shown](ctx, d.memory, w.room("shown"))
	if err != nil {
		return nil, err
	}
	n := w.in.Ref.Number
	if last, err := d.topic(ctx, w.Who, rang); err != nil || w.in.Ref.Last && last.At.After(list.At) {
		return d.it(ctx, w, false, jobs, rang)
	}
	if len(jobs) == 1 && (n == 1 || n == -1) {
		return jobs, nil
	}
	fresh := d.jobs.Now().Sub(list.At) < shownFor
	if n < 0 {
		n += len(list.IDs) + 1
	}
	switch {
	case len(jobs) == 0:
		return nil, w.unknown("", jobs)
	case fresh && n >= 1 && n <= len(list.IDs):
		if found := withID(jobs, list.IDs[n-1]); len(found) > 0 {
			return found, nil
		}
	}
	q := d.which(w, jobs)
	if fresh && n > 0 {
		q.Prompt = fmt.Sprintf(w.pick("Number %d is not there. ", "没有第 %d 个。"), n) + q.Prompt
	}
	return nil, q
}
