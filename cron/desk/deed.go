package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// deed is what is to be done, so far decided that it can be stored, and done
// again after a crash with the same outcome.
type deed struct {
	Op      intent.Op // "" makes new ones
	Seed    string    // what is made, and what undo takes back, is known by it
	Steps   []step
	Answers string      `json:",omitempty"` // the question that it is the answer to
	Drops   string      `json:",omitempty"` // what is said of a question that it is no answer to
	Undoes  string      `json:",omitempty"` // the change that is taken back
	Acts    []intent.Op `json:",omitempty"` // of [intent.Several]: each has steps of its own
}

// step is a change of one job.
type step struct {
	Do  string   // "add", "set", "leave", "restore", "done" or an intent.Op
	ID  string   `json:",omitempty"`
	Job cron.Job `json:",omitzero"` // what is added or done; for "set" the fields that change
	// Slots are left out; for "leave" they are all that come before Until.
	Slots []time.Time `json:",omitempty"`
	Until time.Time   `json:",omitzero"`
	Act   int         `json:",omitempty"` // of Deed.Acts
}

// outcome is what became of a step.
type outcome struct {
	do  string
	job cron.Job    // as it is now; of one that is gone as it was
	out []time.Time // that are left out
	act int
}

// wish is what somebody wants of the jobs, and the message that says so.
type wish struct {
	Who
	in intent.Intent
	m  Message
}

// maxDeed is how many bytes of text a deed holds: it has to fit a kv.Table.
const maxDeed = 200_000

// creating makes a job for each time.
func (d *Desk) creating(w wish, seed string) (*deed, error) {
	in := w.in
	made := &deed{Seed: seed}
	for _, p := range in.Times {
		if err := w.tooOften(p, d.jobs.Now()); err != nil {
			return nil, err
		}
		j := w.job("", in.Text, p, cron.Notify)
		j.For, j.Nag = w.m.For, cmp.Or(in.Nag, p.Nag)
		if j.Message == "" || p.Rest != "" && len(in.Times) > 1 {
			j.Message = p.Rest // each of several has its own
		}
		if in.Timer {
			if j.Name = w.pick("timer", "计时器"); intent.Alarm(w.m.Text) {
				j.Name = w.pick("alarm", "闹钟")
			}
			if j.Message == "" {
				j.Message = w.pick("time is up", "时间到")
			}
		}
		if in.Task {
			j.Mode = cron.Agent
		}
		twice := func(s step) bool { return s.Job.Schedule == j.Schedule && s.Job.Message == j.Message }
		if !slices.ContainsFunc(made.Steps, twice) { // "at 8 and at 8"
			made.Steps = append(made.Steps, step{Do: "add", Job: j})
		}
	}
	switch n := len(made.Steps); {
	case n == 0:
		return nil, when.ErrNone
	case n*len(made.Steps[0].Job.Message) > maxDeed:
		return nil, &cron.InputError{Field: "message", Text: fmt.Sprintf("the message is longer than %d characters", cron.MaxMessage)}
	}
	return made, nil
}

func (w Who) schedule(p when.Phrase) cron.Schedule {
	if p.Zone == nil {
		p.Zone = w.zone()
	}
	return cron.Schedule{Every: p.Every, Cron: p.Cron, At: p.At, Rule: p.Rule, Zone: p.Zone.String()}
}

// phrase is a schedule as package when has it.
func phrase(s cron.Schedule) when.Phrase {
	p := when.Phrase{Every: s.Every, Cron: s.Cron, At: s.At, Rule: s.Rule, Zone: zoneOf(s)}
	if !p.At.IsZero() {
		p.At = p.At.In(p.Zone)
	}
	return p
}

