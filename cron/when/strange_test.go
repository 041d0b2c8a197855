package when

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A zone that does not exist is an error that names it, also where other text
// may follow the time.
func TestFindUnknownZone(t *testing.T) {
	now, zone := testNow(t)
	for text, name := range map[string]string{
		"remind me at 9:00 Mars/Phobos to x":          "Mars/Phobos",
		"at 9:00 Mars/Phobos to x":                    "Mars/Phobos",
		"every day at 9am Foo/Bar to call":            "Foo/Bar",
		"remind me at 9:00 in Mars/Phobos to x":       "Mars/Phobos",
		"remind me at 9:00 (Mars/Phobos) to x":        "Mars/Phobos",
		"remind me tomorrow, Mars/Phobos, at 9:00":    "Mars/Phobos",
		"Mars/Phobos 9:00 to x":                       "Mars/Phobos",
		"明天9:00 Mars/Phobos 提醒我":                      "Mars/Phobos",
		"remind me at 9:00 asai/shanghai to x":        "asai/shanghai",
		"remind me at 9:00 asia/shangai to x":         "Asia/Shangai",
		"remind me at 9:00 Amerika/New_York to x":     "Amerika/New_York",
		"remind me at 9:00 Mars/Phobos/Stickney to x": "Mars/Phobos/Stickney",
		"remind me at 9:00 UTC+25 to x":               "UTC+25",
	} {
		p, err := Find(text, now, zone)
		if !errors.Is(err, ErrBadZone) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "Asia/Shanghai") {
			t.Errorf("Find(%q) is %s %q (%v), want an error about %s", text, short(p, err), p.Rest, err, name)
		}
		if _, err := Parse(text, now, zone); err == nil {
			t.Errorf("Parse(%q): no error", text)
		}
	}
	for text, rest := range map[string]string{
		"remind me tomorrow at 9:00 and/or call Bob":     "and/or call Bob",
		"remind me tomorrow at 9:00 read/write the test": "read/write the test",
		"remind me tomorrow at 9:00 he/she will call":    "he/she will call",
		"remind me tomorrow at 9:00 CI/CD review":        "CI/CD review",
		"remind me tomorrow at 9:00 us/them debate":      "us/them debate",
		"remind me tomorrow at 9:00 paris/london flight": "paris/london flight",
		"remind me tomorrow at 9:00 to ask Tom/Anna":     "ask Tom/Anna",
	} {
		if p, err := Find(text, now, zone); short(p, err) != "2026-11-24 09:00" || p.Rest != rest {
			t.Errorf("Find(%q) is %s %q, want the rest %q", text, short(p, err), p.Rest, rest)
		}
	}
	if got := short(Find("remind me at 9:00 UTC-3 to x", now, zone)); got != "2026-11-23 20:00" {
		t.Errorf("UTC-3: %s", got)
	}
}

// What no month has is refused, whatever stands beside it.
func TestNoSuchWeekday(t *testing.T) {
	for _, text := range []string{
		"every 6th monday of the month", "22nd sunday in each month 每3个月一次", "every quarter on 22nd thursdays every two months", "每月第九个周五提醒我",
	} {
		if p, err := Find(text, time.Now(), nil); err == nil {
			t.Errorf("%q is %+v", text, p)
		}
	}
}
