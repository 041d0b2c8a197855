package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/tools"
)

func TestNearest(t *testing.T) {
	files := []string{"README.md", "readme.txt", "main.go", "main_test.go", "说明.md", "a"}
	for word, want := range map[string][]string{
		"README":     {"README.md", "readme.txt"},
		"Readme.md":  {"README.md", "readme.txt"},
		"mian.go":    {"main.go"},
		"main":       {"main.go", "main_test.go"},
		"说明书.md":     {"说明.md"},
		"zzzzzz":     nil,
		"":           {"a"},
		"b":          {"a"},
		"go.mod.sum": nil,
	} {
		if d := cmp.Diff(want, tools.Nearest(word, files)); d != "" {
			t.Errorf("%q (-want +got):\n%s", word, d)
		}
	}
	if got := tools.Nearest(strings.Repeat("字", 1<<20), []string{strings.Repeat("字", 1<<20)}); len(got) != 1 {
		t.Errorf("huge words: %d", len(got))
	}
	if got := tools.Nearest("x", nil); got != nil {
		t.Errorf("no choices: %v", got)
	}
}
