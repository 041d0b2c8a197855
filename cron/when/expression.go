package when

import (
	"fmt"
	"strings"
	"time"

	"magpie/cron/grammar"
)

// expression reads a cron expression at the beginning of the text: "0 9 * *
// 1-5", "cron 30 8 1 * *", "@daily", "@every 10m", "CRON_TZ=Asia/Tokyo 0 9 * *
// *". Bare numbers without any * are one only behind "cron".
func (s *sentence) expression(i int) (piece, int) {
	text := s.Source[s.Tokens[i].From:]
	said := s.Is(i, "cron", "cron_tz", "tz")
	if !said && !s.Is(i, "*", "@", "?") && s.Tokens[i].Kind != grammar.Number {
		return piece{}, 0
	}
	rest := text
	if s.Is(i, "cron") {
		rest = strings.TrimLeft(rest[len(s.Tokens[i].Raw):], " :\t\n")
	}
	p := piece{whole: &Phrase{}}
	if name, after, ok := cutZone(rest); ok {
		said, rest = true, after
		zone := loadZone(name)
		if zone.err != nil {
			return zone, s.tokenAt(len(s.Source))
		}
		p.zone = zone.zone
	}
	expr, used := splitCron(rest, said)
	if used == 0 {
		return piece{}, 0
	}
	next := s.tokenAt(len(s.Source) - len(rest) + used)
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

// tokenAt is the first token at or behind a byte.
func (s *sentence) tokenAt(at int) int {
	i := 0
	for i < len(s.Tokens) && s.Tokens[i].From < at {
		i++
	}
	return i
}

// cutZone takes CRON_TZ=Zone or TZ=Zone from the front.
func cutZone(text string) (zone, rest string, ok bool) {
	for _, key := range []string{"CRON_TZ=", "TZ="} {
		if after, found := strings.CutPrefix(text, key); found {
			zone, rest, _ = strings.Cut(after, " ")
			return zone, strings.TrimLeft(rest, " "), true
		}
	}
	return "", text, false
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
	var fields []string
	var ends []int
	open := false
	for at := 0; at < len(text) && len(fields) < 8; {
		end := at
		for end < len(text) && !strings.ContainsRune(" \t\n(", rune(text[end])) && !strings.HasPrefix(text[end:], "（") {
			end++
		}
		field := text[at:end]
		if !cronField(field) {
			break
		}
		fields, ends = append(fields, field), append(ends, end)
		open = open || strings.ContainsAny(field, "*?")
		for at = end; at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'); {
			at++
		}
	}
	n := len(fields)
	if n == 0 || !said && (!open || n < 4) {
		return "", 0
	}
	if n == 6 && ends[5] < len(strings.TrimSpace(text)) && !strings.ContainsAny(fields[5], "*?") && !strings.HasPrefix(strings.TrimSpace(text[ends[5]:]), "(") && !strings.HasPrefix(text[ends[5]:], "（") {
		n = 5 // "0 9 * * 1-5 2 pills": the number belongs to the thing
	}
	return strings.Join(fields[:n], " "), ends[n-1]
}

// cronField says that a word may be a field of an expression.
func cronField(word string) bool {
	names := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return strings.ContainsRune(",-/", r) })
	for _, part := range names {
		if part == "l" || strings.Trim(part, "0123456789*?") == "" {
			continue
		}
		if !strings.Contains(" jan feb mar apr may jun jul aug sep oct nov dec sun mon tue wed thu fri sat ", " "+part+" ") {
			return false
		}
	}
	return len(names) > 0 && len(word) <= 100
}
