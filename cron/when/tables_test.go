package when

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// What the tables say of a repetition must be something that repeatOf knows: a
// slip of the pen would be passed over.
func TestRepetitionsOfTheTables(t *testing.T) {
	names := strings.Fields("is every week except on month months nth also minute hour clock part holiday day date")
	words := strings.Fields("work rest lunar sure loose once-or-more asked")
	paths, err := fs.Glob(tables, "grammar/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, path := range paths {
		text, err := fs.ReadFile(tables, path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			_, action, _ := strings.Cut(strings.TrimSpace(line), " = ")
			said := strings.Fields(action)
			if len(said) == 0 || said[0] != "repeat" {
				continue
			}
			seen++
			if _, ok := frequencies[said[1]]; !ok || len(said)%2 != 0 {
				t.Errorf("%s: %s", path, action)
			}
			for n := 2; n+1 < len(said); n += 2 {
				if !slices.Contains(names, said[n]) || said[n] == "is" && !slices.Contains(words, said[n+1]) {
					t.Errorf("%s: %s: what is %s %s?", path, action, said[n], said[n+1])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d repetitions were found", seen)
	}
}
