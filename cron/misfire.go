package cron

import (
	"fmt"
	"strings"
	"time"
)

// Policy says what happens to a slot that passed while nothing could fire it.
type Policy string

// The policies.
const (
	RunOnce     Policy = "run_once"      // one late delivery, however many slots were missed
	Skip        Policy = "skip"          // none
	RunIfWithin Policy = "run_if_within" // one, unless the last slot is older than Misfire.Within
)

// Misfire is a policy with its parameter.
type Misfire struct {
	Policy Policy        `json:"policy"`
	Within time.Duration `json:"within,omitempty"` // RunIfWithin only
}

// ParseMisfire reads "run_once", "skip" or "run_if_within:10m"; "" is the zero
// Misfire, for which a Store takes its default. The error is an *InputError.
func ParseMisfire(text string) (Misfire, error) {
	name, within, has := strings.Cut(strings.TrimSpace(text), ":")
	m := Misfire{Policy: Policy(strings.TrimSpace(name))}
	if m == (Misfire{}) && !has {
		return m, nil
	}
	if has {
		d, err := time.ParseDuration(strings.TrimSpace(within))
		if err != nil {
			return Misfire{}, badMisfire(text)
		}
		m.Within = d
	}
	return m, m.check()
}

func badMisfire(text string) error {
	return wrong("misfire", "%q is no misfire policy; want run_once, skip or run_if_within:10m", cut(text, 60))
}

func (m Misfire) check() error {
	switch m.Policy {
	case RunOnce, Skip:
		if m.Within == 0 {
			return nil
		}
	case RunIfWithin:
		if m.Within > 0 {
			return nil
		}
	}
	return badMisfire(m.String())
}

// String writes what ParseMisfire reads.
func (m Misfire) String() string {
	if m.Policy == RunIfWithin || m.Within != 0 {
		return fmt.Sprintf("%s:%s", m.Policy, m.Within)
	}
	return string(m.Policy)
}

// A slot is on time within prompt in any case. One that passed while this
// process ran is so within busy: many jobs may be due at once. Later means
// that the machine slept or its clock was put forward.
const (
	prompt = 2 * time.Second
	busy   = time.Minute
)

func onTime(slot, now, since time.Time) bool {
	late := now.Sub(slot)
	return late <= prompt || late <= busy && !slot.Before(since)
}

// A claim that is not settled is taken over after takeover, doubled with every
// attempt up to 32 times.
const takeover = 10 * time.Second

func (p *Pending) stale(now time.Time) bool {
	wait := takeover << min(max(p.Attempts-1, 0), 5)
	// A clock put back must not keep a claim for ever.
	return p.Claimed.IsZero() || now.Sub(p.Claimed).Abs() >= wait
}

type step int

const (
	idle  step = iota // nothing to do
	skip              // store: slots were skipped
	claim             // store, then fire Pending, then settle
)

// decide says what is to be done for a job, and what its entry must say first.
// since is when this process began to look.
func decide(j Job, p plan, now, since time.Time) (Job, step) {
	if j.Pending != nil {
		if !j.Pending.stale(now) {
			return j, idle
		}
		again := *j.Pending
		again.Claimed = now
		again.Attempts++
		j.Pending = &again
		return j, claim
	}
	if j.Paused {
		return j, idle
	}
	first, last, count := p.overdue(j.LastSlot, now)
	if count == 0 {
		return j.repeat(now, since)
	}
	if !onTime(last, now, since) && !j.Misfire.allows(now.Sub(last)) {
		j.LastSlot = last
		j.remember(Run{Slot: last, Fired: now, Result: Skipped, Missed: count - 1})
		return j, skip
	}
	j.Pending = &Pending{Slot: last, Missed: count - 1, Late: !onTime(first, now, since), Claimed: now, Attempts: 1}
	if j.Misfire.Policy == Skip && onTime(last, now, since) {
		j.Pending.Missed, j.Pending.Late = 0, false
	}
	return j, claim
}

func (m Misfire) allows(late time.Duration) bool {
	return m.Policy == RunOnce || m.Policy == RunIfWithin && late <= m.Within
}
