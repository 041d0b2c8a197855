package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/tools"
)

// guarded makes an executor with the tools exec and open under a policy.
func guarded(t *testing.T, a tools.Approver, rules ...tools.Rule) *tools.Executor {
	t.Helper()
	p, err := tools.NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	reg := &tools.Registry{}
	exec := tools.New(tools.Spec{Name: "exec", Also: []string{"bash"}, Description: "Runs a command.", Category: tools.Code, Effect: tools.Acts, Main: "command", Timeout: time.Second},
		func(context.Context, tools.Scope, struct {
			Command string `json:"command"`
			Dir     string `json:"dir,omitempty"`
		},
		) (tools.Result, error) {
			return tools.Result{Text: "ran"}, nil
		})
	open := tools.New(tools.Spec{Name: "open", Description: "Opens a file.", Category: tools.File, Effect: tools.Reads, Main: "path"},
		func(context.Context, tools.Scope, struct {
			Path string `json:"path,omitempty"`
			N    int    `json:"n,omitempty"`
		},
		) (tools.Result, error) {
			return tools.Result{Text: "opened"}, nil
		}, tools.WithSubject(path.Clean))
	if err := reg.RegisterAll(exec, open); err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, &tools.Options{Policy: p, Approver: a})
}

// SEC-3: rules are tried in order; the first that matches decides.
func TestPolicy(t *testing.T) {
	git := tools.Rule{Tool: "exec", Match: `^git `, Action: tools.Allow}
	noExec := tools.Rule{Tool: "exec", Action: tools.Deny}
	for _, c := range []struct {
		name, tool, args string
		rules            []tools.Rule
		want             tools.ErrorKind
	}{
		{"no rules", "exec", `{"command":"ls"}`, nil, ""},
		{"first match wins", "exec", `{"command":"git status"}`, []tools.Rule{git, noExec}, ""},
		{"the next one decides", "exec", `{"command":"rm x"}`, []tools.Rule{git, noExec}, tools.Permission},
		{"order matters", "exec", `{"command":"git status"}`, []tools.Rule{noExec, git}, tools.Permission},
		{"another tool", "open", `{"path":"x"}`, []tools.Rule{noExec}, ""},
		{"pattern of names", "open", `{"path":"x"}`, []tools.Rule{{Tool: "o*", Action: tools.Deny}}, tools.Permission},
		{"every tool", "open", `{"path":"x"}`, []tools.Rule{{Action: tools.Deny}}, tools.Permission},
		{"the other name in the rule", "exec", `{"command":"ls"}`, []tools.Rule{{Tool: "bash", Action: tools.Deny}}, tools.Permission},
		{"the other name in the call", "bash", `{"command":"ls"}`, []tools.Rule{noExec}, tools.Permission},
		{"a pattern means real names", "exec", `{"command":"ls"}`, []tools.Rule{{Tool: "ba*", Action: tools.Deny}}, ""},
		{"this channel", "exec", `{"command":"ls"}`, []tools.Rule{{Channel: "test", Action: tools.Deny}}, tools.Permission},
		{"another channel", "exec", `{"command":"ls"}`, []tools.Rule{{Channel: "qq", Action: tools.Deny}}, ""},
		{"this sender", "exec", `{"command":"ls"}`, []tools.Rule{{Sender: "sender-1", Action: tools.Deny}}, tools.Permission},
		{"this sender with channel", "exec", `{"command":"ls"}`, []tools.Rule{{Sender: "test:sender-1", Action: tools.Deny}}, tools.Permission},
		{"another sender", "exec", `{"command":"ls"}`, []tools.Rule{{Sender: "test:sender-2", Action: tools.Deny}}, ""},
		{"every argument", "exec", `{"command":"ls","dir":"secret"}`, []tools.Rule{{Match: "secret", Action: tools.Deny}}, tools.Permission},
		{"all arguments without the main one", "open", `{"n":7}`, []tools.Rule{{Match: `"n":7`, Action: tools.Deny}}, tools.Permission},
		{"one spelling", "open", `{"path":".//private/./a"}`, []tools.Rule{{Match: "^private/", Action: tools.Deny}}, tools.Permission},
		{"ask and nobody there", "exec", `{"command":"ls"}`, []tools.Rule{{Action: tools.Ask}}, tools.Permission},
	} {
		res := run(t, guarded(t, nil, c.rules...), c.tool, c.args)
		if res.Err != c.want || res.OK != (c.want == "") {
			t.Errorf("%s: want %q, got %q: %s", c.name, c.want, res.Err, res.Text)
		}
	}
}

func TestForbiddenToolsAreNotOffered(t *testing.T) {
	for _, c := range []struct {
		rules []tools.Rule
		want  []string
	}{
		{[]tools.Rule{{Tool: "exec", Action: tools.Deny}}, []string{"open"}},
		{[]tools.Rule{{Tool: "bash", Action: tools.Deny}}, []string{"open"}},
		{[]tools.Rule{{Tool: "exec", Match: "^git ", Action: tools.Allow}, {Tool: "exec", Action: tools.Deny}}, []string{"exec", "open"}},
		{[]tools.Rule{{Tool: "exec", Match: "rm", Action: tools.Deny}, {Tool: "exec", Action: tools.Deny}}, []string{"open"}},
		{[]tools.Rule{{Tool: "exec", Match: "rm", Action: tools.Deny}}, []string{"exec", "open"}},
		{[]tools.Rule{{Sender: "sender-2", Action: tools.Deny}}, []string{"exec", "open"}},
		{[]tools.Rule{{Action: tools.Ask}, {Action: tools.Deny}}, []string{"exec", "open"}},
	} {
		if d := cmp.Diff(c.want, names(guarded(t, nil, c.rules...).Specs(scope("1")))); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c.rules, d)
		}
	}
}

func TestBadPolicyNamesEveryRule(t *testing.T) {
	_, err := tools.NewPolicy([]tools.Rule{{Action: tools.Deny}, {Action: "maybe"}, {Match: "(", Action: tools.Ask}, {Tool: "[", Action: tools.Allow}})
	for _, want := range []string{`rule 2: action "maybe": want allow, ask or deny`, "rule 3: match", `rule 4: tool "["`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
}

// approver answers after a day.
type approver struct{ err error }

func (a approver) Approve(ctx context.Context, _ tools.Scope, _ tools.Spec, args json.RawMessage) error {
	if string(args) != `{"command":"ls"}` {
		return errors.New("the arguments were not shown as they are")
	}
	select {
	case <-time.After(24 * time.Hour):
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TOOL-9: waiting for an approval does not count as the tool's time.
func TestApproval(t *testing.T) {
	for err, want := range map[error]tools.Result{
		nil:                       {OK: true, Text: "ran"},
		errors.New("Ann said no"): {Err: tools.Permission, Text: "error (permission): this call of exec was not approved: Ann said no"},
		tools.Errorf(tools.Timeout, "nobody answered in 10 minutes"): {Err: tools.Timeout, Text: "error (timeout): nobody answered in 10 minutes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			res := run(t, guarded(t, approver{err}, tools.Rule{Action: tools.Ask}), "exec", `{"command":"ls"}`)
			if res.OK != want.OK || res.Err != want.Err || res.Text != want.Text {
				t.Errorf("want %+v, got %+v", want, res)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		res := guarded(t, approver{}, tools.Rule{Action: tools.Ask}).Run(ctx, scope("1"), "exec", `{"command":"ls"}`)
		if res.OK || res.Err != tools.Failed || !strings.Contains(res.Text, "stopped") {
			t.Errorf("cancelled: %+v", res)
		}
	})
}
