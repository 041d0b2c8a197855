package desk

import (
	"context"
	"errors"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
)

// stain has what a deed makes or changes keep where its words may come from.
func (t *deed) stain(sources []chat.Source) {
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Do == "add" || s.Do == "set" {
			s.Job.Sources = chat.JoinSources(s.Job.Sources, sources)
		}
	}
}

// stain is that of all that a question would do. Who answers it may not have
// read what it is about.
func (q *question) stain(sources []chat.Source) {
	q.Message.Sources = chat.JoinSources(q.Message.Sources, sources)
	for _, c := range q.Choices {
		if c.Deed != nil {
			c.Deed.stain(q.Message.Sources)
		}
	}
}

// brings are the sources of what a question would make: it shows that.
func (q *question) brings() (all []chat.Source) {
	all = q.Message.Sources
	for _, c := range q.Choices {
		for i := 0; c.Deed != nil && i < len(c.Deed.Steps); i++ {
			all = chat.JoinSources(all, through(c.Deed.Steps[i].Job))
		}
	}
	return all
}

// through are the sources of a job, as read in what it says.
func through(j cron.Job) []chat.Source {
	if j.Created.IsZero() { // it is only asked about
		return j.Sources
	}
	return chat.Through("reminder "+j.Created.In(zoneOf(j.Schedule)).Format(time.DateOnly), j.Sources)
}

// Named are the sources of the reminders of a chat that a text of the desk
// names, and of others.
func (d *Desk) Named(ctx context.Context, w Who, text string, others ...cron.Job) ([]chat.Source, error) {
	jobs, err := d.jobs.List(ctx, w.Addr)
	if err != nil && !errors.Is(err, cron.ErrCorrupt) {
		return nil, err
	}
	rang, err := d.rang(ctx, w, nil) // also what is gone since
	if err != nil {
		return nil, err
	}
	for _, r := range rang {
		jobs = append(jobs, r.Job)
	}
	var all []chat.Source
	for _, j := range append(jobs, others...) {
		says, called := plain(j.Message, maxShown), plain(j.Name, maxShown)
		if len(j.Sources) > 0 && (strings.Contains(text, says) || called != "" && strings.Contains(text, called)) {
			all = chat.JoinSources(all, through(j))
		}
	}
	return all, nil
}

// sourced says with an answer where its words may come from.
func (d *Desk) sourced(ctx context.Context, w Who, said Said, err error) (Said, error) {
	if err != nil || said.Text == "" {
		return said, err
	}
	named, err := d.Named(ctx, w, said.Text, said.Jobs...)
	said.Sources = chat.JoinSources(said.Sources, named)
	return said, err
}
