package when

import (
	"cmp"
	"slices"
	"time"

	"magpie/cron/calendar"
)

// repeating is a time that comes again.
func (b *bag) repeating() (answer, error) {
	if l := b.limited(except); l != nil && l.free && !b.inChina() {
		l.free = false
		if a, err := b.repeating(); err == nil {
			a.question = Text{"I know the public holidays of China only, by the zone of the chat. Without leaving holidays out?", "我只知道中国的法定节假日（看会话的时区）。不排除节假日，这样可以吗？"}
			a.open = true
			return a, nil
		}
	}
	b.leaveOut()
	b.within()
	r := b.repeat
	switch {
	case b.week != nil:
		return answer{}, invalid("a repetition and one week at once")
	case r.often > 0:
		return b.often()
	case b.limited(window) != nil:
		return b.windowed()
	case r.freq == spaced:
		return b.spacedOut()
	case r.freq == fullHour:
		if len(b.clocks)+len(b.days) > 0 || b.part != noPart {
			return answer{}, invalid("each full hour and another time at once")
		}
		return b.onceAnHour()
	case b.spaced != nil:
		return b.hourly()
	}
	days, a, err := b.repeatDays()
	if err != nil || a.open {
		return a, err
	}
	return b.withHours(days, b.repeatHours())
}

// within bounds what repeats to the one day or week that is said besides: every
// day next week, every hour from 1 to 5 today.
func (b *bag) within() {
	one := piece{week: b.week}
	switch often := b.limited(window) != nil || b.repeat.freq == spaced; {
	case b.week != nil && len(b.days) == 0 && b.repeat.freq != monthly && b.repeat.freq != yearly:
	case often && len(b.days) == 1 && (b.days[0].kind == inDays || b.days[0].kind == weekday):
		one, b.days = onDay(b.days[0]), nil
	default:
		return
	}
	b.week = nil
	if b.limited(until) == nil {
		b.limits = append(slices.Clone(b.limits), limit{kind: until, pieces: []piece{one}, start: []piece{one}})
	}
}

// withHours are the phrases of the readings of days and hours.
func (b *bag) withHours(days []repeat, slots []slot) (answer, error) {
	a := answer{}
	for _, at := range slots {
		for _, d := range days {
			p, err := b.recurrence(d, at)
			if err != nil {
				return a, err
			}
			a.phrases = append(a.phrases, p)
		}
	}
	switch {
	case len(days) > 1:
		a.question = Text{"Not every month has this day. Only in the months that have it, or on the last day of every month?", "不是每个月都有这一天。只在有这一天的月份，还是每月最后一天？"}
	case len(b.clocks) > 1:
		a.question = Text{"Which hours do you mean?", "是哪几个时间？"}
	default:
		a.question = b.hourQuestion().question
	}
	return a, nil
}

// maxReadings bounds how many readings of a list of hours are offered.
const maxReadings = 4

// repeatHours are the readings of the hours.
func (b *bag) repeatHours() []slot {
	if len(b.clocks) == 0 {
		var all []slot
		for _, h := range b.part.usual() {
			all = append(all, slot{{hour: h}})
		}
		return all
	}
	all := []slot{{}}
	for _, c := range b.clocks {
		one := *b
		one.clocks = []clock{c}
		hours, minute, second := one.hours(false)
		if c.style == midnight {
			hours = []int{0} // every day at midnight; of other days it is the beginning
		}
		if b.repeat.freq == daily { // 24:00 comes as often as 00:00
			for i := range hours {
				hours[i] %= 24
			}
		}
		var longer []slot
		for _, s := range all {
			for _, h := range hours {
				if len(longer) <= maxReadings {
					longer = append(longer, append(slices.Clone(s), clock{hour: h, minute: minute, second: second}))
				}
			}
		}
		all = longer
	}
	return forward(all)
}

