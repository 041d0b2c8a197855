package when

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron/calendar"
)

// field is the set of values of one field of an expression. star says that it
// was left open, which matters when both kinds of day are given.
type field struct {
	set  uint64
	star bool
}

func (f field) has(n int) bool { return f.set&(1<<n) != 0 }

// every are the values from low to high in steps.
func every(low, high, step int) (set uint64) {
	for n := low; n <= high; n += step {
		set |= 1 << n
	}
	return set
}

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

	allWeek = 1<<7 - 1
)

// Cron is a parsed cron expression. The zero value matches nothing.
type Cron struct {
	fields [cronFields]field
	last   bool // L: also on the last day of the month
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
	for part := range strings.SplitSeq(text, ",") {
		if i == cronDay && part == "l" {
			c.last = true
			continue
		}
		f, err := cronBounds[i].read(part)
		if err != nil {
			return err
		}
		c.fields[i].set |= f.set
		c.fields[i].star = c.fields[i].star || f.star
	}
	if days := &c.fields[cronWeekday]; i == cronWeekday && days.has(7) {
		days.set = (days.set | 1) & allWeek
	}
	return nil
}

// read reads one value, range or step.
func (b bounds) read(text string) (field, error) {
	span, by, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(by)
		if err != nil || n < 1 || n > b.max {
			return field{}, fmt.Errorf("%s %.20q: the step is a number from 1 to %d", b.name, text, b.max)
		}
		step = n
	}
	if span == "*" || span == "?" {
		return field{every(b.min, b.last, step), step == 1}, nil
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
		return field{}, fmt.Errorf("%s %.20q: want *, or values from %d to %d, as 5 or 1,3 or 1-4 or */2", b.name, text, b.min, b.max)
	}
	return field{set: every(low, high, step)}, nil
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
	days, week := c.fields[cronDay], c.fields[cronWeekday]
	if c.last || days.star || !week.star {
		return true
	}
	for m := 1; m <= 12; m++ {
		longest := calendar.Date{Year: 2028, Month: time.Month(m)}.Last() // a leap year
		if c.fields[cronMonth].has(m) && bits.TrailingZeros64(days.set) <= longest {
			return true
		}
	}
	return false
}

// String is the canonical expression: equal ones are written equally.
func (c Cron) String() string {
	parts := make([]string, 0, cronFields)
	for i, f := range c.fields {
		if i == cronSecond && f.set == 1 {
			continue
		}
		text := f.write(cronBounds[i])
		if i == cronDay && c.last {
			text = strings.TrimPrefix(text+",L", ",")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func (f field) write(b bounds) string {
	if f.star {
		return "*"
	}
	step := bits.TrailingZeros64(f.set>>(b.min+1)) + 1
	if step > 1 && bits.OnesCount64(f.set) > 2 && f.set == every(b.min, b.last, step) {
		return "*/" + strconv.Itoa(step)
	}
	var parts []string
	for n := b.min; n <= b.last; n++ {
		end := n + bits.TrailingZeros64(^(f.set >> n)) // the first that is not in
		switch end - n {
		case 0:
		case 1:
			parts = append(parts, strconv.Itoa(n))
		case 2:
			parts = append(parts, strconv.Itoa(n), strconv.Itoa(n+1))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", n, end-1))
		}
		n = end
	}
	return strings.Join(parts, ",")
}
