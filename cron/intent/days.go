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
		in.From, in.To = s.awhile()
		return in
	}
	if in.Op != Remove && in.Op != Skip {
		return in
	}
	if s.is("ends-when") {
		in.Op, in.Time = End, s.Source // that is not understood
		return in
	}
	for _, c := range s.clauses() {
		if !c.has("op") && !c.has("not") && !c.has("no-more") {
			continue
		}
		for i := range c.marks {
			if from, to, ok := c.day(i, in.Op); ok && in.From.IsZero() {
				in.From, in.To = from, to
			}
		}
	}
	if r := in.Ref; !in.From.IsZero() && r.One && r.Clock == "" && !r.From.IsZero() && s.has("noun") {
		in.Ref = Ref{All: true}
	}
	return in
}

// day is the day that the i-th mark tells of, unless it names a reminder ("the
// friday one") or bounds something.
func (s some) day(i int, op Op) (from, to time.Time, ok bool) {
	m := s.marks[i]
	if m.kind != clock && m.kind != "this" || s.comesAgain(m.from) || s.before(i) == "to" || s.before(i) == "old" || s.At("bounds", m.from) > 0 {
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

// awhile is for how long something is paused: "until monday", 一周. Both are zero
// when that is not said.
func (s some) awhile() (from, to time.Time) {
	for i, m := range s.marks {
		begins := s.At("bounds", m.from)
		switch span, isSpan := m.value.(when.Span); {
		case i < s.index("op", "pause"):
		case m.kind == length && isSpan && span != (when.Span{}):
			return s.c.Now, span.After(s.c.Now)
		case m.kind == clock && begins > 0 && begins < m.to, m.kind == clock && s.before(i) == "to":
			if start, _, ok := when.Range(s.Cut(max(m.from, min(begins, m.to-1)), m.to), s.c.Now, s.c.Zone); ok && start.After(s.c.Now) {
				return s.c.Now, start
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

// besides are the marks that do not stand from one token to another.
func (s some) besides(from, to int) some {
	return some{s.sense, slices.DeleteFunc(slices.Clone(s.marks), func(m mark) bool { return m.from < to && m.to > from })}
}

// ends says that something gets an end.
func (s some) ends() bool {
	from, to, unsure := s.end()
	rest := s.besides(from, to)
	return to > 0 && len(rest.marks) > 0 && slices.ContainsFunc([]string{"ends-for-sure", "stops", "stops-only"}[unsure:], rest.is)
}
