package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron"
	"magpie/cron/calendar"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// words are the new ones of a job.
func (w wish) words(j cron.Job) string {
	if w.in.What == intent.MoreText {
		return j.Message + w.pick(" and ", "、") + w.in.Text
	}
	if i := strings.Index(strings.ToLower(j.Message), strings.ToLower(w.in.Old)); i >= 0 && w.in.Old != "" {
		return j.Message[:i] + w.in.Text + j.Message[i+len(w.in.Old):]
	}
	return strings.TrimSpace(w.in.Text)
}

// steps says what an operation does to a job.
func (d *Desk) steps(w wish, j cron.Job, rang []rung) ([]step, error) {
	in, now := w.in, d.jobs.Now()
	set := func(fields cron.Job) ([]step, error) { return []step{{Do: "set", ID: j.ID, Job: fields}}, nil }
	part := parted{d, &w, &j, now}
	if steps, done, err := part.partly(); done {
		return steps, err
	}
	switch in.Op {
	case intent.Add:
		return part.adding()
	case intent.Remove, intent.Pause, intent.Resume, intent.Run:
		return part.all()
	case intent.Text, intent.Rename:
		if in.Text = w.words(j); in.Text == "" {
			return nil, &Refusal{Kind: Unsure, Text: w.pick("what shall it say? Write the new words behind it, as: 2 buy oat milk", "改成什么内容？请把新内容写在后面，例如：2 买酸奶")}
		}
		if in.Op == intent.Rename {
			return set(cron.Job{Name: in.Text})
		}
		return set(cron.Job{Message: in.Text})
	case intent.End:
		return d.ending(w, j)
	case intent.Once:
		return set(cron.Job{Schedule: cron.Schedule{At: next(j, now), Zone: j.Schedule.Zone}})
	case intent.Skip:
		if !in.From.IsZero() {
			return d.leaving(w, j)
		}
		if single(j) { // there is no time after it
			return []step{{Do: string(intent.Remove), ID: j.ID}}, nil
		}
		return []step{{Do: string(intent.Skip), ID: j.ID}}, nil
	case intent.Repeat:
		return d.move(w, j)
	case intent.Move, intent.Snooze, intent.Done:
		i := slices.IndexFunc(rang, func(r rung) bool { return r.Job.ID == j.ID })
		ahead := !next(j, now).IsZero()
		recent := i >= 0 && (!ahead || j.Nagging != nil || now.Sub(rang[i].Slot) < lately)
		switch {
		case in.Op == intent.Snooze && in.Text != "" && in.Time == "" && in.Shift == (when.Span{}):
			return nil, w.again(j)
		case in.Op == intent.Snooze && recent, in.Op == intent.Move && recent && !ahead && single(j):
			return d.snooze(w, j, rang[i].Slot)
		case in.Op == intent.Move:
			return d.move(w, j)
		case in.Op == intent.Snooze:
			if in.Shift == (when.Span{}) && in.Time == "" {
				w.in.Shift.Exact = tenMinutes
			}
			w.m.Text = "this time" // of one that did not ring: its next time is put off
			return d.move(w, j)
		case !recent && single(j):
			return []step{{Do: string(intent.Remove), ID: j.ID}}, nil
		}
		j.Runs = nil
		return []step{{Do: string(intent.Done), ID: j.ID, Job: j}}, nil
	}
	return nil, fmt.Errorf("operation %q on a reminder", in.Op)
}

const (
	tenMinutes = 10 * time.Minute
	lately     = 6 * time.Hour // ago: what rang then is what somebody snoozes
)

// snooze has what rang come once more.
func (d *Desk) snooze(w wish, j cron.Job, slot time.Time) ([]step, error) {
	in, now, zone := w.in, d.jobs.Now(), zoneOf(j.Schedule)
	again := func(p when.Phrase) []step {
		gone := j
		gone.Runs = nil
		return []step{{Do: "add", Job: w.copied(j, p)}, {Do: string(intent.Done), ID: j.ID, Job: gone}}
	}
	p := when.Phrase{Zone: zone}
	switch {
	case in.Time != "":
		return d.reading(w, when.Phrase{At: slot.In(zone), Zone: zone}, slot, again)
	case in.Shift == (when.Span{}):
		p.At = now.Add(tenMinutes)
	case in.Shift.Exact != 0:
		p.At = in.Shift.After(now.In(zone))
	default: // whole days: at the same hour
		for p.At = in.Shift.After(slot.In(zone)); !p.At.After(now); {
			p.At = p.At.AddDate(0, 0, 1)
		}
	}
	return again(p), nil
}

