package cron

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron/calendar"
	"magpie/cron/when"
	"magpie/internal/kv"
)

// Errors of a Store, besides *InputError and ErrCorrupt.
var (
	ErrNotFound = errors.New("there is no such job")
	ErrNotYours = errors.New("only the maker of a job, whom it is for, or an admin may change it")
	ErrTooMany  = errors.New("this chat has as many jobs as are allowed; remove some first")
	ErrRunning  = errors.New("the job is being delivered right now")
	ErrOver     = errors.New("the time of the job has passed; make a new one")
)

// StoreOptions are what a Store can do without.
type StoreOptions struct {
	Now     func() time.Time // nil = time.Now
	Zone    string           // of jobs that name none; "" = "Local"
	Misfire Misfire          // of jobs that name none; zero = RunOnce
	PerChat int              // jobs of a chat, those that are over not counted; 0 = 100
}

// Store keeps jobs in a table of its own. Everything is durable when a method
// returns. It may be used by many goroutines and processes at once.
type Store struct {
	table kv.Table
	opt   StoreOptions
}

// NewStore returns a Store on a table that holds nothing else. The error is
// that of a default that no job could use.
func NewStore(table kv.Table, options *StoreOptions) (*Store, error) {
	s := &Store{table: table}
	if options != nil {
		s.opt = *options
	}
	if s.opt.Now == nil {
		s.opt.Now = time.Now
	}
	s.opt.Zone = cmp.Or(s.opt.Zone, "Local")
	s.opt.PerChat = cmp.Or(s.opt.PerChat, 100)
	s.opt.Misfire = cmp.Or(s.opt.Misfire, Misfire{Policy: RunOnce})
	if _, err := when.Zone(s.opt.Zone); err != nil {
		return nil, fmt.Errorf("default time zone %q of jobs: %w", s.opt.Zone, err)
	}
	if err := s.opt.Misfire.check(); err != nil {
		return nil, fmt.Errorf("default of jobs: %w", err)
	}
	return s, nil
}

// now has no monotonic part: jobs are about what clocks on walls show.
func (s *Store) now() time.Time { return s.opt.Now().UTC().Round(0) }

// By is who asks for a change.
type By struct {
	Person
	Admin bool // may change every job
}

func (b By) may(j Job) bool {
	return b.Admin || b.ID != "" && (b.is(j.Maker) || b.is(j.For))
}

func (p Person) is(o Person) bool { return p.ID == o.ID && p.Channel == o.Channel }

// Add checks and stores a job and returns it as it was stored. ID, Created and
// State are set by Add; empty Schedule.Zone, Mode and Misfire get the defaults.
// What cannot be is an *InputError, and nothing is stored.
func (s *Store) Add(ctx context.Context, j Job) (Job, error) {
	return s.add(ctx, j, strings.ToLower(rand.Text()[:10]))
}

// AddOnce is Add for a caller that may be repeated: the same key makes one job.
func (s *Store) AddOnce(ctx context.Context, key string, j Job) (Job, error) {
	sum := sha256.Sum256([]byte(key))
	id := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:10])
	if old, err := s.Get(ctx, j.Addr, id); err == nil {
		return old, nil
	} else if !errors.Is(err, ErrNotFound) {
		return Job{}, err
	}
	return s.add(ctx, j, id)
}

func (s *Store) add(ctx context.Context, j Job, id string) (Job, error) {
	now := s.now()
	j, err := s.fill(j, now)
	if err != nil {
		return Job{}, err
	}
	j.ID = id
	return s.put(ctx, j)
}

// put stores a job that is not there.
func (s *Store) put(ctx context.Context, j Job) (Job, error) {
	if err := s.room(ctx, j.Addr, s.opt.PerChat-1); err != nil {
		return Job{}, err
	}
	value, err := encode(j)
	if err != nil {
		return Job{}, err
	}
	at := key(j.Addr, j.ID)
	if _, err := s.table.Create(ctx, at, value, 0); err != nil {
		return Job{}, fmt.Errorf("store job %q: %w", j.ID, err)
	}
	// Others may have added at the same moment: then the count is looked at
	// again with all in place. Of several some are refused, never too few.
	if err := s.room(ctx, j.Addr, s.opt.PerChat); err != nil {
		return Job{}, errors.Join(err, s.table.Delete(ctx, at))
	}
	return j, nil
}

func (s *Store) fill(j Job, now time.Time) (Job, error) {
	j, err := s.tidy(j)
	if err != nil {
		return Job{}, err
	}
	j.V, j.Created = Version, now
	j.State = State{Anchor: now.Truncate(time.Second), LastSlot: now}
	return j, j.Schedule.Check(now)
}

