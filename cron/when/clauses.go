package when

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// finish resolves the clauses of the groups.
func (s *sentence) finish(groups []group, rest string) (Phrase, error) {
	g := group{from: groups[0].from, to: groups[len(groups)-1].to}
	for _, o := range groups {
		g.pieces = append(g.pieces, o.pieces...)
	}
	if err := g.failed(); err != nil {
		return Phrase{}, err
	}
	if g.repeats() && g.has(func(p piece) bool { return p.either && p.more != nil }) {
		return Phrase{}, s.unclear(g.from, g.to)
	}
	nag := g.nag()
	s.everySo(g)
	a, err := s.answer(g.pieces)
	if err != nil {
		return Phrase{}, err
	}
	exact := s.edge(groups[0]) && (g.names()&hasHour != 0 || g.has(func(p piece) bool {
		return p.span != nil && !p.vague && (!p.bare || s.asksFor("timer-noun")) || p.limit != nil && p.limit.pieces.names()&hasHour != 0 ||
			p.limit != nil && p.limit.count > 0 || p.repeat != nil && p.repeat.freq == spaced && s.beginning(g.from)
	}))
	for i := range a.phrases {
		p := &a.phrases[i]
		p.From, p.To = s.Tokens[g.from].From, s.Tokens[g.to-1].To
		p.Rest, p.Nag, p.Exact = rest, nag, exact
		for k := range p.And {
			p.And[k].Rest, p.And[k].From, p.And[k].To, p.And[k].Nag = rest, p.From, p.To, nag
		}
		if own := s.things(rest, 1+len(p.And)); own != nil {
			p.Rest = own[0]
			for k := range p.And {
				p.And[k].Rest = own[k+1]
			}
		}
	}
	return a.phrase()
}

// answer is what a row of pieces means, in all its readings.
func (s *sentence) answer(row pieces) (answer, error) {
	rows, question := s.readings(row.ownHour())
	if len(rows) > 1 {
		sum := answer{question: question, open: true}
		for _, one := range rows {
			if a, err := s.answer(one); err == nil { // one may have passed
				sum.phrases = append(sum.phrases, a.phrases...)
			}
		}
		if len(sum.phrases) > 0 {
			return sum, nil
		}
	}
	row = rows[0]
	var all []answer
	for _, pieces := range clauses(row) {
		b, err := s.newBag(pieces)
		if err != nil {
			return answer{}, err
		}
		a, err := b.resolve()
		if err != nil {
			return answer{}, err
		}
		all = append(all, a)
	}
	if len(all) < 2 || !row.has(func(p piece) bool { return p.either }) {
		return together(all), nil
	}
	a := answer{question: Text{"Which one do you mean?", "是哪一个？"}, open: true}
	for _, one := range all {
		a.phrases = append(a.phrases, one.phrases...)
	}
	return a, nil
}

// readings are the rows that a row of pieces can mean, when one of them has
// several meanings, and the question which: IST; "mon wed fri".
func (s *sentence) readings(row pieces) ([]pieces, Text) {
	for i, p := range row {
		var all []pieces
		with := func(others ...piece) {
			all = append(all, append(append(slices.Clone(row[:i]), others...), row[i+1:]...))
		}
		if p.repeat != nil && p.repeat.loose {
			often := *p.repeat
			often.loose = false
			with(piece{repeat: &often, from: p.from, to: p.to})
			if repeats := func(o piece) bool { return o.repeat != nil || o.week != nil || o.limit != nil }; row[:i].has(repeats) || row[i+1:].has(repeats) {
				return s.readings(all[0])
			}
			with(p.eachOf(often.week, coming, s.now.Weekday())...)
			return all, Text{"Every week, or only once?", "每周都要，还是只这一次？"}
		}
		if p.day != nil && p.day.kind == weekday && bits.OnesCount8(p.day.week) > 1 { // 下周二三四
			with(p.eachOf(p.day.week, p.day.n, time.Monday)...)
			return s.readings(all[0])
		}
		if p.ahead {
			return s.ahead(row[:i], p, row[i+1:])
		}
		if p.limit != nil && p.limit.untilMonth() {
			for _, l := range p.limit.untilEither() {
				with(limited(l))
			}
			return all, Text{"Until that month begins, or until it ends?", "到那个月月初为止，还是到月底？"}
		}
		if p.unsure == nil {
			continue
		}
		for _, z := range *p.unsure {
			if with(piece{zone: z, from: p.from, to: p.to}); z.String() == s.zone.String() {
				return all[len(all)-1:], Text{}
			}
		}
		if len(all) > 0 { // none is the chat's
			return all, Text{"Which “%s” do you mean?", "“%s”是指哪个时区？"}.with(s.Cut(p.from, p.to))
		}
	}
	return []pieces{row}, Text{}
}

