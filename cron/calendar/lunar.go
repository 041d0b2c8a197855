package calendar

import (
	_ "embed"
	"slices"
	"strconv"
	"time"
)

// years has a line of fixed width for every lunar year from firstYear on:
//
//   - bits 0–12 are the months in their order, a leap month after the one whose
//     number it has: 1 for 30 days, 0 for 29; bits 13–16 the number of the leap
//     month, 0 for none; from bit 17 on the days from 20 January to the spring
//     festival;
//   - two bits for each of the 24 solar terms, the first of January lowest: days
//     after the earliest day of the term.
//
// The test writes it with github.com/6tail/lunar-go and checks every day of it.
// That library itself takes 0.7 ms for a year and 180 KB of the program, and
// builds its tables of fortunes at every start.
//
//go:embed years.txt
var years string

const (
	firstYear = 1900
	lastYear  = 2100
	yearWidth = len("1900 2ae8b6 05a8a5a5a5a0\n")
)

// word is column a to b of a year's line; false for a year that is not there.
func word(year, a, b int) (uint64, bool) {
	if year < firstYear || year > lastYear {
		return 0, false
	}
	at := (year - firstYear) * yearWidth
	n, err := strconv.ParseUint(years[at+a:at+b], 16, 64)
	return n, err == nil
}

// lunarMonth is a month of a lunar year.
type lunarMonth struct {
	first  Date
	number int
	leap   bool
	days   int
}

// lunarMonths are the months of a lunar year in their order; none for a year
// that is not known.
func lunarMonths(year int) []lunarMonth {
	w, ok := word(year, 5, 11)
	if !ok {
		return nil
	}
	leap := int(w >> 13 & 15)
	day := Date{year, time.January, 20}.Add(int(w >> 17))
	months := make([]lunarMonth, 0, 13)
	add := func(number int, leap bool) {
		m := lunarMonth{day, number, leap, 29 + int(w>>len(months)&1)}
		months = append(months, m)
		day = day.Add(m.days)
	}
	for number := 1; number <= 12; number++ {
		add(number, false)
		if number == leap {
			add(number, true)
		}
	}
	return months
}

// FromLunar is the day of a date of the Chinese lunar calendar; year is the one
// in which its spring festival lies. Day -1 is the last one of the month. False
// when there is no such day, and outside of 1900 to 2100.
func FromLunar(year, month, day int, leap bool) (Date, bool) {
	for _, m := range lunarMonths(year) {
		if m.number != month || m.leap != leap {
			continue
		}
		if day == -1 {
			day = m.days
		}
		return m.first.Add(day - 1), day >= 1 && day <= m.days
	}
	return Date{}, false
}

// Lunar is the date of the Chinese lunar calendar; ok is false outside of the
// lunar years 1900 to 2100.
func Lunar(d Date) (year, month, day int, leap, ok bool) {
	for year := d.Year; year >= d.Year-1; year-- {
		for _, m := range slices.Backward(lunarMonths(year)) {
			if n := d.Sub(m.first); n >= 0 {
				return year, m.number, n + 1, m.leap, n < m.days
			}
		}
	}
	return 0, 0, 0, false, false
}

// earliest are the earliest days that the 24 solar terms, of which each month
// has two, have from 1900 to 2100.
var earliest = [24]int{4, 19, 3, 18, 4, 19, 4, 19, 4, 20, 4, 20, 6, 22, 6, 22, 6, 22, 7, 22, 6, 21, 6, 21}

// term is the day of the n-th solar term of a year, from 1 on, by the clock of
// Beijing.
func term(n, year int) (Date, bool) {
	w, ok := word(year, 12, 24)
	return Date{year, time.Month((n + 1) / 2), earliest[n-1] + int(w>>(2*n-2)&3)}, ok
}
