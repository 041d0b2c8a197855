package when

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/cron/grammar"
	"magpie/internal/near"
)

// zones are those that a name may mean: IST.
type zones []*time.Location

// here stands for the zone of the chat.
var here = time.FixedZone("here", 0)

var zoneActions = map[string]grammar.Action{
	"here": func(grammar.Args) any { return piece{zone: here} },
	"zones": func(a grammar.Args) any {
		all := zones{}
		for n := 0; a.Word(n) != ""; n++ {
			if z := loadZone(a.Word(n)); z.zone != nil {
				all = append(all, z.zone)
			}
		}
		return piece{unsure: &all}
	},
	"zone":   func(a grammar.Args) any { return loadZone(a.Word(0)) },
	"offset": func(a grammar.Args) any { return offsetPiece("+", a.Num(0, 0), 0) },
	"bad-offset": func(a grammar.Args) any {
		return piece{err: badZone("%s: want an offset from UTC-14 to UTC+14, or a name such as Asia/Shanghai", a.T.Cut(a.From, a.To))}
	},
}

func badZone(format string, args ...any) error {
	return wrong(ErrBadZone, " ", format, args...)
}

// offsetPiece is a zone that is so far from UTC, by that name.
func offsetPiece(sign string, hours, minutes int) piece {
	seconds := hours*3600 + minutes*60
	if sign == "-" {
		seconds = -seconds
	}
	return piece{zone: time.FixedZone(fmt.Sprintf("UTC%s%02d:%02d", sign, hours, minutes), seconds), offset: true}
}

func loadZone(name string) piece {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return piece{err: badZone("%.60q: want a name such as Asia/Shanghai, Europe/Berlin or UTC", name)}
	}
	return piece{zone: zone}
}

// Zone returns the time zone of a name: one of the IANA database, in any case
// of letters, a place that people name ("tokyo", 北京), an offset such as UTC+8,
// or "Local" for that of the host. The result's String is such a name again.
// The error wraps ErrBadZone.
func Zone(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	if name == "" { // which LoadLocation takes for UTC
		return nil, badZone(": none is named")
	}
	p := loadZone(name)
	if p.err == nil {
		return p.zone, nil
	}
	t := theGrammar().Read(name)
	for _, category := range []string{"zone-name", "zone", "zh-zone", "zone-place"} {
		v, j := t.Match(category, 0)
		if place, ok := v.(string); ok {
			v = loadZone(place)
		}
		if z, ok := v.(piece); ok && z.zone != nil && j == len(t.Tokens) {
			return z.zone, nil
		}
	}
	return nil, p.err
}

var letters = regexp.MustCompile(`[a-z]+`)

// title writes a name as those of zones are: America/New_York, Etc/GMT+8.
func title(name string) string {
	return letters.ReplaceAllStringFunc(strings.ToLower(name), func(word string) string {
		switch word {
		case "of", "es", "au":
			return word
		case "gmt", "utc":
			return strings.ToUpper(word)
		}
		return strings.ToUpper(word[:1]) + word[1:]
	})
}

// strangeZone is the error for two words at i, beside a time, that are written
// as the name of a zone and are none: Mars/Phobos, asai/shanghai. "and/or",
// "CI/CD" and "he/she" are not written so.
func (s *sentence) strangeZone(i int) error {
	if i < 0 || i+2 >= len(s.Tokens) || !s.Is(i+1, "/") || !s.Close(i+1) || !s.Close(i+2) || s.Tokens[i].Kind != grammar.Word || s.Tokens[i+2].Kind != grammar.Word {
		return nil
	}
	a, b := s.Tokens[i], s.Tokens[i+2]
	if !(titled(a.Raw) && titled(b.Raw)) && !nearZone(a.Text, b.Text) {
		return nil
	}
	end := i + 3
	for s.Is(end, "/") && s.Close(end) && s.Close(end+1) && s.Tokens[end+1].Kind == grammar.Word {
		end += 2
	}
	return loadZone(s.Cut(i, end)).err
}

// titled says that a word is written as in the name of a zone: Mars, not MARS.
func titled(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(first) && strings.ContainsFunc(s, unicode.IsLower)
}

// nearZone says that the area is a misspelled one that has this place.
func nearZone(area, place string) bool {
	if len(area) > 12 {
		return false
	}
	for known := range strings.FieldsSeq(zoneAreas) {
		if len(known) > 3 && near.Distance(area, known) <= 2 {
			if _, err := time.LoadLocation(title(known + "/" + place)); err == nil {
				return true
			}
		}
	}
	return false
}

// zoneAreas are the first words of the names of zones.
const zoneAreas = " africa america antarctica arctic asia atlantic australia brazil canada chile etc europe indian mexico pacific us "

// offset reads what stands behind an ISO time: Z, +08:00, -0500. A minus needs
// the T before the time: 15:00-16:00 is not an offset.
func offset(t *grammar.Text, i int) (any, int) {
	if !t.Close(i) || t.Num(i-1) < 0 {
		return nil, 0
	}
	if t.Is(i, "z") {
		return offsetPiece("+", 0, 0), i + 1
	}
	if t.Is(i, "-") && !afterT(t, i) || !t.Is(i-2, ":", ".") {
		return nil, 0
	}
	return utcOffset(t, i)
}

// afterT looks for the T of an ISO time that ends before i.
func afterT(t *grammar.Text, i int) bool {
	for j := i - 1; j > i-9 && t.Close(j); j-- {
		if t.Is(j, "t") {
			return true
		}
	}
	return false
}

// utcOffset reads +08:00, +0800 or +8.
func utcOffset(t *grammar.Text, i int) (any, int) {
	sign := t.Tokens.Text(i)
	hours := t.Num(i + 1)
	if sign != "+" && sign != "-" || hours < 0 || !t.Close(i+1) {
		return nil, 0
	}
	minutes, j := 0, i+2
	switch digits := len(t.Tokens[i+1].Text); {
	case digits == 4:
		hours, minutes = hours/100, hours%100
	case digits > 2:
		return nil, 0
	case t.Is(j, ":") && t.Close(j) && t.Close(j+1) && t.Num(j+1) >= 0:
		minutes, j = t.Num(j+1), j+2
	}
	if hours > 14 || minutes > 59 {
		return nil, 0
	}
	return offsetPiece(sign, hours, minutes), j
}

// zoneArea reads Asia/Shanghai.
func zoneArea(t *grammar.Text, i int) (any, int) {
	if !t.Is(i+1, "/") || !t.Close(i+1) || !strings.Contains(zoneAreas, " "+t.Tokens[i].Text+" ") {
		return nil, 0
	}
	j := i + 1
	for t.Is(j, "/", "-", "+") && t.Close(j) && t.Close(j+1) && t.Tokens[j+1].Kind != grammar.Mark {
		j += 2
	}
	if p := loadZone(t.Cut(i, j)); p.err == nil {
		return p, j
	}
	name := ""
	for _, token := range t.Tokens[i:j] {
		name += token.Text
	}
	if p := loadZone(title(name)); p.err == nil || !t.Is(i, "us", "indian") || titled(t.Tokens[i].Raw) {
		return p, j
	}
	return nil, 0 // us/them
}

// zoneWord reads CET.
func zoneWord(t *grammar.Text, i int) (any, int) {
	p := loadZone(t.Tokens[i].Raw)
	if p.err != nil {
		return nil, 0
	}
	return p, i + 1
}
