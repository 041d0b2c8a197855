package when

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/cron/calendar"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCronCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"0 9 * * 1-5":           "0 9 * * 1-5",
		"0  9 * *  MON-FRI ":    "0 9 * * 1-5",
		"00 09 * * 1,2,3,4,5":   "0 9 * * 1-5",
		"0 0 9 * * 1-5":         "0 9 * * 1-5",
		"30 0 9 ? * ?":          "30 0 9 * * *",
		"*/15 * * * *":          "*/15 * * * *",
		"0,15,30,45 * * * *":    "*/15 * * * *",
		"5/15 * * * *":          "5,20,35,50 * * * *",
		"0 0-23/6 * * *":        "0 */6 * * *",
		"0 9 * jan,dec sun":     "0 9 * 1,12 0",
		"0 9 * * 5-7":           "0 9 * * 0,5,6",
		"0 9 * * 7":             "0 9 * * 0",
		"0 9 L * *":             "0 9 L * *",
		"0 9 1,l * *":           "0 9 1,L * *",
		"0 9 1-31 * 1":          "0 9 1-31 * 1", // either suffices, so it is not *
		"0 9 * * 0-6":           "0 9 * * 0-6",
		"@daily":                "0 0 * * *",
		"@Hourly":               "0 * * * *",
		"0 9 31 1,3,5 *":        "0 9 31 1,3,5 *",
		"1,2,10-12,40 3 29 2 *": "1,2,10-12,40 3 29 2 *",
	} {
		c, err := ParseCron(text)
		if err != nil || c.String() != want {
			t.Errorf("ParseCron(%q) = %q %v, want %q", text, c, err, want)
		}
	}
}

func TestCronErrors(t *testing.T) {
	for text, say := range map[string]string{
		"":                             "0 fields: want 5",
		"* * * *":                      "4 fields",
		"* * * * * * *":                "7 fields",
		"60 * * * *":                   "values from 0 to 59",
		"* 24 * * *":                   "values from 0 to 23",
		"* * 0 * *":                    "values from 1 to 31",
		"* * 32 * *":                   "values from 1 to 31",
		"* * * 13 *":                   "values from 1 to 12",
		"* * * * 8":                    "values from 0 to 7",
		"5-1 * * * *":                  "minute",
		"*/0 * * * *":                  "step",
		"*/60 * * * *":                 "step",
		"1,,2 * * * *":                 "minute",
		"-1 * * * *":                   "minute",
		"+1 * * * *":                   "minute",
		"a * * * *":                    "minute",
		"* * * foo *":                  "month",
		"1-2-3 * * * *":                "minute",
		"* l * * *":                    "hour",
		"0 0 30 2 *":                   "no month has this day",
		"0 0 31 4,6,9,11 *":            "no month has this day",
		"@sometimes":                   "want @yearly",
		"99999999999999999999 * * * *": "minute",
	} {
		_, err := ParseCron(text)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), say) {
			t.Errorf("ParseCron(%q): %v, want %q", text, err, say)
		}
	}
}

