package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"magpie/cron/intent"
	"magpie/cron/when"
)

// answer takes what a message chooses: one of what a question offers, none, or
// several. What leaves the question open has it asked again.
func (d *Desk) answer(ctx context.Context, w wish, q *question, seed string) (todo *deed, said Said, done bool, err error) {
	i, ok := q.picked(w.m.Text)
	if !ok {
		i, ok = q.timed(w.m.Text, intent.Context{Now: d.jobs.Now(), Zone: w.zone()})
	}
	if ok {
		todo, said, err = d.choose(ctx, w.Who, q, i, seed)
		return todo, said, true, err
	}
	times := q.times()
	for i := range times {
		if at := q.Choices[i].At; !at.IsZero() {
			times[i] = when.Phrase{At: at, Zone: times[i].Zone}
		}
	}
	if some := intent.Fitting(w.m.Text, times, intent.Context{Now: d.jobs.Now(), Zone: w.zone()}); q.Job != "" && len(some) > 1 && len(some) < len(q.Choices) {
		left := *q // "pm": once, or always?
		left.Choices, left.Taken = nil, ""
		for _, i := range some {
			left.Choices = append(left.Choices, q.Choices[i])
		}
		return nil, Said{}, true, &left
	}
	kind := q.answered(w.m.Text)
	ids, makes := q.jobs(), len(q.times()) > 1 && q.Choices[0].Deed.Op == ""
	switch {
	case kind == "", kind == more, kind == yes && w.m.Answer && len(q.Choices) == 0:
		return nil, Said{}, false, nil
	case kind == "all" && len(ids) > 1:
		todo, said, err = d.chosen(ctx, w.Who, q, ids, seed)
		return todo, said, true, err
	case kind == "all" && makes:
		todo = &deed{Seed: q.ID}
		for _, c := range q.Choices {
			todo.Steps = append(todo.Steps, c.Deed.Steps...)
		}
		q.Choices[0].Deed = todo
		fallthrough
	case kind == "any" && makes: // the first is as good as the others
		todo, said, err = d.choose(ctx, w.Who, q, 0, seed)
		return todo, said, true, err
	}
	return nil, w.prompt(*q), true, nil
}

// about takes what a message says of what the question is about: "delete it", or
// which of those is meant. "It" is what the question would make; which of several
// is not said so.
func (d *Desk) about(ctx context.Context, w wish, q *question, c intent.Context, seed string) (todo *deed, said Said, done bool, err error) {
	drops := w.in.Op == intent.Remove && w.in.Ref == (intent.Ref{Last: true}) && w.in.But == nil
	ids, points := d.pointed(ctx, w, q, c)
	switch {
	case drops && q.makes():
		todo, said, err = d.choose(ctx, w.Who, q, -1, seed)
	case drops, len(ids) == 0 && points:
		said = w.prompt(*q)
	case len(ids) > 0:
		todo, said, err = d.chosen(ctx, w.Who, q, ids, seed)
	default:
		return nil, said, false, nil
	}
	return todo, said, true, err
}

// pointed are the jobs that an answer means, of those that the question is about.
// It may point at none of them.
func (d *Desk) pointed(ctx context.Context, w wish, q *question, c intent.Context) (ids []string, points bool) {
	nothing := w.in.Kind == intent.None
	if in := w.in; in.Kind == intent.Query || in.Kind == intent.Change && !slices.Contains([]intent.Op{intent.Text, intent.Done, intent.Remove, q.Intent.Op}, in.Op) {
		return nil, false // it is something else
	}
	offered, known := q.about(), c.Known
	c.Known = func() []intent.Known {
		return slices.DeleteFunc(known(), func(k intent.Known) bool { return !slices.Contains(offered, k.ID) })
	}
	in, ok := intent.Pointed(w.m.Text, c)
	if !ok || len(offered) == 0 {
		return nil, false
	}
	w.in, w.m.Reply = q.Intent, ""
	w.in.Ref, w.in.And, w.in.But = in.Ref, in.And, in.But
	found, _, err := d.meant(ctx, w)
	for _, j := range found {
		if slices.Contains(offered, j.ID) && err == nil {
			ids = append(ids, j.ID)
		}
	}
	return ids, nothing && len(q.jobs()) > 0
}

// chosen carries on what a question was about, with the jobs that its answer
// means.
func (d *Desk) chosen(ctx context.Context, w Who, q *question, ids []string, seed string) (*deed, Said, error) {
	in := q.Intent
	in.Ref, in.And = intent.Ref{ID: ids[0]}, nil
	if len(ids) > 1 {
		in.Ref = intent.Ref{All: true}
		for _, id := range ids {
			in.And = append(in.And, intent.Ref{ID: id})
		}
	}
	todo, said, err := d.meet(ctx, wish{w, in, q.Message}, q.ID)
	return d.closing(ctx, w, q, seed, met{todo, said, err, true})
}

// met is what became of a message while a question was open, and whether it
// answers that.
type met struct {
	todo    *deed
	said    Said
	err     error
	answers bool
}

// closing ends a question; it is said when the message is no answer to it.
func (d *Desk) closing(ctx context.Context, w Who, q *question, seed string, m met) (*deed, Said, error) {
	note := ""
	if first, _, _ := strings.Cut(q.Prompt, "\n"); !m.answers {
		note = fmt.Sprintf(w.pick("\n(My question “%s” is dropped.)", "\n（刚才的问题“%s”不再等回答。）"), first)
	}
	if asks, is := errors.AsType[*question](m.err); is {
		if m.answers {
			asks.stain(q.Message.Sources)
		}
		return nil, Said{}, noted{asks, note}
	}
	if m.err != nil {
		return nil, Said{}, m.err
	}
	if err := d.take(ctx, w, q, seed); err != nil {
		return nil, Said{}, err
	}
	if m.todo != nil {
		if m.answers {
			m.todo.stain(q.Message.Sources)
		}
		m.todo.Answers, m.todo.Drops = q.ID, note
		return m.todo, m.said, nil
	}
	m.said.Text += note
	return nil, m.said, d.answered(ctx, w, q.ID)
}

// rangSince says that the last that was told is a reminder which has rung after a
// question was asked.
func (d *Desk) rangSince(ctx context.Context, w Who, q *question) bool {
	rang, err := d.rang(ctx, w, nil)
	last, failed := d.topic(ctx, w, rang)
	return err == nil && failed == nil && last.Just == intent.Rang && last.At.After(q.Until.Add(-askedFor))
}

// putsOff says that a message, which is about what has rung if it is about anything,
// puts that off, without another time, or is done with it.
func putsOff(in intent.Intent, c intent.Context) bool {
	p, _ := when.Parse(in.Time, c.Now, c.Zone)
	return (in.Op == intent.Snooze || in.Op == intent.Done) && (in.Time == "" || p.Vague)
}
