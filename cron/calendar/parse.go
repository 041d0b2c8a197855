package calendar

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
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
//   - X-DAYS=WORK or REST: China's working days or free days, before BYSETPOS,
//     and OPEN: all but its public holidays;
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
		p.end = p.ends(r.Start)
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
		if err == nil {
			err = r.add(p)
		}
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

// add takes a part, and two for one that names every monday and the last friday,
// since the library looks for days that are both.
func (r *Rule) add(p Part) error {
	plain := func(w Weekday) bool { return w.N() == 0 }
	mixed := slices.ContainsFunc(p.Byweekday, plain) && slices.ContainsFunc(p.Byweekday, func(w Weekday) bool { return !plain(w) })
	if mixed && p.Freq <= Monthly {
		if p.Count > 0 || len(p.Bysetpos) > 0 {
			return fmt.Errorf("COUNT and BYSETPOS do not go with BYDAY that names weekdays with and without a number; want one RRULE for each")
		}
		other := p
		p.Byweekday = slices.DeleteFunc(slices.Clone(p.Byweekday), plain)
		other.Byweekday = slices.DeleteFunc(slices.Clone(other.Byweekday), func(w Weekday) bool { return !plain(w) })
		r.Parts = append(r.Parts, other)
	}
	r.Parts = append(r.Parts, p)
	return nil
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
	var plain []string // what the library reads
	for field := range strings.SplitSeq(strings.ToUpper(text), ";") {
		name, value, ok := strings.Cut(field, "=")
		if !ok || value == "" {
			return p, fmt.Errorf("%q in RRULE says nothing; want NAME=VALUE", clip(field))
		}
		if seen[name] {
			return p, fmt.Errorf("%s is there twice in a RRULE; want it once, with values separated by commas", clip(name))
		}
		seen[name] = true
		own, err := p.set(name, value)
		if err != nil {
			return p, err
		}
		if !own {
			plain = append(plain, field)
		}
	}
	if !seen["FREQ"] {
		return p, fmt.Errorf("FREQ is missing in RRULE; want FREQ=DAILY, WEEKLY, MONTHLY, YEARLY, HOURLY, MINUTELY or SECONDLY")
	}
	o, err := rrule.StrToROption(strings.Join(plain, ";"))
	if err == nil {
		_, err = rrule.NewRRule(*o)
	}
	if err != nil {
		return p, fmt.Errorf("RRULE:%s is not possible: %w; want for example FREQ=MONTHLY;BYDAY=1MO,-1FR;BYHOUR=9;BYMINUTE=0", clip(text), err)
	}
	o.Interval, o.Count, o.Until = p.Interval, p.Count, p.Until
	p.ROption = *o
	p.sort()
	return p, nil
}

// set reads what the library does not, or not as strictly.
func (p *Part) set(name, value string) (own bool, err error) {
	switch name {
	case "INTERVAL":
		p.Interval, err = number(name, value, 1, maxInterval)
	case "COUNT":
		p.Count, err = number(name, value, 1, maxCount)
	case "X-SHIFT":
		p.Shift, err = number(name, value, -maxShift, maxShift)
	case "UNTIL":
		if day, ok := parseDay(value); ok {
			p.Until = day.Add(24*time.Hour - time.Second)
			return true, nil
		}
		p.Until, err = parseTime(name, value)
	case "RSCALE":
		p.Lunar = value == "CHINESE"
		err = oneOf(name, value, "CHINESE", "GREGORIAN")
	case "X-DAYS":
		p.Days = Days(value)
		if p.Days != OpenDays {
			err = oneOf(name, value, string(WorkDays), string(RestDays))
		}
	case "X-HOLIDAY":
		p.Holiday = strings.ToLower(value)
		if holidays()[p.Holiday] == "" {
			err = fmt.Errorf("X-HOLIDAY=%s is not known; want for example christmas, easter, spring-festival or mid-autumn", clip(p.Holiday))
		}
	case "WKST":
		return false, oneOf(name, value, "MO", "SU")
	case "DTSTART":
		return false, fmt.Errorf("DTSTART is a line of its own")
	default:
		return false, nil
	}
	return true, err
}

func oneOf(name, value, a, b string) error {
	if value != a && value != b {
		return fmt.Errorf("%s=%s is not possible; want %s or %s", name, clip(value), a, b)
	}
	return nil
}

func number(name, value string, low, high int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s=%s is not possible; want a number from %d to %d", name, clip(value), low, high)
	}
	return n, nil
}