// tidy fills in what a job does not say and checks all but its schedule.
func (s *Store) tidy(j Job) (Job, error) {
	// A one-shot is never early: a fraction of a second goes up.
	if at := j.Schedule.At; !at.IsZero() {
		j.Schedule.At = at.UTC().Add(time.Second - 1).Truncate(time.Second)
	}
	j.Schedule.Cron = strings.Join(strings.Fields(j.Schedule.Cron), " ")
	if r, err := calendar.ParseRule(j.Schedule.Rule); err == nil {
		j.Schedule.Rule = r.String()
	}
	j.Schedule.Zone = canonical(cmp.Or(strings.TrimSpace(j.Schedule.Zone), s.opt.Zone))
	j.Mode = cmp.Or(j.Mode, Notify)
	j.Misfire = cmp.Or(j.Misfire, s.opt.Misfire)
	j.Name = strings.TrimSpace(strings.ToValidUTF8(j.Name, "�"))
	j.Message = strings.TrimSpace(strings.ToValidUTF8(j.Message, "�"))
	if j.For.is(j.Maker) {
		j.For = Person{}
	}
	switch {
	case j.Addr.Channel == "" || j.Addr.Chat == "":
		return Job{}, wrong("addr", "the job has no chat; want a channel and a chat id")
	case j.Message == "":
		return Job{}, wrong("message", "the message is empty; want what to say when the time comes")
	case len([]rune(j.Message)) > MaxMessage:
		return Job{}, wrong("message", "the message is longer than %d characters", MaxMessage)
	case len([]rune(j.Name)) > MaxName:
		return Job{}, wrong("name", "the name is longer than %d characters", MaxName)
	case j.Mode != Notify && j.Mode != Agent:
		return Job{}, wrong("mode", "%q is no mode; want notify or agent", cut(string(j.Mode), 60))
	case j.For != (Person{}) && (j.For.ID == "" || j.For.Channel == ""):
		return Job{}, wrong("for", "it is not said whom the job is for; want a channel and an id")
	case j.Nag != 0 && (j.Nag < minNag || j.Nag > maxNag || j.Nag%time.Second != 0):
		return Job{}, wrong("nag", "to come again every %s is not possible; want whole seconds, from 1 minute to 24 hours", j.Nag)
	case j.Nag != 0 && j.Mode != Notify:
		return Job{}, wrong("nag", "a task does not come again until it is done; want a reminder, or a schedule that repeats")
	}
	return j, j.Misfire.check()
}

// PerChat is how many jobs a chat may have.
func (s *Store) PerChat() int { return s.opt.PerChat }

// Now is what the store's clock shows, in UTC.
func (s *Store) Now() time.Time { return s.now() }

// room says whether the chat has at most limit jobs that are not over. Damaged
// entries count: they may be jobs.
func (s *Store) room(ctx context.Context, a chat.Address, limit int) error {
	jobs, damaged, err := s.read(ctx, level(a))
	if err != nil {
		return err
	}
	count := len(damaged)
	for _, j := range jobs {
		if !j.Over() && !j.Hidden {
			count++
		}
	}
	if count > limit {
		return fmt.Errorf("%w (%d)", ErrTooMany, s.opt.PerChat)
	}
	return nil
}

// read returns what stands at or below a level.
func (s *Store) read(ctx context.Context, prefix string) (jobs []Job, damaged []error, err error) {
	entries, err := kv.List(ctx, s.table, prefix)
	if err != nil {
		return nil, nil, fmt.Errorf("list jobs: %w", err)
	}
	zones := zones{}
	for _, e := range entries {
		j, _, err := decode(e.Key, e.Value, zones.load)
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		jobs = append(jobs, j)
	}
	sort.Slice(jobs, func(a, b int) bool { // smaller in the program than a generic sort of jobs
		return cmp.Or(jobs[a].Created.Compare(jobs[b].Created), cmp.Compare(jobs[a].ID, jobs[b].ID)) < 0
	})
	return jobs, damaged, nil
}

// List returns the jobs of a chat with all its threads, the oldest first. When
// some entries are damaged it returns the others and an error with ErrCorrupt.
func (s *Store) List(ctx context.Context, a chat.Address) ([]Job, error) {
	jobs, damaged, err := s.read(ctx, level(a))
	return jobs, errors.Join(err, errors.Join(damaged...))
}

// All is List for every chat. It reads the whole table.
func (s *Store) All(ctx context.Context) ([]Job, error) {
	jobs, damaged, err := s.read(ctx, "")
	return jobs, errors.Join(err, errors.Join(damaged...))
}

// Get returns a job of a chat, or ErrNotFound.
func (s *Store) Get(ctx context.Context, a chat.Address, id string) (Job, error) {
	at := key(a, id)
	e, err := s.table.Get(ctx, at)
	if errors.Is(err, kv.ErrNotFound) {
		return Job{}, notFound(id)
	} else if err != nil {
		return Job{}, fmt.Errorf("read job %q: %w", id, err)
	}
	j, _, err := decode(at, e.Value, zoneOf)
	return j, err
}

func notFound(id string) error { return fmt.Errorf("job %q: %w", cut(id, 40), ErrNotFound) }

// Find looks for a job in all chats; it reads the whole table.
func (s *Store) Find(ctx context.Context, id string) (Job, error) {
	jobs, damaged, err := s.read(ctx, "")
	if err != nil {
		return Job{}, err
	}
	if i := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == id }); i >= 0 {
		return jobs[i], nil
	}
	return Job{}, errors.Join(notFound(id), errors.Join(damaged...))
}

// zones remembers the zones that were loaded. Reading one from the zone
// database takes longer than everything else about a job.
type zones map[string]*time.Location

func (z zones) load(name string) (*time.Location, error) {
	if zone, ok := z[name]; ok {
		return zone, nil
	}
	zone, err := zoneOf(name)
	if err == nil {
		z[name] = zone
	}
	return zone, err
}
