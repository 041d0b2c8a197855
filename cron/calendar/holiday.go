package calendar

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// holidayTable has a line for each holiday: its key, and the rule by which it
// comes every year or the number of a solar term, the first of January being 1.
//
//go:embed holidays.txt
var holidayTable string

// holidays are what the table says of its keys.
var holidays = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(holidayTable) {
		key, when, _ := strings.Cut(line, " ")
		all[key] = strings.TrimSpace(when)
	}
	return all
})

// Holidays are the keys that Holiday knows, sorted.
func Holidays() []string { return slices.Sorted(maps.Keys(holidays())) }

// Holiday is the day of a holiday or solar term in a year. Those of the last
// lunar month belong to the year that begins with them: the eve of the spring
// festival of 2027 is that of 6 February 2027, and the Laba festival of 2023
// was on 30 December 2022. False when the key is unknown, and for lunar days
// and solar terms outside of 1900 to 2100. Solar terms are those of Beijing.
func Holiday(key string, year int) (Date, bool) {
	when := holidays()[key]
	if n, err := strconv.Atoi(when); err == nil {
		return term(n, year)
	}
	p, err := parsePart("FREQ=YEARLY;" + when)
	if err != nil {
		return Date{}, false
	}
	from := Date{year, time.January, 1}
	if p.Lunar {
		from = from.Add(-12) // the Laba festival may be in the December before
	}
	for slot := range p.slots(from.midnight(), from.midnight()) {
		return On(slot), On(slot).Year <= year
	}
	return Date{}, false
}
