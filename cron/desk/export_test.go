package desk

import (
	"context"
	"time"

	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
	"magpie/internal/kv"
)

// Reader are the functions that read words, for tests that decide what is
// understood.
type Reader struct {
	Read  func(text string, c intent.Context) intent.Intent
	Reply func(said string, asked intent.Context, answer string, c intent.Context) (intent.Intent, bool)
	Moved func(text string, old when.Phrase, next, now time.Time) (when.Phrase, error)
}

// NewWith is New with other readers.
func NewWith(jobs *cron.Store, memory kv.Table, r *Reader) *Desk {
	d := New(jobs, memory)
	d.words = reader{
		func(text string, c intent.Context) intent.Intent { return r.Read(text, c) },
		func(said string, asked intent.Context, answer string, c intent.Context) (intent.Intent, bool) {
			return r.Reply(said, asked, answer, c)
		},
		func(text string, old when.Phrase, next, now time.Time) (when.Phrase, error) {
			return r.Moved(text, old, next, now)
		},
	}
	return d
}

// Showed makes the jobs the list last shown.
func (d *Desk) Showed(ctx context.Context, w Who, ids ...string) error {
	return d.showed(ctx, w, shown{IDs: ids, At: d.jobs.Now()})
}