// forward keeps the readings in which one hour comes after the other, where
// there are any.
func forward(all []slot) []slot {
	kept := slices.DeleteFunc(slices.Clone(all), func(s slot) bool {
		return !slices.IsSortedFunc(s, func(a, b clock) int { return cmp.Or(a.hour*60+a.minute-b.hour*60-b.minute, -1) })
	})
	if len(kept) == 0 {
		return all
	}
	return kept
}

// repeatDays are the readings of the days; an open answer asks for them.
func (b *bag) repeatDays() ([]repeat, answer, error) {
	r := b.repeat
	d := *r
	d.numbers = slices.Clone(r.numbers)
	b.begin(&d)
	if r.days && b.inChina() {
		d.kept, d.week = calendar.WorkDays, 0
		if r.rest {
			d.kept = calendar.RestDays
		}
		if r.out > 0 {
			d.week = allWeek &^ r.out
		}
	} else if r.days && r.freq == monthly {
		d.kept, d.week = "", workdays
	}
	for _, o := range b.days {
		switch {
		case r.freq == weekly && o.kind == weekday && o.n == coming, r.freq == monthly && r.nth != 0 && o.kind == weekday:
			d.week |= o.week
		case r.freq == monthly && o.kind == monthDay && o.number > 0 && o.n <= 0:
			d.numbers = append(d.numbers, o.number)
		case r.freq == monthly && o.kind == nthDay && !o.work && r.nth == 0:
			d.nth, d.week = o.number, o.week
		case r.freq == yearly && o.kind == onDate && o.date.Year == 0 && o.date.Day > 0 && len(d.months) == 0:
			d.months, d.numbers = []int{int(o.date.Month)}, []int{o.date.Day}
		case r.freq == yearly && o.kind == holiday:
			d.holiday, d.early = o.key, d.early+o.early
		case r.freq == yearly && o.kind == lunarDay:
			d.lunar, d.months, d.numbers = true, []int{int(o.date.Month)}, []int{o.date.Day}
		case r.freq == yearly && o.kind == nthDay && o.date.Month > 0:
			d.months, d.nth, d.week = []int{int(o.date.Month)}, o.number, o.week
		default:
			return nil, answer{}, invalid("a repetition and one day at once; say either")
		}
	}
	if a := b.missing(d); a.open {
		return nil, a, nil
	}
	all, err := d.lacking()
	return all, answer{}, err
}

// begin takes the day of a week, month or year that is not said from the day on
// which it begins.
func (b *bag) begin(d *repeat) {
	l := b.limited(since)
	if l == nil || d.week != 0 || len(d.numbers) > 0 || d.nth != 0 || len(b.days) > 0 {
		return
	}
	t, day, err := b.bound(l.pieces, false)
	if err != nil || !day {
		return
	}
	switch on := calendar.On(t); d.freq {
	case weekly:
		d.week = 1 << on.Weekday()
	case monthly:
		d.numbers = []int{on.Day}
	case yearly:
		d.months, d.numbers = []int{int(on.Month)}, []int{on.Day}
	}
}

// inChina says that China's working days are those of the chat.
func (b *bag) inChina() bool {
	switch b.shown.String() {
	case "Asia/Shanghai", "Asia/Chongqing", "Asia/Harbin", "Asia/Urumqi", "PRC", "UTC+08:00":
		return true
	}
	return false
}

// missing asks for the day of a week, month or year that was not said.
func (b *bag) missing(d repeat) (a answer) {
	if d.week != 0 || len(d.numbers) > 0 || d.nth != 0 || d.holiday != "" || d.kept != calendar.AllDays {
		return a
	}
	today := calendar.On(b.now)
	var choices []repeat
	switch {
	case d.freq == weekly:
		a, _ = ask("On which day of the week?", "周几？")
		choices = []repeat{{week: 1 << today.Weekday()}, {week: 1 << time.Monday}, {week: 1 << time.Friday}}
	case d.freq == monthly:
		a, _ = ask("On which day of the month?", "每月的哪一天？")
		choices = []repeat{{numbers: []int{1}}, {numbers: []int{15}}, {numbers: []int{lastDay}}}
	case d.freq == yearly && len(d.months) == 0:
		a, _ = ask("On which day of the year?", "每年的哪一天？")
		choices = []repeat{{months: []int{1}, numbers: []int{1}}, {months: []int{int(today.Month)}, numbers: []int{min(today.Day, 28)}}}
	}
	for _, more := range choices {
		more.freq, more.every = d.freq, d.every
		if p, err := b.recurrence(more, b.repeatHours()[0]); err == nil { // else these hours cannot be
			a.phrases = append(a.phrases, p)
		}
	}
	return a
}

