package when

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// testNow is when most of the tests are: Monday, 2026-11-23 10:30 in Shanghai.
func testNow(t testing.TB) (time.Time, *time.Location) {
	zone := mustZone(t, "Asia/Shanghai")
	return time.Date(2026, 11, 23, 10, 30, 0, 0, zone), zone
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// reader is Parse or Find.
type reader func(text string, now time.Time, zone *time.Location) (Phrase, error)

// short writes a result so that a table can hold it: "2026-11-24 15:00", "cron
// 0 9 * * 1-5", "every 2h0m0s", "rule FREQ=…", "? one | other", "one and
// another", "past".
func short(p Phrase, err error) string {
	var asked *Ambiguous
	switch {
	case errors.As(err, &asked):
		var all []string
		for _, c := range asked.Choices {
			all = append(all, short(c, nil))
		}
		return "? " + strings.Join(all, " | ")
	case errors.Is(err, ErrNone):
		return "none"
	case errors.Is(err, ErrPast):
		return "past"
	case errors.Is(err, ErrBadZone):
		return "bad zone"
	case errors.Is(err, ErrInvalid):
		return "invalid"
	case err != nil:
		return err.Error()
	}
	text := ""
	if p.Every > 0 {
		text += "every " + p.Every.String()
	}
	if p.Cron != "" {
		text += "cron " + p.Cron
	}
	if !p.At.IsZero() {
		text += strings.TrimSuffix(p.At.Format("2006-01-02 15:04:05"), ":00")
	}
	if _, rule, ok := strings.Cut(p.Rule, "\n"); ok { // without its DTSTART
		text += "rule " + strings.NewReplacer("RRULE:", "", ";BYSECOND=0", "", "\n", " ").Replace(rule)
	}
	if p.Zone.String() != "Asia/Shanghai" {
		text += " " + p.Zone.String()
	}
	for _, other := range p.And {
		text += " and " + short(other, nil)
	}
	return text
}

// slotsOf are the first times of a phrase.
func slotsOf(p Phrase, after time.Time) string {
	var all []string
	for range 120 {
		next, ok := p.Next(after)
		if !ok {
			break
		}
		all, after = append(all, next.UTC().Format(time.RFC3339)), next
	}
	return strings.Join(all, " ")
}

// phrases tests a table of texts that are times and nothing else. Find must
// understand them too, with nothing left, and what Describe says of a result
// must be the same time again, in both languages; so must every choice. Chinese
// means the same in traditional characters.
func phrases(t *testing.T, table [][2]string) {
	t.Helper()
	now, zone := testNow(t)
	for _, row := range table {
		p, err := Parse(row[0], now, zone)
		if got := short(p, err); got != row[1] {
			t.Errorf("Parse(%q)\n got %s\nwant %s", row[0], got, row[1])
			continue
		}
		sameInTraditional(t, row[0])
		found, err2 := Find(row[0], now, zone)
		if got := short(found, err2); got != row[1] && row[1] != "invalid" {
			t.Errorf("Find(%q)\n got %s\nwant %s", row[0], got, row[1])
		}
		if err == nil && (p.Rest != "" || found.Rest != "") {
			t.Errorf("%q left %q and %q", row[0], p.Rest, found.Rest)
		}
		var asked *Ambiguous
		switch {
		case errors.As(err, &asked):
			if asked.Question.English == "" || asked.Question.Chinese == "" {
				t.Errorf("%q: no question", row[0])
			}
			for _, c := range asked.Choices {
				again(t, c, now)
			}
		case err == nil:
			again(t, p, now)
		}
	}
}

// again demands that the words for a phrase are understood as that phrase; of a
// rule, that its times are the same.
func again(t testing.TB, p Phrase, now time.Time) {
	t.Helper()
	for _, other := range p.And {
		again(t, other, now)
	}
	for _, lang := range []string{"en", "zh"} {
		for _, text := range []string{Words(p, lang), Describe(p, now, lang)} {
			q, err := Parse(text, now, p.Zone)
			if err != nil || q.Every != p.Every || p.Cron != "" && slotsOf(q, now) != slotsOf(p, now) || !q.At.Equal(p.At) || p.Rule != "" && slotsOf(q, now) != slotsOf(p, now) || q.Zone.String() != p.Zone.String() {
				t.Errorf("%q is understood as %s (%v), want %s", text, short(q, err), err, short(p, nil))
			}
		}
	}
}
