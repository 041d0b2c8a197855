package desk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/cron"
	"magpie/cron/calendar"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// maxLeft is how many times can be left out one by one.
const maxLeft = 60

// slots are the times of a job in the range of a wish, the first maxLeft of
// them; ahead of all of them come others when first is false.
func (w wish) slots(j cron.Job, now time.Time) (all []time.Time, first bool) {
	from, to := w.in.From, w.in.To
	if from.Before(now) {
		from = now.Add(time.Second)
	}
	for t := next(j, from.Add(-time.Second)); !t.IsZero() && t.Before(to) && len(all) < maxLeft; t = next(j, t) {
		listed := len(w.in.Days) == 0 || slices.ContainsFunc(w.in.Days, func(day time.Time) bool { return !t.Before(day) && t.Before(day.AddDate(0, 0, 1)) })
		if !listed {
			continue
		}
		if single(j) || w.in.Part.Day && w.in.Part.Clock == "" || w.among(t) {
			all = append(all, t)
		}
	}
	return all, len(all) > 0 && all[0].Equal(next(j, now))
}

// then keeps the jobs that come in the range of a wish.
func (w wish) then(found []cron.Job, now time.Time) ([]cron.Job, error) {
	kept := slices.DeleteFunc(slices.Clone(found), func(j cron.Job) bool {
		all, _ := w.slots(j, now)
		return len(all) == 0
	})
	if len(kept) > 0 {
		return kept, nil
	}
	r := &Refusal{Kind: Unsure, Text: w.pick("nothing comes then, so I left out nothing", "那段时间没有提醒，没有做任何更改")}
	if len(found) == 1 {
		r.Text = fmt.Sprintf(w.pick("“%s” does not come then, so I left out nothing", "“%s”那段时间没有提醒，没有做任何更改"), thing(found[0]))
		if t := next(found[0], now); !t.IsZero() {
			r.Text += fmt.Sprintf(w.pick("; it comes %s", "；下次是%s"), w.soon(t, now))
		}
	}
	return nil, r
}

// leaving leaves out what a job has in the range of a wish, and nothing else.
func (d *Desk) leaving(w wish, j cron.Job) ([]step, error) {
	now := d.jobs.Now()
	all, first := w.slots(j, now)
	switch {
	case len(all) == 0 || single(j):
		return []step{{Do: string(intent.Remove), ID: j.ID, Slots: all}}, nil
	case first && len(all) == 1:
		return []step{{Do: string(intent.Skip), ID: j.ID, Slots: all}}, nil
	case first && w.in.Part.Clock == "" && w.in.Days == nil:
		return []step{{Do: "leave", ID: j.ID, Slots: all, Until: w.in.To}}, nil
	}
	if s, ok := without(j, all, now); ok {
		return []step{{Do: "set", ID: j.ID, Job: cron.Job{Schedule: s}, Slots: all}}, nil
	}
	t := next(j, now)
	q := &question{Prompt: fmt.Sprintf(w.pick("Of “%s” I can leave out only the next time, %s. Shall I?", "“%s”只能跳过下一次（%s），要跳过吗？"), thing(j), w.soon(t, now))}
	q.Choices = w.yesNo(w.pick("Yes", "跳过"), &deed{Op: intent.Skip, Steps: []step{{Do: string(intent.Skip), ID: j.ID}}})
	return nil, q
}

// without is the schedule of a job without some of its times. False when it
// cannot be written so.
func without(j cron.Job, out []time.Time, now time.Time) (cron.Schedule, bool) {
	r, ok := ruled(j, now)
	if !ok || len(out) >= maxLeft {
		return j.Schedule, false
	}
	zone, whole := zoneOf(j.Schedule), map[calendar.Date]bool{}
	for _, t := range out { // a day of which all is left out
		day := calendar.On(t.In(zone))
		last := next(j, day.At(23, 59, 59, zone).Add(-24*time.Hour))
		n := 0
		for ; !last.IsZero() && calendar.On(last.In(zone)) == day; last = next(j, last) {
			n++
		}
		same := func(o time.Time) bool { return calendar.On(o.In(zone)) != day }
		whole[day] = n == len(slices.DeleteFunc(slices.Clone(out), same))
	}
	left := slices.Clone(out)
	again := j
	again.LastSlot = now
	for t := next(again, now); !t.IsZero() && !t.After(j.LastSlot) && len(left) < 2*maxLeft; t = next(again, t) {
		left = append(left, t) // they are left out already
	}
	for _, t := range left {
		if day := calendar.On(t.In(zone)); whole[day] {
			r.ExceptDays = append(r.ExceptDays, day)
		} else {
			r.Except = append(r.Except, calendar.Wall(t.In(zone)))
		}
	}
	made, err := calendar.ParseRule(r.String())
	if err != nil {
		return j.Schedule, false
	}
	return cron.Schedule{Rule: made.String(), Zone: j.Schedule.Zone}, true
}

