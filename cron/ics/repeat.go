package ics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"magpie/cron"
	"magpie/cron/calendar"
)

// schedule is when an event comes, so long after its start.
func (f *file) schedule(c *ical.Component, from moment, after time.Duration) (cron.Schedule, error) {
	zone := from.zone.String()
	if r, err := calendar.ParseRule(unescape(value(c, propRule))); err == nil {
		return cron.Schedule{Rule: r.String(), Zone: zone}, nil
	}
	repeats := c.Props.Values(ical.PropRecurrenceRule)
	also := c.Props.Values(ical.PropRecurrenceDates)
	if len(repeats)+len(also) == 0 || c.Props.Get(ical.PropRecurrenceID) != nil {
		m := moment{wall: from.wall.Add(after), zone: from.zone}
		return cron.Schedule{At: m.at(), Zone: f.chat.String()}, nil
	}
	if f.repeats++; f.repeats > maxRepeats {
		return cron.Schedule{}, whyTooMany
	}
	first := from.wall.Add(after)
	shift := int(calendar.On(first).At(0, 0, 0, time.UTC).Sub(calendar.On(from.wall).At(0, 0, 0, time.UTC)).Hours()) / 24
	lines := []string{"DTSTART:" + first.Format(layout)}
	for _, p := range repeats {
		part, err := f.part(p.Value, from, after, shift)
		if err != nil {
			return cron.Schedule{}, err
		}
		lines = append(lines, "RRULE:"+part)
	}
	extra, err := f.dates(also, from, after)
	if err != nil {
		return cron.Schedule{}, err
	}
	if len(repeats) == 0 {
		extra = append(extra, first.Format(layout)) // DTSTART is one of them
	}
	except := c.Props.Values(ical.PropExceptionDates)
	for _, id := range f.moved[value(c, ical.PropUID)] {
		except = append(except, *id)
	}
	less, err := f.dates(except, from, after)
	if err != nil {
		return cron.Schedule{}, err
	}
	if len(extra) > 0 {
		lines = append(lines, "RDATE:"+strings.Join(extra, ","))
	}
	if len(less) > 0 {
		lines = append(lines, "EXDATE:"+strings.Join(less, ","))
	}
	r, err := calendar.ParseRule(strings.Join(lines, "\n"))
	if err != nil {
		return cron.Schedule{}, whyBadRepeat
	}
	return cron.Schedule{Rule: r.String(), Zone: zone}, nil
}

// dates are the times of RDATE or EXDATE that have not passed, so long after.
func (f *file) dates(props []ical.Prop, from moment, after time.Duration) (all []string, err error) {
	for _, p := range props {
		for one := range strings.SplitSeq(p.Value, ",") {
			p.Value, _, _ = strings.Cut(one, "/") // a period
			m, err := f.moment(&p, from.zone)
			if err != nil {
				return nil, err
			}
			t := m.in(from.zone)
			if m.day && !from.day {
				t = t.Add(from.wall.Sub(calendar.On(from.wall).At(0, 0, 0, time.UTC)))
			}
			t = t.Add(after)
			if t.After(f.now.UTC().AddDate(0, 0, -2)) {
				all = append(all, t.Format(layout))
			}
		}
	}
	return all, nil
}

// part is a RRULE for the alarm, in local time: what is named of the day is that
// of the event, shift days before.
func (f *file) part(text string, from moment, after time.Duration, shift int) (string, error) {
	fields := strings.Split(strings.ToUpper(strings.TrimSpace(text)), ";")
	var kept []string
	clocks, days := false, false
	within := slices.ContainsFunc(fields, func(f string) bool { return f == "FREQ=HOURLY" || f == "FREQ=MINUTELY" || f == "FREQ=SECONDLY" })
	own := map[string]int{"BYHOUR": from.wall.Hour(), "BYMINUTE": from.wall.Minute(), "BYSECOND": from.wall.Second()}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "":
			continue
		case "UNTIL":
			m, err := f.moment(&ical.Prop{Value: value}, from.zone)
			if err != nil {
				return "", whyBadRepeat
			}
			t := m.in(from.zone)
			if m.day {
				t = t.Add(24*time.Hour - time.Second)
			}
			field = name + "=" + t.Add(after).Format(layout)
		case "WKST":
			if value != "SU" && value != "MO" {
				continue // which matters to every other week only
			}
		case "BYHOUR", "BYMINUTE", "BYSECOND":
			if n, err := strconv.Atoi(value); err == nil && n == own[name] && !within && after != 0 {
				continue // as DTSTART has it
			}
			clocks = true
		default:
			days = days || strings.HasPrefix(name, "BY")
		}
		kept = append(kept, field)
	}
	switch {
	case after == 0:
	case clocks || within && days:
		return "", whyBadAlarm
	case shift != 0 && !within:
		kept = append(kept, fmt.Sprintf("X-SHIFT=%d", shift))
	}
	return strings.Join(kept, ";"), nil
}
