package ics

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"magpie/cron"
	"magpie/cron/calendar"
	"magpie/cron/when"
)

// Write writes jobs as a calendar file, each as an event with an alarm. What is
// over is left out; what is paused has no alarm. Times that come once are in
// UTC, what repeats is in the zone of the job, with its VTIMEZONE. A rule that
// others would misread (the lunar calendar, working days, holidays) is written
// as the dates of the next two years. ErrEmpty when nothing is left.
func Write(w io.Writer, jobs []cron.Job, now time.Time) error {
	cal := ical.NewCalendar()
	cal.Props.SetText(ical.PropVersion, "2.0")
	cal.Props.SetText(ical.PropProductID, "-//Magpie//Reminders//EN")
	var events []*ical.Component
	starts := map[string]time.Time{} // the earliest of each zone
	for _, j := range jobs {
		all, err := seriesOf(j, now)
		if err != nil {
			return fmt.Errorf("write job %q: %w", j.ID, err)
		}
		for i, s := range all {
			uid := j.ID + "@magpie"
			if i > 0 {
				uid = fmt.Sprintf("%s-%d@magpie", j.ID, i+1)
			}
			events = append(events, s.event(j, uid, now))
			zone := s.start.Location().String()
			if old, ok := starts[zone]; s.start.Location() != time.UTC && (!ok || s.start.Before(old)) {
				starts[zone] = s.start
			}
		}
	}
	if len(events) == 0 {
		return ErrEmpty
	}
	var zones []string
	for zone := range starts {
		zones = append(zones, zone)
	}
	slices.Sort(zones)
	for _, zone := range zones {
		cal.Children = append(cal.Children, timezone(starts[zone], now.AddDate(10, 0, 0)))
	}
	cal.Children = append(cal.Children, events...)
	var plain bytes.Buffer
	if err := ical.NewEncoder(&plain).Encode(cal); err != nil {
		return fmt.Errorf("write calendar: %w", err)
	}
	var folded strings.Builder // which the library does not do
	for line := range strings.SplitSeq(strings.TrimSuffix(plain.String(), "\r\n"), "\r\n") {
		fold(&folded, line)
	}
	_, err := io.WriteString(w, folded.String())
	return err
}

// series is what one event says of times.
type series struct {
	start      time.Time // in its zone
	rrule      string
	also, less []time.Time
	rule       string // what only Magpie reads
}

func (s series) event(j cron.Job, uid string, now time.Time) *ical.Component {
	e := ical.NewComponent(ical.CompEvent)
	set := func(name, value string) {
		e.Props.Set(&ical.Prop{Name: name, Params: ical.Params{}, Value: value})
	}
	set(ical.PropUID, escape(uid))
	e.Props.SetDateTime(ical.PropDateTimeStamp, now.UTC())
	set(ical.PropSummary, escape(j.Message))
	if j.Name != "" {
		set(propName, escape(j.Name))
	}
	if s.rule != "" {
		set(propRule, escape(s.rule))
	}
	e.Props.SetDateTime(ical.PropDateTimeStart, s.start)
	if s.rrule != "" {
		set(ical.PropRecurrenceRule, s.rrule)
	}
	for name, times := range map[string][]time.Time{ical.PropRecurrenceDates: s.also, ical.PropExceptionDates: s.less} {
		if len(times) == 0 {
			continue
		}
		p := ical.NewProp(name)
		p.SetDateTime(s.start) // for its zone
		var values []string
		for _, t := range times {
			if values = append(values, t.Format(layout)); s.start.Location() == time.UTC {
				values[len(values)-1] += "Z"
			}
		}
		p.Value = strings.Join(values, ",")
		e.Props.Set(p)
	}
	if j.Paused {
		set(propPaused, "TRUE")
		return e
	}
	alarm := ical.NewComponent(ical.CompAlarm)
	alarm.Props.SetText(ical.PropAction, "DISPLAY")
	alarm.Props.Set(&ical.Prop{Name: ical.PropDescription, Params: ical.Params{}, Value: escape(j.Message)})
	trigger := ical.NewProp(ical.PropTrigger)
	trigger.SetDuration(0)
	alarm.Props.Set(trigger)
	e.Children = append(e.Children, alarm)
	return e
}

