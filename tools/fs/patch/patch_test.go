package patch_test

import (
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"magpie/tools/fs/patch"
)

const song = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"

func TestApply(t *testing.T) {
	for name, k := range map[string]struct{ text, diff, want string }{
		"exact":                {song, "--- a/x\n+++ b/x\n@@ -2,3 +2,3 @@\n two\n-three\n+drei\n four\n", strings.Replace(song, "three", "drei", 1)},
		"drifted line numbers": {song, "@@ -40,2 +40,2 @@\n five\n-six\n+sechs\n", strings.Replace(song, "six", "sechs", 1)},
		"wrong counts":         {song, "@@ -2,9 +2,1 @@\n two\n-three\n", strings.Replace(song, "three\n", "", 1)},
		"no numbers":           {song, "@@ @@\n-one\n+eins\n", strings.Replace(song, "one", "eins", 1)},
		"two hunks, the first moves the second": {
			song, "@@ -1,1 +1,3 @@\n one\n+a\n+b\n@@ -6,2 +8,2 @@\n six\n-seven\n+sieben\n",
			"one\na\nb\ntwo\nthree\nfour\nfive\nsix\nsieben\n",
		},
		"the drift of the first hunk places the second": {
			"x\nx\nx\none\nk\nk\n", "@@ -1 +1 @@\n-one\n+eins\n@@ -3 +3 @@\n-k\n+K\n", "x\nx\nx\neins\nk\nK\n",
		},
		"what the first hunk adds places the second": {
			"a\nk\nk\nk\nk\nk\n", "@@ -1 +1,3 @@\n a\n+x\n+y\n@@ -4 +6 @@\n-k\n+K\n", "a\nx\ny\nk\nk\nK\nk\nk\n",
		},
		"what a hunk adds behind a line places the next": {
			"a\nk\nk\nk\n", "@@ -1,0 +2 @@\n+x\n@@ -3 +4 @@\n-k\n+K\n", "a\nx\nk\nK\nk\n",
		},
		"no numbers, behind the hunk before": {
			"k\none\nk\n", "@@ @@\n-one\n+eins\n@@ @@\n-k\n+K\n", "k\neins\nK\n",
		},
		"mixed line ends stay":                     {"a\r\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n", "a\r\nB\nc\n"},
		"mixed line ends of context stay":          {"a\nb\r\nc\nd\r\n", "@@ -1,4 +1,4 @@\n a\n-b\n+B\n+B\n c\n d\n", "a\nB\r\nB\r\nc\nd\r\n"},
		"a new first line ends as the next":        {"a\r\nb\n", "@@ -1,1 +1,2 @@\n+x\n a\n", "x\r\na\r\nb\n"},
		"a line behind the last, which had no end": {"a\r\nb", "@@ -2 +2,2 @@\n b\n+c\n", "a\r\nb\r\nc"},
		"added behind the last, which had no end":  {"a\nb", "@@ -2,0 +3 @@\n+c\n", "a\nb\nc"},
		"no newline before and after": {
			"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc",
		},
		"a newline added at the end":     {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"},
		"the last line removed":          {"a\nb\n", "@@ -1,2 +1 @@\n a\n-b\n", "a\n"},
		"above the first line":           {song, "@@ -0,0 +1 @@\n+null\n", "null\n" + song},
		"headers without a name":         {song, "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+eins\n", strings.Replace(song, "one", "eins", 1)},
		"headers with a time":            {song, "--- x.orig\t2026-11-22 10:00:00\n+++ x 2026-11-22 10:00:01\n@@ -1 +1 @@\n-one\n+eins\n", strings.Replace(song, "one", "eins", 1)},
		"a header of no file":            {"", "--- /dev/null\n+++ b/dir/x\n@@ -0,0 +1 @@\n+a\n", "a\n"},
		"the nearer of two equal places": {"x\ny\nz\nx\ny\n", "@@ -4,2 +4,2 @@\n x\n-y\n+Y\n", "x\ny\nz\nx\nY\n"},
		"add behind a line":              {song, "@@ -3,0 +4,1 @@\n+new\n", strings.Replace(song, "three\n", "three\nnew\n", 1)},
		"add to an empty file":           {"", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"},
		"an empty context line":          {"a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n"},
		"CRLF":                           {"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nc\r\n"},
		"no newline at the end stays":    {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc"},
		"newline at the end taken away":  {"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"},
		"Chinese":                        {"你好\n世界\n", "@@ -1,2 +1,2 @@\n 你好\n-世界\n+喜鹊\n", "你好\n喜鹊\n"},
		"git's extra lines":              {song, "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+eins\n", strings.Replace(song, "one", "eins", 1)},
	} {
		got, err := patch.Apply("dir/x", k.text, k.diff)
		if err != nil || got != k.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, k.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, k := range map[string]struct{ diff, words string }{
		"no hunk":           {"one\ntwo\n", "no hunk"},
		"empty":             {"", "no hunk"},
		"missing line":      {"@@ -2,2 +2,2 @@\n nine\n-three\n+x\n", `"nine" is not in the file`},
		"different line":    {"@@ -2,3 +2,3 @@\n two\n three\n-vier\n+x\n", `line 4 is "four" where the hunk has "vier"`},
		"past the end":      {"@@ -7,2 +7,2 @@\n seven\n-eight\n", "the end of the file"},
		"bad header":        {"@@ -a,b @@\n one\n", "no hunk header"},
		"bad line":          {"@@ -1,1 +1,1 @@\n one\n*two\n", "begins with none of"},
		"two files":         {"--- a\n+++ a\n@@ -1 +1 @@\n-one\n+eins\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "several files"},
		"hunks in disorder": {"@@ -6,1 +6,1 @@\n-six\n+sechs\n@@ -1,1 +1,1 @@\n-one\n+eins\n", "hunk 2"},
		"another file":      {"--- a/dir/y\n+++ b/dir/y\n@@ -1 +1 @@\n-one\n+eins\n", `it is for "b/dir/y", not for "dir/x"`},
		"another new file":  {"--- /dev/null\n+++ b/y\n@@ -1 +1 @@\n-one\n+eins\n", `it is for "b/y"`},
		"another, quoted":   {"--- \"a/\\344\\275\\240\"\n+++ \"b/\\344\\275\\240\"\n@@ -1 +1 @@\n-one\n+eins\n", `it is for "b/你"`},
		"adds nowhere":      {"@@ @@\n+x\n", "does not say where"},
	} {
		got, err := patch.Apply("dir/x", song, k.diff)
		if err == nil || !strings.Contains(err.Error(), k.words) {
			t.Errorf("%s: got %q, %v; want an error with %q", name, got, err, k.words)
		}
	}
}

// A hunk without numbers that fits several places is refused, as old_text is.
func TestSeveralPlaces(t *testing.T) {
	got, err := patch.Apply("x", "k\na\nk\na\n", "@@ @@\n-k\n+K\n")
	if err == nil || !strings.Contains(err.Error(), "fits 2 places (at line 1, 3)") {
		t.Errorf("got %q, %v", got, err)
	}
}

// What a real diff tool writes applies, also when the line numbers drift.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", "长", "x y"}), 0, 30)
		before := strings.Join(lines.Draw(t, "before"), "\n")
		after := strings.Join(lines.Draw(t, "after"), "\n")
		if end := rapid.SampledFrom([]string{"\n", "\n", ""}); before != "" && after != "" {
			before, after = before+end.Draw(t, "end before"), after+end.Draw(t, "end after")
		}
		if before == after {
			return
		}
		diff := udiff.Unified("a/x", "b/x", before, after)
		got, err := patch.Apply("dir/x", before, diff)
		if err != nil || got != after {
			t.Fatalf("%v\n%q\n%q\n%q\n%s", err, before, after, got, diff)
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add(song, "@@ -2,3 +2,3 @@\n two\n-three\n+drei\n")
	f.Add("", "@@ -0,0 +1 @@\n+x")
	f.Add("a", "@@ @@\n\\")
	f.Fuzz(func(t *testing.T, text, diff string) {
		got, err := patch.Apply("dir/x", text, diff)
		if err == nil && len(got) > len(text)+len(diff)+strings.Count(diff, "\n")+strings.Count(text+diff, "\n") {
			t.Errorf("grew from %d and %d to %d", len(text), len(diff), len(got))
		}
	})
}
