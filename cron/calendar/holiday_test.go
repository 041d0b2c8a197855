package calendar

import (
	"slices"
	"testing"
	"time"

	"github.com/6tail/lunar-go/HolidayUtil"
)

func TestHoliday(t *testing.T) {
	for _, c := range []struct {
		key  string
		year int
		want string
	}{
		{"new-years-day", 2027, "2027-01-01"},
		{"martin-luther-king-day", 2027, "2027-01-18"},
		{"presidents-day", 2027, "2027-02-15"},
		{"mothers-day", 2027, "2027-05-09"},
		{"memorial-day", 2027, "2027-05-31"},
		{"memorial-day", 2026, "2026-05-25"},
		{"fathers-day", 2027, "2027-06-20"},
		{"labor-day-us", 2027, "2027-09-06"},
		{"columbus-day", 2027, "2027-10-11"},
		{"thanksgiving", 2026, "2026-11-26"},
		{"black-friday", 2026, "2026-11-27"},
		{"easter", 2027, "2027-03-28"},
		{"easter", 2038, "2038-04-25"},
		{"good-friday", 2026, "2026-04-03"},
		{"spring-festival", 2027, "2027-02-06"},
		{"spring-festival-eve", 2027, "2027-02-05"},
		{"lantern", 2027, "2027-02-20"},
		{"dragon-boat", 2026, "2026-06-19"},
		{"qixi", 2026, "2026-08-19"},
		{"mid-autumn", 2027, "2027-09-15"},
		{"double-ninth", 2026, "2026-10-18"},
		{"laba", 2023, "2022-12-30"},
		{"laba", 2026, "2026-01-26"},
		{"little-year", 2027, "2027-01-30"},
		{"qingming", 2026, "2026-04-05"},
		{"winter-solstice", 2026, "2026-12-22"},
		{"dongzhi", 2026, "2026-12-22"},
		{"summer-solstice", 2026, "2026-06-21"},
		{"spring-equinox", 2026, "2026-03-20"},
		{"autumn-equinox", 2026, "2026-09-23"},
		{"lichun", 2027, "2027-02-04"},
		{"qingming", 2101, ""},
		{"mid-autumn", 1899, ""},
		{"no-such-day", 2026, ""},
	} {
		got, ok := Holiday(c.key, c.year)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s %d: %s (%v), want %s", c.key, c.year, got, ok, c.want)
		}
	}
	keys := Holidays()
	if len(keys) != len(slices.Compact(slices.Clone(keys))) {
		t.Error("a key is there twice")
	}
	for _, key := range keys {
		before := Date{}
		for year := 1901; year <= 2100; year++ {
			d, ok := Holiday(key, year)
			if !ok || !d.Valid() || !before.Before(d) || d.Year != year && key != "laba" {
				t.Errorf("%s of %d: %s (%v)", key, year, d, ok)
			}
			before = d
		}
	}
}

// TestWorkdays compares each day of the years that are known with the library,
// which has the same notices.
func TestWorkdays(t *testing.T) {
	for d := (Date{2025, time.January, 1}); d.Year <= 2026; d = d.Add(1) {
		want := d.Weekday() != time.Saturday && d.Weekday() != time.Sunday
		if h := HolidayUtil.GetHoliday(d.String()); h != nil {
			want = h.IsWork()
		}
		if got, known := Workday(d); got != want || !known {
			t.Errorf("%s: work %v (%v), want %v", d, got, known, want)
		}
	}
	for d, want := range map[Date]bool{{2027, time.January, 1}: true, {2024, time.February, 10}: false} {
		if got, known := Workday(d); got != want || known {
			t.Errorf("%s: %v, %v", d, got, known)
		}
	}
}
