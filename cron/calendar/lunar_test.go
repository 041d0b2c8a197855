package calendar

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	lunar "github.com/6tail/lunar-go/calendar"
)

var update = flag.Bool("update", false, "write the table of lunar years from the library")

// julian is the day of a Julian day of Beijing.
func julian(day float64) Date {
	return Date{2000, time.January, 1}.Add(int(math.Floor(day+0.5)) - 2451545)
}

// written are the lines of a year as the library knows it, and its months.
func written(t *testing.T, year int) (line string, months []lunarMonth, days [24]Date) {
	t.Helper()
	y := lunar.NewLunarYear(year)
	var w, terms24 uint64
	for e := y.GetMonths().Front(); e != nil; e = e.Next() {
		m := e.Value.(*lunar.LunarMonth)
		if m.GetYear() != year {
			continue
		}
		first := julian(m.GetFirstJulianDay())
		if len(months) == 0 {
			w |= uint64(first.utc().Sub(Date{year, time.January, 20}.utc()).Hours()/24) << 17
		}
		w |= uint64(m.GetDayCount()-29) << len(months)
		if m.IsLeap() {
			w |= uint64(-m.GetMonth()) << 13
		}
		months = append(months, lunarMonth{first, max(m.GetMonth(), -m.GetMonth()), m.IsLeap(), m.GetDayCount()})
	}
	for i, jd := range y.GetJieQiJulianDays()[2:26] { // from xiaohan on
		days[i] = julian(jd)
		late := days[i].Day - earliest[i]
		if days[i].Year != year || days[i].Month != time.Month(i/2+1) || late < 0 || late > 3 {
			t.Fatalf("%d: term %d is on %s", year, i+1, days[i])
		}
		terms24 |= uint64(late) << (2 * i)
	}
	return fmt.Sprintf("%d %06x %012x\n", year, w, terms24), months, days
}

// TestYears compares the table with the library: every month, every term.
func TestYears(t *testing.T) {
	var all strings.Builder
	for year := firstYear; year <= lastYear; year++ {
		line, months, days := written(t, year)
		all.WriteString(line)
		if *update {
			continue
		}
		if got := lunarMonths(year); fmt.Sprint(got) != fmt.Sprint(months) {
			t.Errorf("%d: months %v, want %v", year, got, months)
		}
		for i, want := range days {
			if got, ok := term(i+1, year); !ok || got != want {
				t.Errorf("%d: term %d is %s, want %s", year, i+1, got, want)
			}
		}
	}
	if *update {
		if err := os.WriteFile("years.txt", []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if all.String() != years {
		t.Error("years.txt is not what -update writes")
	}
}

// TestLunarBothWays takes every day there and back.
func TestLunarBothWays(t *testing.T) {
	d, last := Date{1900, time.January, 31}, Date{2101, time.January, 28}
	for ; d.Before(last); d = d.Add(1) {
		year, month, day, leap, ok := Lunar(d)
		back, has := FromLunar(year, month, day, leap)
		if !ok || !has || back != d {
			t.Fatalf("%s: %d-%d-%d leap %v (%v), back %s (%v)", d, year, month, day, leap, ok, back, has)
		}
	}
	for _, d := range []Date{{1900, time.January, 30}, {2101, time.January, 29}, {1, 1, 1}, {9999, 12, 31}} {
		if _, _, _, _, ok := Lunar(d); ok {
			t.Errorf("%s is known", d)
		}
	}
}

func TestFromLunar(t *testing.T) {
	for _, c := range []struct {
		year, month, day int
		leap             bool
		want             string
	}{
		{2026, 1, 1, false, "2026-02-17"},
		{2026, 8, 15, false, "2026-09-25"},
		{2026, 12, -1, false, "2027-02-05"},
		{2027, 1, 1, false, "2027-02-06"},
		{2025, 6, 1, true, "2025-07-25"},
		{2033, 11, 1, true, "2033-12-22"},
		{2026, 12, 30, false, ""},
		{2026, 5, 1, true, ""},
		{2026, 13, 1, false, ""},
		{2026, 1, 0, false, ""},
		{2026, 1, -2, false, ""},
		{1899, 1, 1, false, ""},
		{2101, 1, 1, false, ""},
	} {
		got, ok := FromLunar(c.year, c.month, c.day, c.leap)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%d-%d-%d leap %v: %s (%v), want %s", c.year, c.month, c.day, c.leap, got, ok, c.want)
		}
	}
}
