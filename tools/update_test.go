package tools_test

import (
	"context"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/tools"
)

// TestUpdate: who holds the executor gets what was put in last, who holds a
// Fixed of it what there was then; both count in one place.
func TestUpdate(t *testing.T) {
	t.Parallel()
	remote := &tools.Registry{}
	if err := remote.Register(simple("mcp_a", tools.MCP)); err != nil {
		t.Fatal(err)
	}
	of := func(name string) *tools.Registry {
		reg := &tools.Registry{Under: remote}
		if err := reg.Register(simple(name, tools.System)); err != nil {
			t.Fatal(err)
		}
		return reg
	}
	e := tools.NewExecutor(of("old"), &tools.Options{Enabled: []string{"*"}})
	fixed := e.Fixed()
	e.Update(of("new"), &tools.Options{Enabled: []string{"*", "-mcp_b"}})
	if err := remote.Register(simple("mcp_b", tools.MCP)); err != nil {
		t.Fatal(err)
	}
	names := func(e *tools.Executor) string {
		var all []string
		for _, s := range e.Specs(tools.Scope{}) {
			all = append(all, s.Name)
		}
		return strings.Join(all, " ")
	}
	if got := names(e); got != "mcp_a new" {
		t.Errorf("the latest offers %q", got)
	}
	if got := names(fixed.Fixed()); got != "mcp_a mcp_b old" {
		t.Errorf("the fixed one offers %q", got)
	}
	for _, c := range []struct {
		e    *tools.Executor
		tool string
		ok   bool
	}{{e, "new", true}, {e, "old", false}, {e, "mcp_b", false}, {fixed, "old", true}, {fixed, "new", false}, {fixed, "mcp_b", true}} {
		if res := c.e.Run(context.Background(), tools.Scope{}, c.tool, "{}"); res.OK != c.ok {
			t.Errorf("%s: %+v", c.tool, res)
		}
	}
	if s := e.Stats(); s.Total.Calls != 6 || fixed.Stats().Total.Calls != 6 {
		t.Errorf("counted %+v", s)
	}
}

// TestMoreSecrets: a secret that was replaced stays hidden.
func TestMoreSecrets(t *testing.T) {
	t.Parallel()
	r := tools.NewRedactor([]chat.Secret{"first-one"})
	r.Add([]chat.Secret{"second", "second-one", "no"})
	if got := r.Text("first-one second-one second no"); got != "*** *** *** no" {
		t.Errorf("%q", got)
	}
}
