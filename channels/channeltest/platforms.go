package channeltest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// PlatformTable checks a platform's part of docs/platforms.md: its table of
// limits holds exactly these values, written as fmt.Sprint does, and every test
// that its table of facts names stands in the tree. The test's folder is two
// below the root.
func PlatformTable(t *testing.T, heading string, limits map[string]any) {
	t.Helper()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "platforms.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/platforms.md has no part %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	bounds, facts, _ := strings.Cut(part, "### Facts")
	seen := map[string]bool{}
	for _, row := range rows(bounds) {
		if len(row) != 4 || row[2] == "" || row[3] == "" {
			t.Errorf("docs/platforms.md, %s: row %q: want limit, value, source, date", heading, row)
			continue
		}
		name, value := row[0], row[1]
		seen[name] = true
		if want, ok := limits[name]; !ok {
			t.Errorf("docs/platforms.md, %s: no constant is compared with %q", heading, name)
		} else if value != fmt.Sprint(want) {
			t.Errorf("docs/platforms.md, %s: %s is %s there and %v in the code", heading, name, value, want)
		}
	}
	for name, value := range limits {
		if !seen[name] {
			t.Errorf("docs/platforms.md, %s: %q (%v) is missing", heading, name, value)
		}
	}
	known := tests(t, root)
	for _, row := range rows(facts) {
		if len(row) != 4 || row[2] == "" {
			t.Errorf("docs/platforms.md, %s: row %q: want fact, what the bot does, source, test", heading, row)
			continue
		}
		named := testName.FindAllString(row[3], -1)
		if len(named) == 0 {
			t.Errorf("docs/platforms.md, %s: %q names no test", heading, row[0])
		}
		for _, name := range named {
			if !known[name] {
				t.Errorf("docs/platforms.md, %s: there is no %s", heading, name)
			}
		}
	}
}

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
)

// rows are the cells of a Markdown table without its head.
func rows(part string) (all [][]string) {
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] != "limit" && cells[0] != "what the platform does" {
			all = append(all, cells)
		}
	}
	return all
}

// tests are the names of all tests of the tree.
func tests(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, depth := range []string{"*", "*/*", "*/*/*"} {
		files, err := filepath.Glob(filepath.Join(root, depth, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				all[string(m[1])] = true
			}
		}
	}
	return all
}
