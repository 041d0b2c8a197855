package archtest_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// longest is how many lines a README has at most: a first look, not a manual.
const longest = 180

// pages are the documents of the repository, by their names from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	tree := os.DirFS(root(t))
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(tree, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(text)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inline  = regexp.MustCompile("`[^`\n]*`")
	target  = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^(#+) +(.*?) *$`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// links are what a page leads to, without what it only shows as code.
func links(text string) (all []string) {
	for _, m := range target.FindAllStringSubmatch(inline.ReplaceAllString(fenced.ReplaceAllString(text, ""), ""), -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}

// anchors are the names of a page's headings in an address, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linked.ReplaceAllString(m[2], "$1"))
		for n, free := 1, name; ; n++ {
			if !all[free] {
				all[free] = true
				break
			}
			free = fmt.Sprintf("%s-%d", name, n)
		}
	}
	return all
}

func TestLinksAndAnchors(t *testing.T) {
	text := "# A *b* `c_d`\n## 访问控制\n## 访问控制\n[x](a.md#b) `[no](code.md)` <img src=\"p.png\">\n```sh\n# no heading [no](block.md)\n```\n[y](https://e.org)"
	if diff := cmp.Diff([]string{"a.md#b", "p.png", "https://e.org"}, links(text)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"a-b-c_d": true, "访问控制": true, "访问控制-1": true}, anchors(text)); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
}

// TestLinks wants everything that a page links to in this repository to be
// there: the file, and the heading in it.
func TestLinks(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, link := range links(text) {
			u, err := url.Parse(link)
			if err != nil || u.Scheme != "" {
				continue // another place, or no address at all
			}
			file := name
			if u.Path != "" {
				file = path.Join(path.Dir(name), u.Path)
			}
			if _, err := fs.Stat(os.DirFS(root(t)), file); err != nil {
				t.Errorf("%s links to %s, which is not there", name, link)
				continue
			}
			if page, ok := all[file]; ok && u.Fragment != "" && !anchors(page)[u.Fragment] {
				t.Errorf("%s links to %s: %s has no such heading", name, link, file)
			}
		}
	}
}

// TestTranslations wants the two languages of a page to have the same parts,
// and the READMEs to stay short.
func TestTranslations(t *testing.T) {
	all := pages(t)
	pairs := 0
	for name, text := range all {
		base, ok := strings.CutSuffix(name, ".zh.md")
		if !ok {
			continue
		}
		pairs++
		if diff := cmp.Diff(shape(all[base+".md"]), shape(text)); diff != "" {
			t.Errorf("parts of %s.md (-) and %s (+):\n%s", base, name, diff)
		}
	}
	if pairs < 6 {
		t.Errorf("only %d pages in two languages were found", pairs)
	}
	for _, name := range []string{"README.md", "README.zh.md"} {
		if n := strings.Count(all[name], "\n"); n > longest {
			t.Errorf("%s has %d lines, want at most %d: what is not for the first look goes to docs/", name, n, longest)
		}
	}
}

// shape is the levels of a page's headings and the languages of its blocks.
func shape(text string) (parts []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		parts = append(parts, m[1])
	}
	for _, m := range fenced.FindAllString(text, -1) {
		first, _, _ := strings.Cut(strings.TrimSpace(m), "\n")
		parts = append(parts, first)
	}
	return parts
}
