package when

import (
	"cmp"
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
	also    int
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
	plain := d.every <= 1 && d.nth == 0 && d.months == "" && !d.lunar && d.kept == "" && d.holiday == "" && len(at) == 1 && len(b.limits) == 0
	if d.month != 0 {
		d.months = strconv.Itoa(int(d.month))
	}
	var parts []string
	at = slices.SortedStableFunc(slices.Values(at), func(s, t tick) int { return s.hours[0]*60 + s.minute - t.hours[0]*60 - t.minute })
	for _, t := range at {
		on := d
		if len(t.hours) > 0 && t.hours[0] >= 24 {
			if len(at) > 1 && d.freq != daily {
				return Phrase{}, invalid("some of these hours are after midnight, on the day after; say them apart")
			}
			var err error
			if on, err = d.after(); err != nil {
				return Phrase{}, err
			}
		}
		if plain {
			expr, err := on.cron(t)
			return Phrase{Cron: expr}, err
		}
		parts = append(parts, on.part()+t.text())
	}
	return b.ruled(parts, d.every > 1)
}

// after are the days after these, of which an hour from 24 on is.
func (d days) after() (days, error) {
	if d.months != "" || d.nth != 0 || d.lunar || d.kept != "" || d.holiday != "" {
		return d, invalid("midnight is the beginning or the end of a day; say 00:00 and the day")
	}
	d.week, d.numbers = shift(d.week), slices.Clone(d.numbers)
	for i, n := range d.numbers {
		switch {
		case n == lastDay:
			d.numbers[i] = 1
		case n >= 28:
			return d, invalid("midnight after the %dth is another day in each month; name the day after it", n)
		default:
			d.numbers[i]++
		}
	}
	return d, nil
}

// cron writes the expression.
func (d days) cron(at tick) (string, error) {
	week := weekText(d.week, strconv.Itoa)
	if d.week == allWeek {
		week = ""
	}
	open := func(field string) string { return cmp.Or(field, "*") }
	c, err := ParseCron(fmt.Sprintf("%d %d %s %s %s %s", at.second, at.minute, at.hourText(), open(d.numberText("L")), open(d.months), open(week)))
	return c.String(), err
}

// numberText writes the days of the month.
func (d days) numberText(last string) string {
	all := make([]string, len(d.numbers))
	for i, n := range d.numbers {
		if all[i] = strconv.Itoa(n); n == lastDay {
			all[i] = last
		}
	}
	return strings.Join(all, ",")
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

// part writes the days as a RRULE.
func (d days) part() string {
	freq := [...]string{daily: "DAILY", weekly: "WEEKLY", monthly: "MONTHLY", yearly: "YEARLY"}[d.freq]
	if d.kept != "" && d.freq == weekly {
		freq = "DAILY"
	}
	text := "RRULE:FREQ=" + freq
	add := func(is bool, name, value string) {
		if is && value != "" {
			text += ";" + name + "=" + value
		}
	}
	add(d.lunar, "RSCALE", "CHINESE")
	add(d.every > 1, "INTERVAL", strconv.Itoa(d.every))
	add(true, "X-HOLIDAY", d.holiday)
	add(d.holiday != "" && d.early != 0, "X-SHIFT", strconv.Itoa(-d.early))
	add(true, "BYMONTH", d.months)
	add(true, "BYMONTHDAY", d.numberText("-1"))
	add(true, "X-DAYS", string(d.kept))
	several := d.kept != "" || d.week&(d.week-1) != 0
	add(d.nth != 0 && several, "BYSETPOS", strconv.Itoa(d.nth)) // the first working day
	add(true, "BYDAY", weekText(d.week, func(n int) string {
		if d.nth != 0 && !several {
			more := ""
			if d.also != 0 {
				more = "," + strconv.Itoa(d.also) + weekdayCodes[n]
			}
			return strconv.Itoa(d.nth) + weekdayCodes[n] + more
		}
		return weekdayCodes[n]
	}))
	return text
}

func (t tick) hourText() string {
	hours := make([]string, len(t.hours))
	for i, h := range t.hours {
		hours[i] = strconv.Itoa(h % 24)
	}
	return strings.Join(hours, ",")
}

func (t tick) text() string {
	return fmt.Sprintf(";BYHOUR=%s;BYMINUTE=%d;BYSECOND=%d", t.hourText(), t.minute, t.second)
}
