package calendar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of a rule.
const (
	maxRule     = 2000 // bytes
	maxCount    = 1000
	maxInterval = 100_000
	maxClocks   = 1440 // times a day
	maxShift    = 366  // days
)

// layout is a time without a zone as RFC 5545 writes it.
const layout = "20060102T150405"

// ParseRule reads a rule: lines of RFC 5545 with local times, as
//
//	DTSTART:20261125T100000
//	RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0
//	EXDATE:20261225T090000
//
// DTSTART is always there; then RRULE, several are united, RDATE, and EXDATE,
// which takes days as well (20261225). Beyond RFC 5545 a RRULE may hold
//
//   - RSCALE=CHINESE (RFC 7529) with FREQ=YEARLY or MONTHLY: BYMONTH and
//     BYMONTHDAY are of the lunar calendar;
//   - X-HOLIDAY=christmas with FREQ=YEARLY: the day of that holiday (see Holidays);
//   - X-DAYS=WORK or REST: China's working days or free days, before BYSETPOS;
//   - X-SHIFT=-1: so many days after what the rest says.
//
// The error says what would be right.
func ParseRule(text string) (*Rule, error) {
	if len(text) > maxRule {
		return nil, fmt.Errorf("the rule is longer than %d bytes", maxRule)
	}
	r := &Rule{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if err := r.line(strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Start.IsZero():
		return nil, fmt.Errorf("DTSTART is missing; want DTSTART:20261125T100000 in local time")
	case len(r.Parts)+len(r.Extra) == 0:
		return nil, fmt.Errorf("RRULE is missing; want for example RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0")
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		if err := p.check(r.Start); err != nil {
			return nil, err
		}
		p.meets = true
		if p.Count > 0 {
			p.last = p.end(r.Start)
		}
	}
	sortTimes(&r.Extra)
	sortTimes(&r.Except)
	slices.SortFunc(r.ExceptDays, func(a, b Date) int { return a.utc().Compare(b.utc()) })
	r.ExceptDays = slices.Compact(r.ExceptDays)
	return r, nil
}

func sortTimes(all *[]time.Time) {
	slices.SortFunc(*all, time.Time.Compare)
	*all = slices.Compact(*all)
}

func (r *Rule) line(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%q is no line of a rule; want DTSTART: or RRULE:, RDATE:, EXDATE: and what it says", clip(line))
	}
	name = strings.ToUpper(name)
	switch name {
	case "DTSTART":
		t, err := parseTime(name, value)
		if err == nil && !r.Start.IsZero() {
			err = fmt.Errorf("DTSTART is there twice; want one")
		}
		if err == nil && (t.Year() < beginYear || t.Year() > lastStart) {
			err = fmt.Errorf("DTSTART is in the year %d; want one from %d to %d", t.Year(), beginYear, lastStart)
		}
		r.Start = t
		return err
	case "RRULE":
		p, err := parsePart(value)
		r.Parts = append(r.Parts, p)
		return err
	case "RDATE", "EXDATE":
		for one := range strings.SplitSeq(value, ",") {
			if day, ok := parseDay(one); ok && name == "EXDATE" {
				r.ExceptDays = append(r.ExceptDays, On(day))
				continue
			}
			t, err := parseTime(name, one)
			if err != nil {
				return err
			}
			if name == "RDATE" {
				r.Extra = append(r.Extra, t)
			} else {
				r.Except = append(r.Except, t)
			}
		}
		return nil
	}
	return fmt.Errorf("%q is not known in a rule; want DTSTART, RRULE, RDATE or EXDATE, without parameters", clip(name))
}

func clip(text string) string {
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}

func parseTime(name, value string) (time.Time, error) {
	t, err := time.Parse(layout, strings.ToUpper(value))
	if err != nil || t.Year() < 1 || len(value) != len(layout) {
		return time.Time{}, fmt.Errorf("%s: %q is no local time; want one such as 20261125T100000", name, clip(value))
	}
	return t, nil
}

