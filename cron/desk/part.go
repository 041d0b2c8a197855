package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/cron"
	"magpie/cron/calendar"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// parted is a job of which some times are meant, and a wish of them.
type parted struct {
	*Desk
	w   *wish
	j   *cron.Job
	now time.Time
}

// among says that a time of what repeats is meant.
func (w *wish) among(t time.Time) bool { return w.in.Part == (intent.Part{}) || w.in.Part.Has(t) }

// slot is the next time of a job that is meant.
func (w *wish) slot(j *cron.Job, now time.Time) time.Time {
	t := next(*j, now)
	for range maxLeft {
		if t.IsZero() || w.among(t) {
			return t
		}
		t = next(*j, t)
	}
	return time.Time{}
}

// of are those of a job that are meant, and the rules that stay.
func (w *wish) of(all []atom) (some []atom, rest []string) {
	for _, a := range all {
		if w.among(a.at) {
			some = append(some, a)
		} else {
			rest = append(rest, a.rule)
		}
	}
	return some, rest
}

// partial says that some of the times of a job are meant, and not others; named,
// that it names its days if days are meant: 周五的 of every day is that of the
// coming friday.
func (w *wish) partial(j *cron.Job, now time.Time, named bool) bool {
	if w.in.Part == (intent.Part{}) || w.in.Part.Once {
		return false
	}
	_, all := atoms(j, now, w.in.Part.Day && !named)
	if named && w.in.Part.Day && len(all) > 0 && strings.Contains(all[0].rule, "BYDAY") {
		_, all = atoms(j, now, true)
	}
	some, rest := w.of(all)
	return len(some) > 0 && len(rest) > 0
}

// dated is from when on times are left out, if that is said: zero for a part of
// those of every week, and for what is done if it has rung.
func (w *wish) dated(found []cron.Job, rang []rung, now time.Time) time.Time {
	done := w.in.Op == intent.Done
	if w.in.Count > 0 && len(found) == 1 && !single(found[0]) {
		w.in.From, w.in.To = now, now
		for n := 0; n < w.in.Count && !w.in.To.IsZero(); n++ {
			w.in.To = next(found[0], w.in.To)
		}
		w.in.To = w.in.To.Add(time.Second)
	}
	switch {
	case w.in.Op == intent.Remove && len(found) == 1 && w.partial(&found[0], now, true):
		return time.Time{}
	case done && (len(found) != 1 || single(found[0]) || slices.ContainsFunc(rang, func(r rung) bool { return r.Job.ID == found[0].ID && now.Sub(r.Slot) < lately })):
		return time.Time{}
	case done:
		if ahead, _ := w.slots(found[0], now); len(ahead) == 0 {
			return time.Time{}
		}
	}
	return w.in.From
}

// ofIt is what was last spoken of, where nothing but a time names some of its times;
// else what comes in such a part of a day: "the morning one".
func (d *Desk) ofIt(ctx context.Context, w *wish, jobs []cron.Job, rang []rung) (found []cron.Job, err error) {
	in, now := &w.in, d.jobs.Now()
	if r := &in.Ref; in.Part == (intent.Part{}) || r.ID != "" || r.All || r.Words != "" || r.Number != 0 || w.m.Reply != "" {
		return nil, nil
	}
	last, err := d.topic(ctx, w.Who, rang)
	for _, j := range jobs {
		just := now.Sub(last.At) < justNow && (!single(j) || in.Op == intent.Move) && !w.slot(&j, now).IsZero()
		if slices.Contains(last.IDs, j.ID) && (just || w.partial(&j, now, false)) {
			found = append(found, j)
		}
	}
	if len(found) == 0 && !in.Ref.From.IsZero() && !in.Part.Day && in.Part.Has(in.Ref.From) {
		found = slices.DeleteFunc(slices.Clone(jobs), func(j cron.Job) bool { return w.slot(&j, now).Sub(now).Abs() > 48*time.Hour })
	}
	return found, err
}

