package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// limited is the limit of that kind, nil without one.
func (b *bag) limited(k limitKind) *limit {
	for i := range b.limits {
		if b.limits[i].kind == k {
			return &b.limits[i]
		}
	}
	return nil
}

// without is the bag without the limits of a kind.
func (b *bag) without(k limitKind) *bag {
	other := *b
	other.limits = slices.DeleteFunc(slices.Clone(b.limits), func(l limit) bool { return l.kind == k })
	return &other
}

const local = "20060102T150405"

// ruled makes a rule of its RRULE lines and what bounds it. aligned rules count
// their intervals from their first slot.
func (b *bag) ruled(parts []string, aligned bool) (Phrase, error) {
	start := b.now.Truncate(time.Second).Add(time.Second)
	if l := b.limited(since); l != nil {
		t, _, err := b.bound(*l, l.pieces, false)
		if err != nil {
			return Phrase{}, err
		}
		start = t
	}
	if l := b.limited(until); l != nil && l.start != nil {
		t, _, err := b.bound(*l, l.start, false)
		if err != nil {
			return Phrase{}, err
		}
		start = t
	}
	if aligned {
		if first, ok := b.first(parts, start); ok {
			start = calendar.On(first).At(0, 0, 0, b.zone)
			if !start.After(b.now) {
				start = b.now.Truncate(time.Second).Add(time.Second)
			}
		}
	}
	end, left, err := b.ends(start, len(parts))
	if err != nil {
		return Phrase{}, err
	}
	text := "DTSTART:" + start.In(b.shown).Format(local)
	for _, p := range parts {
		text += "\n" + p + end
	}
	if len(left) > 0 {
		text += "\nEXDATE:" + strings.Join(left, ",")
	}
	rule, err := calendar.ParseRule(text)
	if err != nil {
		return Phrase{}, invalid("%v", err)
	}
	if _, ok := rule.Next(b.now, b.shown); !ok {
		return Phrase{}, fmt.Errorf("%w: it would never come", ErrPast)
	}
	return Phrase{Rule: rule.String()}, nil
}

// first is the first slot of parts without their intervals.
func (b *bag) first(parts []string, start time.Time) (time.Time, bool) {
	text := "DTSTART:" + start.In(b.shown).Format(local)
	for _, p := range parts {
		if i := strings.Index(p, ";INTERVAL="); i >= 0 {
			rest := p[i+1:]
			p = p[:i]
			if j := strings.IndexByte(rest, ';'); j >= 0 {
				p += rest[j:]
			}
		}
		text += "\n" + p
	}
	rule, err := calendar.ParseRule(text)
	if err != nil {
		return time.Time{}, false
	}
	return rule.Next(start.Add(-time.Second), b.shown)
}

// ends writes where a rule that begins at start ends, and the days that it
// leaves out.
func (b *bag) ends(start time.Time, parts int) (end string, left []string, err error) {
	for _, l := range b.limits {
		switch l.kind {
		case until:
			t, day, bad := b.bound(l, l.pieces, true)
			if bad != nil {
				return "", nil, bad
			}
			if day {
				t = calendar.On(t).At(23, 59, 59, b.zone)
			}
			end += ";UNTIL=" + t.In(b.shown).Format(local)
		case lasting:
			end += ";UNTIL=" + l.span.After(start.Add(-time.Second)).In(b.shown).Format(local)
		case count:
			if parts > 1 {
				return "", nil, invalid("so many times at hours that differ in their minutes: say until when instead")
			}
			end += ";COUNT=" + strconv.Itoa(l.count)
		case except:
			if l.week > 0 {
				continue
			}
			t, _, bad := b.bound(l, l.pieces, true)
			if bad != nil {
				return "", nil, bad
			}
			left = append(left, calendar.On(t).At(0, 0, 0, time.UTC).Format("20060102"))
		}
	}
	if strings.Count(end, "=") > 1 {
		return "", nil, invalid("two ends at once; say one")
	}
	return end, left, nil
}

// bound is the moment that bounds a repetition; day says that only a day was
// said.
func (b *bag) bound(l limit, pieces []piece, last bool) (t time.Time, day bool, err error) {
	s := *b.source
	s.now, s.zone = b.now, b.zone
	other, err := s.newBag(pieces)
	if err != nil {
		return t, false, err
	}
	if other.repeat != nil || len(other.limits) > 0 {
		return t, false, invalid("one bound of a repetition in another")
	}
	day = len(other.clocks) == 0 && other.part == noPart && other.span == nil
	if day && other.week == nil && len(other.days) == 1 {
		switch d := &other.days[0]; {
		case last:
		case d.kind == onDate && d.date.Day == 0:
			d.date.Day = 1 // from December on
		case d.kind == monthDay && d.number == 0:
			d.number = 1
		}
		dates, bad := other.dates(other.days[0])
		if bad != nil || len(dates) == 0 {
			return t, false, &Ambiguous{Question: Text{"Until which day? Please say it, as 24 December", "到哪一天为止？请说出日期，例如12月24日"}}
		}
		on := dates[0]
		if on.Before(calendar.On(b.now)) && len(dates) > 1 {
			on = dates[1]
		}
		return on.At(0, 0, 0, b.zone), true, nil
	}
	if day && other.week != nil && len(other.days) == 0 {
		monday := calendar.On(b.now).Monday().Add(7 * *other.week)
		if last {
			return monday.Add(6).At(0, 0, 0, b.zone), true, nil
		}
		return monday.At(0, 0, 0, b.zone), true, nil
	}
	a, err := other.meaning()
	if err != nil {
		return t, false, err
	}
	if len(a.phrases) == 0 {
		return t, false, &Ambiguous{Question: a.question}
	}
	return a.phrases[0].At, false, nil
}

