// Package desk is where reminders and jobs are asked for: it turns what a
// person, a command or a model says into a job of a cron.Store, lists and
// changes jobs, and words every answer in English or Chinese. It is not the
// store, nor does it fire anything or know who is an administrator. It starts
// no goroutine.
package desk

import (
	"context"
	"errors"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/when"
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
}

func (w Who) by() cron.By {
	home := w.Home
	if home == "" {
		home = w.Addr.Channel
	}
	return cron.By{Person: cron.Person{Channel: home, Sender: w.Sender}, Admin: w.Admin}
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
	Cron     string // an expression
	At       string // a single time
	Schedule string // a time in any of these forms, or in words
	Zone     string // as when.Zone reads it; "" = that of the chat
	Mode     string // "", "notify" or "agent"
	Misfire  string // as cron.ParseMisfire reads it
	// Key tells requests apart: the same one again, as after a crash, is the
	// same job. "" = every request is a new one.
	Key string
	// Prefix is what a person writes in front of a choice when a time has
	// several meanings, "/remind" for a command; "" = choices are listed alone.
	Prefix string
}

// Desk answers. Safe for concurrent use.
type Desk struct{ jobs *cron.Store }

// New returns a Desk over the jobs of a store.
func New(jobs *cron.Store) *Desk { return &Desk{jobs: jobs} }

// Add stores a job and says what was understood, with absolute time, zone and
// "id: <job id>". What cannot be is a *Refusal, and nothing is stored.
func (d *Desk) Add(ctx context.Context, w Who, a Ask) (cron.Job, string, error) {
	misfire, err := cron.ParseMisfire(a.Misfire)
	if err != nil {
		return cron.Job{}, "", w.refuse(err)
	}
	now := d.jobs.Now()
	phrase, message, err := w.understand(a, now)
	if err != nil {
		return cron.Job{}, "", err
	}
	job := cron.Job{
		Name: a.Name, Message: message, Addr: w.Addr, Maker: w.by().Person, Direct: w.Direct,
		Schedule: cron.Schedule{Every: phrase.Every, Cron: phrase.Cron, At: phrase.At, Zone: phrase.Zone.String()},
		Mode:     cron.Mode(strings.ToLower(strings.TrimSpace(a.Mode))), Misfire: misfire,
	}
	if a.Key != "" {
		job, err = d.jobs.AddOnce(ctx, a.Key, job)
	} else {
		job, err = d.jobs.Add(ctx, job)
	}
	if err != nil {
		return cron.Job{}, "", d.refuse(w, err)
	}
	return job, w.added(job, now), nil
}

// understand reads when, and what.
func (w Who) understand(a Ask, now time.Time) (when.Phrase, string, error) {
	zone := w.zone()
	if a.Zone != "" {
		var err error
		if zone, err = when.Zone(a.Zone); err != nil {
			return when.Phrase{}, "", w.refuse(err)
		}
	}
	given := 0
	for _, is := range []bool{a.Every != 0, a.Cron != "", a.At != "", a.Schedule != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return when.Phrase{}, "", &Refusal{Text: w.pick(
			`say when, in exactly one way: schedule ("in 20 minutes", "every weekday at 09:00"), at (2026-11-24T15:00), cron_expr (0 9 * * 1-5) or every_seconds`,
			`请用且只用一种方式说明时间：schedule（“20分钟后”“每个工作日 09:00”）、at（2026-11-24T15:00）、cron_expr（0 9 * * 1-5）或 every_seconds`)}
	}
	p, err := read(a, now, zone)
	if asked, unsure := errors.AsType[*when.Ambiguous](err); unsure {
		return p, "", w.ask(asked, a)
	}
	if err != nil {
		return p, "", w.refuse(err)
	}
	if err := w.tooOften(p, now); err != nil {
		return p, "", err
	}
	message := strings.TrimSpace(a.Message)
	if message == "" {
		message = p.Rest
	}
	if message == "" {
		return p, "", &Refusal{Kind: Unsure, Text: w.pick("what shall I remind you of? Say both, as: ", "要提醒您什么？请一起说，例如：") +
			w.example(a.Prefix)}
	}
	if a.At != "" && p.At.IsZero() {
		return p, "", &Refusal{Text: w.pick("at is a single time, as 2026-11-24T15:00; say what repeats as schedule, cron_expr or every_seconds",
			"at 是单个时间，例如 2026-11-24T15:00；重复的时间请用 schedule、cron_expr 或 every_seconds")}
	}
	return p, message, nil
}

func read(a Ask, now time.Time, zone *time.Location) (when.Phrase, error) {
	switch {
	case a.Every != 0:
		return when.Phrase{Every: a.Every, Zone: zone}, nil
	case a.At != "":
		return when.Parse(a.At, now, zone)
	case a.Cron != "":
		c, err := when.ParseCron(a.Cron)
		if err == nil {
			return when.Phrase{Cron: c.String(), Zone: zone}, nil
		}
		if p, other := when.Parse(a.Cron, now, zone); other == nil && (p.Every > 0 || p.Cron != "") {
			return p, nil // "@every 10m", "TZ=Asia/Tokyo 0 9 * * *"
		}
		return when.Phrase{}, err
	case strings.TrimSpace(a.Message) == "":
		return when.Find(a.Schedule, now, zone)
	}
	return when.Parse(a.Schedule, now, zone)
}

func (w Who) example(prefix string) string {
	text := w.pick("in 20 minutes to stretch", "20分钟后休息一下")
	if prefix != "" {
		return "`" + prefix + " " + text + "`"
	}
	return w.pick("remind me "+text, "20分钟后提醒我休息一下")
}
