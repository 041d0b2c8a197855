package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"magpie/cron/intent"
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
	kind := intent.Answered(w.m.Text)
	ids, makes := q.jobs(), len(q.times()) > 1 && q.Choices[0].Deed.Op == ""
	switch {
	case kind == "", kind == yes && w.m.Answer && len(q.Choices) == 0:
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

// pointed are the jobs that an answer means, of those that the question is about.
func (d *Desk) pointed(ctx context.Context, w wish, q *question, c intent.Context) (ids []string) {
	if in := w.in; in.Kind == intent.Query || in.Kind == intent.Change && in.Op != intent.Text && in.Op != intent.Done && in.Op != q.Intent.Op {
		return nil // it is something else
	}
	offered, known := q.about(), c.Known
	c.Known = func() []intent.Known {
		return slices.DeleteFunc(known(), func(k intent.Known) bool { return !slices.Contains(offered, k.ID) })
	}
	in, ok := intent.Pointed(w.m.Text, c)
	if !ok || len(offered) == 0 {
		return nil
	}
	w.in, w.m.Reply = q.Intent, ""
	w.in.Ref, w.in.And, w.in.But = in.Ref, in.And, in.But
	found, _, err := d.meant(ctx, w)
	for _, j := range found {
		if slices.Contains(offered, j.ID) && err == nil {
			ids = append(ids, j.ID)
		}
	}
	return ids
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
		return nil, Said{}, noted{asks, note}
	}
	if m.err != nil {
		return nil, Said{}, m.err
	}
	if err := d.take(ctx, w, q, seed); err != nil {
		return nil, Said{}, err
	}
	if m.todo != nil {
		m.todo.Answers, m.todo.Drops = q.ID, note
		return m.todo, m.said, nil
	}
	m.said.Text += note
	return nil, m.said, d.answered(ctx, w, q.ID)
}
