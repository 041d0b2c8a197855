package cron

import (
	"errors"
	"maps"
	"sync"
	"time"

	"magpie/internal/kv"
)

// page is what a process knows of one entry of the table.
type page struct {
	job  Job
	plan plan
	rev  uint64
	due  time.Time // the first slot not dealt with; zero for none
	over bool
}

func newPage(j Job, p plan, rev uint64) page {
	pg := page{job: j, plan: p, rev: rev, over: j.over(p)}
	if !j.Paused && !pg.over {
		pg.due = j.due(p, time.Time{})
	}
	return pg
}

// wants says whether something is to be done for the job at now.
func (p page) wants(now time.Time) bool {
	switch {
	case p.job.Pending != nil:
		return p.job.Pending.stale(now)
	case p.finished(now):
		return true
	}
	return !p.due.IsZero() && !p.due.After(now)
}

// timing is what the timer of a job depends on.
type timing struct {
	schedule Schedule
	anchor   time.Time
	nag      time.Time
	off      bool
}

func (p page) timing() timing {
	return timing{schedule: p.job.Schedule, anchor: p.job.Anchor, nag: p.job.nagSlot(), off: p.job.Paused || p.over}
}

func (p page) finished(now time.Time) bool { return p.over && p.job.served(now) }

// book mirrors the table as its watch tells it.
type book struct {
	mu     sync.Mutex
	pages  map[string]page
	broken map[string]error
	zones  zones
	seen   map[string]bool // by the first pass of a watch; nil afterwards
}

func newBook() *book {
	return &book{pages: map[string]page{}, broken: map[string]error{}, zones: zones{}}
}

// begin starts a first pass: what is not seen until end is gone.
func (b *book) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = map[string]bool{}
}

// end returns the keys that went while nobody watched.
func (b *book) end() (gone []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.pages {
		if !b.seen[key] {
			gone = append(gone, key)
			delete(b.pages, key)
		}
	}
	maps.DeleteFunc(b.broken, func(key string, _ error) bool { return !b.seen[key] })
	b.seen = nil
	return gone
}

// errOld is that of an entry older than what the book has.
var errOld = errors.New("the entry is older than what is known")

// enter takes in an entry: its page before and after, known false when it is
// gone. The error is errOld or that of a damaged entry, whose page goes. free
// takes a claim from whoever held it.
func (b *book) enter(e kv.Entry, free bool) (before, after page, known bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen != nil && !e.Deleted {
		b.seen[e.Key] = true
	}
	before = b.pages[e.Key]
	if before.rev >= e.Revision {
		return before, before, true, errOld
	}
	delete(b.pages, e.Key)
	delete(b.broken, e.Key)
	if e.Deleted {
		return before, page{}, false, nil
	}
	j, p, err := decode(e.Key, e.Value, b.zones.load)
	if err != nil {
		b.broken[e.Key] = err
		return before, page{}, false, err
	}
	if free && j.Pending != nil {
		nobodys := *j.Pending
		nobodys.Claimed = time.Time{}
		j.Pending = &nobodys
	}
	after = newPage(j, p, e.Revision)
	b.pages[e.Key] = after
	return before, after, true, nil
}

func (b *book) page(key string) (page, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.pages[key]
	return p, ok
}

// each calls fn for every page, outside the lock.
func (b *book) each(fn func(key string, p page)) {
	b.mu.Lock()
	pages := maps.Clone(b.pages)
	b.mu.Unlock()
	for key, p := range pages {
		fn(key, p)
	}
}