// seriesOf says when a job comes; nothing for one that is over.
func seriesOf(j cron.Job, now time.Time) ([]series, error) {
	j.Paused, j.Nagging = false, nil
	next, err := cron.Next(j, now)
	if err != nil || next.IsZero() {
		return nil, err
	}
	zone, err := when.Zone(j.Schedule.Zone)
	if err != nil {
		return nil, err
	}
	switch s := j.Schedule; {
	case !s.At.IsZero():
		return []series{{start: s.At.UTC()}}, nil
	case s.Every != 0: // elapsed time, as UTC has it
		p := calendar.Every(s.Every)
		return []series{{start: next.UTC(), rrule: p.String()}}, nil
	case s.Cron != "":
		c, err := when.ParseCron(s.Cron)
		if err != nil {
			return nil, err
		}
		parts := c.Parts()
		if len(parts) == 1 {
			return []series{{start: next.In(zone), rrule: parts[0].String()}}, nil
		}
		j.Schedule.Rule = (&calendar.Rule{Start: calendar.Wall(next.In(zone)), Parts: parts}).String()
	}
	r, err := calendar.ParseRule(j.Schedule.Rule)
	if err != nil {
		return nil, err
	}
	plain := !slices.ContainsFunc(r.Parts, func(p calendar.Part) bool {
		return p.Lunar || p.Days != calendar.AllDays || p.Holiday != "" || p.Shift != 0
	})
	if !plain || len(r.Parts) == 0 || j.Schedule.Cron != "" {
		return dates(func(after time.Time) (time.Time, bool) { return r.Next(after, zone) }, now, j.Schedule.Rule), nil
	}
	return plainSeries(r, zone)
}

// plainSeries has a series for each part, from its first slot on.
func plainSeries(r *calendar.Rule, zone *time.Location) (all []series, err error) {
	moment := func(t time.Time) time.Time {
		return calendar.On(t).At(t.Hour(), t.Minute(), t.Second(), zone)
	}
	for i, p := range r.Parts {
		alone, err := calendar.ParseRule((&calendar.Rule{Start: r.Start, Parts: []calendar.Part{p}}).String())
		if err != nil {
			return nil, err
		}
		first, ok := alone.Next(moment(r.Start).Add(-time.Second), zone)
		if !ok {
			continue
		}
		s := series{start: first}
		until := p.Until
		p.Until = time.Time{}
		s.rrule = p.String()
		if !until.IsZero() {
			s.rrule += ";UNTIL=" + moment(until).UTC().Format(layout) + "Z"
		}
		for _, t := range r.Except {
			s.less = append(s.less, moment(t))
		}
		for _, d := range r.ExceptDays {
			t, ok := alone.Next(d.At(0, 0, 0, zone).Add(-time.Second), zone)
			for ; ok && calendar.On(t) == d; t, ok = alone.Next(t, zone) {
				s.less = append(s.less, t)
			}
		}
		if i == 0 {
			for _, t := range r.Extra {
				s.also = append(s.also, moment(t))
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// dates are the slots of the next two years, at most maxDates.
func dates(step func(time.Time) (time.Time, bool), now time.Time, rule string) []series {
	var all []time.Time
	end := now.AddDate(2, 0, 0)
	for t, ok := step(now); ok && t.Before(end) && len(all) < maxDates; t, ok = step(t) {
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil
	}
	return []series{{start: all[0], also: all[1:], rule: rule}}
}

// timezone is the VTIMEZONE of a zone for a span of time.
func timezone(from, to time.Time) *ical.Component {
	tz := ical.NewComponent(ical.CompTimezone)
	tz.Props.SetText(ical.PropTimezoneID, from.Location().String())
	for t := from; t.Before(to); {
		name, offset := t.Zone()
		start, end := t.ZoneBounds()
		before := offset
		onset := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
		if !start.IsZero() {
			_, before = start.Add(-time.Second).Zone()
			onset = start.UTC().Add(time.Duration(before) * time.Second)
		}
		kind := ical.CompTimezoneStandard
		if t.IsDST() {
			kind = ical.CompTimezoneDaylight
		}
		c := ical.NewComponent(kind)
		for prop, value := range map[string]string{
			ical.PropDateTimeStart: onset.Format(layout), ical.PropTimezoneOffsetFrom: shift(before),
			ical.PropTimezoneOffsetTo: shift(offset), ical.PropTimezoneName: escape(name),
		} {
			c.Props.Set(&ical.Prop{Name: prop, Params: ical.Params{}, Value: value})
		}
		tz.Children = append(tz.Children, c)
		if end.IsZero() {
			break
		}
		t = end
	}
	return tz
}

func shift(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	text := fmt.Sprintf("%c%02d%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		text += fmt.Sprintf("%02d", seconds%60)
	}
	return text
}