func parseDay(value string) (time.Time, bool) {
	t, err := time.Parse("20060102", value)
	return t, err == nil && t.Year() >= 1
}

func parsePart(text string) (Part, error) {
	p := Part{}
	seen := map[string]bool{}
	for field := range strings.SplitSeq(strings.ToUpper(text), ";") {
		name, value, ok := strings.Cut(field, "=")
		if !ok || value == "" {
			return p, fmt.Errorf("%q in RRULE says nothing; want NAME=VALUE", clip(field))
		}
		if seen[name] {
			return p, fmt.Errorf("%s is there twice in a RRULE; want it once, with values separated by commas", clip(name))
		}
		seen[name] = true
		if err := p.set(name, value); err != nil {
			return p, err
		}
	}
	if p.Freq == "" {
		return p, fmt.Errorf("FREQ is missing in RRULE; want FREQ=DAILY, WEEKLY, MONTHLY, YEARLY, HOURLY, MINUTELY or SECONDLY")
	}
	return p, nil
}

// list is a field of numbers.
type list struct {
	name      string
	of        func(*Part) *[]int
	low, high int
	negative  bool // from the end too
}

// lists are in the order in which they are written.
var lists = []list{
	{"BYMONTH", func(p *Part) *[]int { return &p.ByMonth }, 1, 12, false},
	{"BYWEEKNO", func(p *Part) *[]int { return &p.ByWeekNo }, 1, 53, true},
	{"BYYEARDAY", func(p *Part) *[]int { return &p.ByYearDay }, 1, 366, true},
	{"BYMONTHDAY", func(p *Part) *[]int { return &p.ByMonthDay }, 1, 31, true},
	{"BYHOUR", func(p *Part) *[]int { return &p.ByHour }, 0, 23, false},
	{"BYMINUTE", func(p *Part) *[]int { return &p.ByMinute }, 0, 59, false},
	{"BYSECOND", func(p *Part) *[]int { return &p.BySecond }, 0, 59, false},
	{"BYSETPOS", func(p *Part) *[]int { return &p.BySetPos }, 1, 366, true},
}

var weekdays = [7]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

func (p *Part) set(name, value string) (err error) {
	for _, l := range lists {
		if l.name == name {
			*l.of(p), err = l.parse(value)
			return err
		}
	}
	switch name {
	case "FREQ":
		p.Freq = Freq(value)
		if !slices.Contains([]Freq{Yearly, Monthly, Weekly, Daily, Hourly, Minutely, Secondly}, p.Freq) {
			return fmt.Errorf("FREQ=%s is not known; want DAILY, WEEKLY, MONTHLY, YEARLY, HOURLY, MINUTELY or SECONDLY", clip(value))
		}
	case "INTERVAL":
		p.Interval, err = number1(name, value, 1, maxInterval)
		if p.Interval == 1 {
			p.Interval = 0
		}
	case "COUNT":
		p.Count, err = number1(name, value, 1, maxCount)
	case "X-SHIFT":
		p.Shift, err = number1(name, value, -maxShift, maxShift)
	case "UNTIL":
		if day, ok := parseDay(value); ok {
			p.Until = day.Add(24*time.Hour - time.Second)
			return nil
		}
		p.Until, err = parseTime(name, value)
	case "WKST":
		p.SundayFirst = value == "SU"
		if !p.SundayFirst && value != "MO" {
			return fmt.Errorf("WKST=%s is not possible; want MO or SU", clip(value))
		}
	case "BYDAY":
		return p.byDay(value)
	case "RSCALE":
		p.Lunar = value == "CHINESE"
		if !p.Lunar && value != "GREGORIAN" {
			return fmt.Errorf("RSCALE=%s is not known; want CHINESE or GREGORIAN", clip(value))
		}
	case "X-DAYS":
		p.Days = Days(value)
		if p.Days != WorkDays && p.Days != RestDays {
			return fmt.Errorf("X-DAYS=%s is not known; want WORK or REST", clip(value))
		}
	case "X-HOLIDAY":
		p.Holiday = strings.ToLower(value)
		if !slices.Contains(Holidays(), p.Holiday) {
			return fmt.Errorf("X-HOLIDAY=%s is not known; want for example christmas, easter, spring-festival or mid-autumn", clip(p.Holiday))
		}
	default:
		return fmt.Errorf("%s is not known in RRULE; want FREQ, INTERVAL, COUNT, UNTIL, BYMONTH, BYMONTHDAY, BYDAY, BYHOUR, BYMINUTE, BYSECOND or BYSETPOS", clip(name))
	}
	return err
}

