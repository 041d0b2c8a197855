package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels/all"
	"magpie/config"
)

// schema is what the tests read of a JSON Schema.
type schema struct {
	Properties map[string]schema
	Items      *schema
	Additional json.RawMessage `json:"additionalProperties"`
	AnyOf      []schema
	Enum       []any
	Default    any
}

// leaves adds every key that takes a value, as docs/configuration.md writes it.
func (s schema) leaves(t *testing.T, path string, found map[string]schema) {
	t.Helper()
	var more schema
	_ = json.Unmarshal(s.Additional, &more) // false is no schema
	switch {
	case s.Items != nil && len(s.Items.Properties) > 0 && len(more.Properties) == 0:
		s.Items.leaves(t, path+"[]", found)
	case len(more.Properties) > 0:
		more.leaves(t, path+".<name>", found)
	case len(s.Properties) == 0:
		found[path] = s
	}
	for name, p := range s.Properties {
		if _, file := s.Properties[strings.TrimSuffix(name, "_file")]; file && strings.HasSuffix(name, "_file") {
			continue // every secret has this form
		}
		p.leaves(t, strings.TrimPrefix(path+"."+name, "."), found)
	}
}

// channelLeaves does the same for the section channels. Keys that every type
// has stand under <name>.
func channelLeaves(t *testing.T, types map[string]schema, found map[string]schema) {
	t.Helper()
	in := map[string]int{}
	sections := map[string]map[string]schema{}
	for name, s := range types {
		sections[name] = map[string]schema{}
		s.AnyOf[0].leaves(t, "", sections[name])
		for key := range sections[name] {
			in[key]++
		}
	}
	for name, keys := range sections {
		for key, s := range keys {
			of := name
			if in[key] == len(types) {
				of = "<name>"
			}
			found["channels."+of+"."+key] = s
		}
	}
}

func (s schema) choices() []any {
	all := s.Enum
	for _, one := range s.AnyOf {
		all = append(all, one.Enum...)
	}
	return all
}

var keyRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| *(.*?) *\\| *(.*?) *\\|$")

// TestEveryKeyIsDescribed holds docs/configuration.md against the schema: the
// same keys, the same defaults, every choice.
func TestEveryKeyIsDescribed(t *testing.T) {
	p := &program{channels: all.Registry()}
	text, err := config.Schema(p.defaults())
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	want := map[string]schema{}
	channelLeaves(t, root.Properties["channels"].Properties, want)
	delete(root.Properties, "channels")
	root.leaves(t, "", want)

	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for _, row := range keyRow.FindAllStringSubmatch(string(page), -1) {
		key, value, meaning := row[1], row[2], row[3]
		described = append(described, key)
		s := want[key]
		if d := s.Default; d != nil && d != "" && d != 0.0 && value != "`"+written(d)+"`" {
			t.Errorf("%s: the default is %s, the page says %s", key, written(d), value)
		}
		for _, c := range s.choices() {
			if c != "" && !strings.Contains(meaning, fmt.Sprintf("`%v`", c)) {
				t.Errorf("%s: the page does not name the choice %v", key, c)
			}
		}
	}
	var keys []string
	for key := range want {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	slices.Sort(described)
	if diff := cmp.Diff(keys, described); diff != "" {
		t.Errorf("keys of the schema (-) and of docs/configuration.md (+):\n%s", diff)
	}
}

// written is a default as the file holds it; JSON made a number of it.
func written(v any) string {
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprint(v)
}

// TestConfigurationsOfTheDocumentation loads every configuration that the
// documentation shows. Blocks that begin with a blank go on another one.
func TestConfigurationsOfTheDocumentation(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../README*.md", "../../docs/*.md", "../../docs/channels/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "\n```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			if strings.HasPrefix(block, " ") {
				continue
			}
			seen++
			t.Run(fmt.Sprintf("%s %d", filepath.Base(file), i+1), func(t *testing.T) { loads(t, block) })
		}
	}
	if seen < 10 {
		t.Errorf("only %d configurations were found", seen)
	}
}

func loads(t *testing.T, text string) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		switch {
		case strings.HasPrefix(name, "TELEGRAM") && strings.HasSuffix(name, "_TOKEN"):
			return "1:made-up", true
		case strings.HasPrefix(name, "DISCORD") && strings.HasSuffix(name, "_TOKEN"):
			return "made.up.token", true
		}
		for _, end := range []string{"_TOKEN", "_KEY", "_SECRET", "_ID"} {
			if strings.HasSuffix(name, end) {
				return "made-up", true
			}
		}
		return "", false
	}
	p := &program{channels: all.Registry(), path: path, env: env}
	if _, _, err := p.load(); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}