// kept is what was skipped of a job, in its new schedule: until when it still is,
// or the schedule without those days if something comes before them.
func kept(was cron.Job, s cron.Schedule, now time.Time) (cron.Schedule, time.Time) {
	if s == was.Schedule || single(was) || !s.At.IsZero() || !was.LastSlot.After(now) {
		return s, time.Time{}
	}
	zone, last, later := zoneOf(was.Schedule), was.LastSlot, next(was, now)
	was.LastSlot = now
	first, skipped := next(was, now), next(was, last.Add(-time.Second)).Equal(last) // else it was paused
	until := calendar.On(last.In(zone)).Add(1).At(0, 0, 0, zone)
	if later.Before(until) { // it comes later on that day
		until = last.Add(time.Second)
	}
	was.Schedule, first = s, calendar.On(first).At(0, 0, 0, zone)
	if skipped && next(was, now).Before(first) {
		var out []time.Time
		for t := next(was, first); !t.IsZero() && t.Before(until); t = next(was, t) {
			out = append(out, t)
		}
		if s, ok := without(was, out, now); ok {
			return s, time.Time{}
		}
	}
	return s, until
}

// since is a new schedule of a job from the time on that is said, with the old
// one until then.
func (w *wish) since(j cron.Job, s cron.Schedule, now time.Time) cron.Schedule {
	from, zone := w.in.From, zoneOf(s)
	if from.IsZero() || !s.At.IsZero() {
		return s
	}
	var before []time.Time
	for t := next(j, now); !t.IsZero() && t.Before(from) && len(before) < 2*maxLeft; t = next(j, t) { // more make no rule
		before = append(before, calendar.Wall(t.In(zone)))
	}
	j.Schedule = s
	r, ok := ruled(j, now)
	if !ok {
		return s
	}
	r.Start, r.Extra = calendar.Wall(from.In(zone)), append(before, r.Extra...)
	return cron.Schedule{Rule: r.String(), Zone: s.Zone}
}

// moves are the ways in which some of the times of a job can get another one. None
// when the words mean all of them alike.
func (p parted) moves() (ways []choice, err error) {
	in, now, zone := &p.w.in, p.now, zoneOf(p.j.Schedule)
	to := intent.PartOf(in.Time, intent.Context{Now: now, Zone: zone})
	forever, shifted, this := says(p.w.m.Text, always) || in.Op == intent.Move && !in.From.IsZero(), in.Shift != (when.Span{}), in.Part.Once || says(p.w.m.Text, thisTime)
	lines, all := atoms(p.j, now, in.Part.Day || to.Day)
	some, rest := p.w.of(all)
	slot, clocks := p.w.slot(p.j, now), clocksOf(some)
	switch {
	case single(*p.j), slot.IsZero() && in.Part == (intent.Part{}), !slot.IsZero() && len(some) == 0 && !in.Part.Once:
		return nil, nil
	case slot.IsZero():
		_, err := p.w.then([]cron.Job{*p.j}, now)
		return nil, err
	case in.Op == intent.Repeat && in.Part == (intent.Part{}) && to.Clock != "" && to.Day:
		return p.renamed(to)
	case len(clocks) > 1 && !shifted && !to.Day && !this && in.Op == intent.Move:
		return p.each(clocks, parted.moves)
	case !in.Part.Once && len(rest) == 0 && in.Part.Week&(in.Part.Week-1) == 0 && !(forever && (to.Day || shifted)):
		return nil, nil
	}
	if week := slot.AddDate(0, 0, -(int(slot.Weekday())+6)%7).Add(-time.Duration(slot.Hour()) * time.Hour); to.Day && !to.Once && week.After(now) {
		now = week // saturday of the week in which it comes
	}
	times, err := parted{p.Desk, p.w, p.j, now}.times(slot)
	for _, time := range times {
		t, ok := time.Next(now)
		day, rules, taken := to.Day, slices.Clone(rest), false
		if err != nil || !ok {
			return nil, err
		}
		slot := slot
		if !this && !shifted && !time.At.IsZero() && day {
			slot = p.w.sameDay(p.j, t, slot)
		}
		once := this || shifted && !forever || day && !time.At.IsZero() && !forever && (to.Once || !in.Part.Day)
		for _, a := range some {
			from, at := slot, t
			if shifted {
				from, at = a.at, in.Shift.After(a.at)
			}
			rules = append(rules, a.put(at.In(zone), from, day))
			taken = taken || slices.Contains(rest, rules[len(rules)-1])
		}
		if once || (taken || in.Part.Day && !day && !in.Part.Always) && !forever {
			once := step{Do: "add", Job: p.w.copied(*p.j, when.Phrase{At: t.In(zone), Zone: zone})}
			ways = append(ways, p.way(p.w.pick("only ", "只改这次，"), once, p.out(slot)))
		}
		if !once {
			s, err := rebuilt(p.j, lines, rules)
			if err != nil {
				return nil, err
			}
			always := p.way("", p.set(p.w.since(*p.j, s, now)))
			always.At = t
			ways = append(ways, always)
		}
	}
	return ways, nil
}

