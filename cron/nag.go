package cron

import "time"

// Nagging is what is known of a delivery that comes again until it is done.
type Nagging struct {
	Since time.Time `json:"since"` // the repeats are counted from here, Job.Nag apart
	Count int       `json:"count"` // those that are dealt with, of MaxNags
}

// The bounds of Job.Nag.
const (
	minNag = time.Minute
	maxNag = 24 * time.Hour
)

// nagSlot is the next repeat; zero for none.
func (j Job) nagSlot() time.Time {
	if j.Nagging == nil || j.Nag <= 0 {
		return time.Time{}
	}
	return j.nagAt(j.Nagging.Count + 1)
}

func (j Job) nagAt(n int) time.Time { return j.Nagging.Since.Add(time.Duration(n) * j.Nag) }

// nagFrom begins the repeats of a job that has some, or begins them anew. They
// are later than all that came: the id of a slot must not come back.
func (j *Job) nagFrom(t time.Time) {
	if j.Nagging != nil && j.Nag > 0 {
		t = later(t, j.nagAt(j.Nagging.Count))
	}
	j.Nagging = nil
	if j.Nag > 0 {
		j.Nagging = &Nagging{Since: t.Add(time.Second - 1).Truncate(time.Second)}
	}
}

// nagged takes note of a repeat, unless it ended or began anew meanwhile.
func (j *Job) nagged(p Pending) {
	if j.Nagging == nil || j.Nag <= 0 || !j.nagAt(p.Nag).Equal(p.Slot) {
		return
	}
	j.Nagging = &Nagging{Since: j.Nagging.Since, Count: max(j.Nagging.Count, p.Nag)}
	if j.Nagging.Count >= MaxNags {
		j.Nagging = nil
	}
}

// repeat is decide for the repeats until a delivery is done.
func (j Job) repeat(now, since time.Time) (Job, step) {
	first := j.nagSlot()
	if first.IsZero() || first.After(now) {
		return j, idle
	}
	n := min(j.Nagging.Count+1+int(now.Sub(first)/j.Nag), MaxNags)
	p := Pending{Slot: j.nagAt(n), Nag: n, Missed: n - j.Nagging.Count - 1, Late: !onTime(first, now, since), Claimed: now, Attempts: 1}
	if !onTime(p.Slot, now, since) && !j.Misfire.allows(now.Sub(p.Slot)) {
		j.nagged(p)
		j.remember(Run{Slot: p.Slot, Fired: now, Result: Skipped, Missed: p.Missed, Nag: p.Nag})
		return j, skip
	}
	j.Pending = &p
	return j, claim
}

// due is the first slot or repeat after a time that is not dealt with, in UTC;
// zero for none.
func (j Job) due(p plan, after time.Time) time.Time {
	next, nag := p.next(later(after, j.LastSlot)), j.nagSlot()
	if !nag.After(after) || !next.IsZero() && !nag.Before(next) {
		return next
	}
	return nag
}
