// Package cron keeps reminders and jobs and fires each of their slots exactly
// once, over restarts and any number of processes. Schedule says when, Store
// keeps the jobs in a kv.Table, Scheduler fires them through a function that
// the application gives it. It knows no bus, no agent and no words for people.
//
// A slot is claimed in the job's entry by compare-and-swap, fired under an id
// that follows from job and slot, and settled. Whatever stops between two of
// these steps leaves a claim that says what to do again under the same id.
// The goroutines belong to Scheduler.Run, which waits for them; the Store has
// none.
package cron

import (
	"slices"
	"strings"
	"time"

	"magpie/chat"
)

// Version is the schema version written into every Job.
const Version = 1

// Mode says what a fired slot does.
type Mode string

// The modes.
const (
	Notify Mode = "notify" // the message is delivered as it is; needs no model
	Agent  Mode = "agent"  // the message starts a turn in the chat
)

// Person is somebody on a channel: the same id on another channel is somebody
// else.
type Person struct {
	Channel string `json:"channel"`
	chat.Sender
}

// Job is a message that enters a chat at times. What people decide stands in
// the fields here, what the scheduler keeps book of in State.
type Job struct {
	V       int          `json:"v"`
	ID      string       `json:"id"` // 10 characters of a–z and 2–7
	Name    string       `json:"name,omitempty"`
	Message string       `json:"message"`
	Addr    chat.Address `json:"addr"`  // where it is delivered
	Maker   Person       `json:"maker"` // may change it
	// For is whom it is for, when that is not the maker; may change it too.
	For    Person `json:"for,omitzero"`
	Direct bool   `json:"direct,omitempty"` // Addr is a private chat
	// Schedule has a zone once the job is stored.
	Schedule Schedule `json:"schedule"`
	Mode     Mode     `json:"mode"`
	Misfire  Misfire  `json:"misfire"`
	// Nag is how often a delivery comes again until Store.Finish; 0 = not.
	Nag     time.Duration `json:"nag,omitempty"`
	Created time.Time     `json:"created"`
	// Hidden jobs are not listed: one says that a question was not answered.
	Hidden bool `json:"hidden,omitempty"`
	// Sources are of the text from outside that who made or changed it had read.
	Sources []chat.Source `json:"sources,omitempty"`
	State
}

// State is what Store and Scheduler keep book of in a Job.
type State struct {
	// Anchor is what Schedule.Every counts from.
	Anchor time.Time `json:"anchor"`
	// LastSlot: every slot up to and including this time is dealt with.
	LastSlot time.Time `json:"last_slot"`
	Paused   bool      `json:"paused,omitempty"`
	// Pending is the claim on the slot that is being fired; nil for none.
	Pending *Pending `json:"pending,omitempty"`
	// Nagging is there while what was delivered comes again until it is done.
	Nagging *Nagging `json:"nagging,omitempty"`
	// Runs are the last MaxRuns slots, the latest at the end.
	Runs []Run `json:"runs,omitempty"`
}

// Pending is a claimed slot: who finds it old enough fires it again as it
// stands here.
type Pending struct {
	Slot     time.Time `json:"slot"`
	Missed   int       `json:"missed,omitempty"` // earlier slots that this delivery stands for
	Late     bool      `json:"late,omitempty"`
	Manual   bool      `json:"manual,omitempty"` // somebody asked for it; no slot of the schedule
	Nag      int       `json:"nag,omitempty"`    // the n-th repeat until it is done; no slot of the schedule
	Quiet    bool      `json:"quiet,omitempty"`  // done or changed while it was on its way: begins no repeats
	Claimed  time.Time `json:"claimed,omitzero"` // zero: not yet taken by a process
	Attempts int       `json:"attempts,omitempty"`
	Err      string    `json:"err,omitempty"` // of the last attempt
}

// Result is what became of a slot.
type Result string

// The results.
const (
	Sent      Result = "sent"      // handed over; no receipt yet
	Delivered Result = "delivered" // the platform has it
	Done      Result = "done"      // the turn of a task ended and had nothing to say
	Failed    Result = "failed"    // given up; Run.Err says why
	Skipped   Result = "skipped"   // passed while nothing ran, and the misfire policy skips it
)

