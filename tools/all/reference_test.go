package all_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"magpie/tools"
)

var update = flag.Bool("update", false, "write docs/tools.md anew")

const referenceFile = "../../docs/tools.md"

// TestReference keeps docs/tools.md what the tools say of themselves. After a
// change: go test ./tools/all -run Reference -update.
func TestReference(t *testing.T) {
	reg, _ := register(t)
	want := reference(t, reg)
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil || string(got) != want {
		t.Errorf("docs/tools.md is not up to date (%v); run: go test ./tools/all -run Reference -update", err)
	}
}

func reference(t *testing.T, reg *tools.Registry) string {
	t.Helper()
	specs := reg.List()
	var b strings.Builder
	b.WriteString(`# Tools

Made from the tools' own definitions by ` + "`go test ./tools/all -run Reference -update`" + `; do not edit.

Every tool also accepts the camelCase spelling of its parameters. *Effect*: **reads** changes nothing, **writes** changes the
workspace or the bot's notes, **acts** reaches people or other systems. Tools of MCP servers come beside these, as
` + "`mcp_<server>_<tool>`" + `.

| tool | category | effect |
|---|---|---|
`)
	slices.SortFunc(specs, func(a, b tools.Spec) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range specs {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", s.Name, s.Name, s.Category, s.Effect)
	}
	for _, s := range specs {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.Name, s.Description)
		if len(s.Also) > 0 {
			fmt.Fprintf(&b, "\nAlso called: %s.\n", strings.Join(s.Also, ", "))
		}
		if len(s.For) > 0 {
			b.WriteString("\nAccepted, but not offered to models.\n")
		}
		if s.Untrusted {
			b.WriteString("\nIts output is text from outside.\n")
		}
		parameters(t, &b, s)
		if more := unadvertised(t, reg, s); len(more) > 0 {
			fmt.Fprintf(&b, "\nAccepted besides, never offered: %s.\n", strings.Join(more, ", "))
		}
	}
	return b.String()
}

// unadvertised are the parameters that calls may have and models are not told
// of.
func unadvertised(t *testing.T, reg *tools.Registry, s tools.Spec) (names []string) {
	t.Helper()
	tool, _ := reg.Get(s.Name)
	raw, err := tool.(interface {
		Accepted() (json.RawMessage, error)
	}).Accepted()
	if err != nil {
		t.Fatal(err)
	}
	var accepted, offered jsonschema.Schema
	if err := errors.Join(json.Unmarshal(raw, &accepted), json.Unmarshal(s.Schema, &offered)); err != nil {
		t.Fatal(err)
	}
	for name := range accepted.Properties {
		if offered.Properties[name] == nil {
			names = append(names, "`"+name+"`")
		}
	}
	slices.Sort(names)
	return names
}

func parameters(t *testing.T, b *strings.Builder, s tools.Spec) {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(s.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Properties) == 0 {
		b.WriteString("\nNo parameters.\n")
		return
	}
	b.WriteString("\n| parameter | type | also | meaning |\n|---|---|---|---|\n")
	names := schema.PropertyOrder
	if len(names) != len(schema.Properties) {
		names = slices.Sorted(maps.Keys(schema.Properties))
	}
	for _, name := range names {
		p := schema.Properties[name]
		kind := cmp.Or(p.Type, strings.Join(p.Types, " or "), "any")
		if slices.Contains(schema.Required, name) {
			kind += ", required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, kind, aliasesOf(s, name), strings.ReplaceAll(meaning(p), "|", "\\|"))
	}
}

func aliasesOf(s tools.Spec, name string) string {
	var all []string
	for alias, of := range s.Aliases {
		if of == name {
			all = append(all, "`"+alias+"`")
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// meaning is the description with the bounds.
func meaning(p *jsonschema.Schema) string {
	text := p.Description
	if p.Items != nil && len(p.Items.Enum) > 0 {
		p = p.Items
	}
	if len(p.Enum) > 0 {
		text += fmt.Sprintf(" One of %v.", p.Enum)
	}
	if p.Minimum != nil {
		text += " At least " + number(*p.Minimum) + "."
	}
	if p.Maximum != nil {
		text += " At most " + number(*p.Maximum) + "."
	}
	if len(p.Default) > 0 {
		text += fmt.Sprintf(" Default %s.", p.Default)
	}
	return strings.TrimSpace(text)
}

// number is without an exponent.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
