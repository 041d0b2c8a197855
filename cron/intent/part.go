package intent

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"magpie/cron/when"
)

// Part are some of the times of what repeats: those of "the 8pm one", 晚上的,
// "mondays". The zero value is all of them.
type Part struct {
	Clock    string    // 20:00, and others behind it if several may be meant
	From, To time.Time // a part of the day, or days
	Day      bool      // it names days, which are those of every week
	Week     uint8     // these, by [time.Weekday]
	Once     bool      // it names these days, and no others
	Others   bool      // all times but these
	Always   bool      // it is said of all of them: "mondays"
}

// PartOf reads which times of what repeats are meant.
func PartOf(said string, c Context) (p Part) {
	if t := theGrammar().Read(said); t.At("week-part", 0) > 1 && t.Is(0, "on") {
		said = t.Cut(1, len(t.Tokens)) // on weekends
	}
	week := uint8(0)
	from, to, ok := when.Range(said, c.Now, c.Zone)
	if said != "" && !ok {
		from, to, ok = when.Range("in the "+said, c.Now, c.Zone)
	}
	t := theGrammar().Read(said)
	day := max(0, t.First(0, len(t.Tokens), "weekday"))
	for i, every := range []string{said, "every " + t.Cut(day, len(t.Tokens)), "每" + said} {
		if t.At("each-week", 0) == 0 && (i > 0 || day == 0) || week > 0 {
			break
		}
		q, err := when.Parse(every, c.Now, c.Zone)
		for at, n := c.Now, 0; p.Week == 0 && err == nil && q.At.IsZero() && n < 7; n++ {
			at, _ = q.Next(at)
			week |= 1 << at.Weekday()
		}
		p.Always = p.Always || i == 0 && week > 0
		p.Week = week
	}
	y, m, d := c.Now.Date()
	clocked := t.First(0, len(t.Tokens), "clock", "zh-clock") >= 0
	for _, hour := range []int{0, 12} { // "the 8 o'clock one" is that of the morning, or that of the evening
		if !clocked {
			break
		}
		c.Now = time.Date(y, m, d, hour, 30, 0, 0, c.Now.Location())
		all, err := when.FindAll(said, c.Now, c.Zone)
		if unsure, is := errors.AsType[*when.Ambiguous](err); is {
			all = unsure.Choices
		}
		for _, one := range all {
			if at := first(one, c).Format("15:04 "); !strings.Contains(p.Clock, at) {
				p.Clock += at
			}
		}
	}
	if p.Day = ok && t.First(0, len(t.Tokens), "day", "zh-day", "weekday", "this-time") >= 0 || week > 0 || to.Sub(from) > 30*time.Hour; p.Day || p.Clock == "" {
		p.From, p.To = from, to
	}
	if p.Once = p.Day && week == 0; p.Once && p.Clock != "" { // the hour says it better
		y, m, d := from.Date()
		p.From, p.To = time.Date(y, m, d, 0, 0, 0, 0, from.Location()), time.Date(y, m, d+1, 0, 0, 0, 0, from.Location())
	}
	return p
}

// Has says that a time is one of them.
func (p *Part) Has(t time.Time) bool { return *p != Part{} && p.has(t) != p.Others }

func (p *Part) has(t time.Time) bool {
	from, to := p.From.In(t.Location()), p.To.In(t.Location())
	hours := int(to.Sub(from).Hours())
	switch {
	case p.Clock != "" && !strings.Contains(p.Clock, t.Format("15:04")):
		return false
	case p.Day && !p.Once && p.Week&(1<<t.Weekday()) == 0:
		return false
	case p.Once:
		return !t.Before(from) && t.Before(to)
	case from.IsZero():
		return p.Day || p.Clock != ""
	}
	return hours >= 20 || t.Hour() >= from.Hour() && t.Hour()-from.Hour() < hours
}

// since is from when on something is changed, 下周起, and the marks besides.
func (s some) since() (from time.Time, rest some) {
	for i, m := range s.marks {
		for k := max(0, m.from-2); k < m.to && m.kind == clock; k++ {
			to := s.At("since-then", k)
			if to < m.to || s.At("into", to) > 0 || s.Longest(k, "each-week") >= to { // from monday to friday; from monday
				continue
			}
			at, _, ok := time.Time{}, time.Time{}, false
			for b := k; b < m.to && !ok; b++ {
				at, _, ok = when.Range(s.Cut(b, min(to, m.to)), s.c.Now, s.c.Zone)
			}
			if ok && at.After(s.c.Now) {
				rest = s.besides(k, to)
				if m.to = k; m.from < k { // 6am from next week
					rest.marks = append(append(slices.Clone(s.marks[:i]), m), s.marks[i+1:]...)
				}
				return at, rest
			}
		}
	}
	return from, s
}

// among is the time that tells which times of what repeats are meant.
func (s some) among(target string) string {
	said := cmp.Or(s.one(), strings.TrimPrefix(s.named(target), "from "))
	for i, m := range s.marks {
		if m.kind != clock && m.kind != "this" {
			continue
		}
		here := strings.TrimSuffix(s.Cut(max(m.from, min(s.At("bounds", m.from), m.to-1)), m.to), "'s") // from monday
		if before := s.before(i); m.kind == clock && (before == "old" || before == "not") {
			if len(when.Days(said, s.c.Now, s.c.Zone)) == 0 || strings.Contains(said, here) {
				return here
			}
			return said + " " + here // 周五吃药十点而不是九点
		}
		if m.kind != "this" || strings.Contains(said, here) {
			continue
		}
		if _, _, ok := when.Range(here, s.c.Now, s.c.Zone); ok {
			said = strings.TrimSpace(here + " " + said) // tomorrow's evening one
		}
	}
	return said
}
