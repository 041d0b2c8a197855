package intent

import (
	"strings"
	"time"

	"magpie/cron/when"
)

// onDays adds the days that are left out: "skip the gym on friday", 取消明天的提醒.
func (s some) onDays(in Intent) Intent {
	if in.Op != Remove && in.Op != Skip {
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
