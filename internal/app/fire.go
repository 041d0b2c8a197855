package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/agent/buttons"
	"magpie/agent/settings"
	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/when"
)

// firing puts fired slots into their chats.
type firing struct {
	p        *program
	tools    *toolbox
	settings *settings.Store
}

// jobRunner fires the jobs of the store into their chats.
func (p *program) jobRunner(b *brain, t *toolbox) []func(context.Context) error {
	f := &firing{p: p, tools: t, settings: b.settings}
	s := cron.NewScheduler(p.jobs, f.fire, &cron.Options{Clock: p.opts.clock, Log: p.log})
	p.meters.jobs(s.Status)
	return []func(context.Context) error{s.Run, func(ctx context.Context) error {
		select {
		case <-s.Ready():
			p.log.Info("jobs are ready", "jobs", s.Status().Jobs, "damaged", len(s.Status().Broken))
		case <-ctx.Done():
		}
		return nil
	}}
}

// fire stores what a slot is: a notice goes out as it is, so that it needs
// neither the agent nor a model; a task becomes a message that starts a turn.
// nil means that it is durable. Fired again, it has the same id and is skipped.
func (f *firing) fire(ctx context.Context, due cron.Fired) error {
	job := due.Job
	if !f.p.delivers(job.Addr.Channel) {
		return fmt.Errorf("%w: no channel %q is enabled", cron.ErrRefused, job.Addr.Channel)
	}
	var err error
	var trace string
	if job.Mode == cron.Agent {
		in := f.task(due)
		trace, err = in.Trace, f.p.bus.PublishInbound(ctx, in, false)
	} else {
		if err := f.tools.reminders.Rang(ctx, due); err != nil { // it counts more than what its buttons will do
			f.p.log.Warn("it is not noted what rang", "job", job.ID, "err", err)
		}
		var out chat.Outbound
		if out, err = f.notice(ctx, due); err == nil {
			trace, err = out.Trace, f.p.bus.PublishOutbound(ctx, out)
		}
	}
	if err == nil {
		f.p.meters.fired(due, f.p.now())
		f.p.log.Info("job fired", "job", job.ID, "channel", job.Addr.Channel, "session", job.Addr.Session(), "trace", trace, "id", due.ID)
	}
	if errors.Is(err, bus.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", cron.ErrRefused, err)
	}
	return err
}

func (p *program) delivers(channel string) bool { return delivers(p.cfg, channel) }

func delivers(cfg *config.Config, channel string) bool {
	for _, c := range cfg.Channels {
		if c.Name == channel {
			return c.Enabled
		}
	}
	return false
}

func (f *firing) meta(due cron.Fired) chat.Meta {
	return chat.Meta{V: chat.Version, ID: due.ID, Trace: newTrace(), At: f.p.now(), Addr: due.Job.Addr}
}

// task is a slot as the agent hears it: a job, not its maker speaking, but with
// the maker's account and rights.
func (f *firing) task(due cron.Fired) chat.Inbound {
	job := due.Job
	in := chat.Inbound{
		Meta: f.meta(due), Origin: chat.FromCron, From: job.Maker.Sender, Text: job.Message, Direct: job.Direct,
		Sources: broughtBy(job),
	}
	if job.Maker.Channel != job.Addr.Channel {
		// On another platform this id may be somebody else's.
		in.From.ID = job.Maker.Channel + ":" + job.Maker.ID
	}
	if note := lateness(due, when.Moment(due.Slot.In(zoneOf(job)), settings.English), f.p.now(), settings.English); note != "" {
		in.Text += "\n[" + note + "]"
	}
	return in
}

// broughtBy are the sources of a job, as its chat meets them again.
func broughtBy(job cron.Job) []chat.Source {
	return chat.Through("reminder "+job.Created.In(zoneOf(job)).Format(time.DateOnly), job.Sources)
}

// notice is a slot as the chat sees it.
func (f *firing) notice(ctx context.Context, due cron.Fired) (chat.Outbound, error) {
	job := due.Job
	set, err := f.settings.Load(ctx, job.Addr.Session())
	if err != nil { // the reminder counts more than its language
		f.p.log.Warn("settings are not known", "session", job.Addr.Session(), "err", err)
	}
	lang := settings.Lang(set, chat.Sender{}, job.Message)
	now, zone := f.p.now(), f.settings.Zone(set)
	out := chat.Outbound{Meta: f.meta(due), Text: noticeText(due, now, zone, lang), Final: true, Unasked: true, Sources: broughtBy(job)}
	people := peopleOf(job)
	if !job.Direct && f.p.platform(job.Addr.Channel) != webType && len(people) > 0 {
		out.Mention = people[0]
	}
	if job.Hidden { // no reminder: what is said when a question got no answer
		out.Text = job.Message
		return out, nil
	}
	w := desk.Who{Addr: job.Addr, Sender: job.Maker.Sender, Home: job.Maker.Channel, Direct: job.Direct, Zone: zone, Lang: lang}
	spec := buttons.Spec{Addr: job.Addr, Action: reminderAction, Lang: lang}
	for _, who := range people {
		spec.Senders = append(spec.Senders, who.ID)
	}
	out.Buttons, err = f.tools.offer(ctx, spec, job.Direct, choices(f.tools.reminders.DueButtons(w, job)))
	return out, err
}

// noticeText is what a reminder says, and since when if it is late.
func noticeText(due cron.Fired, now time.Time, zone *time.Location, lang string) string {
	text := "⏰ " + chat.Literal(due.Job.Message)
	if note := lateness(due, dueAt(due.Slot.In(zoneOf(due.Job)), now, zone, lang), now, lang); note != "" {
		text += "\n\n_" + note + "_"
	}
	return text
}

// peopleOf are whose reminder it is, on the platform of its chat: for whom it
// is, and who made it.
func peopleOf(job cron.Job) (all []chat.Sender) {
	for _, who := range []cron.Person{job.For, job.Maker} {
		if who.Channel == job.Addr.Channel && who.ID != "" {
			all = append(all, who.Sender)
		}
	}
	return all
}

// zoneOf is the zone of a job, UTC if this machine does not know it.
func zoneOf(job cron.Job) *time.Location {
	zone, err := when.Zone(job.Schedule.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}
