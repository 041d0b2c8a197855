package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron/calendar"
)

type bounds struct {
	name      string
	min, last int      // values that differ
	max       int      // and may be written
	words     []string // names of the values from min on
}

var cronBounds = []bounds{
	{name: "second", last: 59, max: 59},
	{name: "minute", last: 59, max: 59},
	{name: "hour", last: 23, max: 23},
	{name: "day of month", min: 1, last: 31, max: 31},
	{name: "month", min: 1, last: 12, max: 12, words: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", last: 6, max: 7, words: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

const (
	cronSecond = iota
	cronMinute
	cronHour
	cronDay
	cronMonth
	cronWeekday
	cronFields
)

const allWeek = 1<<7 - 1

// Cron is a parsed cron expression. The zero value matches nothing.
type Cron struct {
	fields [cronFields]field
}

// field are the values of one field of an expression, in their order. It is
// empty when it was left open, which matters when both kinds of day are given.
// The last day of a month is -1.
type field []int

// every are the values from low to high in steps.
func every(low, high, step int) (all field) {
	for n := low; n <= high; n += step {
		all = append(all, n)
	}
	return all
}

var cronNames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// ParseCron reads five fields (minute, hour, day of month, month, day of week),
// six with seconds in front, or @yearly, @monthly, @weekly, @daily and
// @hourly. Fields hold values, names (jan, mon), lists, ranges and steps; ? is
// *, 7 is Sunday too, and L as day of month is the last one. When both kinds
// of day are restricted, either suffices. The error wraps ErrInvalid and says
// what is right; an expression that no day of the calendar meets (30 February)
// is refused too.
func ParseCron(expr string) (Cron, error) {
	expr = strings.ToLower(strings.TrimSpace(expr))
	if strings.HasPrefix(expr, "@") {
		named, ok := cronNames[expr]
		if !ok {
			return Cron{}, fmt.Errorf("%w: cron expression %.40q: want @yearly, @monthly, @weekly, @daily, @hourly or @every and a duration", ErrInvalid, expr)
		}
		expr = named
	}
	parts := strings.Fields(expr)
	if len(parts) != 5 && len(parts) != 6 {
		return Cron{}, fmt.Errorf(`%w: cron expression %.40q has %d fields: want 5 (minute hour day month weekday, as "0 9 * * 1-5") or 6 with seconds in front`, ErrInvalid, expr, len(parts))
	}
	if len(parts) == 5 {
		parts = append([]string{"0"}, parts...)
	}
	var c Cron
	for i, text := range parts {
		if err := c.read(i, text); err != nil {
			return Cron{}, fmt.Errorf("%w: cron expression %.40q: %w", ErrInvalid, expr, err)
		}
	}
	if !c.possible() {
		return Cron{}, fmt.Errorf("%w: cron expression %.40q: no month has this day", ErrInvalid, expr)
	}
	return c, nil
}

func (c *Cron) read(i int, text string) error {
	all, open := field{}, false
	for part := range strings.SplitSeq(text, ",") {
		if i == cronDay && part == "l" {
			all = append(all, -1)
			continue
		}
		values, err := cronBounds[i].read(part)
		if err != nil {
			return err
		}
		all, open = append(all, values...), open || len(values) == 0
	}
	if open {
		all = field{}
	}
	for j, n := range all {
		if i == cronWeekday {
			all[j] = n % 7
		}
	}
	c.fields[i] = all.sorted()
	return nil
}

func (f field) sorted() field {
	slices.Sort(f)
	return slices.Compact(f)
}

// read reads one value, range or step; it is empty for *.
func (b bounds) read(text string) (field, error) {
	span, by, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(by)
		if err != nil || n < 1 || n > b.max {
			return nil, fmt.Errorf("%s %.20q: the step is a number from 1 to %d", b.name, text, b.max)
		}
		step = n
	}
	if span == "*" || span == "?" {
		if step == 1 {
			return nil, nil
		}
		return every(b.min, b.last, step), nil
	}
	from, to, ranged := strings.Cut(span, "-")
	low, high := b.value(from), b.last
	switch {
	case ranged:
		high = b.value(to)
	case !stepped:
		high = low
	}
	if low < b.min || low > high {
		return nil, fmt.Errorf("%s %.20q: want *, or values from %d to %d, as 5 or 1,3 or 1-4 or */2", b.name, text, b.min, b.max)
	}
	return every(low, high, step), nil
}

// value is -1 for none.
func (b bounds) value(text string) int {
	if i := slices.Index(b.words, text); i >= 0 {
		return i + b.min
	}
	n, err := strconv.Atoi(text)
	if err != nil || n > b.max || text[0] == '-' || text[0] == '+' {
		return -1
	}
	return n
}

// possible says whether a day of the calendar can match.
func (c Cron) possible() bool {
	days, months := c.fields[cronDay], c.fields[cronMonth]
	if len(days) == 0 || len(c.fields[cronWeekday]) > 0 || len(months) == 0 {
		return true
	}
	return slices.ContainsFunc(months, func(m int) bool {
		longest := calendar.Date{Year: 2028, Month: time.Month(m)}.Last() // a leap year
		return days[0] <= longest
	})
}

// String is the canonical expression: equal ones are written equally.
func (c Cron) String() string {
	var parts []string
	for i, f := range c.fields {
		if i != cronSecond || !slices.Equal(f, field{0}) {
			parts = append(parts, f.write(cronBounds[i]))
		}
	}
	return strings.Join(parts, " ")
}

func (f field) write(b bounds) string {
	switch {
	case len(f) == 0:
		return "*"
	case f[0] == -1:
		return strings.TrimPrefix(f[1:].write(b)+",L", "*,")
	case len(f) > 2 && f[1] > f[0]+1 && slices.Equal(f, every(b.min, b.last, f[1]-f[0])):
		return "*/" + strconv.Itoa(f[1]-f[0])
	}
	var parts []string
	for i := 0; i < len(f); i++ {
		from := i
		for i+1 < len(f) && f[i+1] == f[i]+1 {
			i++
		}
		switch i - from {
		case 0:
			parts = append(parts, strconv.Itoa(f[i]))
		case 1:
			parts = append(parts, strconv.Itoa(f[from]), strconv.Itoa(f[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", f[from], f[i]))
		}
	}
	return strings.Join(parts, ",")
}
