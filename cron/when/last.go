package when

import (
	"time"

	"magpie/cron/calendar"
	"magpie/cron/grammar"
)

// End is when something ends that repeats already.
type End struct {
	Until time.Time // the last moment; zero: after Count
	Count int       // 0 as well: never
}

// ends are the categories of such words, the surest first.
var ends = []string{"last", "last-weak", "last-day"}

// EndAt is where words stop that stand at i and say an end: "until friday", 再三次.
// Less sure ones say it beside others that end something, "after friday", and
// the least sure only if these do nothing else: "on friday". 0 when none do.
func EndAt(t *grammar.Text, i int) (to, unsure int) {
	for n, category := range ends {
		if v, k := t.Match(category, i); k > to {
			if to, unsure = k, n; v.(piece).limit != nil && v.(piece).limit.span.Exact > 0 { // 再等45分钟
				unsure = max(n, 1)
			}
		}
	}
	return to, unsure
}

// IsEnd says that a text is an end for sure, and nothing else.
func IsEnd(text string) bool {
	s := newSentence(text, time.Time{}, nil)
	to, unsure := EndAt(s.Text, 0)
	return to > 0 && unsure == 0 && s.ending(to)
}

// ParseEnd reads an end, and nothing else: ErrNone when the text is none.
func ParseEnd(text string, now time.Time, zone *time.Location) (End, error) {
	s := newSentence(text, now, zone)
	p, to := piece{}, 0
	for _, category := range ends {
		if v, k := s.Match(category, 0); k > to {
			p, to = v.(piece), k
		}
	}
	if to == 0 || !s.ending(to) {
		return End{}, ErrNone
	}
	if err := (pieces{p}).failed(); err != nil {
		return End{}, err
	}
	switch l := p.limit; l.kind {
	case count:
		return End{Count: l.count}, nil
	case lasting:
		return End{Until: l.span.After(s.now.Add(-time.Second))}, nil
	default:
		b := bag{now: s.now, zone: s.zone, shown: s.zone, source: s}
		t, day, err := b.bound(l.pieces, l.kind == until)
		switch {
		case err == nil && l.kind == until && l.pieces.openMonth():
			return End{}, untilWhichDay
		case err != nil:
			return End{}, err
		case l.kind == since: // from friday on it does not come
			t = t.Add(-time.Second)
		case day:
			t = calendar.On(t).At(23, 59, 59, b.zone)
		}
		return End{Until: t}, nil
	}
}
