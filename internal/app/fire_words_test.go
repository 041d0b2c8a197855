package app

import (
	"testing"
	"time"

	"magpie/cron"
)

func TestLateness(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	shanghai := time.FixedZone("UTC+08:00", 8*3600)
	slot := time.Date(2026, 11, 22, 15, 0, 0, 0, shanghai)
	for _, c := range []struct {
		late   bool
		missed int
		after  time.Duration
		chat   *time.Location
		en, zh string
	}{
		{false, 0, 0, shanghai, "", ""},
		{true, 0, 20 * time.Second, shanghai, "Due at 15:00, less than a minute late.", "原定 15:00，晚了不到一分钟。"},
		{true, 0, 119 * time.Second, shanghai, "Due at 15:00, 1 minute late.", "原定 15:00，晚了 1 分钟。"},
		{true, 0, 2 * time.Hour, shanghai, "Due at 15:00, 2 hours late.", "原定 15:00，晚了 2 小时。"},
		{true, 0, 95 * time.Minute, shanghai, "Due at 15:00, 1 hour 35 minutes late.", "原定 15:00，晚了 1 小时 35 分钟。"},
		{true, 0, 9*time.Hour - 1, shanghai, "Due at 15:00, 8 hours late.", "原定 15:00，晚了 8 小时。"},
		{true, 0, 9 * time.Hour, shanghai, "Due yesterday at 15:00, 9 hours late.", "原定昨天 15:00，晚了 9 小时。"},
		{true, 2, 49 * time.Hour, shanghai, "Due Sun 22 Nov at 15:00, 2 days late; this stands for 3 times.", "原定11月22日 15:00，晚了 2 天；这一条代表 3 次。"},
		{true, 0, 100 * 24 * time.Hour, shanghai, "Due Sun 22 Nov 2026 at 15:00, 100 days late.", "原定2026年11月22日 15:00，晚了 100 天。"},
		{true, 0, time.Hour, berlin, "Due at 15:00 (UTC+08:00), 1 hour late.", "原定 15:00（UTC+08:00），晚了 1 小时。"},
		{false, 2, time.Second, shanghai, "This stands for 3 times.", "这一条代表 3 次。"},
	} {
		due, now := cron.Fired{Slot: slot, Late: c.late, Missed: c.missed}, slot.Add(c.after).UTC()
		for lang, want := range map[string]string{"en": c.en, "zh": c.zh} {
			if got := lateness(due, dueAt(slot, now, c.chat, lang), now, lang); got != want {
				t.Errorf("late %v by %s, missed %d: %q, want %q", c.late, c.after, c.missed, got, want)
			}
		}
	}
	early := time.Date(2026, 11, 23, 9, 5, 30, 0, berlin)
	if got := dueAt(early, early.Add(time.Hour), berlin, "en"); got != "at 9:05:30" {
		t.Errorf("a time with seconds is %q", got)
	}
}
