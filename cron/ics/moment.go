package ics

import (
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"magpie/cron/calendar"
)

// moment is a time as a file has it.
type moment struct {
	wall time.Time // what the clock of the zone shows
	zone *time.Location
	day  bool // a day without an hour
}

func (m moment) at() time.Time {
	return calendar.On(m.wall).At(m.wall.Hour(), m.wall.Minute(), m.wall.Second(), m.zone)
}

// in is what the clock of another zone shows then; of a day it is the same.
func (m moment) in(zone *time.Location) time.Time {
	if m.day {
		return m.wall
	}
	return calendar.Wall(m.at().In(zone))
}

// moment reads a time; one that names no zone is of home.
func (f *file) moment(p *ical.Prop, home *time.Location) (moment, error) {
	zone := home
	if tzid := p.Params.Get(ical.ParamTimezoneID); tzid != "" {
		own, ok := f.zones[tzid]
		if !ok {
			own, ok = known(tzid)
		}
		if !ok && !strings.EqualFold(tzid, "Local") {
			return moment{}, badZone(tzid)
		}
		if ok {
			zone = own
		}
	}
	text := strings.TrimSpace(p.Value)
	if t, err := time.Parse("20060102", text); err == nil {
		return moment{t, zone, true}, nilIfSane(t)
	}
	if utc, is := strings.CutSuffix(strings.ToUpper(text), "Z"); is {
		text, zone = utc, time.UTC
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return moment{}, whyBadTime
	}
	return moment{t, zone, false}, nilIfSane(t)
}

// nilIfSane refuses years that no reminder is about.
func nilIfSane(t time.Time) error {
	if t.Year() < 1900 || t.Year() > 9000 {
		return whyBadTime
	}
	return nil
}

// alarm is so long after the start, or at a time.
type alarm struct {
	after time.Duration
	at    time.Time
}

// morning is when a day without an hour is.
const morning = 9 * time.Hour

// alarms are those of an event, at most maxAlarms, else its start.
func (f *file) alarms(c *ical.Component, from moment) (all []alarm, err error) {
	shown := slices.ContainsFunc(c.Children, func(a *ical.Component) bool { return rings(a, false) })
	for _, a := range c.Children {
		trigger := a.Props.Get(ical.PropTrigger)
		if a.Name != ical.CompAlarm || trigger == nil || !rings(a, !shown) {
			continue
		}
		one := alarm{}
		if strings.HasPrefix(strings.TrimLeft(trigger.Value, "+-"), "P") {
			trigger.Params.Del(ical.ParamValue)
			if one.after, err = trigger.Duration(); err != nil || one.after.Abs() > 366*24*time.Hour {
				return nil, whyBadAlarm
			}
			if strings.EqualFold(trigger.Params.Get(ical.ParamRelated), "END") {
				length, err := f.length(c, from)
				if err != nil {
					return nil, err
				}
				one.after += length
			}
		} else {
			m, err := f.moment(trigger, f.home)
			if err != nil {
				return nil, whyBadAlarm
			}
			one.at = m.at()
		}
		if !slices.Contains(all, one) && len(all) < maxAlarms {
			all = append(all, one)
		}
	}
	switch {
	case len(all) > 0:
	case from.day:
		all = []alarm{{after: morning}}
	default:
		all = []alarm{{}}
	}
	return all, nil
}

// rings says whether an alarm is shown or heard; mails count if there is
// nothing else.
func rings(a *ical.Component, mails bool) bool {
	switch strings.ToUpper(value(a, ical.PropAction)) {
	case "NONE":
		return false
	case "EMAIL":
		return mails
	}
	return a.Name == ical.CompAlarm
}

// length is from the start to the end of an event.
func (f *file) length(c *ical.Component, from moment) (time.Duration, error) {
	if d := c.Props.Get(ical.PropDuration); d != nil {
		length, err := d.Duration()
		if err != nil {
			return 0, whyBadAlarm
		}
		return length, nil
	}
	for _, name := range []string{ical.PropDateTimeEnd, ical.PropDue} {
		if p := c.Props.Get(name); p != nil {
			end, err := f.moment(p, from.zone)
			if err != nil {
				return 0, err
			}
			return end.in(from.zone).Sub(from.wall), nil
		}
	}
	if from.day {
		return 24 * time.Hour, nil
	}
	return 0, nil
}
