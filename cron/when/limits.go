package when

import (
	"cmp"
	"slices"
	"strconv"
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

// soon is the second after now.
func (b *bag) soon() time.Time { return b.now.Truncate(time.Second).Add(time.Second) }

// shows is what the clock of the chat shows at a time.
func (b *bag) shows(t time.Time) time.Time { return calendar.Wall(t.In(b.shown)) }

// ruled makes a rule of its parts and what bounds it. aligned rules count their
// intervals from their first slot.
func (b *bag) ruled(parts []calendar.Part, aligned bool) (Phrase, error) {
	start, err := b.beginning()
	if err != nil {
		return Phrase{}, err
	}
	if aligned {
		start = b.aligned(parts, start)
	}
	r := calendar.Rule{Start: b.shows(start), Parts: parts}
	if err := b.end(&r, start); err != nil {
		return Phrase{}, err
	}
	rule, err := calendar.ParseRule(r.String())
	if err != nil {
		return Phrase{}, invalid("%v", err)
	}
	if _, ok := rule.Next(b.now, b.shown); !ok {
		return Phrase{}, &Ambiguous{Question: Text{"It would not come even once before it ends. Until when?", "到那时一次也不会提醒。要到什么时候为止？"}}
	}
	return Phrase{Rule: rule.String()}, nil
}

// beginning is when a rule begins: as it was said, else soon.
func (b *bag) beginning() (time.Time, error) {
	var said []piece
	if l := b.limited(since); l != nil {
		said = l.pieces
	}
	if l := b.limited(until); l != nil && l.start != nil {
		said = l.start
	}
	if said == nil {
		return b.soon(), nil
	}
	start, _, err := b.bound(said, false)
	return start, err
}

// aligned is the day of the first slot of the parts without their intervals, if
// it is ahead.
func (b *bag) aligned(parts []calendar.Part, start time.Time) time.Time {
	each := slices.Clone(parts)
	for i := range each {
		each[i].Interval = 0
	}
	r, err := calendar.ParseRule((&calendar.Rule{Start: b.shows(start), Parts: each}).String())
	if err != nil {
		return start // ruled says what is wrong
	}
	first, ok := r.Next(start.Add(-time.Second), b.shown)
	if !ok {
		return start
	}
	if day := calendar.On(first).At(0, 0, 0, b.zone); day.After(b.now) {
		return day
	}
	return b.soon()
}

// end bounds a rule that begins at start, and leaves days out of it.
func (b *bag) end(r *calendar.Rule, start time.Time) error {
	var end calendar.Part
	ends := 0
	for _, l := range b.limits {
		switch l.kind {
		case until:
			t, day, err := b.bound(l.pieces, true)
			if err != nil {
				return err
			}
			if day {
				t = calendar.On(t).At(23, 59, 59, b.zone)
			}
			end.Until, ends = b.shows(t), ends+1
		case lasting:
			last := l.span.After(start.Add(-time.Second))
			if r.Parts[0].Freq != calendar.Secondly && last.Format("15:04") != "23:59" { // nothing comes within its minute
				last = last.Truncate(time.Minute)
			}
			end.Until, ends = b.shows(last), ends+1
		case count:
			if len(r.Parts) > 1 {
				return invalid("so many times at hours that differ in their minutes: say until when instead")
			}
			end.Count, ends = l.count, ends+1
		case except:
			if err := b.leftOut(r, l); err != nil {
				return err
			}
		}
	}
	if ends > 1 {
		return invalid("two ends at once; say one")
	}
	for i := range r.Parts {
		r.Parts[i].Until, r.Parts[i].Count = end.Until, end.Count
	}
	return nil
}

var untilWhichDay = &Ambiguous{Question: Text{"Until which day? Please say it, as 24 December", "到哪一天为止？请说出日期，例如12月24日"}}

// bound is the moment that bounds a repetition; day says that only a day was
// said.
func (b *bag) bound(pieces []piece, last bool) (t time.Time, day bool, err error) {
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
		if first, n := other.open(other.days[0]); n > 2 && last {
			return first.Add(n-1).At(0, 0, 0, b.zone), true, nil // all of December
		} else if n > 2 {
			if today := calendar.On(b.now); first.Before(today) {
				first = today
			}
			return first.At(0, 0, 0, b.zone), true, nil
		}
		dates, bad := other.dates(other.days[0])
		if bad != nil || len(dates) == 0 {
			return t, false, untilWhichDay
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
	if err == nil && day && len(other.days) > 1 && len(a.phrases) == 1 { // friday, 27 november
		return calendar.On(a.phrases[0].At).At(0, 0, 0, b.zone), true, nil
	}
	if err != nil {
		return t, false, err
	}
	if len(a.phrases) == 0 {
		return t, false, &Ambiguous{Question: a.question}
	}
	return a.phrases[0].At, false, nil
}

// farEnd asks whether an hour at which something that comes every so often ends
// is that of tomorrow, where that of today has passed not long ago.
func (b *bag) farEnd(a *answer) {
	l := b.limited(until)
	if l == nil || l.start != nil || b.repeat == nil || b.repeat.freq < fullHour || l.pieces.names() != hasHour {
		return
	}
	t, _, err := b.bound(l.pieces, true)
	if err == nil && t.Sub(b.now) >= 14*time.Hour && calendar.On(t) != calendar.On(b.now) {
		a.question, a.open = Text{"%s has passed today. Until then tomorrow?", "今天%s已经过了。是到明天吗？"}.with(clockWords(t)), true
	}
}

// onceAnHour is at a minute of each hour.
func (b *bag) onceAnHour() (answer, error) {
	if len(b.limits) == 0 {
		return sole(Phrase{Cron: strconv.Itoa(b.repeat.minute) + " * * * *"}), nil
	}
	part := calendar.Part{}
	part.Freq, part.Byminute, part.Bysecond = calendar.Hourly, []int{b.repeat.minute}, []int{0}
	p, err := b.ruled([]calendar.Part{part}, false)
	return sole(p), err
}

// spacedRule is every so often with an end or a beginning.
func (b *bag) spacedRule(every time.Duration) (answer, error) {
	part := calendar.Every(every)
	other := *b
	other.limits = slices.Clone(b.limits)
	for i := range other.limits {
		l := &other.limits[i]
		if l.week > 0 {
			part.Byweekday = weekdays(allWeek &^ l.week)
		}
		if l.free {
			part.Days = calendar.OpenDays
		}
		l.week, l.free = 0, false
	}
	if b.limited(since) == nil { // counts from now, and the first comes after one interval
		at := b.now.Add(every)
		other.limits = append(other.limits, limit{kind: since, pieces: []piece{{whole: &Phrase{At: at}}}})
		for i, l := range other.limits {
			if l.kind == lasting {
				end := l.span.After(b.now)
				other.limits[i] = limit{kind: until, pieces: []piece{{whole: &Phrase{At: end}}}}
			}
		}
	}
	p, err := other.ruled([]calendar.Part{part}, false)
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
	if every.freq == fullHour { // the first such minute
		from += (every.minute - from%60 + 60) % 60
	}
	var at slot
	for m := from; m <= to; m += int(step / time.Minute) {
		h := m / 60
		if base.freq == daily {
			h %= 24
		}
		at = append(at, clock{hour: h, minute: m % 60})
	}
	if len(at) == 0 {
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
	begin, end := first[0], last[0]
	for _, p := range slices.Concat(w.start, w.pieces) {
		if p.part != noPart && begin.part == noPart && begin.style == bare {
			begin.part = p.part
		}
	}
	begin.part = cmp.Or(begin.part, b.part)
	early := func(h int) bool { return begin.style == bare && h >= 5 && h < 12 } // a day that begins at 9, or at 6
	from = begin.readings(false, early)[0]*60 + begin.minute
	switch to = end.hour*60 + end.minute; {
	case end.style == midnight:
		to = 23*60 + 59
	case end.part != noPart || end.style != bare && end.style != colon:
		to = end.readings(false, early)[0]*60 + end.minute
	case to <= from:
		to += 12 * 60
	}
	if to <= from { // from 10pm to 2am
		to += 24 * 60
	}
	if to-from >= 24*60 {
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

// untilMonth says that the end is a month of which no day is named.
func (l limit) untilMonth() bool {
	return l.kind == until && !l.start.openMonth() && l.pieces.openMonth()
}

// untilEither are the ends of "until march": the day before it, and its last one.
func (l limit) untilEither() []limit {
	begins := *l.pieces[0].day
	ends := begins
	begins.early, begins.number, ends.number = 1, 1, lastDay
	if begins.kind == onDate {
		begins.number, ends.number = 0, 0
		begins.date.Day, ends.date.Day = 1, calendar.Date{Year: 2027, Month: ends.date.Month, Day: 1}.Last()
	}
	return []limit{{kind: until, start: l.start, pieces: pieces{onDay(begins)}}, {kind: until, start: l.start, pieces: pieces{onDay(ends)}}}
}