// orMinutes reads "snooze 15", and asks where the list has such a number.
func (d *Desk) orMinutes(ctx context.Context, w wish, seed string) (*deed, error) {
	n := w.in.Ref.Number
	w.in.Ref.Words = ""
	numbered, err := d.changing(ctx, w, seed)
	w.in.Ref, w.in.Shift.Exact = intent.Ref{Rang: true}, time.Duration(n)*time.Minute
	todo, otherwise := d.changing(ctx, w, seed)
	switch {
	case err != nil:
		return todo, otherwise
	case otherwise != nil:
		return numbered, nil
	}
	return nil, &question{
		Prompt: fmt.Sprintf(w.pick("%d minutes, or number %[1]d of the list?", "是 %d 分钟，还是列表里的第 %[1]d 个？"), n),
		Choices: []choice{
			{Label: fmt.Sprintf(w.pick("%d minutes – ", "%d 分钟："), n) + thing(todo.Steps[0].Job), Keys: "minutes|分钟", Deed: todo},
			{Label: fmt.Sprintf(w.pick("number %d", "第 %d 个"), n), Keys: "the number|编号", Deed: numbered},
		},
	}
}

// reading reads the new time of something, and asks when it has several
// meanings.
func (d *Desk) reading(w wish, old when.Phrase, slot time.Time, then func(when.Phrase) []step) ([]step, error) {
	now := d.jobs.Now()
	p, err := d.words.moved(w.in.Time, old, slot, now)
	for _, every := range []string{"every ", "每"} { // "make it tuesday and friday" of what repeats
		if q, failed := d.words.moved(every+w.in.Time, old, slot, now); err == nil && len(p.And) > 0 && old.At.IsZero() && failed == nil {
			p = q
		}
	}
	if a, unsure := errors.AsType[*when.Ambiguous](err); unsure {
		q := &question{Prompt: a.Question.In(w.Lang), Intent: intent.Intent{Kind: intent.Change, Op: w.in.Op, Part: w.in.Part, From: w.in.From}}
		for _, c := range a.Choices {
			q.Choices = append(q.Choices, choice{Label: w.when(c, now), Deed: &deed{Op: w.in.Op, Steps: then(c)}})
		}
		return nil, q
	}
	if err == nil {
		err = w.tooOften(p, now)
	}
	if err != nil {
		return nil, err
	}
	return then(p), nil
}

// copied is a job that comes once, besides another one.
func (w wish) copied(j cron.Job, p when.Phrase) cron.Job {
	return cron.Job{Name: j.Name, Message: cmp.Or(w.in.Text, j.Message), Addr: j.Addr, Maker: j.Maker, Direct: j.Direct, Schedule: w.schedule(p), Mode: j.Mode, Misfire: j.Misfire, For: j.For, Nag: j.Nag, Sources: j.Sources}
}

// The words that say whether the next time is meant, or all of them.
const (
	thisTime = "this time|this once|just once|only once|only this time|this one time|next time|only the next|the next one|today s|todays|tomorrow s|tomorrows|tonight s|tonights|这次|这一次|就一次|只一次|就这次|只这次|仅一次|仅此一次|下次|下一次|今天的|明天的|今晚的"
	always   = "always|from now on|every time|all of them|each time|以后|每次|一直|所有"
)

func says(text, words string) bool {
	text = " " + fold(text) + " "
	return slices.ContainsFunc(strings.Split(words, "|"), func(word string) bool {
		return strings.Contains(text, " "+word+" ") || !ascii(word) && strings.Contains(text, word)
	})
}