// sort makes equal parts equal, and the hands of the clock go forward.
func (p *Part) sort() {
	lists := []*[]int{&p.Bymonth, &p.Bymonthday, &p.Byyearday, &p.Byweekno, &p.Byhour, &p.Byminute, &p.Bysecond, &p.Bysetpos}
	for _, list := range lists {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.SortFunc(p.Byweekday, func(a, b Weekday) int {
		return cmp.Or(cmp.Compare(a.N(), b.N()), cmp.Compare(a.Day(), b.Day()))
	})
	p.Byweekday = slices.Compact(p.Byweekday)
}

// named says whether days are named, more closely than by their month.
func (p *Part) named() bool {
	return len(p.Byweekno)+len(p.Byyearday)+len(p.Bymonthday)+len(p.Byweekday) > 0
}

// check says what parts do not go together.
func (p *Part) check(start time.Time) error {
	within := p.Freq > Daily
	numbered := 0 // the largest number before a weekday
	for _, w := range p.Byweekday {
		numbered = max(numbered, w.N(), -w.N())
	}
	switch {
	case p.Count > 0 && !p.Until.IsZero():
		return fmt.Errorf("COUNT and UNTIL are both there; want one of them")
	case len(p.Byeaster) > 0:
		return fmt.Errorf("BYEASTER is not known; want X-HOLIDAY=easter and X-SHIFT")
	case numbered > 0 && p.Freq > Monthly:
		return fmt.Errorf("BYDAY with a number needs FREQ=MONTHLY or FREQ=YEARLY")
	case numbered > 5 && (p.Freq == Monthly || len(p.Bymonth) > 0):
		return fmt.Errorf("BYDAY counts the weekdays of a month; want numbers from -5 to 5")
	case numbered > 0 && len(p.Byweekno) > 0:
		return fmt.Errorf("BYWEEKNO goes with BYDAY without numbers only")
	case len(p.Byweekno) > 0 && p.Freq != Yearly:
		return fmt.Errorf("BYWEEKNO needs FREQ=YEARLY")
	case len(p.Byyearday) > 0 && p.Freq != Yearly && !within:
		return fmt.Errorf("BYYEARDAY needs FREQ=YEARLY")
	case len(p.Bymonthday) > 0 && p.Freq == Weekly:
		return fmt.Errorf("BYMONTHDAY does not go with FREQ=WEEKLY; want FREQ=MONTHLY")
	case within && (len(p.Bysetpos) > 0 || p.Shift != 0 || p.Lunar || p.Holiday != ""):
		return fmt.Errorf("BYSETPOS, RSCALE, X-HOLIDAY and X-SHIFT do not go with FREQ=%s", p.Freq)
	case within && !p.reachable(start):
		return fmt.Errorf("an interval of %d never meets the hours and minutes that are named; want BYHOUR and BYMINUTE without it, or none of them", p.every())
	case p.Holiday != "" && (p.Freq != Yearly || p.Lunar || p.named() || len(p.Bymonth) > 0):
		return fmt.Errorf("X-HOLIDAY needs FREQ=YEARLY and no other days")
	case p.Lunar && (p.Freq > Monthly || p.named() && len(p.Bymonthday) == 0 || len(p.Byweekno)+len(p.Byyearday)+len(p.Byweekday) > 0):
		return fmt.Errorf("RSCALE=CHINESE needs FREQ=YEARLY or MONTHLY, with BYMONTH and BYMONTHDAY only")
	case p.Lunar && p.Freq == Monthly && p.Interval > 1:
		return fmt.Errorf("RSCALE=CHINESE with FREQ=MONTHLY is for every month; want no INTERVAL")
	case max(len(p.Byhour), 1)*max(len(p.Byminute), 1)*max(len(p.Bysecond), 1) > maxClocks:
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
	var extra, except []string
	for _, t := range r.Extra {
		extra = append(extra, t.Format(layout))
	}
	for _, d := range r.ExceptDays {
		except = append(except, d.utc().Format("20060102"))
	}
	for _, t := range r.Except {
		except = append(except, t.Format(layout))
	}
	if len(extra) > 0 {
		lines = append(lines, "RDATE:"+strings.Join(extra, ","))
	}
	if len(except) > 0 {
		lines = append(lines, "EXDATE:"+strings.Join(except, ","))
	}
	return strings.Join(lines, "\n")
}

// String is the part as RRULE has it.
func (p *Part) String() string {
	o := p.ROption
	if o.Interval == 1 {
		o.Interval = 0
	}
	// The library writes +1MO, and that UNTIL is UTC.
	text := strings.NewReplacer("+", "", "Z", "").Replace(o.RRuleString())
	add := func(is bool, name, value string) {
		if is {
			text += ";" + name + "=" + value
		}
	}
	add(p.Lunar, "RSCALE", "CHINESE")
	add(p.Holiday != "", "X-HOLIDAY", p.Holiday)
	add(p.Days != AllDays, "X-DAYS", string(p.Days))
	add(p.Shift != 0, "X-SHIFT", strconv.Itoa(p.Shift))
	return text
}