// phrase is the one meaning, or the question.
func (a answer) phrase() (Phrase, error) {
	if len(a.phrases) == 1 && !a.open {
		return a.phrases[0], nil
	}
	return Phrase{}, &Ambiguous{Question: a.question, Choices: a.phrases, Past: a.past}
}

// together is the answer of several clauses: every row of readings in which one
// comes after the other, else every row.
func together(all []answer) answer {
	sum := all[0]
	for _, a := range all[1:] {
		var rows, ordered []Phrase
		for _, p := range sum.phrases {
			for _, q := range a.phrases {
				row := p.All()
				last := row[len(row)-1]
				more := p
				if q.At.IsZero() || !q.At.Equal(last.At) || q.Rest != last.Rest { // not said twice
					more.And = append(row[1:], q.All()...)
				}
				rows = append(rows, more)
				if q.At.IsZero() || !q.At.Before(last.At) {
					ordered = append(ordered, more)
				}
			}
		}
		if len(ordered) > 0 && len(rows) > 1 {
			rows = ordered
		}
		question := sum.question
		if !sum.open && len(sum.phrases) < 2 {
			question = a.question
		}
		sum = answer{phrases: rows[:min(len(rows), maxReadings)], question: question, open: sum.open || a.open, past: sum.past || a.past}
	}
	return sum
}

// clause is one time of a row of pieces.
type clause struct{ days, hours, more, zones pieces }

// clauses cuts a row of pieces where a new time begins: "monday at 9 and tuesday
// at 10", "noon and 6pm". What a clause does not say is that of the one before.
func clauses(row pieces) (all []pieces) {
	row = slices.Clone(row.ofReminder())
	for i, p := range row { // weekday mornings and evenings
		if i > 0 && p.listed && p.isDaily() && p.part != noPart && p.to == p.from+1 && row[i-1].ofWeeks() && row[i-1].part != noPart {
			row[i].repeat = nil
		}
	}
	var shared, shifts pieces // zones and bounds are of all
	cs := []clause{{}}
	named := func(p piece) bool { return p.zone != nil && !p.offset }
	first := slices.IndexFunc(row, named)
	several := first >= 0 && row[first+1:].has(named)
	regular := row.has(func(p piece) bool { return p.repeat != nil && p.repeat.freq <= weekly })
	for _, p := range row {
		switch {
		case p.shift != nil && p.clock == nil:
			shifts = append(shifts, p)
		case p.zone != nil && several: // noon in Dubai and 3pm here
			if len(cs[len(cs)-1].zones) > 0 {
				cs = append(cs, clause{})
			}
			c := &cs[len(cs)-1]
			c.zones = append(c.zones, p)
		case p.zone != nil || p.limit != nil || p.nag:
			shared = append(shared, p)
		case cs[len(cs)-1].endsBefore(p):
			cs = append(cs, clause{})
			fallthrough
		default:
			cs[len(cs)-1].add(p)
		}
	}
	for _, c := range cs {
		for i, p := range c.days { // every day at 7 and saturday at 9
			if regular && len(cs) > 1 && !c.days.repeats() && p.day != nil && (p.day.kind == weekday || p.day.kind == weekend) && p.day.n == coming {
				c.days[i].day, c.days[i].repeat = nil, &repeat{freq: weekly, week: cmp.Or(p.day.week, weekends)}
			}
		}
	}
	inherit(cs)
	for _, c := range cs {
		for _, row := range c.rows() {
			row = append(append(row, c.zones...), shared...)
			if len(shifts) == 0 {
				all = append(all, row)
			}
			for _, p := range shifts {
				all = append(all, append(slices.Clone(row), p))
			}
		}
	}
	return all
}

func (p piece) isDay() bool { return p.day != nil || p.week != nil || p.repeat != nil }

// open says that a repetition does not tell its days: every week.
func (p piece) open() bool {
	r := p.repeat
	return r != nil && (r.freq == weekly || r.freq == monthly) && r.week == 0 && len(r.numbers) == 0
}

func (p piece) isHour() bool { return p.clock != nil || p.more != nil }

// endsBefore says that a new clause begins with the piece.
func (c clause) endsBefore(p piece) bool {
	whole := len(c.days) > 0 && len(c.hours) > 0
	switch {
	case len(c.zones) > 0 && c.hours.has(piece.isHour) && (p.isHour() || p.part != noPart):
		return true
	case p.span != nil && !p.vague && p.listed:
		return len(c.more) > 0 && c.more[0].span != nil
	case whole && !p.listed && p.repeat != nil && p.repeat.freq == weekly && c.days[0].repeat != nil && c.days[0].repeat.freq == daily: // every day at 9, monday to friday
		return false
	case whole && p.isDay() && !p.open() && (p.listed || c.days[0].from < c.hours[0].from):
		return true
	}
	return whole && p.isHour() && c.hours[0].from < c.days[0].from
}

