package when

import (
	"slices"
	"time"

	"magpie/cron/calendar"
)

// opens says that the limit is a time when nothing repeats: 三点开始开会.
func (l limit) opens() bool { return l.kind == since || l.kind == until && l.start == nil }

// begins is a time that only its "from … on" says, of something that comes once.
func (s *sentence) begins(b bag, l limit) (answer, error) {
	other, err := s.newBag(l.pieces)
	if err != nil {
		return answer{}, err
	}
	other.days = append(other.days, b.days...)
	other.clocks = append(other.clocks, b.clocks...)
	if len(other.clocks) == 0 {
		return askHowOften()
	}
	return other.meaning()
}

func askHowOften() (answer, error) {
	return ask("Once, or again and again? Please say how often, as every day at 9", "只提醒一次还是重复？请说清楚多久一次，例如每天9点")
}

// days says that the limit is of so many days, or from a day to another: alone
// it means every day.
func (l limit) days() bool {
	return l.kind == lasting && l.span.calendar() || l.kind == until && l.start != nil && !l.loose
}

// after is a span from now. With an hour it names the day.
func (b *bag) after() (answer, error) {
	s := *b.span
	hours := len(b.clocks) > 0 || b.part != noPart
	if len(b.days) > 0 || b.week != nil || hours && s.Exact > 0 {
		return answer{}, invalid("two times at once: a length of time and another one")
	}
	if s == (Span{}) {
		return answer{}, invalid("the length of time must be one second or more")
	}
	if s.Months > 12*9999 || s.Days > 366*9999 {
		return answer{}, invalid("this is too far away")
	}
	if hours {
		return b.moments([]calendar.Date{calendar.On(b.now).Months(s.Months).Add(s.Days)})
	}
	return sole(Phrase{At: s.After(b.now).Truncate(time.Second)}), nil
}

// sometime is "later today": three hours from now, or what is left of the day
// when less is left.
func (b *bag) sometime() (answer, error) {
	t := b.now.Add(3 * time.Hour).Truncate(30 * time.Minute)
	if last := calendar.On(b.now).At(21, 0, 0, b.zone); t.After(last) {
		t = last
	}
	if !t.After(b.now.Add(10 * time.Minute)) {
		t = b.now.Add(30 * time.Minute).Truncate(time.Minute)
	}
	return sole(Phrase{At: t}), nil
}

// shifted is so much before or after the time that the rest of the bag says.
func (b *bag) shifted() (answer, error) {
	base := *b
	base.shift = nil
	if len(b.days) == 0 && len(b.clocks) == 0 && b.part == noPart && b.repeat == nil {
		return ask("When is it? Please say the hour, as 3pm or tomorrow at 9", "那是几点？请说出时间，例如下午三点、明天9点")
	}
	s := *b.shift
	if b.repeat != nil {
		return base.shiftedRepeat(s)
	}
	if s.calendar() && len(b.days) == 0 && b.week == nil {
		return ask("Which day is it? Please say the day, as 12 December", "那是哪一天？请说出日期，例如12月12日")
	}
	if len(b.clocks) == 0 && b.part == noPart && s.Exact != 0 {
		return ask("When is it on that day? Please say the hour", "那天的几点？请说出钟点")
	}
	a, err := base.once()
	if err != nil {
		return a, err
	}
	var kept []Phrase
	for _, p := range a.phrases {
		if p.At = s.After(p.At); p.At.After(b.now) {
			kept = append(kept, p)
		}
	}
	a.phrases = kept
	return a, nil
}

// shiftedRepeat moves what repeats by days, or its hours within their day.
func (b *bag) shiftedRepeat(s Span) (answer, error) {
	if s.Days != 0 && s.Months == 0 && s.Exact == 0 && b.repeat.freq < fullHour && b.spaced == nil {
		r := *b.repeat
		r.early -= s.Days
		b.repeat = &r
		return b.repeating()
	}
	for i, c := range b.clocks {
		t := c.hour*60 + c.minute + int(s.Exact/time.Minute)
		if s.calendar() || t < 0 || t >= 24*60 || c.style != full && c.style != fixed && c.part == noPart {
			return ask("Please say the time itself, as every monday at 8:45am", "请直接说提醒的时间，例如每周一8:45")
		}
		b.clocks[i].hour, b.clocks[i].minute = t/60, t%60
	}
	if len(b.clocks) == 0 && b.repeat.often == 0 {
		return ask("Please say the time itself, as every monday at 8:45am", "请直接说提醒的时间，例如每周一8:45")
	}
	return b.repeating()
}

// ofReminder are the pieces without the hours of an event, where the day before it
// has an hour of its own: 周五九点体检，前一天晚上八点提醒我.
func (row pieces) ofReminder() pieces {
	at := slices.IndexFunc(row, func(p piece) bool { return p.shift != nil && p.shift.calendar() })
	if at < 0 || at+1 == len(row) || !row[at+1].isHour() || row[at+1].from != row[at].to || row[at+1:].shifts() {
		return row
	}
	return append(row[:at:at].unhouredBefore(row[at]), row[at:]...)
}

// unhouredBefore are the pieces without the hours that stand before a shift, but
// right before it: not at 9pm the night before.
func (all pieces) unhouredBefore(shift piece) pieces {
	all = slices.Clone(all)
	for k, p := range all {
		if p.from < shift.from && p.to != shift.from {
			all[k] = p.unhoured()
		}
	}
	return all
}

// nag is how often what is said until it is done comes again. With another time
// beside it the repetition is only that.
func (g *group) nag() time.Duration {
	if !g.has(func(p piece) bool { return p.nag }) {
		return 0
	}
	for i, p := range g.pieces {
		if p.repeat == nil || p.repeat.freq != spaced || p.repeat.span.calendar() {
			continue
		}
		every := p.repeat.span
		if rest := slices.Delete(slices.Clone(g.pieces), i, i+1); rest.names() != 0 {
			g.pieces = rest
		} else {
			g.pieces[i].repeat, g.pieces[i].span = nil, &every
		}
		return every.Exact
	}
	return 5 * time.Minute
}

// ownHour leaves the hour of an event out where days before it have one of their own:
// 考试12月8号早上8点 提前一天晚上9点.
func (all pieces) ownHour() pieces {
	for i, p := range all {
		if p.shift == nil || p.shift.Days == 0 || !all[:i].has(piece.isHour) || !all[i+1:].has(piece.isHour) {
			continue
		}
		all = slices.Clone(all)
		for k := range i {
			all[k] = all[k].unhoured()
		}
		break
	}
	return all
}

// ahead are the readings of a time by which something has to be done: 周五之前,
// "before friday".
func (s *sentence) ahead(front pieces, p piece, back pieces) ([]pieces, Text) {
	row := slices.Clone(front)
	if p.ahead = false; p.day != nil {
		row = append(row, p)
	}
	row = append(row, back...)
	if row.has(func(o piece) bool { return o.repeat != nil || o.limit != nil || o.shift != nil }) {
		return []pieces{append(row, piece{asked: true, from: p.from, to: p.to})}, Text{}
	}
	early := Span{Days: -1}
	if row.has(func(o piece) bool { return o.isHour() || o.part != noPart }) {
		early = Span{Exact: -time.Hour}
	}
	return []pieces{append(slices.Clone(row), piece{shift: &early, from: p.from, to: p.to}), row}, Text{"When shall it come, so that it is done by then?", "要赶在那之前，什么时候提醒？"}
}
