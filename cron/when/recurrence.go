package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// slot is the hours of one reading of a repetition, those of one minute
// together.
type slot []tick

type tick struct {
	hours          []int
	minute, second int
}

// days of a repetition.
type days struct {
	freq    frequency
	every   int
	numbers []int
	month   time.Month // 0: every
	months  string     // several
	week    uint8      // 0: every
	nth     int
	lunar   bool
	kept    calendar.Days // to working or free days
	holiday string
	early   int
}

// lacking adds the last day of the month as another reading of a number that
// some months lack.
func (d days) lacking(sure bool) ([]days, error) {
	last := slices.Clone(d.numbers)
	for i, n := range d.numbers {
		if n == 0 || n > 31 && n != lastDay {
			return nil, invalid("no month has a day %d", n)
		}
		if n > 28 {
			last[i] = lastDay
		}
	}
	if sure || d.month != 0 || d.months != "" || d.lunar || slices.Equal(last, d.numbers) {
		return []days{d}, nil
	}
	other := d
	other.numbers = last
	return []days{d, other}, nil
}

// recurrence is what repeats on the days at the hours: an expression where that
// says it, else a rule.
func (b *bag) recurrence(d days, at slot) (Phrase, error) {
	plain := d.every <= 1 && d.nth == 0 && d.months == "" && !d.lunar && d.kept == "" && d.holiday == "" && len(at) == 1
	if plain && len(b.limits) == 0 {
		expr, err := d.cron(at[0])
		return Phrase{Cron: expr}, err
	}
	var parts []string
	for _, t := range at {
		part, err := d.part(t)
		if err != nil {
			return Phrase{}, err
		}
		parts = append(parts, part)
	}
	return b.ruled(parts, d.every > 1)
}

// cron writes the expression. Hours from 24 on are of the day after.
func (d days) cron(at tick) (string, error) {
	hours := make([]string, len(at.hours))
	for i, h := range at.hours {
		hours[i] = strconv.Itoa(h % 24)
	}
	numbers, month, week := "*", "*", "*"
	next := len(at.hours) > 0 && at.hours[0] >= 24
	if len(d.numbers) > 0 {
		parts := make([]string, len(d.numbers))
		for i, n := range d.numbers {
			switch {
			case next && n == lastDay:
				n = 1
			case next && n >= 28:
				return "", invalid("midnight after the %dth is another day in each month; name the day after it", n)
			case next:
				n++
			}
			parts[i] = strconv.Itoa(n)
			if n == lastDay {
				parts[i] = "L"
			}
		}
		numbers = strings.Join(parts, ",")
	}
	if d.month != 0 {
		month = strconv.Itoa(int(d.month))
	}
	if d.week != 0 {
		w := d.week
		if next {
			w = shift(w)
		}
		if week = weekText(w, func(n int) string { return strconv.Itoa(n) }); w == allWeek {
			week = "*"
		}
	}
	c, err := ParseCron(fmt.Sprintf("%d %d %s %s %s %s", at.second, at.minute, strings.Join(hours, ","), numbers, month, week))
	return c.String(), err
}

// weekText writes a set of days of the week with commas.
func weekText(week uint8, name func(int) string) string {
	var all []string
	for n := range 7 {
		if week&(1<<n) != 0 {
			all = append(all, name(n))
		}
	}
	return strings.Join(all, ",")
}

var weekdayCodes = [7]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// part writes the days at a tick as an RRULE.
func (d days) part(at tick) (string, error) {
	if at.hours[0] >= 24 {
		if d.freq != daily && d.freq != weekly {
			return "", invalid("midnight is the beginning or the end of a day; say 00:00 and the day")
		}
		d.week = shift(d.week)
	}
	freq := map[frequency]string{daily: "DAILY", weekly: "WEEKLY", monthly: "MONTHLY", yearly: "YEARLY"}[d.freq]
	if d.kept != "" && d.freq == weekly {
		freq = "DAILY"
	}
	text := "RRULE:FREQ=" + freq
	add := func(name, value string) {
		if value != "" {
			text += ";" + name + "=" + value
		}
	}
	if d.lunar {
		add("RSCALE", "CHINESE")
	}
	if d.every > 1 {
		add("INTERVAL", strconv.Itoa(d.every))
	}
	if d.holiday != "" {
		add("X-HOLIDAY", d.holiday)
		if d.early != 0 {
			add("X-SHIFT", strconv.Itoa(-d.early))
		}
	}
	if d.month != 0 {
		d.months = strconv.Itoa(int(d.month))
	}
	add("BYMONTH", d.months)
	var numbers []string
	for _, n := range d.numbers {
		if n == lastDay {
			n = -1
		}
		numbers = append(numbers, strconv.Itoa(n))
	}
	add("BYMONTHDAY", strings.Join(numbers, ","))
	add("X-DAYS", string(d.kept))
	if d.nth != 0 && (d.kept != "" || d.week&(d.week-1) != 0) { // the first working day
		add("BYSETPOS", strconv.Itoa(d.nth))
	}
	add("BYDAY", weekText(d.week, func(n int) string {
		if d.nth != 0 && d.week&(d.week-1) == 0 {
			return strconv.Itoa(d.nth) + weekdayCodes[n]
		}
		return weekdayCodes[n]
	}))
	return text + at.text(), nil
}

func (t tick) text() string {
	hours := make([]string, len(t.hours))
	for i, h := range t.hours {
		hours[i] = strconv.Itoa(h % 24)
	}
	return fmt.Sprintf(";BYHOUR=%s;BYMINUTE=%d;BYSECOND=%d", strings.Join(hours, ","), t.minute, t.second)
}
