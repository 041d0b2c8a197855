package when

import (
	"testing"
	"time"

	"magpie/cron/calendar"

	"github.com/google/go-cmp/cmp"
)

// New York goes from 02:00 to 03:00 on 2026-03-08 and from 02:00 back to 01:00
// on 2026-11-01.
func TestDaylightSaving(t *testing.T) {
	ny := mustZone(t, "America/New_York")
	spring := time.Date(2026, 3, 7, 10, 30, 0, 0, ny)
	fall := time.Date(2026, 10, 31, 10, 30, 0, 0, ny)
	for _, row := range []struct {
		now        time.Time
		text, want string
	}{
		{spring, "tomorrow at 01:59", "2026-03-08T01:59:00-05:00"},
		{spring, "tomorrow at 02:00", "2026-03-08T03:00:00-04:00"},
		{spring, "tomorrow at 02:30", "2026-03-08T03:00:00-04:00"}, // skipped: the next valid minute
		{spring, "tomorrow at 03:00", "2026-03-08T03:00:00-04:00"},
		{spring, "明天凌晨两点半", "2026-03-08T03:00:00-04:00"},
		{spring, "in 24 hours", "2026-03-08T11:30:00-04:00"},
		{spring, "in 1 day", "2026-03-08T10:30:00-04:00"}, // the wall clock
		{spring, "2026-03-08 02:30", "2026-03-08T03:00:00-04:00"},
		{spring, "2026-03-08T02:30:00-05:00", "2026-03-08T03:30:00-04:00"},
		{fall, "tomorrow at 00:59", "2026-11-01T00:59:00-04:00"},
		{fall, "tomorrow at 01:30", "2026-11-01T01:30:00-04:00"}, // doubled: the first
		{fall, "明天凌晨一点半", "2026-11-01T01:30:00-04:00"},
		{fall, "tomorrow at 02:00", "2026-11-01T02:00:00-05:00"},
		{fall, "in 24 hours", "2026-11-01T09:30:00-05:00"},
		{fall, "一天后", "2026-11-01T10:30:00-05:00"},
		{fall, "2026-11-01T01:30:00-05:00", "2026-11-01T01:30:00-05:00"}, // the second, by its offset
	} {
		p, err := Parse(row.text, row.now, ny)
		if err != nil || p.At.Format(time.RFC3339) != row.want {
			t.Errorf("%q is %s %v, want %s", row.text, p.At.Format(time.RFC3339), err, row.want)
			continue
		}
		again(t, p, row.now)
	}
}

func TestOtherZonesGapsAndFolds(t *testing.T) {
	for _, row := range []struct {
		zone             string
		year, month, day int
		hour, minute     int
		want             string
	}{
		{zone: "Australia/Lord_Howe", year: 2026, month: 10, day: 4, hour: 2, minute: 15, want: "2026-10-04T02:30:00+11:00"}, // half an hour
		{zone: "Australia/Lord_Howe", year: 2026, month: 4, day: 5, hour: 1, minute: 45, want: "2026-04-05T01:45:00+11:00"},
		{zone: "Pacific/Apia", year: 2011, month: 12, day: 30, hour: 9, minute: 0, want: "2011-12-31T00:00:00+14:00"}, // a whole day
		{zone: "America/Sao_Paulo", year: 2018, month: 11, day: 4, hour: 0, minute: 30, want: "2018-11-04T01:00:00-02:00"},
		{zone: "America/Sao_Paulo", year: 2018, month: 2, day: 17, hour: 23, minute: 30, want: "2018-02-17T23:30:00-02:00"},
		{zone: "Europe/Berlin", year: 2026, month: 3, day: 29, hour: 2, minute: 59, want: "2026-03-29T03:00:00+02:00"},
		{zone: "Europe/Berlin", year: 2026, month: 10, day: 25, hour: 2, minute: 0, want: "2026-10-25T02:00:00+02:00"},
		{zone: "Asia/Shanghai", year: 2026, month: 3, day: 8, hour: 2, minute: 30, want: "2026-03-08T02:30:00+08:00"},
		{zone: "UTC", year: 2026, month: 3, day: 8, hour: 26, minute: 30, want: "2026-03-09T02:30:00Z"}, // an hour of the day after
	} {
		d := calendar.Date{Year: row.year, Month: time.Month(row.month), Day: row.day}
		if got := d.At(row.hour, row.minute, 0, mustZone(t, row.zone)).Format(time.RFC3339); got != row.want {
			t.Errorf("%s %v %02d:%02d is %s, want %s", row.zone, d, row.hour, row.minute, got, row.want)
		}
	}
}

// A change at midnight doubles the last hour of a day, and at 00:01 takes the
// clock back into the day before.
func TestEveryHourOfAFoldAtMidnight(t *testing.T) {
	for _, row := range []struct {
		zone, expr, from string
		want             []string
	}{
		{"America/Sao_Paulo", "*/30 * 17 2 *", "2018-02-17T23:15:00-02:00", []string{"02-17T23:30:00-02", "02-17T23:00:00-03", "02-17T23:30:00-03", "02-17T00:00:00-03"}},
		{"America/St_Johns", "0 * 4 11 *", "2007-11-03T23:45:00-02:30", []string{"11-04T00:00:00-02", "11-04T00:00:00-03", "11-04T01:00:00-03"}},
	} {
		if diff := cmp.Diff(row.want, slots(t, row.expr, row.from, len(row.want), mustZone(t, row.zone))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", row.zone, diff)
		}
	}
}

// slots lists the next n times of an expression.
func slots(t *testing.T, expr, from string, n int, zone *time.Location) []string {
	t.Helper()
	c, err := ParseCron(expr)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for range n {
		next, ok := c.Next(at, zone)
		if !ok {
			return append(all, "none")
		}
		if !next.After(at) {
			t.Fatalf("%s after %s is %s", expr, at, next)
		}
		all, at = append(all, next.Format("01-02T15:04:05-07")), next
	}
	return all
}
