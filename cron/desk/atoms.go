package desk

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron"
	"magpie/cron/calendar"
	"magpie/cron/when"
)

// atom is a line of a rule that comes at one hour, of one day if days are told
// apart, and when it comes next.
type atom struct {
	rule string
	at   time.Time
}

// atoms takes the schedule of a job apart, but for the lines that are no RRULE;
// none when it has no hours, or comes once.
func atoms(j *cron.Job, now time.Time, days bool) (rest []string, all []atom) {
	r, ok := ruled(*j, now)
	if !ok {
		return nil, nil
	}
	var rules []string
	for _, line := range strings.Split(r.String(), "\n") {
		rule, is := strings.CutPrefix(line, "RRULE:")
		if !is {
			rest = append(rest, line)
			continue
		}
		if before, count, after := field(rule, "COUNT"); count != "" {
			rule = set(before+after, "UNTIL", calendar.Wall(end(*j, now)).Format("20060102T150405"))
		}
		if _, week, _ := field(rule, "BYDAY"); days && week == "" && strings.HasPrefix(rule, "FREQ=DAILY") && !strings.Contains(rule, "INTERVAL") {
			rule = set(rule, "BYDAY", "MO,TU,WE,TH,FR,SA,SU")
		}
		rules = append(rules, rule)
	}
	names := fields
	if !days {
		names = fields[1:]
	}
	for _, name := range names {
		rules = split(rules, name)
	}
	for _, rule := range rules {
		p := when.Phrase{Rule: rest[0] + "\nRRULE:" + rule, Zone: zoneOf(j.Schedule)}
		if at, ok := p.Next(now); !strings.Contains(rule, "BYHOUR") {
			return nil, nil
		} else if ok {
			all = append(all, atom{rule, at.In(p.Zone)})
		}
	}
	return rest, all
}

// fields are what tells the times of a rule apart.
var fields = []string{"BYDAY", "BYMONTHDAY", "BYMINUTE", "BYHOUR"}

// field is what a RRULE says of one thing, and what stands around that.
func field(rule, name string) (before, value, after string) {
	before, value, _ = strings.Cut(rule, ";"+name+"=")
	if value, after, _ = strings.Cut(value, ";"); after != "" {
		after = ";" + after
	}
	return before, value, after
}

func set(rule, name, value string) string {
	before, _, after := field(rule, name)
	return before + ";" + name + "=" + value + after
}

// split makes a rule for each value of a field, and joined makes one again of
// those that differ in nothing else.
func split(rules []string, name string) (all []string) {
	for _, rule := range rules {
		_, values, _ := field(rule, name)
		if values == "" || strings.Contains(rule, "BYSETPOS") && name != "BYHOUR" {
			all = append(all, rule)
			continue
		}
		for _, v := range strings.Split(values, ",") {
			all = append(all, set(rule, name, v))
		}
	}
	return all
}

func joined(rules []string, name string) (all []string) {
	for _, rule := range rules {
		_, more, _ := field(rule, name)
		found := false
		for i, r := range all {
			if _, values, _ := field(r, name); more != "" && values != "" && set(r, name, more) == rule {
				found = true
				if !strings.Contains(","+values+",", ","+more+",") {
					all[i] = set(r, name, values+","+more)
				}
				break
			}
		}
		if !found {
			all = append(all, rule)
		}
	}
	return all
}

// put is an atom at the hour of a time if that is not the one from which it was
// moved, and on its day.
func (a atom) put(t, from time.Time, day bool) string {
	switch {
	case day && strings.Contains(a.rule, "BYMONTHDAY"):
		a.rule = set(a.rule, "BYMONTHDAY", strconv.Itoa(t.Day()))
	case day:
		a.rule = set(a.rule, "BYDAY", strings.ToUpper(t.Format("Mon")[:2]))
	}
	if clock(t) != clock(from) {
		a.rule = set(set(a.rule, "BYHOUR", strconv.Itoa(t.Hour())), "BYMINUTE", strconv.Itoa(t.Minute()))
	}
	return a.rule
}

// rebuilt is the schedule of a job with other rules.
func rebuilt(j *cron.Job, lines, rules []string) (cron.Schedule, error) {
	if len(lines) == 0 {
		return j.Schedule, nil
	}
	for i := range fields { // the hours first
		rules = joined(rules, fields[len(fields)-1-i])
	}
	for _, rule := range rules {
		before, week, after := field(rule, "BYDAY")
		switch daily := strings.HasPrefix(rule, "FREQ=DAILY"); {
		case len(week) == len("MO,TU,WE,TH,FR,SA,SU"):
			rule = strings.Replace(before+after, "WEEKLY", "DAILY", 1)
		case daily && week != "" && !strings.Contains(rule, "X-DAYS"):
			rule = strings.Replace(rule, "DAILY", "WEEKLY", 1)
		}
		lines = append(lines[:1:1], append([]string{"RRULE:" + rule}, lines[1:]...)...)
	}
	made, err := calendar.ParseRule(strings.Join(lines, "\n"))
	if err != nil {
		return j.Schedule, err
	}
	return cron.Schedule{Rule: made.String(), Zone: j.Schedule.Zone}, nil
}

// clocksOf are the hours at which atoms come.
func clocksOf(all []atom) (clocks []string) {
	for _, a := range all {
		if !slices.Contains(clocks, clock(a.at)) {
			clocks = append(clocks, clock(a.at))
		}
	}
	slices.Sort(clocks)
	return clocks
}

func clock(t time.Time) string { return t.Format("15:04") }
