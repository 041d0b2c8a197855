package prompt

import (
	"strings"
	"testing"
)

func FuzzFrontMatter(f *testing.F) {
	f.Add("---\nname: a\ndescription: b\n---\n")
	f.Add("---\ndescription: |\n  a\n  b\n---")
	f.Add("---\n  x\n: y\n'\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		front, err := frontMatter(text)
		if err == nil && !strings.Contains(text, "---\n") {
			t.Errorf("%q has no front matter but gives %q", text, front)
		}
		if line := oneLine(front["description"], 10); strings.ContainsAny(line, "\n\r\x00") || len([]rune(line)) > 11 {
			t.Errorf("%q gives the line %q", text, line)
		}
	})
}
