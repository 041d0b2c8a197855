package delegate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/delegate"
	"magpie/tools/tooltest"
)

// spawner answers with what it was asked for.
type spawner struct{}

func (spawner) Spawn(ctx context.Context, sc tools.Scope, task, label string, wait bool) (tools.Result, error) {
	if task == "slow" {
		<-ctx.Done()
		return tools.Result{}, context.Cause(ctx)
	}
	return tools.Result{Text: fmt.Sprintf("%s|%s|%v|%s", task, label, wait, sc.CallID), Untrusted: wait}, nil
}

func TestSpawn(t *testing.T) {
	tool := delegate.Spawn(spawner{})
	tooltest.Run(t, tool, &tooltest.Options{Good: []string{`{"task":"dig"}`, `{"task":"挖","label":"x","wait":true}`}, Slow: `{"task":"slow","wait":true}`})
	reg := &tools.Registry{}
	if err := reg.Register(tool); err != nil {
		t.Fatal(err)
	}
	exec := tools.NewExecutor(reg, nil)
	long, err := json.Marshal(strings.Repeat("长", 60_001))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"task":"dig"}`:                           "dig||false|c1",
		`{"prompt":"dig","name":"n"}`:              "dig|n|false|c1",
		`{"task":"dig","wait":"true"}`:             "<outside from=\"spawn\">\ndig||true|c1\n</outside>",
		`{"message":"dig","title":"n","wait":"0"}`: "dig|n|false|c1",
		`{}`:                            "error (invalid_arguments)",
		`{"task":""}`:                   "error (invalid_arguments)",
		`{"task":` + string(long) + `}`: "error (invalid_arguments)",
		`{"task":"dig","label":"n","agents":"3"}`: "error (invalid_arguments)",
	} {
		res := exec.Run(t.Context(), tools.Scope{CallID: "c1"}, "spawn", args)
		if ok := !strings.HasPrefix(want, "error"); res.OK != ok || !strings.HasPrefix(res.Text, want) {
			t.Errorf("%.60s: want %q, got %.200q", args, want, res.Text)
		}
	}
}