// each are the ways for each of several hours of a day.
func (p parted) each(clocks []string, of func(parted) ([]choice, error)) (ways []choice, err error) {
	for _, hour := range clocks {
		w := *p.w
		w.in.Part.Clock = hour
		more, err := of(parted{p.Desk, &w, p.j, p.now})
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			ways = append(ways, choice{Label: hour + " → " + c.Label, Keys: hour, Deed: c.Deed})
		}
	}
	return ways, nil
}

// oneDay refuses a new time for what comes on several days that are named, and one
// that is far away: the old ones until then would have to be told one by one.
func (p parted) oneDay() error {
	in, n := p.w.in, 0
	for t := next(*p.j, p.now); !in.From.IsZero() && in.Op == intent.Move && !t.IsZero() && t.Before(in.From); t = next(*p.j, t) {
		if n++; n > maxLeft {
			return &Refusal{Kind: Unsure, Text: fmt.Sprintf(p.w.pick("“%s” comes too often until then to change it so far ahead; say it when that is nearer", "“%s”到那时还有太多次，没法提前这么久改；请临近时再说"), thing(*p.j))}
		}
	}
	if n = 0; !in.Part.Once || in.Op != intent.Move || in.Shift != (when.Span{}) || single(*p.j) || in.Part.To.Sub(in.Part.From) < 30*time.Hour {
		return nil
	}
	for t := p.w.slot(p.j, p.now); !t.IsZero() && p.w.among(t) && n < maxLeft; t = next(*p.j, t) {
		n++
	}
	if n < 2 {
		return nil
	}
	return &Refusal{Kind: Unsure, Text: fmt.Sprintf(p.w.pick("“%s” comes %d times then; say one day, or from when on it is another time", "“%s”那段时间有%d次，请说哪一天，或者从什么时候起改"), thing(*p.j), n)}
}

// renamed are the ways of "thursdays at 7pm" for what comes on mondays and thursdays.
func (p parted) renamed(to intent.Part) ([]choice, error) {
	w := *p.w
	w.in.Part, w.in.Part.Clock = to, ""
	if to.Clock = ""; !w.partial(p.j, p.now, false) {
		return nil, nil
	}
	ways, err := parted{p.Desk, &w, p.j, p.now}.moves()
	if all, failed := p.words.moved(w.in.Time, phrase(p.j.Schedule), next(*p.j, p.now), p.now); failed == nil {
		ways = append(ways, p.way(p.w.pick("only ", "只有"), p.set(p.w.schedule(all))))
	}
	return ways, err
}

func (p parted) set(s cron.Schedule) step {
	return step{Do: "set", ID: p.j.ID, Job: cron.Job{Schedule: s, Message: p.w.in.Text}}
}

func (p parted) way(label string, steps ...step) choice {
	return choice{Label: label + p.w.when(phrase(steps[0].Job.Schedule), p.now), Deed: &deed{Op: p.w.in.Op, Steps: steps}}
}

// out leaves out one time of what repeats.
func (p parted) out(slot time.Time) step {
	left := step{Do: string(intent.Skip), ID: p.j.ID, Slots: []time.Time{slot}}
	if s, ok := without(*p.j, left.Slots, p.now); ok && !slot.Equal(next(*p.j, p.now)) {
		left.Do, left.Job.Schedule = "set", s
	}
	return left
}

