package intent

import (
	"slices"
	"strings"
	"time"

	"magpie/cron/when"
)

// onDays adds the days that are left out: "skip the gym on friday", 取消明天的提醒.
func (s some) onDays(in Intent) Intent {
	if in.Op == Pause {
		if in.From, in.To = s.awhile(); in.From.IsZero() && s.is("until-when") {
			in.Op, in.Time = End, s.Source // that is not understood
			return in
		}
	}
	if in.Op == Resume && slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind == clock && s.At("this-time", m.from) == m.to }) {
		in.Op, in.Time = End, s.Source // only now
		return in
	}
	if in.Op != Remove && in.Op != Skip && in.Op != Pause && in.Op != Done {
		return in
	}
	if (in.Op == Remove || in.Op == Skip) && s.is("ends-when") {
		in.Op, in.Time = End, s.Source // that is not understood
		return in
	}
	for _, c := range s.clauses() {
		if !c.has("op") && !c.has("not") && !c.has("no-more") && in.Op != Done && !(in.Ref.Last && c.has("but")) {
			continue
		}
		for i := range c.marks {
			if from, to, ok := c.day(i, in.Op); ok && in.From.IsZero() {
				in.From, in.To = from, to
				in = c.listedDays(in, i)
			}
		}
	}
	if r := in.Ref; !in.From.IsZero() && r.One && r.Clock == "" && !r.From.IsZero() && s.has("noun") {
		in.Ref = Ref{All: true}
	}
	return in
}

// listedDays adds days that follow that of the i-th mark: 周四周五, "tomorrow and
// saturday".
func (s some) listedDays(in Intent, i int) Intent {
	m := s.marks[i]
	days := when.Days(strings.TrimSuffix(s.Cut(m.from, m.to), "'s"), s.c.Now, s.c.Zone)
	for kind, k := s.next(i); (kind == clock || kind == "this") && len(days) > 0; kind, k = s.next(k) {
		m = s.marks[k]
		days = append(days, when.Days(strings.TrimSuffix(s.Cut(m.from, m.to), "'s"), s.c.Now, s.c.Zone)...)
	}
	if len(days) < 2 {
		return in
	}
	slices.SortFunc(days, time.Time.Compare)
	in.From, in.To = days[0], days[len(days)-1].AddDate(0, 0, 1)
	if days = slices.Compact(days); len(days) < int(in.To.Sub(in.From).Hours()+2)/24 {
		in.Days = days
	}
	return in
}

// day is the day that the i-th mark tells of, unless it names a reminder ("the
// friday one") or bounds something.
func (s some) day(i int, op Op) (from, to time.Time, ok bool) {
	m := s.marks[i]
	if from, to, ok = s.ranged(m); ok && m.kind == clock {
		return from, to, true
	}
	if m.kind != clock && m.kind != "this" || s.comesAgain(m.from) || s.before(i) == "to" || s.before(i) == "old" || s.At("bounds", m.from) > 0 || s.Is(m.to-1, "前", "后") || op != Done && s.has("always") {
		return from, to, false
	}
	if near := m.kind == "this" || s.At("this-time", m.from) == m.to; !near {
		_, k := s.next(i)
		named := op == Remove && k == i+1 && k < len(s.marks) && s.marks[k].kind == name
		if s.stands(i) || named {
			return from, to, false
		}
	}
	from, to, ok = when.Range(strings.TrimSuffix(s.Cut(m.from, m.to), "'s"), s.c.Now, s.c.Zone)
	if ok && s.First(m.from, m.to, "clock", "zh-clock") >= 0 { // an hour is no part of the day
		y, mo, d := from.Date()
		from, to = time.Date(y, mo, d, 0, 0, 0, 0, from.Location()), time.Date(y, mo, d+1, 0, 0, 0, 0, from.Location())
	}
	return from, to, ok
}

// ranged are the days of "from friday to sunday", 周五到周日.
func (s some) ranged(m mark) (from, to time.Time, ok bool) {
	for k := m.from + 1; k < m.to && s.At("range", m.from) == m.to; k++ {
		if !s.Is(k, "to", "until", "through", "-", "到", "至") {
			continue
		}
		begin := m.from
		if s.Is(begin, "from", "between", "从", "自") {
			begin++
		}
		first, _, begins := when.Range(s.Cut(begin, k), s.c.Now, s.c.Zone)
		_, last, ends := when.Range(s.Cut(k+1, m.to), s.c.Now, s.c.Zone)
		if begins && ends && !first.Before(last) {
			last = last.AddDate(0, 0, 7) // from friday to monday
		}
		return first, last, begins && ends && first.Before(last)
	}
	return from, to, false
}

// awhile is for how long something is paused: "until monday", 一周. Both are zero
// when that is not said.
func (s some) awhile() (from, to time.Time) {
	now := s.c.Now
	for i, m := range s.marks {
		begins := s.At("bounds", m.from)
		if from, to, ok := s.ranged(m); ok && m.kind == clock {
			return from, to
		}
		first := m.from
		if s.Is(first, "from", "starting", "从", "自") {
			first++
		}
		if m.kind == clock && s.Is(first-1, "from", "starting", "从", "自") {
			if start, _, ok := when.Range(s.Cut(first, m.to), s.c.Now, s.c.Zone); ok && start.After(now) {
				now = start
			}
			continue
		}
		switch span, isSpan := m.value.(when.Span); {
		case m.kind == clock && s.Is(m.to-1, "前"): // 周一之前
			if start, _, ok := when.Range(s.Cut(m.from, m.to), s.c.Now, s.c.Zone); ok && start.After(s.c.Now) {
				return now, start
			}
		case i < s.index("op", "pause"):
		case m.kind == length && isSpan && span != (when.Span{}):
			return now, span.After(now)
		case m.kind == clock && begins > 0 && begins < m.to, m.kind == clock && s.before(i) == "to":
			if start, _, ok := when.Range(s.Cut(max(m.from, min(begins, m.to-1)), m.to), s.c.Now, s.c.Zone); ok && start.After(s.c.Now) {
				if now.After(s.c.Now) {
					start = start.AddDate(0, 0, 1) // from the 5th until the 10th
				}
				return now, start
			}
		}
	}
	return from, to
}

// end is where words stand that say when something ends, and how unsure they
// are; zero without them.
func (s some) end() (from, to, unsure int) {
	for _, m := range s.marks {
		for i := m.from; i == m.from || m.kind == clock && i < m.to; i++ {
			if k, n := when.EndAt(s.Text, i); k-i > to-from && !s.Is(i, "by") && !s.Is(i-1, "by") && !s.Is(k, "吗", "么", "没") { // no deadline, no question
				from, to, unsure = i, k, n
			}
		}
	}
	return from, to, unsure
}

// onlyEnd says that nothing is said but an end: "until christmas".
func (s some) onlyEnd() bool {
	from, to, unsure := s.end()
	return to > 0 && unsure < 2 && s.besides(from, to).only(nil)
}

// besides are the marks that do not stand from one token to another.
func (s some) besides(from, to int) some {
	return some{s.sense, slices.DeleteFunc(slices.Clone(s.marks), func(m mark) bool { return m.from < to && m.to > from })}
}

// ends says that something gets an end.
func (s some) ends() bool {
	from, to, unsure := s.end()
	rest := s.besides(from, to)
	days := slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind == clock && m.from < to && s.At("range", m.from) >= to })
	return to > 0 && !days && len(rest.marks) > 0 && slices.ContainsFunc([]string{"ends-for-sure", "stops", "stops-only"}[unsure:], rest.is)
}
