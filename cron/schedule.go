package cron

import (
	"fmt"
	"strings"
	"time"

	"magpie/cron/calendar"
	"magpie/cron/when"
)

// Schedule says when a job is due. Exactly one of Every, Cron, At and Rule is
// set.
type Schedule struct {
	// Every is whole seconds, counted from the job's anchor in elapsed time.
	Every time.Duration `json:"every,omitempty"`
	// Cron is what when.ParseCron reads: 5 fields (minute hour day month
	// weekday), 6 with seconds first, or @hourly, @daily, @weekly, @monthly or
	// @yearly. It is meant in Zone. A local time that daylight saving skips is
	// due at the next valid minute, a doubled one the first time only; an
	// expression for every hour goes on through both.
	Cron string `json:"cron,omitempty"`
	// At is a single time.
	At time.Time `json:"at,omitzero"`
	// Rule is what calendar.ParseRule reads, meant in Zone.
	Rule string `json:"rule,omitempty"`
	// Zone is what when.Zone reads: an IANA name, an offset as UTC+08:00, or
	// "Local" for the zone of the host.
	Zone string `json:"zone,omitempty"`
}

// InputError says what is wrong with something that was asked for and what
// would be right. Its text is for people and models.
type InputError struct {
	Field string // "schedule", "every", "cron", "at", "rule", "zone", "message", …
	Text  string
}

// Error returns the text.
func (e *InputError) Error() string { return e.Text }

func wrong(field, format string, args ...any) error {
	return &InputError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// The bounds of a schedule.
const (
	maxEvery = 10 * 366 * 24 * time.Hour
	maxAt    = 100 * 366 * 24 * time.Hour // from now
	maxCron  = 200                        // bytes
)

// Check returns nil when the schedule can be stored at now, else an
// *InputError that says what is right.
func (s Schedule) Check(now time.Time) error {
	if !s.At.IsZero() && s.Every == 0 && s.Cron == "" && s.Rule == "" {
		switch {
		case !s.At.After(now):
			return wrong("at", "%s has passed; want a time after %s", s.shown(s.At), s.shown(now))
		case s.At.Sub(now) > maxAt:
			return wrong("at", "%s is too far away; want a time within 100 years", s.shown(s.At))
		}
	}
	p, err := s.plan(now, zoneOf)
	if err == nil && p.rule != nil && p.next(now).IsZero() {
		return wrong("rule", "the rule has no time after %s; want one that has", s.shown(now))
	}
	return err
}

// zoneOf is when.Zone, with UTC for no name.
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	return when.Zone(name)
}

// canonical is the name that a zone is stored under: Asia/Shanghai for Beijing.
// One that is not known stays as it is, for Check to refuse.
func canonical(name string) string {
	zone, err := zoneOf(name)
	if err != nil {
		return name
	}
	return zone.String()
}

// shown writes a time in the schedule's zone, or in UTC when that is unknown.
func (s Schedule) shown(t time.Time) string {
	zone, err := zoneOf(s.Zone)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format("2006-01-02 15:04:05 -07:00")
}

// plan is a schedule ready to be asked; it does not change.
type plan struct {
	every  time.Duration
	anchor time.Time
	cron   *when.Cron
	rule   *calendar.Rule
	zone   *time.Location
	at     time.Time
}

func (s Schedule) plan(anchor time.Time, zoneOf func(string) (*time.Location, error)) (plan, error) {
	set := 0
	for _, is := range []bool{s.Every != 0, s.Cron != "", !s.At.IsZero(), s.Rule != ""} {
		if is {
			set++
		}
	}
	if set != 1 {
		return plan{}, wrong("schedule", "%d of every, cron, at and rule are given; want exactly one, every of at least 1 second", set)
	}
	zone, err := zoneOf(s.Zone)
	if err != nil {
		return plan{}, wrong("zone", "time zone %q is not known; want an IANA name such as Asia/Shanghai, Europe/Berlin or UTC", cut(s.Zone, 60))
	}
	p := plan{anchor: anchor, zone: zone, at: s.At}
	switch {
	case s.Cron != "":
		p.cron, err = parseCron(s.Cron)
		return p, err
	case s.Rule != "":
		if p.rule, err = calendar.ParseRule(s.Rule); err != nil {
			return plan{}, wrong("rule", "%s", err)
		}
		return p, nil
	case !s.At.IsZero():
		return p, nil
	}
	p.every = s.Every
	if s.Every < time.Second || s.Every > maxEvery || s.Every%time.Second != 0 {
		return plan{}, wrong("every", "an interval of %s is not possible; want whole seconds, from 1 second to 10 years", s.Every)
	}
	return p, nil
}

