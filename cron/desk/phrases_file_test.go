package desk_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// phrase is a line of testdata/phrases: what somebody writes in the world of
// newWorld, and what must come of it. docs/development.md has the fields.
type phrase struct {
	Say, Lang, Class, Tag string
	At, Next              []string
	Text, Choices         []string
	Vague                 bool
	aim
}

type aim struct {
	Op   string
	Ref  any
	What string
	End  string
}

// reached is what was reached of each file: how many of a thousand are right, at
// least, and how many wrong, at most. Who makes it better writes it here.
func reached() map[string][2]int {
	return map[string][2]int{
		"blind.jsonl": {1000, 0}, "chinese.jsonl": {1000, 0}, "english.jsonl": {1000, 0}, "unseen_en.jsonl": {1000, 0}, "unseen_zh.jsonl": {1000, 0},
		"everyday.jsonl": {982, 0}, "later.jsonl": {988, 0}, "odd.jsonl": {972, 0},
		"people_en.jsonl": {973, 0}, "traps_en.jsonl": {1000, 0}, "people_zh.jsonl": {980, 0}, "traps_zh.jsonl": {1000, 0}, "replies.jsonl": {1000, 0},
		"series.jsonl": {1000, 0}, "times.jsonl": {1000, 0},
		"small_talk_en.jsonl": {1000, 0}, "small_talk_zh.jsonl": {1000, 0},
		"changes_more_en.jsonl": {1000, 0}, "changes_more_zh.jsonl": {1000, 0},
		"bounds_en.jsonl": {1000, 0}, "bounds_zh.jsonl": {1000, 0}, "diary_zh.jsonl": {980, 0}, "notes_zh.jsonl": {938, 0},
		"letters_en.jsonl": {881, 0}, "letters_zh.jsonl": {887, 0},
		"diary_en.jsonl": {1000, 0}, "diary_more_en.jsonl": {1000, 0}, "notes_en.jsonl": {938, 0},
		"fair_en.jsonl": {971, 0}, "fair_zh.jsonl": {981, 0}, "family_en.jsonl": {966, 0}, "family_zh.jsonl": {993, 0},
	}
}

func table(t *testing.T, file string, count map[string]map[verdict]int) {
	t.Helper()
	sum := map[verdict]int{}
	all := 0
	out := fmt.Sprintf("%s\n%-8s %6s %6s %6s %6s %6s\n", filepath.Base(file), "class", right, words, asked, unheard, wrong)
	for _, class := range []string{"create", "change", "query", "none", "ask"} {
		c := count[class]
		out += fmt.Sprintf("%-8s %6d %6d %6d %6d %6d\n", class, c[right], c[words], c[asked], c[unheard], c[wrong])
		for v, n := range c {
			sum[v] += n
			all += n
		}
	}
	t.Logf("%s%d phrases, %.1f %% right, %d wrong", out, all, 100*float64(sum[right])/float64(max(all, 1)), sum[wrong])
	if was, ok := reached()[filepath.Base(file)]; ok && (1000*sum[right] < was[0]*all || sum[wrong] > was[1]) {
		t.Errorf("of %s at least %d of 1000 have been right, and at most %d wrong", filepath.Base(file), was[0], was[1])
	}
}

func load(t testing.TB, file string) (all []phrase) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p phrase
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatalf("%s: %v: %s", file, err, lines.Text())
		}
		all = append(all, p)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