// ending gives what repeats an end.
func (d *Desk) ending(w wish, j cron.Job) ([]step, error) {
	now, zone := d.jobs.Now(), zoneOf(j.Schedule)
	end, err := when.ParseEnd(w.in.Time, now, zone)
	if a, unsure := errors.AsType[*when.Ambiguous](err); unsure {
		return nil, &Refusal{Kind: Unsure, Text: a.Question.In(w.Lang), Err: err}
	}
	if err == nil && j.Paused && !end.Until.IsZero() {
		return nil, &Refusal{Kind: Unsure, Text: fmt.Sprintf(w.pick("“%s” is paused; say “resume it” first, or “pause it until …” to have it come again from then on", "“%s”现在暂停着；请先说“恢复”，或者说“暂停到……”，到时候自动恢复"), plain(j.Message, maxShown))}
	}
	if err == nil && single(j) {
		err = &Refusal{Kind: Unsure, Text: fmt.Sprintf(w.pick("“%s” comes only once and has no end; say when it shall come, or cancel it", "“%s”只提醒一次，没有结束时间；可以改时间或取消"), thing(j))}
	}
	if err != nil {
		return nil, err
	}
	endless, err := until(j, time.Time{}, now)
	if err != nil {
		return nil, err
	}
	again := j
	again.Schedule = endless
	for t, n := next(again, now), 0; n < end.Count && !t.IsZero(); t, n = next(again, t), n+1 { // what is left out does not count
		end.Until = t
	}
	if first := next(j, now); first.IsZero() || !end.Until.IsZero() && first.After(end.Until) {
		q := &question{Prompt: fmt.Sprintf(w.pick("“%s” does not come any more until then. Shall I remove it?", "“%s”到那时不会再响了，要删除吗？"), thing(j))}
		q.Choices = w.yesNo(w.pick("Yes", "删除"), &deed{Op: intent.Remove, Steps: []step{{Do: string(intent.Remove), ID: j.ID}}})
		return nil, q
	}
	var last time.Time // by the wall clock
	if !end.Until.IsZero() {
		last = calendar.Wall(end.Until.In(zone))
	} else if !strings.Contains(j.Schedule.Rule, "UNTIL=") && !strings.Contains(j.Schedule.Rule, "COUNT=") {
		return nil, &Refusal{Kind: Unsure, Text: fmt.Sprintf(w.pick("“%s” has no end already", "“%s”本来就没有结束时间"), thing(j))}
	}
	s, err := until(j, last, now)
	return []step{{Do: "set", ID: j.ID, Job: cron.Job{Schedule: s}}}, err
}

// until is the schedule of a job up to a time by the wall clock, zero for ever.
func until(j cron.Job, end, now time.Time) (cron.Schedule, error) {
	r, _ := ruled(j, now)
	if j.Schedule.Every > 0 {
		r = &calendar.Rule{Start: calendar.Wall(next(j, now)), Parts: []calendar.Part{calendar.Every(j.Schedule.Every)}}
	} else if r == nil {
		return j.Schedule, fmt.Errorf("%w: rule", when.ErrInvalid)
	}
	r.Parts = slices.Clone(r.Parts)
	for i := range r.Parts {
		r.Parts[i].Until, r.Parts[i].Count = end, 0
	}
	if !end.IsZero() {
		r.Extra = slices.DeleteFunc(slices.Clone(r.Extra), end.Before)
	}
	made, err := calendar.ParseRule(r.String())
	if err != nil {
		return j.Schedule, fmt.Errorf("%w: %w", when.ErrInvalid, err)
	}
	return cron.Schedule{Rule: made.String(), Zone: j.Schedule.Zone}, nil
}

// ruled is the schedule of a job as a rule, if it can be one.
func ruled(j cron.Job, now time.Time) (*calendar.Rule, bool) {
	switch s := j.Schedule; {
	case s.Rule != "":
		r, err := calendar.ParseRule(s.Rule)
		if err != nil {
			return nil, false
		}
		past := func(day calendar.Date) bool { return day.Before(calendar.On(now.In(zoneOf(s)))) }
		copied := *r
		copied.ExceptDays = slices.DeleteFunc(slices.Clone(r.ExceptDays), past)
		return &copied, true
	case s.Cron != "":
		c, err := when.ParseCron(s.Cron)
		if err != nil {
			return nil, false
		}
		r := &calendar.Rule{Start: calendar.Wall(now.In(zoneOf(s)).Truncate(time.Minute)), Parts: c.Parts()}
		clockless := func(p calendar.Part) bool { return len(p.Byhour) == 0 } // it goes by each hour that passes
		return r, !slices.ContainsFunc(r.Parts, clockless)
	}
	return nil, false
}

// slots says times that are left out.
func (w Who) slots(all []time.Time, now time.Time) string {
	const shown = 3
	var text []string
	for _, t := range all[:min(shown, len(all))] {
		text = append(text, w.soon(t, now))
	}
	said := strings.Join(text, w.pick("; ", "、"))
	if more := len(all) - shown; more > 0 {
		said += fmt.Sprintf(w.pick(" and %d more", "等%d次"), map[bool]int{true: len(all), false: more}[w.Lang == "zh"])
	}
	return said
}
