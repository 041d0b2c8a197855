package calendar

import (
	"slices"
	"time"
)

// kind says how the day of a holiday is found.
type kind int

const (
	fixed  kind = iota // month and day
	nth                // the day-th weekday of the month; -1 is the last
	moon               // month and day of the lunar calendar; -1 is the last day
	solar              // the day-th of the solar terms
	easter             // Easter Sunday
)

// holidays are found by their key; the solar terms besides by theirs.
var holidays = []struct {
	key     string
	kind    kind
	month   time.Month
	day     int
	weekday time.Weekday
	shift   int // days after that
}{
	{"new-years-day", fixed, 1, 1, 0, 0},
	{"new-years-eve", fixed, 12, 31, 0, 0},
	{"valentines-day", fixed, 2, 14, 0, 0},
	{"womens-day", fixed, 3, 8, 0, 0},
	{"arbor-day", fixed, 3, 12, 0, 0},
	{"st-patricks-day", fixed, 3, 17, 0, 0},
	{"april-fools", fixed, 4, 1, 0, 0},
	{"earth-day", fixed, 4, 22, 0, 0},
	{"labour-day", fixed, 5, 1, 0, 0},
	{"youth-day", fixed, 5, 4, 0, 0},
	{"childrens-day", fixed, 6, 1, 0, 0},
	{"party-day", fixed, 7, 1, 0, 0},
	{"independence-day", fixed, 7, 4, 0, 0},
	{"army-day", fixed, 8, 1, 0, 0},
	{"teachers-day", fixed, 9, 10, 0, 0},
	{"national-day", fixed, 10, 1, 0, 0},
	{"halloween", fixed, 10, 31, 0, 0},
	{"singles-day", fixed, 11, 11, 0, 0},
	{"veterans-day", fixed, 11, 11, 0, 0},
	{"christmas-eve", fixed, 12, 24, 0, 0},
	{"christmas", fixed, 12, 25, 0, 0},
	{"boxing-day", fixed, 12, 26, 0, 0},
	{"martin-luther-king-day", nth, 1, 3, time.Monday, 0},
	{"presidents-day", nth, 2, 3, time.Monday, 0},
	{"mothers-day", nth, 5, 2, time.Sunday, 0},
	{"memorial-day", nth, 5, -1, time.Monday, 0},
	{"fathers-day", nth, 6, 3, time.Sunday, 0},
	{"labor-day-us", nth, 9, 1, time.Monday, 0},
	{"columbus-day", nth, 10, 2, time.Monday, 0},
	{"thanksgiving", nth, 11, 4, time.Thursday, 0},
	{"black-friday", nth, 11, 4, time.Thursday, 1},
	{"easter", easter, 0, 0, 0, 0},
	{"good-friday", easter, 0, 0, 0, -2},
	{"spring-festival", moon, 1, 1, 0, 0},
	{"lantern", moon, 1, 15, 0, 0},
	{"dragon-head", moon, 2, 2, 0, 0},
	{"dragon-boat", moon, 5, 5, 0, 0},
	{"qixi", moon, 7, 7, 0, 0},
	{"ghost", moon, 7, 15, 0, 0},
	{"mid-autumn", moon, 8, 15, 0, 0},
	{"double-ninth", moon, 9, 9, 0, 0},
	{"laba", moon, 12, 8, 0, 0},
	{"little-year", moon, 12, 23, 0, 0},
	{"spring-festival-eve", moon, 12, -1, 0, 0},
	{"spring-equinox", solar, 0, 6, 0, 0},
	{"summer-solstice", solar, 0, 12, 0, 0},
	{"autumn-equinox", solar, 0, 18, 0, 0},
	{"winter-solstice", solar, 0, 24, 0, 0},
}

// Holidays are the keys that Holiday knows, sorted.
func Holidays() []string {
	var keys []string
	for _, h := range holidays {
		keys = append(keys, h.key)
	}
	for _, t := range terms {
		keys = append(keys, t.key)
	}
	slices.Sort(keys)
	return keys
}

// Holiday is the day of a holiday or solar term in a year. Those of the last
// lunar month belong to the year that begins with them: the eve of the spring
// festival of 2027 is that of 6 February 2027, and the Laba festival of 2023
// was on 30 December 2022. False when the key is unknown, and for lunar days
// and solar terms outside of 1900 to 2100. Solar terms are those of Beijing.
func Holiday(key string, year int) (Date, bool) {
	for _, h := range holidays {
		if h.key != key {
			continue
		}
		d, ok := Date{year, h.month, h.day}, true
		switch h.kind {
		case nth:
			d = nthWeekday(year, h.month, h.day, h.weekday)
		case moon:
			if h.month == 12 {
				year--
			}
			d, ok = FromLunar(year, int(h.month), h.day, false)
		case solar:
			d, ok = term(terms[h.day-1].key, year)
		case easter:
			d = easterSunday(year)
		}
		return d.Add(h.shift), ok
	}
	return term(key, year)
}

func nthWeekday(year int, month time.Month, n int, weekday time.Weekday) Date {
	if n < 0 {
		last := Date{year, month, Date{year, month, 1}.Last()}
		return last.Add(-(int(last.Weekday()-weekday)+7)%7 + 7*(n+1))
	}
	first := Date{year, month, 1}
	return first.Add((int(weekday-first.Weekday())+7)%7 + 7*(n-1))
}

// easterSunday is that of the Gregorian calendar (Meeus, Jones, Butcher).
func easterSunday(year int) Date {
	a, b, c := year%19, year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return Date{year, time.Month(n / 31), n%31 + 1}
}
