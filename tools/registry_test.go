package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/tools"
)

type none struct{}

func simple(name string, c tools.Category) tools.Tool {
	return tools.New(tools.Spec{Name: name, Description: "Does " + name + ".", Category: c, Effect: tools.Reads},
		func(context.Context, tools.Scope, none) (tools.Result, error) { return tools.Result{Text: name}, nil })
}

// fixed is a tool with any spec at all.
type fixed struct{ spec tools.Spec }

func (f fixed) Spec() tools.Spec { return f.spec }

func (f fixed) Call(context.Context, tools.Scope, json.RawMessage) (tools.Result, error) {
	return tools.Result{}, nil
}

// TOOL-5: a definition is checked when it is registered.
func TestRegisterRefuses(t *testing.T) {
	good := tools.Spec{Name: "a", Description: "Does a.", Category: tools.Custom, Effect: tools.Acts, Schema: json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"}}}`)}
	for _, c := range []struct {
		name   string
		change func(*tools.Spec)
		want   error
	}{
		{"empty name", func(s *tools.Spec) { s.Name = "" }, tools.ErrName},
		{"name with space", func(s *tools.Spec) { s.Name = "a b" }, tools.ErrName},
		{"Chinese name", func(s *tools.Spec) { s.Name = "读" }, tools.ErrName},
		{"65 characters", func(s *tools.Spec) { s.Name = strings.Repeat("a", 65) }, tools.ErrName},
		{"64 characters", func(s *tools.Spec) { s.Name = strings.Repeat("a", 64) }, nil},
		{"no description", func(s *tools.Spec) { s.Description = " \n" }, tools.ErrDescription},
		{"category", func(s *tools.Spec) { s.Category = "magic" }, tools.ErrCategory},
		{"effect", func(s *tools.Spec) { s.Effect = "" }, tools.ErrEffect},
		{"no schema", func(s *tools.Spec) { s.Schema = nil }, tools.ErrSchema},
		{"broken schema", func(s *tools.Spec) { s.Schema = json.RawMessage(`{"type":`) }, tools.ErrSchema},
		{"schema of a list", func(s *tools.Spec) { s.Schema = json.RawMessage(`{"type":"array"}`) }, tools.ErrSchema},
		{"required", func(s *tools.Spec) { s.Schema = json.RawMessage(`{"type":"object","required":["q"]}`) }, tools.ErrRequired},
		{"alias to nothing", func(s *tools.Spec) { s.Aliases = map[string]string{"x": "q"} }, tools.ErrAlias},
		{"alias that is a parameter", func(s *tools.Spec) { s.Aliases = map[string]string{"p": "p"} }, tools.ErrAlias},
		{"main", func(s *tools.Spec) { s.Main = "q" }, tools.ErrMain},
		{"nothing wrong", func(*tools.Spec) {}, nil},
	} {
		spec := good
		c.change(&spec)
		reg := &tools.Registry{}
		if err := reg.Register(fixed{spec}); !errors.Is(err, c.want) {
			t.Errorf("%s: want %v, got %v", c.name, c.want, err)
		}
		if reg.Has(spec.Name) != (c.want == nil) {
			t.Errorf("%s: registered: %v", c.name, reg.Has(spec.Name))
		}
	}
}

func TestParametersThatCannotBeDescribed(t *testing.T) {
	call := func(context.Context, tools.Scope, struct {
		A int `json:"a" rule:"mni=1"`
	},
	) (tools.Result, error) {
		return tools.Result{}, nil
	}
	spec := tools.Spec{Name: "a", Description: "Does a.", Category: tools.Custom, Effect: tools.Acts}
	type nested struct {
		B struct {
			C int `json:"c" rule:"default=1"`
		} `json:"b"`
	}
	for _, tool := range []tools.Tool{
		tools.New(spec, call),
		tools.New(spec, func(context.Context, tools.Scope, string) (tools.Result, error) { return tools.Result{}, nil }),
		tools.New(spec, func(context.Context, tools.Scope, struct{ F func() }) (tools.Result, error) {
			return tools.Result{}, nil
		}),
		tools.New(spec, func(context.Context, tools.Scope, nested) (tools.Result, error) { return tools.Result{}, nil }),
		tools.New(spec, func(context.Context, tools.Scope, struct {
			A int `json:"a" rule:"default=x"`
		},
		) (tools.Result, error) {
			return tools.Result{}, nil
		}),
		tools.New(spec, func(context.Context, tools.Scope, struct {
			A string `json:"a" rule:"pattern=("`
		},
		) (tools.Result, error) {
			return tools.Result{}, nil
		}),
	} {
		if err := (&tools.Registry{}).Register(tool); !errors.Is(err, tools.ErrSchema) {
			t.Errorf("want ErrSchema, got %v", err)
		}
	}
}

// TOOL-6.
func TestRegistry(t *testing.T) {
	reg := &tools.Registry{}
	if err := reg.RegisterAll(simple("b", tools.File), simple("a", tools.System)); err != nil {
		t.Fatal(err)
	}
	if err := reg.RegisterAll(simple("c", tools.File), simple("a", tools.System)); !errors.Is(err, tools.ErrDuplicate) || reg.Has("c") {
		t.Errorf("a duplicate: %v; the others registered: %v", err, reg.Has("c"))
	}
	if err := reg.RegisterAll(simple("d", tools.File), simple("d", tools.File)); !errors.Is(err, tools.ErrDuplicate) {
		t.Errorf("twice in one call: %v", err)
	}
	if d := cmp.Diff([]string{"a", "b"}, names(reg.List())); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"b"}, names(reg.ListByCategory(tools.File))); d != "" {
		t.Error(d)
	}
	if err := reg.Replace(simple("b", tools.System)); err != nil || len(reg.ListByCategory(tools.System)) != 2 {
		t.Errorf("b has not become another one: %v", err)
	}
	if tool, ok := reg.Get("a"); !ok || tool.Spec().Name != "a" {
		t.Errorf("get a: %v", ok)
	}
	if _, ok := reg.Get("x"); ok || reg.Unregister("x") || !reg.Unregister("a") || reg.Has("a") {
		t.Error("x was there, or a is still")
	}
}