func TestNext(t *testing.T) {
	ny := mustZone(t, "America/New_York")
	for _, row := range []struct {
		name, expr, from string
		want             []string
	}{
		{"weekdays", "0 9 * * 1-5", "2026-11-20T09:00:00-05:00", []string{"11-23T09:00:00-05", "11-24T09:00:00-05"}},
		{"a second before", "0 9 * * 1-5", "2026-11-20T08:59:59-05:00", []string{"11-20T09:00:00-05"}},
		{"seconds", "*/20 30 9 * * *", "2026-11-20T09:30:10-05:00", []string{"11-20T09:30:20-05", "11-20T09:30:40-05", "11-21T09:30:00-05"}},
		{"both days", "0 9 13 * 5", "2026-11-01T12:00:00-05:00", []string{"11-06T09:00:00-05", "11-13T09:00:00-05", "11-20T09:00:00-05"}},
		{"last day", "0 9 L * *", "2027-01-31T12:00:00-05:00", []string{"02-28T09:00:00-05", "03-31T09:00:00-04"}},
		{"the 31st", "0 9 31 * *", "2026-10-31T12:00:00-04:00", []string{"12-31T09:00:00-05", "01-31T09:00:00-05", "03-31T09:00:00-04"}},
		{"leap day", "0 9 29 2 *", "2026-03-01T12:00:00-05:00", []string{"02-29T09:00:00-05"}},
		{"no leap day in 2100", "0 9 29 2 *", "2096-03-01T12:00:00-05:00", []string{"02-29T09:00:00-05"}},
		{"skipped hour", "30 2 * * *", "2026-03-07T12:00:00-05:00", []string{"03-08T03:00:00-04", "03-09T02:30:00-04"}},
		{"skipped slots are one", "*/10 2,3 * * *", "2026-03-08T01:00:00-05:00", []string{"03-08T03:00:00-04", "03-08T03:10:00-04"}},
		{"doubled hour once", "30 1 * * *", "2026-10-31T12:00:00-04:00", []string{"11-01T01:30:00-04", "11-02T01:30:00-05"}},
		{"inside the second of two", "45 1 * * *", "2026-11-01T01:40:00-05:00", []string{"11-02T01:45:00-05"}},
		{"every half hour has no pause", "*/30 * * * *", "2026-11-01T01:00:00-04:00", []string{"11-01T01:30:00-04", "11-01T01:00:00-05", "11-01T01:30:00-05", "11-01T02:00:00-05"}},
		{"every half hour over the gap", "*/30 * * * *", "2026-03-08T01:00:00-05:00", []string{"03-08T01:30:00-05", "03-08T03:00:00-04"}},
		{"full hour on one day", "0 * 8 3 *", "2026-03-08T22:30:00-04:00", []string{"03-08T23:00:00-04", "03-08T00:00:00-05"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, slots(t, row.expr, row.from, len(row.want), ny)); diff != "" {
				t.Errorf("%s after %s (-want +got)\n%s", row.expr, row.from, diff)
			}
		})
	}
}

func TestNextWithoutSlots(t *testing.T) {
	if next, ok := (Cron{}).Next(time.Now(), nil); ok {
		t.Errorf("the zero expression is due at %s", next)
	}
}

// drawCron draws an expression that ParseCron accepts.
func drawCron(t *rapid.T) string {
	field := func(name string, low, high int) string {
		n := rapid.IntRange(low, high)
		switch rapid.IntRange(0, 4).Draw(t, name) {
		case 0, 1:
			return "*"
		case 2:
			return rapid.SampledFrom([]string{"*/2", "*/3", "*/5"}).Draw(t, name)
		}
		a, b := n.Draw(t, name), n.Draw(t, name)
		text := itoa(a)
		if a != b {
			text = itoa(min(a, b)) + "-" + itoa(max(a, b)) + "," + itoa(n.Draw(t, name))
		}
		return text
	}
	expr := field("minute", 0, 59) + " " + field("hour", 0, 23) + " " + field("day", 1, 28) + " " + field("month", 1, 12) + " " + field("weekday", 0, 7)
	if rapid.Bool().Draw(t, "seconds") {
		expr = field("second", 0, 59) + " " + expr
	}
	return expr
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

func matches(c Cron, at time.Time) bool {
	has := func(i, n int) bool { return len(c.fields[i]) == 0 || slices.Contains(c.fields[i], n) }
	d := calendar.On(at)
	days, week := has(cronDay, d.Day) || has(cronDay, -1) && d.Day == d.Last(), has(cronWeekday, int(d.Weekday()))
	onDay := days && week
	if len(c.fields[cronDay]) > 0 && len(c.fields[cronWeekday]) > 0 {
		onDay = days || week
	}
	return onDay && has(cronMonth, int(d.Month)) && has(cronHour, at.Hour()) && has(cronMinute, at.Minute()) && has(cronSecond, at.Second())
}

// The canonical form is the same expression, and its slots are those that a
// walk through every second of a zone without daylight saving finds.
func TestCronProperties(t *testing.T) {
	start := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		expr := drawCron(t)
		c, err := ParseCron(expr)
		if err != nil {
			t.Fatalf("%q: %v", expr, err)
		}
		if d, err := ParseCron(c.String()); err != nil || d.String() != c.String() {
			t.Fatalf("%q is written %q: %v", expr, c, err)
		}
		from := start.Add(time.Duration(rapid.IntRange(0, 3*86400).Draw(t, "from")) * time.Second)
		next, ok := c.Next(from, time.UTC)
		if !ok {
			t.Fatalf("%q never comes after %s", expr, from)
		}
		for at := from.Add(time.Second); at.Before(from.Add(2 * time.Hour)); at = at.Add(time.Second) {
			due := matches(c, at)
			if due != at.Equal(next) {
				t.Fatalf("%q after %s: Next says %s, due at %s: %v", expr, from, next, at, due)
			}
			if due {
				return
			}
		}
		if next.Before(from.Add(2 * time.Hour)) {
			t.Fatalf("%q after %s: Next says %s", expr, from, next)
		}
	})
}

