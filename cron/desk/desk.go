// Package desk is where reminders and jobs are asked for, changed and looked
// up: it carries out what a person, a button, a command or a model wants of
// the jobs of a cron.Store, asks back what is missing, takes back what was
// done, and words every answer in English or Chinese. It is not the store, nor
// does it fire anything or know who is an administrator. It starts no
// goroutine.
package desk

import (
	"context"
	"errors"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
	"magpie/internal/kv"
)

// Who asks, from which chat, and in which language the answer is.
type Who struct {
	Addr   chat.Address // whose jobs are meant
	Sender chat.Sender
	Home   string         // the channel that Sender is on; "" = that of Addr
	Direct bool           // Addr is a private chat
	Admin  bool           // may change the jobs of others
	Zone   *time.Location // of the chat; nil = UTC
	Lang   string         // "zh" = Chinese, else English
	// Sources are of the text from outside that whoever asks in their name has
	// read: what is made or changed keeps them.
	Sources []chat.Source
}

func (w Who) by() cron.By {
	home := w.Home
	if home == "" {
		home = w.Addr.Channel
	}
	return cron.By{Person: cron.Person{Channel: home, Sender: w.Sender}, Admin: w.Admin}
}

// may says whether the asker may change a job.
func (w Who) may(j cron.Job) bool {
	return w.Admin || w.is(j.Maker) || w.is(j.For)
}

func (w Who) is(p cron.Person) bool {
	by := w.by()
	return by.ID != "" && by.ID == p.ID && by.Channel == p.Channel
}

func (w Who) zone() *time.Location {
	if w.Zone == nil {
		return time.UTC
	}
	return w.Zone
}

// pick chooses by the language.
func (w Who) pick(english, chinese string) string {
	return when.Text{English: english, Chinese: chinese}.In(w.Lang)
}

// Ask is a job that is asked for. Exactly one of Every, Cron, At and Schedule
// says when.
type Ask struct {
	// Message is what is said, or done, when the time comes. Without one it is
	// taken from Schedule: "in 20 minutes to stretch".
	Message  string
	Name     string
	Every    time.Duration
	Cron     string      // an expression
	At       string      // a single time
	Schedule string      // a time in any of these forms, or in words
	Zone     string      // as when.Zone reads it; "" = that of the chat
	Mode     string      // "", "notify" or "agent"
	Misfire  string      // as cron.ParseMisfire reads it
	For      cron.Person // whose reminder it is; nobody: that of who asks
	// Key tells requests apart: the same one again, as after a crash, is the
	// same job. "" = every request is a new one.
	Key string
	// Prefix is what a person writes in front of a choice when a time has
	// several meanings, "/remind" for a command; "" = choices are listed alone.
	Prefix string
}

// Desk answers. Safe for concurrent use.
type Desk struct {
	jobs   *cron.Store
	memory kv.Table
	words  reader
}

// New returns a Desk over the jobs of a store. memory is a table of its own:
// the open questions, what was last spoken of, shown and changed.
func New(jobs *cron.Store, memory kv.Table) *Desk {
	return &Desk{jobs, memory, reader{intent.Read, intent.Reply, when.Moved}}
}

// reader is what reads the words of people.
type reader struct {
	read  func(text string, c intent.Context) intent.Intent
	reply func(said string, asked intent.Context, answer string, c intent.Context) (intent.Intent, bool)
	moved func(text string, old when.Phrase, next, now time.Time) (when.Phrase, error)
}

// Add is Make for who needs the text and the first of the jobs.
func (d *Desk) Add(ctx context.Context, w Who, a Ask) (cron.Job, string, error) {
	said, err := d.Make(ctx, w, a)
	if err != nil || len(said.Jobs) == 0 {
		return cron.Job{}, said.Text, err
	}
	return said.Jobs[0], said.Text, nil
}