// move gives a job another time. What repeats is put off once, or always.
func (d *Desk) move(w wish, j cron.Job) ([]step, error) {
	in, now := w.in, d.jobs.Now()
	old, slot := phrase(j.Schedule), next(j, now)
	if slot.IsZero() {
		slot = now.In(old.Zone) // it is over: so much later than now
	}
	set := func(p when.Phrase) []step {
		return []step{{Do: "set", ID: j.ID, Job: cron.Job{Schedule: w.since(j, w.schedule(p), now), Message: in.Text}}}
	}
	justOnce := func(t time.Time) []step {
		out := slot
		if in.Shift == (when.Span{}) && !says(w.m.Text, thisTime) {
			out = w.sameDay(&j, t, slot)
		}
		return []step{{Do: "add", Job: w.copied(j, when.Phrase{At: t, Zone: old.Zone})}, parted{d, &w, &j, now}.out(out)}
	}
	if n, err := strconv.Atoi(in.Time); err == nil && single(j) && oneOf(j.Name, "timer|计时器") { // "make it 15"
		return set(when.Phrase{At: now.Add(time.Duration(n) * time.Minute), Zone: old.Zone}), nil
	}
	if in.Shift == (when.Span{}) {
		repeats := !single(j) && in.Op != intent.Repeat
		if repeats && says(w.m.Text, thisTime) {
			old = when.Phrase{At: slot, Zone: old.Zone}
		}
		steps, err := d.reading(w, old, slot, func(p when.Phrase) []step {
			if repeats && !p.At.IsZero() {
				return justOnce(p.At)
			}
			return set(p)
		})
		if err == nil && repeats && !in.Ref.All && steps[0].Do == "add" && next(j, steps[0].Job.Schedule.At.Add(-time.Second)).Equal(steps[0].Job.Schedule.At) {
			err = &Refusal{Kind: Unsure, Text: fmt.Sprintf(w.pick("“%s” comes then anyway, %s; say at which other time it shall come, or “undo” to take back a change", "“%s”那时本来就会提醒（%s）；请说改到别的什么时间，要撤回更改请说“撤销”"), thing(j), w.when(phrase(j.Schedule), now))}
		}
		return steps, err
	}
	later := in.Shift.After(slot)
	once := justOnce(later)
	p, err := d.words.moved(later.Format("15:04"), old, slot, now)
	fixed := err == nil && p.At.IsZero() && p.Every == 0 && later.YearDay() == slot.YearDay()
	switch {
	case single(j):
		return set(when.Phrase{At: later, Zone: old.Zone}), nil
	case fixed && says(w.m.Text, always):
		return set(p), nil
	}
	return once, nil
}

// times are the new ones that are said for a slot.
func (p parted) times(slot time.Time) (times []when.Phrase, err error) {
	zone := zoneOf(p.j.Schedule)
	times = []when.Phrase{{At: p.w.in.Shift.After(slot), Zone: zone}}
	if p.w.in.Shift == (when.Span{}) {
		times[0], err = p.words.moved(p.w.in.Time, when.Phrase{At: slot, Zone: zone}, slot, p.now)
	}
	if a, unsure := errors.AsType[*when.Ambiguous](err); unsure {
		times, err = a.Choices, nil
	}
	return append(times, p.near(times, slot, err)...), err
}

// sameDay is the time of what repeats that is meant on the day of t, when another one
// is said for that day; else slot.
func (w *wish) sameDay(j *cron.Job, t, slot time.Time) time.Time {
	day := calendar.On(t.In(slot.Location()))
	s := next(*j, day.At(0, 0, 0, slot.Location()).Add(-time.Second))
	for n := 0; n < maxLeft && !s.IsZero() && calendar.On(s) == day; n++ {
		if w.among(s) && !s.Equal(t) && s.After(slot) {
			return s
		}
		s = next(*j, s)
	}
	return slot
}

// near is the other reading of a bare hour, in the half of the day in which something
// comes: "6" for 7am.
func (p parted) near(times []when.Phrase, slot time.Time, err error) []when.Phrase {
	if err != nil || len(times) > 1 || times[0].At.IsZero() || times[0].At.Hour() < 12 == (slot.Hour() < 12) {
		return nil
	}
	halves := [2]string{"%s am", "早上%s"}
	if slot.Hour() >= 12 {
		halves = [2]string{"%s pm", "晚上%s"}
	}
	for _, half := range halves {
		q, err := p.words.moved(fmt.Sprintf(half, p.w.in.Time), when.Phrase{At: slot, Zone: slot.Location()}, slot, p.now)
		if err == nil && q.At.Sub(times[0].At).Abs() == 12*time.Hour {
			return []when.Phrase{q}
		}
	}
	return nil
}