// A name in the configuration that no tool has is a mistake; what may still
// come is none.
func TestMisnamed(t *testing.T) {
	reg := &tools.Registry{}
	if err := reg.RegisterAll(simple("read_file", tools.File), also("exec", "bash")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"": "", "*": "", "exec": "", "bash": "", "zz*": "", "mcp_git_log": "",
		"exce":      `there is no tool "exce"; did you mean "exec"?`,
		"read_flie": `there is no tool "read_flie"; did you mean "read_file"?`,
		"bsh":       `there is no tool "bsh"; did you mean "bash"?`,
		"zzz":       `there is no tool "zzz"; docs/tools.md lists them`,
	} {
		got := ""
		if err := reg.Misnamed(name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: want %q, got %q", name, want, got)
		}
	}
}

// also makes a tool with another name.
func also(name, other string) tools.Tool {
	return tools.New(tools.Spec{Name: name, Also: []string{other}, Description: "A tool of a test.", Category: tools.File, Effect: tools.Reads},
		func(context.Context, tools.Scope, struct{}) (tools.Result, error) { return tools.Result{}, nil })
}

func names(specs []tools.Spec) (all []string) {
	for _, s := range specs {
		all = append(all, s.Name)
	}
	return all
}

// TOOL-2: OpenAI's format, and Anthropic's derived from it.
func TestDefinitions(t *testing.T) {
	reg := &tools.Registry{}
	spec := tools.Spec{
		Name: "greet", Description: "Greets <somebody> & says \"hi\".", Category: tools.Custom, Effect: tools.Acts,
		Aliases: map[string]string{"who": "name"},
	}
	if err := reg.Register(tools.New(spec, func(context.Context, tools.Scope, struct {
		Name string `json:"name" jsonschema:"Whom." rule:"minlen=1"`
		Lang string `json:"lang,omitempty" jsonschema:"Language." rule:"enum=en|zh,default=en"`
		Old  string `json:"old,omitempty" rule:"hidden"`
	},
	) (tools.Result, error) {
		return tools.Result{}, nil
	})); err != nil {
		t.Fatal(err)
	}
	const schema = `{"type":"object","properties":{"name":{"type":"string","description":"Whom.","minLength":1},` +
		`"lang":{"type":"string","description":"Language.","default":"en","enum":["en","zh"]}},"required":["name"],"additionalProperties":false}`
	def := reg.Definitions()[0]
	for _, c := range []struct {
		got  any
		want string
	}{
		{def, `{"type":"function","function":{"name":"greet","description":"Greets \u003csomebody\u003e \u0026 says \"hi\".","parameters":` + schema + `}}`},
		{def.Anthropic(), `{"name":"greet","description":"Greets \u003csomebody\u003e \u0026 says \"hi\".","input_schema":` + schema + `}`},
	} {
		raw, err := json.Marshal(c.got)
		if d := cmp.Diff(c.want, string(raw)); d != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
}

// TOOL-6: safe while turns run.
func TestRegistryWhileCallsRun(t *testing.T) {
	reg := &tools.Registry{}
	if err := reg.Register(simple("stays", tools.System)); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			name := fmt.Sprint("comes", i)
			for range 50 {
				if err := reg.Register(simple(name, tools.Data)); err != nil {
					t.Error(err)
				}
				if res := e.Run(t.Context(), scope("1"), "stays", ""); !res.OK {
					t.Error(res.Text)
				}
				if res := e.Run(t.Context(), scope("1"), name, ""); !res.OK {
					t.Error(res.Text)
				}
				e.Specs(scope("1"))
				reg.Unregister(name)
			}
		})
	}
	all.Wait()
	if len(reg.List()) != 1 {
		t.Errorf("left: %v", names(reg.List()))
	}
}