// Make stores a job for each time that is asked for, all or none, and says what
// was understood. What cannot be is a *Refusal, and nothing is stored.
func (d *Desk) Make(ctx context.Context, w Who, a Ask) (Said, error) {
	return d.once(ctx, w, a.Key, func(seed string) (*deed, Said, error) {
		misfire, err := cron.ParseMisfire(a.Misfire)
		if err != nil {
			return nil, Said{}, err
		}
		phrases, message, err := w.understand(a, d.jobs.Now())
		if err != nil {
			return nil, Said{}, err
		}
		made, err := d.creating(wish{w, intent.Intent{Times: phrases, Text: message}, Message{For: a.For}}, seed)
		if err != nil {
			return nil, Said{}, err
		}
		for i := range made.Steps {
			j := &made.Steps[i].Job
			j.Name, j.Misfire, j.Mode = a.Name, misfire, cron.Mode(strings.ToLower(strings.TrimSpace(a.Mode)))
		}
		return made, Said{}, nil
	})
}

// Times reads when something is asked for, as Make does.
func (d *Desk) Times(w Who, a Ask) ([]when.Phrase, error) {
	times, _, err := w.understand(a, d.jobs.Now())
	return times, d.refuse(w, err)
}

// Now is what the clock of the jobs shows.
func (d *Desk) Now() time.Time { return d.jobs.Now() }

// understand reads when, and what.
func (w Who) understand(a Ask, now time.Time) ([]when.Phrase, string, error) {
	zone := w.zone()
	if a.Zone != "" {
		var err error
		if zone, err = when.Zone(a.Zone); err != nil {
			return nil, "", err
		}
	}
	given := 0
	for _, is := range []bool{a.Every != 0, a.Cron != "", a.At != "", a.Schedule != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, "", &Refusal{Text: w.pick(
			`say when, in exactly one way: schedule ("in 20 minutes", "every weekday at 09:00"), at (2026-11-24T15:00), cron_expr (0 9 * * 1-5) or every_seconds`,
			`请用且只用一种方式说明时间：schedule（“20分钟后”“每个工作日 09:00”）、at（2026-11-24T15:00）、cron_expr（0 9 * * 1-5）或 every_seconds`)}
	}
	phrases, err := read(a, now, zone)
	if asked, unsure := errors.AsType[*when.Ambiguous](err); unsure {
		return nil, "", w.ask(asked, a)
	}
	if err != nil {
		return nil, "", err
	}
	message := strings.TrimSpace(a.Message)
	if message == "" && len(phrases) > 0 {
		message = phrases[0].Rest
	}
	if message == "" {
		return nil, "", &Refusal{Kind: Unsure, Text: w.pick("what shall I remind you of? Say both, as: ", "要提醒你什么？请一起说，例如：") +
			w.example(a.Prefix)}
	}
	if a.At != "" && phrases[0].At.IsZero() {
		return nil, "", &Refusal{Text: w.pick("at is a single time, as 2026-11-24T15:00; say what repeats as schedule, cron_expr or every_seconds",
			"at 是单个时间，例如 2026-11-24T15:00；重复的时间请用 schedule、cron_expr 或 every_seconds")}
	}
	return phrases, message, nil
}

func read(a Ask, now time.Time, zone *time.Location) ([]when.Phrase, error) {
	one := func(p when.Phrase, err error) ([]when.Phrase, error) { return []when.Phrase{p}, err }
	switch {
	case a.Every != 0:
		return one(when.Phrase{Every: a.Every, Zone: zone}, nil)
	case a.At != "":
		return one(when.Parse(a.At, now, zone))
	case a.Cron != "":
		c, err := when.ParseCron(a.Cron)
		if err == nil {
			return one(when.Phrase{Cron: c.String(), Zone: zone}, nil)
		}
		if p, other := when.Parse(a.Cron, now, zone); other == nil && p.At.IsZero() {
			return one(p, nil) // "@every 10m", "TZ=Asia/Tokyo 0 9 * * *"
		}
		return nil, err
	case strings.TrimSpace(a.Message) == "":
		return when.FindAll(a.Schedule, now, zone)
	}
	p, err := when.Parse(a.Schedule, now, zone)
	if all, other := when.FindAll(a.Schedule, now, zone); err != nil && other == nil && len(all) > 1 {
		for _, each := range all { // "noon and 6pm", and nothing besides
			if each.Rest != "" {
				return one(p, err)
			}
		}
		return all, nil
	}
	return one(p, err)
}

func (w Who) example(prefix string) string {
	text := w.pick("in 20 minutes to stretch", "20分钟后休息一下")
	if prefix != "" {
		return "`" + prefix + " " + text + "`"
	}
	return w.pick("remind me "+text, "20分钟后提醒我休息一下")
}
