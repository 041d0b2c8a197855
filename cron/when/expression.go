package when

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"magpie/cron/grammar"
)

var (
	// cronZone is a zone before an expression.
	cronZone = regexp.MustCompile(`^(?:CRON_)?TZ=([^ ]*) *`)
	// cronText is what may be the fields of one.
	cronText = regexp.MustCompile(`(?i)^((?:` + cronField + `[ \t\n]+){0,7}` + cronField + `)(?:[ \t\n(（]|$)`)
)

const (
	cronField = cronValue + `(?:[,/-]|` + cronValue + `)*`
	cronValue = `(?:[0-9*?]|l|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)`
)

// expression reads a cron expression at the beginning of the text: "0 9 * *
// 1-5", "cron 30 8 1 * *", "@daily", "@every 10m", "CRON_TZ=Asia/Tokyo 0 9 * *
// *". Bare numbers without any * are one only behind "cron".
func (s *sentence) expression(i int) (piece, int) {
	rest := s.Source[s.Tokens[i].From:]
	said := s.Is(i, "cron", "cron_tz", "tz")
	if !said && !s.Is(i, "*", "@", "?") && s.Tokens[i].Kind != grammar.Number {
		return piece{}, 0
	}
	if s.Is(i, "cron") {
		rest = strings.TrimLeft(rest[len(s.Tokens[i].Raw):], " :\t\n")
	}
	p := piece{whole: &Phrase{}}
	if m := cronZone.FindStringSubmatch(rest); m != nil {
		said, rest = true, rest[len(m[0]):]
		zone := loadZone(m[1])
		if zone.err != nil {
			return zone, len(s.Tokens)
		}
		p.zone = zone.zone
	}
	expr, used := splitCron(rest, said)
	if used == 0 {
		return piece{}, 0
	}
	end, next := len(s.Source)-len(rest)+used, i
	for next < len(s.Tokens) && s.Tokens[next].From < end {
		next++
	}
	if every, ok := strings.CutPrefix(strings.ToLower(expr), "@every "); ok {
		d, bad := time.ParseDuration(strings.TrimSpace(every))
		if bad != nil || d < time.Second {
			return piece{err: fmt.Errorf("%w: %.40q: want @every and a duration of a second or more, as @every 10m", ErrInvalid, expr)}, next
		}
		p.whole.Every = d.Round(time.Second)
		return p, next
	}
	c, err := ParseCron(expr)
	if err != nil {
		return piece{err: err}, next
	}
	p.whole.Cron = c.String()
	return p, next
}

// splitCron takes the expression from the front of a text, and says how many
// bytes it has; 0 when there is none. said means that the text called it one.
func splitCron(text string, said bool) (expr string, used int) {
	if strings.HasPrefix(text, "@") {
		fields := strings.Fields(text[:min(len(text), 200)])
		if len(fields[0]) < 2 || fields[0][1] < 'A' {
			return "", 0
		}
		if fields[0] == "@every" && len(fields) > 1 {
			return "@every " + fields[1], strings.Index(text, fields[1]) + len(fields[1])
		}
		if cronNames[strings.ToLower(fields[0])] == "" && len(fields) > 1 && !said {
			return "", 0 // somebody's name
		}
		return fields[0], len(fields[0])
	}
	found := cronText.FindStringSubmatch(text)
	if found == nil {
		return "", 0
	}
	expr = found[1]
	fields, rest := strings.Fields(expr), strings.TrimSpace(text[len(expr):])
	if !said && (len(fields) < 4 || !strings.ContainsAny(expr, "*?")) {
		return "", 0
	}
	if len(fields) == 6 && rest != "" && !strings.ContainsAny(fields[5], "*?") && !strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, "（") {
		// "0 9 * * 1-5 2 pills": the number belongs to the thing
		expr = strings.TrimRight(strings.TrimSuffix(expr, fields[5]), " \t\n")
	}
	return expr, len(expr)
}