// spacedOut repeats by a length of time from now on, or on every so many days
// at an hour.
func (b *bag) spacedOut() (answer, error) {
	s := b.repeat.span
	if s.Days > 200*366 || s.Months > 0 {
		return answer{}, invalid("this is too far away")
	}
	every := Phrase{Every: time.Duration(s.Days)*24*time.Hour + s.Exact}
	if every.Every < time.Second {
		return answer{}, invalid("the shortest repetition is one second")
	}
	hours := len(b.clocks) > 0 || b.part != noPart
	if b.repeat.apart {
		return b.spacedApart(hours)
	}
	switch {
	case s.Days > 0 && s.Exact == 0 && hours && len(b.days) == 0:
		return b.withHours([]repeat{{freq: daily, every: s.Days}}, b.repeatHours())
	case hours || len(b.days) > 0:
		return ask("Every so many hours, and at an hour too? Please say either, or where it begins: every 2 hours starting at 9",
			"既按间隔又指定钟点？请只说一种，或者说从几点开始，例如：从9点开始每两小时")
	case len(b.limits) > 0:
		return b.spacedRule(every.Every)
	}
	return sole(every), nil
}

// spacedApart asks whether 每隔两天 is every second day or every third, at the
// hour that is said.
func (b *bag) spacedApart(hours bool) (answer, error) {
	days, more := b.repeat.span.Days, 1
	if days%7 == 0 {
		more = 7
	}
	var all []Phrase
	for _, n := range []int{days, days + more} {
		p := Phrase{Every: time.Duration(n) * 24 * time.Hour}
		if hours && len(b.days) == 0 {
			var err error
			if p, err = b.recurrence(repeat{freq: daily, every: n}, b.repeatHours()[0]); err != nil {
				return answer{}, err
			}
		}
		all = append(all, p)
	}
	return ask("Which one do you mean?", "是哪一种？", all...)
}

// everySo takes so many times at the end for those of every day, where no hour is
// said: 每天提醒我运动三次.
func (s *sentence) everySo(g group) {
	last := len(s.Tokens)
	for k := last - 1; k >= max(0, last-4); k-- {
		if s.silent(k) && k == last-1 || s.At("particle", k) == last {
			last = k
		}
	}
	n, end := s.Match("often-zh", last-2)
	if end == 0 || end != last || last-2 < g.to || n.(int) < 2 || g.names()&hasHour != 0 {
		return
	}
	for i, p := range g.pieces {
		if p.repeat != nil && p.repeat.freq == daily {
			often := *p.repeat
			often.often = n.(int)
			g.pieces[i].repeat = &often
		}
	}
}

// often asks for the hours of "three times a day".
func (b *bag) often() (answer, error) {
	usual := map[int]slot{
		1: {{hour: 9}}, 2: {{hour: 9}, {hour: 21}}, 3: {{hour: 9}, {hour: 14}, {hour: 21}}, 4: {{hour: 8}, {hour: 12}, {hour: 16}, {hour: 20}},
	}[b.repeat.often]
	if len(b.clocks) == b.repeat.often {
		b.repeat.often = 0
		return b.repeating()
	}
	if usual == nil || len(b.clocks) > 0 {
		return ask("At which hours?", "分别在几点？")
	}
	p, err := b.recurrence(repeat{freq: daily}, usual)
	if err != nil {
		return answer{}, err
	}
	return ask("At which hours? For example:", "分别在几点？例如：", p)
}
