package fs_test

import (
	"strings"
	"testing"

	"magpie/tools"
)

// What is nearly there is shown, with what the eye does not see.
func TestNearestLines(t *testing.T) {
	const file = "package main\n\nfunc computeTotals(items []Item) int {\n\ttotal := 0\n\tfor _, it := range items {\n\t\ttotal += it.Price\n\t}\n\treturn total\n}\n\n" +
		"今天天气很好，我们去公园散步。\n    indented with spaces\nquote: \"straight\" and 'single'\nhalf width ABC 123\ntrailing   \ncafé\n"
	for name, c := range map[string]struct {
		find string
		want []string
	}{
		"one letter wrong":       {"func computeTotls(items []Item) int {", []string{"    3  func computeTotals(items"}},
		"one letter in a name":   {"computeTotalz", []string{"    3  func computeTotals"}},
		"letters swapped":        {"return toatl", []string{"    8  \treturn total"}},
		"a Chinese character":    {"今天天汽很好", []string{"   11  今天天气很好"}},
		"two characters":         {"天汽", []string{"   11  今天天气很好"}},
		"case only":              {"FUNC computetotals(Items", []string{"    3  func computeTotals", "only upper and lower case differ"}},
		"tabs for spaces":        {"    total := 0", []string{"    4  \ttotal := 0", `begins with "\t"`, `not "    "`}},
		"spaces for a tab":       {"\tindented with spaces", []string{"   12      indented", `begins with "    "`}},
		"trailing blanks":        {"return total  ", []string{"    8  \treturn total", `ends with "  "`}},
		"trailing in the file":   {"trailing\ncafé", []string{">   15  trailing", `ends with "   "`, "    16  café"}},
		"blanks within":          {"total:=0", []string{"    4  \ttotal := 0", "only blanks differ"}},
		"curly quotes":           {"quote: “straight” and ‘single’", []string{"   13  quote:", "look alike"}},
		"wide letters":           {"half width ＡＢＣ １２３", []string{"   14  half width", "look alike"}},
		"accents":                {"cafe", []string{"   16  café", "look alike"}},
		"a middle line differs":  {"\ttotal := 0\n\tfor _, it := range item {\n\t\ttotal += it.Price\n", []string{"     4  \ttotal := 0", ">    5  \tfor _, it := range items {", "     6  \t\ttotal"}},
		"the first line is new":  {"func computeTotals() {\n\ttotal := 0\n\tfor _, it := range items {", []string{">    3  func computeTotals(items", "     4  \ttotal := 0"}},
		"the last line differs":  {"\t}\n\treturn totals\n}", []string{">    8  \treturn total"}},
		"an empty line too much": {"return total\n}\n\n\n今天天气很好", []string{"    8  \treturn total"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			b.file("a.txt", file)
			b.fails(tools.InvalidArgs, "edit_file", m{"path": "a.txt", "old_text": c.find, "new_text": "x"}, append([]string{"The nearest lines:"}, c.want...)...)
		})
	}
}

// Of several places the one where most lines fit comes first.
func TestNearestPlace(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file("a.go", "if err != nil {\n\treturn err\n}\nx := 1\nif err != nil {\n\treturn nil\n}\ny := compute(1)\nreturn y\n")
	text := b.run("edit_file", m{"path": "a.go", "old_text": "if err != nil {\n\treturn nil\n}\ny := compute(2)\n", "new_text": "x"}).Text
	if at := strings.Index(text, ">    8  y := compute(1)"); at < 0 || strings.Contains(text[:at], "     1  ") || !strings.Contains(text[:at], "     5  if err") {
		t.Errorf("got\n%s", text)
	}
	if res := b.run("edit_file", m{"path": "a.go", "old_text": "something that stands nowhere at all", "new_text": "x"}); !strings.Contains(res.Text, "nothing like it") {
		t.Errorf("got\n%s", res.Text)
	}
}

// A file of any size and form is looked through in bounded work.
func TestNearestInLargeFiles(t *testing.T) {
	b := newBench(t, nil, nil)
	needle := "the value of gravitationalConstant is 6.674"
	near := strings.Replace(needle, "Constant", "Constat", 1)
	for name, content := range map[string]string{
		"one line":      strings.Repeat("lorem ipsum dolor sit amet ", 100_000) + needle + strings.Repeat(" consectetur adipiscing", 100_000),
		"long lines":    strings.Repeat(strings.Repeat("x y z ", 5_000)+"\n", 80) + strings.Repeat("喜鹊 ", 10_000) + needle + "\n" + strings.Repeat(strings.Repeat("a b c ", 5_000)+"\n", 80),
		"many lines":    strings.Repeat("the value of nothing is 1.000\n", 150_000) + needle + "\n",
		"equal lines":   strings.Repeat("the value of gravitation is 6.6\n", 150_000) + needle + "\n",
		"no such place": strings.Repeat("喜鹊飞了。\n", 300_000) + needle + "\n",
	} {
		b.file("big.txt", content)
		res := b.run("edit_file", m{"path": "big.txt", "old_text": near, "new_text": "x"})
		if !strings.Contains(res.Text, needle) || len(res.Text) > 20_000 {
			t.Errorf("%s: %d bytes: %.600s", name, len(res.Text), res.Text)
		}
		res = b.run("edit_file", m{"path": "big.txt", "old_text": "first\n" + near + "\nlast", "new_text": "x"})
		if res.OK || len(res.Text) > 20_000 {
			t.Errorf("%s, three lines: %d bytes: %.600s", name, len(res.Text), res.Text)
		}
	}
}
