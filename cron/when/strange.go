package when

import (
	"strings"
	"time"
	"unicode"
)

// strange is the error for two words at i, beside a time, that are written as
// the name of a zone and are none: Mars/Phobos, asai/shanghai. "and/or",
// "CI/CD" and "he/she" are not written so.
func (s *sentence) strange(i int) error {
	ts := s.ts
	if i < 0 || i+2 >= len(ts) || !ts.is(i+1, "/") || !ts.close(i+1) || !ts.close(i+2) || ts[i].kind != word || ts[i+2].kind != word {
		return nil
	}
	if !(titled(ts[i].raw) && titled(ts[i+2].raw)) && !nearZone(ts[i].text, ts[i+2].text) {
		return nil
	}
	end := i + 3
	for ts.is(end, "/") && ts.close(end) && ts.close(end+1) && ts[end+1].kind == word {
		end += 2
	}
	return loadZone(s.src[ts[i].from:ts[end-1].to]).err
}

// strangeZone looks at all places beside the time where a zone may stand.
func (s *sentence) strangeZone(g group) error {
	for _, h := range append(s.extra, g) {
		i := s.ts.skip(h.to, ", in", "in", "(", ",")
		if err := s.strange(i); err != nil {
			return err
		}
	}
	if i := g.from - 3; i >= 0 && s.beginning(i) {
		return s.strange(i)
	}
	return nil
}

// titled says that a word is written as in the name of a zone: Mars, not MARS.
func titled(s string) bool {
	for i, r := range s {
		if i == 0 && !unicode.IsUpper(r) {
			return false
		}
		if unicode.IsLower(r) {
			return true
		}
	}
	return false
}

// nearZone says that the area is a misspelled one that has this place.
func nearZone(area, place string) bool {
	if len(area) > 12 {
		return false
	}
	for known := range strings.FieldsSeq(zoneAreas) {
		if len(known) > 3 && edits(area, known) <= 2 {
			if _, err := time.LoadLocation(title(known) + "/" + title(place)); err == nil {
				return true
			}
		}
	}
	return false
}

// edits counts the letters to change, add or remove between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