const cronForm = "want 5 fields (minute hour day month weekday, 0 = Sunday), 6 with seconds first, or @hourly, @daily, @weekly, @monthly, @yearly; for example 30 9 * * 1-5"

// parseCron reads an expression.
func parseCron(expr string) (*when.Cron, error) {
	switch {
	case strings.TrimSpace(expr) == "":
		return nil, wrong("cron", "the cron expression is empty; %s", cronForm)
	case len(expr) > maxCron:
		return nil, wrong("cron", "the cron expression is longer than %d bytes; %s", maxCron, cronForm)
	case strings.Contains(expr, "="):
		return nil, wrong("cron", "a cron expression holds no zone; give it as the zone. %s", cronForm)
	case strings.HasPrefix(strings.TrimSpace(expr), "@every"):
		return nil, wrong("cron", "@every is not a cron expression; give the interval as every")
	}
	c, err := when.ParseCron(expr)
	if err != nil {
		return nil, wrong("cron", "%s; %s", strings.TrimPrefix(err.Error(), when.ErrInvalid.Error()+": "), cronForm)
	}
	return &c, nil
}

// next is the first slot after a time, in UTC; zero for none.
func (p plan) next(after time.Time) time.Time {
	switch {
	case p.cron != nil:
		next, ok := p.cron.Next(after, p.zone)
		if !ok {
			return time.Time{}
		}
		return next.UTC()
	case p.rule != nil:
		next, ok := p.rule.Next(after, p.zone)
		if !ok {
			return time.Time{}
		}
		return next.UTC()
	case p.every == 0:
		if p.at.After(after) {
			return p.at.UTC()
		}
		return time.Time{}
	}
	since := max(after.Sub(p.anchor), 0)
	if since >= maxAt {
		return time.Time{}
	}
	return p.anchor.Add((since/p.every + 1) * p.every).UTC()
}

// maxCounted is how many overdue slots are counted; more are "that many".
const maxCounted = 1000

// overdue looks at the slots in (after, now]: the first, the last and how many
// there are, at most maxCounted.
func (p plan) overdue(after, now time.Time) (first, last time.Time, count int) {
	first = p.next(after)
	if first.IsZero() || first.After(now) {
		return time.Time{}, time.Time{}, 0
	}
	if p.every > 0 {
		more := now.Sub(first) / p.every
		return first, first.Add(more * p.every), int(min(more+1, maxCounted))
	}
	last, count = first, 1
	for next := p.next(last); !next.IsZero() && !next.After(now); next = p.next(last) {
		if count == maxCounted {
			return first, p.lastSlot(next, now), maxCounted
		}
		last = next
		count++
	}
	return first, last, count
}

// lastSlot finds the last slot up to now by halving the time between one that
// is known and now: the slots of years are too many to walk through.
func (p plan) lastSlot(known, now time.Time) time.Time {
	none := now // no slot in (none, now]
	for none.Sub(known) > time.Second {
		middle := known.Add(none.Sub(known) / 2)
		if next := p.next(middle); next.IsZero() || next.After(now) {
			none = middle
		} else {
			known = next
		}
	}
	if next := p.next(known); !next.IsZero() && !next.After(now) {
		return next
	}
	return known
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Next is the first slot of a job after a time, or repeat until it is done, in
// UTC: zero when it is paused or over. The error is that of an entry whose schedule cannot be used here,
// for instance because the zone is not known on this host. It reads no clock.
func Next(j Job, after time.Time) (time.Time, error) {
	p, err := j.Schedule.plan(j.Anchor, zoneOf)
	if err != nil || j.Paused {
		return time.Time{}, err
	}
	return j.due(p, after), nil
}
