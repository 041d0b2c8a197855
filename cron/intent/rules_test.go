package intent

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRules holds the rules against the signs: what they name is there.
func TestRules(t *testing.T) {
	kinds := []string{unknown, fill, name, place, length, clock, remind, stop, "do", "denied", "no", "only", "times"}
	signs, err := tables.ReadFile("tables/signs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, sign := range regexp.MustCompile(`= sign (\S+)`).FindAllStringSubmatch(string(signs), -1) {
		kinds = append(kinds, sign[1])
	}
	for line := range strings.Lines(ruleTable) {
		patterns, _, _ := strings.Cut(line, " = ")
		if patterns[0] != ' ' {
			continue
		}
		for _, text := range regexp.MustCompile(`[ /|+]+|\.\.`).Split(strings.TrimSpace(patterns), -1) {
			text = strings.TrimLeft(text, "!^$")
			if rest, named := strings.CutPrefix(text, "<"); named {
				if rest = strings.TrimSuffix(rest, ">"); facts[rest] == nil && rules()[rest] == nil && !strings.Contains(opening+anywhere, " "+rest+" ") {
					t.Errorf("%s: there are no rules %q", strings.TrimSpace(line), rest)
				}
				continue
			}
			if kind := selected(text).kind; !slices.Contains(kinds, kind) {
				t.Errorf("%s: there are no marks %q", strings.TrimSpace(line), kind)
			}
		}
	}
}