// Run is one line of a job's history.
type Run struct {
	Slot    time.Time     `json:"slot"`
	Fired   time.Time     `json:"fired"` // or skipped
	Result  Result        `json:"result"`
	Late    bool          `json:"late,omitempty"`
	Missed  int           `json:"missed,omitempty"`
	Manual  bool          `json:"manual,omitempty"`
	Nag     int           `json:"nag,omitempty"` // as in Pending
	Err     string        `json:"err,omitempty"`
	Receipt *chat.Receipt `json:"receipt,omitempty"`
}

// The bounds of a job.
const (
	MaxRuns    = 20
	MaxMessage = 8000 // runes
	MaxName    = 100  // runes
	MaxNags    = 30   // repeats of one delivery
	maxErr     = 300  // runes of an error kept in a run
	maxRefs    = 8    // message references kept of a receipt
)

// Over says whether no slot follows any more: a one-shot whose time is dealt
// with, or a rule whose last one is. One that was not delivered stays for a
// week, so that people see why.
func (j Job) Over() bool {
	switch {
	case !j.nagSlot().IsZero():
		return false
	case !j.Schedule.At.IsZero():
		return !j.LastSlot.Before(j.Schedule.At)
	case j.Schedule.Rule == "":
		return false
	}
	p, err := j.Schedule.plan(j.Anchor, zoneOf)
	return err == nil && j.over(p)
}

// over is Over for who has the plan.
func (j Job) over(p plan) bool {
	if p.rule == nil {
		return j.Over()
	}
	return j.nagSlot().IsZero() && p.next(j.LastSlot).IsZero()
}

// keepOver is how long a one-shot that was not delivered can be looked at.
const keepOver = 7 * 24 * time.Hour

// served says whether a job that is over may go: it did what it was for, or
// nobody asked about it for long. One that was sent stays until its outcome is
// reported.
func (j Job) served(now time.Time) bool {
	if j.Pending != nil {
		return false
	}
	if now.Sub(j.LastSlot) > keepOver {
		return true
	}
	runs := j.Runs
	if j.Schedule.Rule != "" {
		runs = runs[max(0, len(runs)-1):]
	}
	for _, r := range runs {
		if !r.Slot.Before(j.Schedule.At) && (r.Result == Delivered || r.Result == Done) {
			return true
		}
	}
	return false
}

// UnderWay says whether the latest slot was fired and nobody knows yet what
// became of it.
func (j Job) UnderWay() bool {
	return j.Pending != nil || len(j.Runs) > 0 && j.Runs[len(j.Runs)-1].Result == Sent
}

func (j *Job) remember(r Run) {
	j.Runs = append(slices.Clone(j.Runs), r)
	j.Runs = j.Runs[max(0, len(j.Runs)-MaxRuns):]
}

// settle turns the claim into a line of the history.
func (j *Job) settle(now time.Time, result Result, problem string) {
	p := *j.Pending
	j.Pending = nil
	switch {
	case p.Manual:
	case p.Nag > 0:
		j.nagged(p)
	default:
		j.LastSlot = later(j.LastSlot, p.Slot)
		if !p.Quiet && result != Failed {
			j.nagFrom(later(now, p.Slot))
		}
	}
	j.remember(Run{
		Slot: p.Slot, Fired: now, Result: result, Late: p.Late, Missed: p.Missed, Manual: p.Manual, Nag: p.Nag, Err: cut(problem, maxErr),
	})
}

// slotFormat writes a slot in UTC; whole seconds have no fraction.
const slotFormat = time.RFC3339Nano

// SlotID is the de-duplication id of a slot of a job: "cron:<job>:<slot>".
func SlotID(job string, slot time.Time) string {
	return "cron:" + job + ":" + slot.UTC().Format(slotFormat)
}

// ParseSlotID reads what SlotID wrote.
func ParseSlotID(id string) (job string, slot time.Time, ok bool) {
	rest, is := strings.CutPrefix(id, "cron:")
	job, text, two := strings.Cut(rest, ":")
	slot, err := time.Parse(slotFormat, text)
	if !is || !two || job == "" || err != nil || SlotID(job, slot) != id {
		return "", time.Time{}, false
	}
	return job, slot, true
}

func cut(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return text
}