// bounded bounds an expression for every hour.
func (b *bag) bounded(a answer) (answer, error) {
	if len(b.limits) == 0 {
		return a, nil
	}
	p, err := b.ruled([]string{fmt.Sprintf("RRULE:FREQ=HOURLY;BYMINUTE=%d;BYSECOND=0", b.repeat.minute)}, false)
	return sole(p), err
}

// spacedRule is every so often with an end or a beginning.
func (b *bag) spacedRule(every time.Duration) (answer, error) {
	if l := b.limited(except); l != nil {
		if l.week == 0 {
			return ask("Every so often except then? Please say from when to when, as every hour from 9 to 17", "按间隔重复又有例外？请说从几点到几点，例如：从9点到17点每小时")
		}
	}
	freq, n := "SECONDLY", int(every/time.Second)
	switch {
	case every%(24*time.Hour) == 0:
		freq, n = "DAILY", int(every/(24*time.Hour))
	case every%time.Hour == 0:
		freq, n = "HOURLY", int(every/time.Hour)
	case every%time.Minute == 0:
		freq, n = "MINUTELY", int(every/time.Minute)
	}
	other := *b
	if b.limited(since) == nil { // counts from now, and the first comes after one interval
		at := b.now.Add(every)
		other.limits = append(slices.Clone(b.limits), limit{kind: since, pieces: []piece{{whole: &Phrase{At: at}}}})
		for i, l := range other.limits {
			if l.kind == lasting {
				end := l.span.After(b.now)
				other.limits[i] = limit{kind: until, pieces: []piece{{whole: &Phrase{At: end}}}}
			}
		}
	}
	part := fmt.Sprintf("RRULE:FREQ=%s;INTERVAL=%d", freq, n)
	if l := b.limited(except); l != nil {
		part += ";BYDAY=" + weekText(allWeek&^l.week, func(n int) string { return weekdayCodes[n] })
	}
	p, err := other.ruled([]string{part}, false)
	return sole(p), err
}

// windowed repeats within hours of the day: every hour from 9 to 5.
func (b *bag) windowed() (answer, error) {
	w := b.limited(window)
	every := b.repeat
	base := repeat{freq: daily}
	if b.spaced != nil {
		every, base = b.spaced, *b.repeat
	}
	step := every.span.Exact
	if every.freq == fullHour {
		step = time.Hour
	}
	if step < time.Minute || step > 12*time.Hour || every.span.calendar() || len(b.clocks) > 0 {
		return ask("How often between these hours? For example: every hour from 9 to 17", "这段时间里多久一次？例如：从9点到17点每小时")
	}
	from, to, err := b.hoursOf(w)
	if err != nil {
		return answer{}, err
	}
	var at slot
	for m := from; m <= to; m += int(step / time.Minute) {
		at = at.and(m/60, m%60, 0)
	}
	if every.freq == fullHour {
		at = slot{}
		for h := (from + 59 - every.minute) / 60; h*60+every.minute <= to; h++ {
			at = at.and(h, every.minute, 0)
		}
	}
	if len(at) == 0 || len(at) > 60 {
		return answer{}, invalid("no such time lies between these hours")
	}
	other := b.without(window)
	other.repeat, other.spaced, other.part = &base, nil, noPart
	d, a, err := other.repeatDays()
	if err != nil || a.open {
		return a, err
	}
	return other.withHours(d[:1], []slot{at})
}

// hoursOf are the minutes of the day at which a window opens and closes. The
// end of "from 9 to 5" is the first five o'clock behind nine.
func (b *bag) hoursOf(w *limit) (from, to int, err error) {
	first, last := group{pieces: w.start}.clocks(), group{pieces: w.pieces}.clocks()
	if len(first) != 1 || len(last) != 1 {
		return 0, 0, invalid("please say from which hour to which, as from 9:00 to 17:00")
	}
	for _, p := range append(slices.Clone(w.start), w.pieces...) {
		if p.part != noPart && first[0].part == noPart && first[0].style == bare {
			first[0].part = p.part
		}
	}
	if first[0].part == noPart {
		first[0].part = b.part
	}
	begin := first[0].readings(false, func(int) bool { return false })
	from = begin[0]*60 + first[0].minute
	if first[0].part == noPart && first[0].style == bare && first[0].hour >= 5 && first[0].hour < 12 {
		from = first[0].hour*60 + first[0].minute // a day that begins at 9, or at 6
	}
	c := last[0]
	if c.part == noPart && (c.style == bare || c.style == colon) {
		to = c.hour*60 + c.minute
		if to <= from {
			to += 12 * 60
		}
	} else {
		to = c.readings(false, func(int) bool { return false })[0]*60 + c.minute
		if c.style == midnight {
			to = 23*60 + 59
		}
	}
	if to <= from || to >= 24*60 {
		return 0, 0, invalid("the hours must lie within one day, the first before the last")
	}
	return from, to, nil
}

// hourly repeats every so often on days of the week.
func (b *bag) hourly() (answer, error) {
	if len(b.clocks) > 0 || b.repeat.freq == monthly {
		return answer{}, invalid("two ways to repeat at once; make one reminder for each")
	}
	if b.repeat.freq == daily {
		other := *b
		other.repeat, other.spaced = b.spaced, nil
		return other.repeating()
	}
	return ask("Every so often on these days: from which hour to which? For example: every hour from 9 to 17 on weekdays",
		"在这些日子按间隔重复：从几点到几点？例如：工作日从9点到17点每小时")
}