func zoneOf(s cron.Schedule) *time.Location {
	zone, err := when.Zone(s.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

func single(j cron.Job) bool { return !j.Schedule.At.IsZero() }

// next is when a job comes, or would come if it were not paused.
func next(j cron.Job, now time.Time) time.Time {
	j.Paused = false
	t, err := cron.Next(j, now)
	if err != nil {
		return time.Time{}
	}
	return t.In(zoneOf(j.Schedule))
}

// rare is the one of several that does not come every day, if there is only one:
// 周五那个 is none of every day.
func (d *Desk) rare(found []cron.Job) []cron.Job {
	now := d.jobs.Now()
	rare := slices.DeleteFunc(slices.Clone(found), func(j cron.Job) bool {
		slot := next(j, now)
		return !single(j) && next(j, slot).Sub(slot) <= 25*time.Hour
	})
	if len(rare) == 1 {
		return rare
	}
	return found
}

// ended is the operation on jobs that may get an end, which may be said as a new
// time. Of all of them those are meant that repeat.
func ended(in intent.Intent, found []cron.Job) ([]cron.Job, intent.Op) {
	if in.Op == intent.Move && when.IsEnd(in.Time) {
		in.Op = intent.End
	}
	if repeat := slices.DeleteFunc(slices.Clone(found), single); in.Op == intent.End && in.Ref.All && len(repeat) > 0 {
		found = repeat
	}
	return found, in.Op
}

// allows says that a job may be changed as is wished: in a chat of two, what rang is
// also put off and done by whom it was not made for.
func (w wish) allows(j cron.Job) bool {
	return w.may(j) || w.Direct && (w.in.Op == intent.Snooze || w.in.Op == intent.Done)
}

// acting decides several changes, all or none.
func (d *Desk) acting(ctx context.Context, w wish, seed string) (*deed, error) {
	all := &deed{Op: intent.Several, Seed: seed}
	for i, in := range w.in.Acts {
		one := w
		one.in, one.m.Text = in, in.Said
		todo, err := d.changing(ctx, one, seed)
		if err != nil {
			said := ""
			if q, asks := errors.AsType[*question](err); asks {
				said = w.prompt(*q).Text
			} else if r, refused := errors.AsType[*Refusal](err); refused {
				said = r.Text
			}
			return nil, &Refusal{Kind: Unsure, Text: fmt.Sprintf(w.pick("nothing is done yet; please say one at a time. As to “%s”: %s", "还没有做任何更改，请一次只说一个。关于“%s”：%s"), plain(in.Said, maxShown), said)}
		}
		for _, s := range todo.Steps {
			s.Act = i
			all.Steps = append(all.Steps, s)
		}
		all.Acts = append(all.Acts, todo.Op)
	}
	return all, nil
}

// changing decides which jobs are meant, and what becomes of them.
func (d *Desk) changing(ctx context.Context, w wish, seed string) (*deed, error) {
	in := w.in
	if in.Op == intent.Snooze && in.Ref.Number > 0 && in.Ref.Words != "" && in.Shift == (when.Span{}) && in.Time == "" {
		return d.orMinutes(ctx, w, seed)
	}
	found, rang, many, err := d.meantAll(ctx, w)
	if in.Op == intent.Resume && errors.Is(err, errGone) {
		w.in.What = intent.UndoRemoval
		return d.undoing(ctx, w, "", seed)
	}
	if err != nil {
		return nil, err
	}
	all := found
	found = slices.DeleteFunc(slices.Clone(found), func(j cron.Job) bool { return !w.allows(j) })
	if len(found) == 0 {
		return nil, d.whose(w.Who, all[0])
	}
	if in.Ref.One && in.Ref.Clock == "" && len(found) > 1 {
		found = d.rare(found)
	}
	in.From = w.dated(found, rang, d.jobs.Now())
	if !in.From.IsZero() && in.Op != intent.Move {
		if in.Op == intent.Pause && slices.ContainsFunc(found, single) {
			return nil, &Refusal{Kind: Unsure, Text: w.pick("what comes only once cannot be paused for a time; say when it shall come instead", "只提醒一次的不能暂停一段时间，请说改到什么时候")}
		}
		if found, err = w.then(found, d.jobs.Now()); err != nil {
			return nil, err
		}
		in.Op = intent.Skip
		w.in.Op = in.Op
	}
	if len(found) > 1 && !many {
		return nil, d.which(w, found)
	}
	if in.Op == intent.Move && in.Time == "" && in.Shift == (when.Span{}) && len(found) == 1 {
		return nil, d.otherTime(ctx, w.Who, found[0].ID)
	}
	found, w.in.Op = ended(w.in, found)
	in.Op = w.in.Op
	changed := &deed{Op: in.Op, Seed: seed}
	for _, j := range found {
		steps, err := d.steps(w, j, rang)
		if q, asks := errors.AsType[*question](err); asks && len(found) > 1 {
			err = &Refusal{Kind: Unsure, Text: w.prompt(*q).Text} // an answer would be for one of them
		}
		if err != nil {
			return nil, err
		}
		changed.Steps = append(changed.Steps, steps...)
	}
	if len(changed.Steps) == 1 && changed.Steps[0].Do == string(intent.Remove) {
		changed.Op = intent.Remove
	}
	if asks := many || in.Ref.All || !in.From.IsZero() || slices.Contains([]intent.Op{intent.Remove, intent.Pause, intent.Resume}, in.Op); (len(found) > 1 || w.m.Command && in.Ref.All) && asks && (in.Op != intent.Done || in.Ref.All && in.And == nil && len(found) > 2) || in.Asks {
		return nil, w.orSome(d.sure(w.Who, changed, found))
	}
	return changed, nil
}