func (c *clause) add(p piece) {
	switch {
	case p.isHour() && p.isDay():
		c.days, c.hours = append(c.days, p), append(c.hours, p)
	case p.isHour() || p.part != noPart && p.day == nil && p.repeat == nil:
		c.hours = append(c.hours, p)
	case p.isDay():
		c.days = append(c.days, p)
	default:
		c.more = append(c.more, p)
	}
}

// inherit gives clauses the days and hours that only their neighbours say.
func inherit(cs []clause) {
	for i := 1; i < len(cs); i++ {
		cs[i].days = cs[i].own(cs[i].days, cs[i-1].days)
		if !cs[i].days.parted() || cs[i-1].hours.has(piece.isHour) {
			cs[i].hours = cs[i].own(cs[i].hours, cs[i-1].hours)
		}
	}
	for i := len(cs) - 2; i >= 0; i-- { // "on monday, and on tuesday at 9"
		cs[i].hours = cs[i].own(cs[i].hours, cs[i+1].hours)
	}
}

// own is what a clause says itself, or else what another says, for one that needs
// it.
func (c clause) own(said, other pieces) pieces {
	if len(said) == 0 && len(c.more) == 0 {
		return other
	}
	return said
}

// rows are the pieces of each time of a clause: one for each of its days and
// hours, where these are listed.
func (c clause) rows() (all []pieces) {
	c = c.apart()
	for _, days := range eachDay(c.days) {
		for _, hours := range eachHour(c.hours, c.days) {
			row := append(slices.Clone(c.more), days...)
			for _, h := range hours {
				if !slices.ContainsFunc(days, func(d piece) bool { return d.from == h.from && d.to == h.to }) {
					row = append(row, h)
				}
			}
			slices.SortFunc(row, func(a, b piece) int { return a.from - b.from })
			all = append(all, row)
		}
	}
	return all
}

// apart gives the part of the day that is said with a day to the first of several
// hours: 明早八点、中午十二点.
func (c clause) apart() clause {
	hours := 0
	for _, p := range c.hours {
		if p.clock != nil {
			hours++
		}
	}
	if len(c.days) != 1 || hours < 2 || c.days[0].part == noPart || c.days[0].isHour() || c.days[0].repeat != nil {
		return c
	}
	day := c.days[0]
	c.hours = append(pieces{{part: day.part, from: day.from, to: day.from}}, c.hours...)
	day.part = noPart
	c.days = pieces{day}
	return c
}

// eachDay takes a list of days apart: "tuesday and thursday", 周二和周四. Days that
// tell one day ("friday, november 27") stay together, and so do those that
// repeat.
func eachDay(days pieces) []pieces {
	all := []pieces{nil}
	for i, p := range days {
		if i > 0 && p.apart(days[i-1], days[0]) {
			if last := days[i-1].day; p.repeat == nil && p.day.kind == weekday && p.day.n == coming && last.kind == weekday {
				d := *p.day
				d.n = last.n
				p.day = &d
				days[i] = p
			}
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}

// apart says that a day is another one than the last of a list, which begins with
// the first.
func (p piece) apart(last, first piece) bool {
	if p.repeat != nil {
		return p.listed && p.part != noPart && last.repeat != nil && last.part != noPart
	}
	if first.repeat != nil || p.day == nil || last.day == nil {
		return false
	}
	kind := p.day.kind
	return p.listed || (kind == weekday || kind == inDays || kind == onDate && p.day.date != last.day.date || kind == monthDay && p.day.number > 0 && last.day.number > 0) && last.day.kind == kind
}

// eachHour takes the hours of what comes once apart: "noon and 6pm". A part of
// the day stays with the hour beside it.
func eachHour(hours, days pieces) (all []pieces) {
	if days.repeats() {
		return []pieces{hours}
	}
	clocks := len(hours.clocks())
	alone := func(p piece) bool { return p.part != noPart && !p.isHour() }
	var rest pieces
	for i, p := range hours {
		next := i + 1
		switch {
		case clocks == 0 && len(hours) > 1, // in the morning and in the evening
			clocks > 0 && next < len(hours) && alone(p) && alone(hours[next]) && hours[next].listed: // 今天中午和晚上九点
			all = append(all, pieces{p})
		default:
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 && len(all) > 0 {
		return all
	}
	if clocks < 2 {
		return append(all, rest)
	}
	for _, c := range rest.clocks() {
		all = append(all, pieces{{clock: &c, part: c.part, from: c.from, to: c.to}})
	}
	return all
}