// partly does what is wanted of some of the times of a job. False when all of
// them are meant, or it comes once.
func (p parted) partly() (steps []step, done bool, err error) {
	var ways []choice
	ask := p.w.pick("Which do you mean?", "是哪一种？")
	switch in := &p.w.in; in.Op {
	case intent.Done, intent.Snooze, intent.Run, intent.Resume, intent.Add:
		return nil, false, nil
	case intent.Move, intent.Repeat:
		if err = p.oneDay(); err == nil {
			ways, err = p.moves()
		}
	case intent.Remove, intent.Skip:
		_, all := atoms(p.j, p.now, in.Part.Day)
		some, _ := p.w.of(all)
		if hours := clocksOf(some); in.Part == (intent.Part{}) || in.Op == intent.Skip && !in.From.IsZero() {
			return nil, false, nil
		} else if in.Op == intent.Remove && len(in.Part.Clock) > len("15:04 ") && len(hours) > 1 { // 8点的取消
			ways, err = p.each(hours, parted.drops)
		} else {
			ways, err = p.drops()
		}
		if in.Part.Day {
			ask = p.w.pick("Always, or only the next time?", "以后都取消，还是只取消这一次？")
		}
	default:
		if p.w.partial(p.j, p.now, false) {
			err = &Refusal{Kind: Unsure, Text: fmt.Sprintf(p.w.pick("“%s” comes at other times too, and I can do this only with all of them; or cancel those that you mean, and set them anew", "“%s”还有别的时间，这个操作只能对全部时间进行；也可以取消其中的时间再重新设置"), thing(*p.j))}
		}
	}
	if len(ways) > 1 {
		return nil, true, &question{Prompt: ask, Choices: ways}
	} else if len(ways) == 1 {
		steps = ways[0].Deed.Steps
	}
	return steps, len(ways) > 0 || err != nil, err
}

// drops are the ways to leave out some of the times of a job, always or once.
func (p parted) drops() ([]choice, error) {
	in := &p.w.in
	slot := p.w.slot(p.j, p.now)
	named := in.Part.Once && !single(*p.j) && !slot.IsZero() // tomorrow's
	if !named && !p.w.partial(p.j, p.now, false) {
		return nil, nil
	}
	once := choice{Label: p.w.pick("leave out only ", "只跳过") + p.w.soon(slot, p.now), Deed: &deed{Op: intent.Skip, Steps: []step{p.out(slot)}}}
	if named || in.Op == intent.Skip && !in.Part.Always {
		return []choice{once}, nil
	}
	lines, all := atoms(p.j, p.now, in.Part.Day)
	_, rest := p.w.of(all)
	s, err := rebuilt(p.j, lines, rest)
	ways := []choice{p.way(p.w.pick("only ", "只剩"), p.set(s)), once}
	if !in.Part.Day || in.Part.Always || says(p.w.m.Text, always) {
		ways = ways[:1]
	}
	return ways, err
}

// all does to all times of a job what needs no more to be said.
func (p parted) all() ([]step, error) {
	in, j := p.w.in, p.j
	if in.Op == intent.Remove && in.Part.Others && in.From.IsZero() {
		return nil, &Refusal{Kind: Unsure, Text: fmt.Sprintf(p.w.pick("“%s” comes at no other time", "“%s”没有别的时间"), thing(*j))}
	}
	if r, ok := ruled(*j, p.now); ok && in.Op == intent.Resume && !j.Paused && !j.LastSlot.After(p.now) && len(r.ExceptDays)+len(r.Except) > 0 {
		r.ExceptDays, r.Except = nil, nil // days that are left out come
		return []step{p.set(cron.Schedule{Rule: r.String(), Zone: j.Schedule.Zone})}, nil
	}
	return []step{{Do: string(in.Op), ID: j.ID}}, nil
}

// adding has a job come at another time too.
func (p parted) adding() ([]step, error) {
	slot := next(*p.j, p.now)
	if !single(*p.j) {
		slot = slot.AddDate(0, 0, 1) // 9am may have passed today
	}
	to := intent.PartOf(p.w.in.Time, intent.Context{Now: p.now, Zone: p.w.zone()})
	return p.reading(*p.w, when.Phrase{At: slot, Zone: slot.Location()}, slot, func(said when.Phrase) []step {
		lines, all := atoms(p.j, p.now, to.Day)
		var rules []string
		for _, a := range all {
			rules = append(rules, a.rule)
			for _, one := range said.All() {
				t, _ := one.Next(p.now)
				rules = append(rules, a.put(t.In(slot.Location()), slot, to.Day))
			}
		}
		if s, err := rebuilt(p.j, lines, rules); len(all) > 0 && !to.Once && err == nil {
			return []step{p.set(s)}
		}
		return []step{{Do: "add", Job: p.w.copied(*p.j, said)}}
	})
}
