package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// flavors are the dialects that standard Markdown can read.
var flavors = map[string]struct {
	dialect  *dialect
	flavor   *flavor
	headings int
}{
	"feishu":   {feishuCard, feishuFlavor, 6},
	"dingtalk": {dingtalk, dingtalkFlavor, 6},
	"card":     {dingtalkCard, dingtalkCardFlavor, 6},
	"qq":       {qq, qqFlavor, 2},
}

type fataler interface {
	Fatalf(string, ...any)
	Helper()
}

// checkShown holds a dialect's text against what an independent reader sees.
func checkShown(t fataler, name, md string) {
	t.Helper()
	f := flavors[name]
	out := render(md, f.dialect)
	got, want := looks(shown(strings.ReplaceAll(out, "<br>", " "))), looks(expected(md, f.dialect, f.flavor, f.headings))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s shows something else (-want +got):\n%s\nmarkdown %q\nrendered %q", name, diff, md, out)
	}
}

// soup is text of nothing but what might be markup.
func soup() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("*_~`|<>[]()!#&;\\-+.1 ab中：。\n\t\"@$=: \n")), 0, 60, -1)
}

func TestFlavorsShowWhatTheTextSays(t *testing.T) {
	for name := range flavors {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				checkShown(t, name, document().Draw(t, "md"))
			})
		})
	}
}

func TestFlavorsShowSoup(t *testing.T) {
	for name := range flavors {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				checkShown(t, name, soup().Draw(t, "md"))
			})
		})
	}
}