// Whatever the zone does, slots move forward, and none is skipped by asking
// from another moment.
func TestNextIsMonotone(t *testing.T) {
	zones := []*time.Location{mustZone(t, "America/New_York"), mustZone(t, "Australia/Lord_Howe"), mustZone(t, "America/Sao_Paulo"), mustZone(t, "Europe/Berlin")}
	edges := []time.Time{
		time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC),
		time.Date(2018, 2, 18, 2, 0, 0, 0, time.UTC), time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC),
	}
	rapid.Check(t, func(t *rapid.T) {
		c, err := ParseCron(drawCron(t))
		if err != nil {
			t.Fatal(err)
		}
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		from := rapid.SampledFrom(edges).Draw(t, "edge").Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "from")) * time.Second)
		first, ok := c.Next(from, zone)
		if !ok || !first.After(from) {
			t.Fatalf("%s after %s: %s", c, from, first)
		}
		between := from.Add(time.Duration(rapid.Int64Range(0, int64(first.Sub(from)-1)).Draw(t, "between")))
		if again, _ := c.Next(between, zone); !again.Equal(first) {
			t.Fatalf("%s: after %s comes %s, but after %s comes %s", c, from.In(zone), first, between.In(zone), again)
		}
	})
}

func TestZone(t *testing.T) {
	for name, want := range map[string]string{
		"Asia/Shanghai": "Asia/Shanghai", "asia/shanghai": "Asia/Shanghai", " America/Port-au-Prince ": "America/Port-au-Prince", "UTC": "UTC", "utc": "UTC", "CET": "CET",
		"UTC+8": "UTC+08:00", "UTC+08:00": "UTC+08:00", "GMT-3:30": "UTC-03:30", "北京时间": "Asia/Shanghai", "北京": "Asia/Shanghai", "tokyo": "Asia/Tokyo", "Local": "Local", "Etc/GMT+8": "Etc/GMT+8",
	} {
		zone, err := Zone(name)
		if err != nil || zone.String() != want {
			t.Errorf("%q: %v, %v; want %s", name, zone, err, want)
			continue
		}
		if again, err := Zone(zone.String()); err != nil || again.String() != want {
			t.Errorf("%q: its name is not a zone again: %v, %v", name, again, err)
		}
	}
	for _, name := range []string{"", " ", "Mars/Olympus", "UTC+8 tomorrow", "UTC+99", "+8x", "../../etc/passwd", "Asia/Shanghai Asia/Tokyo", strings.Repeat("长", 1<<16)} {
		if zone, err := Zone(name); !errors.Is(err, ErrBadZone) || len(err.Error()) > 500 {
			t.Errorf("%.40q: %v, %v", name, zone, err)
		}
	}
}
