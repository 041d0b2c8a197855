package when

import (
	"os"
	"strings"
	"testing"
)

// ISO dates, RFC 3339, durations, clocks in digits and cron expressions.
func TestPlainForms(t *testing.T) {
	phrases(t, [][2]string{
		{"2026-11-24 15:00", "2026-11-24 15:00"},
		{"2026-11-24T15:00:00Z", "2026-11-24 23:00"},
		{"2026-11-24T15:00:00+02:00", "2026-11-24 21:00"},
		{"2026-11-24", "2026-11-24 09:00"},
		{"0 9 * * 1-5", "cron 0 9 * * 1-5"},
		{"*/5 * * * * ", "cron */5 * * * *"},
		{"@daily", "cron 0 0 * * *"},
		{"@every 10m", "every 10m0s"},
		{"10m", "2026-11-23 10:40"},
		{"1h30m", "2026-11-23 12:00"},
		{"3 days ago", "past"},
		{"25:00", "invalid"},
		{"2026-02-30", "invalid"},
		{"61 * * * *", "invalid"},
		{"2026-11-24T15:00:00.123456+08:00", "2026-11-24 15:00"},
		{"2026-11-24T15:00:00-05:00", "2026-11-25 04:00"},
		{"*/5 * * * *", "cron */5 * * * *"},
		{"0 30 9 * * *", "cron 30 9 * * *"},
		{"0 9 29 2 *", "cron 0 9 29 2 *"},
		{"0 9 30 2 *", "invalid"},
		{"0 9 L * *", "cron 0 9 L * *"},
		{"* * * *", "invalid"},
		{"CRON_TZ=Asia/Tokyo 0 9 * * *", "cron 0 9 * * * Asia/Tokyo"},
		{"CRON_TZ=Mars/X 0 9 * * *", "bad zone"},
		{"0 9 * * mon-fri", "cron 0 9 * * 1-5"},
		{"@never", "invalid"},
		{"8 in the morning", "? 2026-11-24 08:00"},
		{"20 past 3 tomorrow", "2026-11-24 15:20"},
		{"30 november", "2026-11-30 09:00"},
		{"31 december at 23:59", "2026-12-31 23:59"},
		{"2h from now", "2026-11-23 12:30"},
		{"3pm tomorrow", "2026-11-24 15:00"},
		{"3 p.m. tomorrow", "2026-11-24 15:00"},
		{"12:60", "invalid"},
		{"2027-01-05", "2027-01-05 09:00"},
		{"2026/12/01 08:00", "2026-12-01 08:00"},
		{"2026-12-01 8:00", "2026-12-01 08:00"},
		{"2026-11-24T09:00", "2026-11-24 09:00"},
		{"2026-13-01", "invalid"},
		{"2026-11-22 10:00", "past"},
		{"2026-11-24T15:00:00+0800", "2026-11-24 15:00"},
		{"30 9 * * 1,3,5", "cron 30 9 * * 1,3,5"},
		{"0 0 1 1 *", "cron 0 0 1 1 *"},
		{"15 10 ? * 6L", "invalid"},
		{"0 9 * * 7", "cron 0 9 * * 0"},
		{"0 9 1-7 * 1", "cron 0 9 1-7 * 1"},
		{"*/10 9-17 * * 1-5", "cron */10 9-17 * * 1-5"},
		{"30 0 9 * * 1", "cron 30 0 9 * * 1"},
		{"0 9 * *", "invalid"},
		{"* * * * * * *", "invalid"},
		{"cron 0 9 1 1 *", "cron 0 9 1 1 *"},
		{"TZ=Europe/Berlin 30 8 * * 1-5", "cron 30 8 * * 1-5 Europe/Berlin"},
		{"@weekly", "cron 0 0 * * 0"},
		{"@hourly", "cron 0 * * * *"},
		{"@every 90s", "every 1m30s"},
		{"@every 10", "invalid"},
		{"@every 0s", "invalid"},
		{"@monthly", "cron 0 0 1 * *"},
		{"@yearly", "cron 0 0 1 1 *"},
		{"90m", "2026-11-23 12:00"},
		{"2h", "2026-11-23 12:30"},
		{"45s", "2026-11-23 10:30:45"},
		{"3d", "2026-11-26 10:30"},
		{"1.5h", "2026-11-23 12:00"},
		{"30 minutes", "2026-11-23 11:00"},
		{"21:00", "2026-11-23 21:00"},
		{"9:30", "2026-11-23 21:30"},
		{"09:30", "? 2026-11-24 09:30"},
		{"3:30", "2026-11-23 15:30"},
	})
}

// What docs/reminders.md shows in its table of times is understood, as once
// or as repeating, as the table says.
func TestDocumentedTimes(t *testing.T) {
	page, err := os.ReadFile("../../docs/reminders.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| said | understood |\n|---|---|\n")
	now, zone := testNow(t)
	seen := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			break
		}
		for said := range strings.SplitSeq(cells[1], ",") {
			said = strings.TrimSpace(said)
			if strings.HasPrefix(said, "…") {
				said = "2026-11-24T15:00" + strings.TrimPrefix(said, "…")
			}
			sameInTraditional(t, said)
			p, err := Parse(said, now, zone)
			if once := strings.Contains(cells[2], "once"); err != nil || once == p.At.IsZero() {
				t.Errorf("%q is %s, the page says %q", said, short(p, err), cells[2])
			}
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("only %d times were found on the page", seen)
	}
}