func number1(name, value string, low, high int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s=%s is not possible; want a number from %d to %d", name, clip(value), low, high)
	}
	return n, nil
}

func (l list) parse(value string) ([]int, error) {
	var all []int
	for one := range strings.SplitSeq(value, ",") {
		n, err := strconv.Atoi(one)
		size := n
		if l.negative {
			size = max(n, -n)
		}
		if err != nil || size < l.low || size > l.high {
			also := ""
			if l.negative {
				also = fmt.Sprintf(", or from -%d to -%d", l.high, l.low)
			}
			return nil, fmt.Errorf("%s=%s is not possible; want numbers from %d to %d%s", l.name, clip(value), l.low, l.high, also)
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (p *Part) byDay(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		day := -1
		if len(one) >= 2 {
			day = slices.Index(weekdays[:], one[len(one)-2:])
		}
		n, err := 0, error(nil)
		if len(one) > 2 {
			n, err = strconv.Atoi(one[:len(one)-2])
		}
		if day < 0 || err != nil || max(n, -n) > 53 || len(one) > 2 && n == 0 {
			return fmt.Errorf("BYDAY=%s is not possible; want MO, TU, WE, TH, FR, SA, SU, or for example 1MO and -1FR", clip(value))
		}
		p.ByDay = append(p.ByDay, Weekday{n, time.Weekday(day)})
	}
	slices.SortFunc(p.ByDay, compareWeekdays)
	p.ByDay = slices.Compact(p.ByDay)
	return nil
}

// check says what parts do not go together.
func (p *Part) check(start time.Time) error {
	within := p.Freq == Hourly || p.Freq == Minutely || p.Freq == Secondly
	days := len(p.ByWeekNo)+len(p.ByYearDay)+len(p.ByMonthDay)+len(p.ByDay) > 0
	numbered := 0 // the largest number before a weekday
	for _, w := range p.ByDay {
		numbered = max(numbered, w.N, -w.N)
	}
	switch {
	case p.Count > 0 && !p.Until.IsZero():
		return fmt.Errorf("COUNT and UNTIL are both there; want one of them")
	case numbered > 0 && p.Freq != Yearly && p.Freq != Monthly:
		return fmt.Errorf("BYDAY with a number needs FREQ=MONTHLY or FREQ=YEARLY")
	case numbered > 5 && (p.Freq == Monthly || len(p.ByMonth) > 0):
		return fmt.Errorf("BYDAY counts the weekdays of a month; want numbers from -5 to 5")
	case numbered > 0 && len(p.ByWeekNo) > 0:
		return fmt.Errorf("BYWEEKNO goes with BYDAY without numbers only")
	case len(p.ByWeekNo) > 0 && p.Freq != Yearly:
		return fmt.Errorf("BYWEEKNO needs FREQ=YEARLY")
	case len(p.ByYearDay) > 0 && p.Freq != Yearly && !within:
		return fmt.Errorf("BYYEARDAY needs FREQ=YEARLY")
	case len(p.ByMonthDay) > 0 && p.Freq == Weekly:
		return fmt.Errorf("BYMONTHDAY does not go with FREQ=WEEKLY; want FREQ=MONTHLY")
	case within && (len(p.BySetPos) > 0 || p.Shift != 0 || p.Lunar || p.Holiday != ""):
		return fmt.Errorf("BYSETPOS, RSCALE, X-HOLIDAY and X-SHIFT do not go with FREQ=%s", p.Freq)
	case within && !p.reachable(start):
		return fmt.Errorf("an interval of %d never meets the hours and minutes that are named; want BYHOUR and BYMINUTE without it, or none of them", max(p.Interval, 1))
	case p.Holiday != "" && (p.Freq != Yearly || p.Lunar || days || len(p.ByMonth) > 0):
		return fmt.Errorf("X-HOLIDAY needs FREQ=YEARLY and no other days")
	case p.Lunar && (p.Freq != Yearly && p.Freq != Monthly || days && len(p.ByMonthDay) == 0 || len(p.ByWeekNo)+len(p.ByYearDay)+len(p.ByDay) > 0):
		return fmt.Errorf("RSCALE=CHINESE needs FREQ=YEARLY or MONTHLY, with BYMONTH and BYMONTHDAY only")
	case p.Lunar && p.Freq == Monthly && p.Interval > 1:
		return fmt.Errorf("RSCALE=CHINESE with FREQ=MONTHLY is for every month; want no INTERVAL")
	case max(len(p.ByHour), 1)*max(len(p.ByMinute), 1)*max(len(p.BySecond), 1) > maxClocks:
		return fmt.Errorf("the rule names more than %d times a day; want FREQ=MINUTELY or FREQ=SECONDLY", maxClocks)
	}
	return nil
}

// String writes what ParseRule reads as the same.
func (r *Rule) String() string {
	lines := []string{"DTSTART:" + r.Start.Format(layout)}
	for _, p := range r.Parts {
		lines = append(lines, "RRULE:"+p.String())
	}
	var days []string
	for _, d := range r.ExceptDays {
		days = append(days, d.utc().Format("20060102"))
	}
	for _, l := range []struct {
		name  string
		texts []string
	}{{"RDATE:", texts(r.Extra)}, {"EXDATE:", append(days, texts(r.Except)...)}} {
		if len(l.texts) > 0 {
			lines = append(lines, l.name+strings.Join(l.texts, ","))
		}
	}
	return strings.Join(lines, "\n")
}

func texts(times []time.Time) (all []string) {
	for _, t := range times {
		all = append(all, t.Format(layout))
	}
	return all
}

// String is the part as RRULE has it.
func (p *Part) String() string {
	fields := []string{"FREQ=" + string(p.Freq)}
	add := func(is bool, name, value string) {
		if is {
			fields = append(fields, name+"="+value)
		}
	}
	add(p.Lunar, "RSCALE", "CHINESE")
	add(p.Interval > 1, "INTERVAL", strconv.Itoa(p.Interval))
	add(p.Count > 0, "COUNT", strconv.Itoa(p.Count))
	add(!p.Until.IsZero(), "UNTIL", p.Until.Format(layout))
	add(p.SundayFirst, "WKST", "SU")
	var days []string
	for _, w := range p.ByDay {
		day := weekdays[w.Day]
		if w.N != 0 {
			day = strconv.Itoa(w.N) + day
		}
		days = append(days, day)
	}
	add(len(days) > 0, "BYDAY", strings.Join(days, ","))
	for _, l := range lists {
		var numbers []string
		for _, n := range *l.of(p) {
			numbers = append(numbers, strconv.Itoa(n))
		}
		add(len(numbers) > 0, l.name, strings.Join(numbers, ","))
	}
	add(p.Holiday != "", "X-HOLIDAY", p.Holiday)
	add(p.Days != AllDays, "X-DAYS", string(p.Days))
	add(p.Shift != 0, "X-SHIFT", strconv.Itoa(p.Shift))
	return strings.Join(fields, ";")
}
