package app

import (
	"strings"
	"testing"
	"time"

	"magpie/cron"
)

func TestBeginsBlock(t *testing.T) {
	for text, want := range map[string]bool{
		"# shopping": true, "> he said": true, "| a | b |": true, "```\nx\n```": true, "- milk": true, "* milk": true, "1. milk": true, "12) milk": true,
		"drink": false, "**drink** water": false, "*drink*": false, "-5 degrees": false, "3 pills": false, "`make`": false, "1.5 l of water": false, "喝水": false,
	} {
		if got := beginsBlock(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestLateness(t *testing.T) {
	slot := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	zone := time.FixedZone("UTC+08:00", 8*3600)
	for _, c := range []struct {
		late   bool
		missed int
		en, zh string
	}{
		{false, 0, "", ""},
		{true, 0, "Late: this was due at Sun 2026-11-22 15:00 (UTC+08:00).", "迟到了：原定 2026-11-22 周日 15:00（UTC+08:00）。"},
		{true, 2, "Late: this stands for 3 times, the last of which was due at Sun 2026-11-22 15:00 (UTC+08:00).", "代表错过的 3 次"},
		{false, 2, "This stands for 3 times.", "这一条代表 3 次。"},
	} {
		due := cron.Fired{Slot: slot, Late: c.late, Missed: c.missed}
		if got := lateness(due, zone, "en"); got != c.en {
			t.Errorf("late %v, missed %d: %q, want %q", c.late, c.missed, got, c.en)
		}
		if got := lateness(due, zone, "zh"); !strings.Contains(got, c.zh) || (got == "") != (c.zh == "") {
			t.Errorf("late %v, missed %d: %q, want %q", c.late, c.missed, got, c.zh)
		}
	}
}
