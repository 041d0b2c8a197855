package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/kv"
	"magpie/tools"
)

// shifting is a command whose setting another program changes.
type shifting struct{ setting string }

func (s *shifting) tool(ran *int) tools.Tool {
	spec := tools.Spec{Name: "exec", Description: "d", Category: tools.Code, Effect: tools.Acts, Main: "command"}
	return tools.New(spec, func(context.Context, tools.Scope, struct {
		Command string `json:"command"`
	},
	) (tools.Result, error) {
		*ran++
		<-time.After(2 * time.Second)
		return tools.Result{Text: "ran"}, nil
	}, tools.WithShow(func(context.Context, tools.Scope, json.RawMessage) (tools.Shown, error) {
		return tools.Shown{Parts: []tools.Part{{Name: "command", Text: "x"}}, Setting: s.setting}, nil
	}))
}

// person allows what she is asked, after an hour.
type person struct{ asked []*tools.Question }

func (p *person) Approve(ctx context.Context, _ tools.Scope, _ tools.Spec, _ json.RawMessage) error {
	<-time.After(time.Hour)
	q := tools.QuestionOf(ctx)
	q.Answer = tools.Answer{ID: "AB12CD", Verdict: "allowed", By: "1001", Name: "Ann", At: time.Now()}
	p.asked = append(p.asked, q)
	return nil
}

// turnCaller changes the setting after the answer, before the tool runs.
type turnCaller struct {
	caller
	begin func()
}

func (c *turnCaller) Begin(ctx context.Context) error {
	c.begin()
	return c.caller.Begin(ctx)
}

// Between the last look and the run nothing is asked any more, and nothing runs
// that was not allowed.
func TestChangedAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for change, want := range map[string]string{"": "ran", "A=evil": "has changed at the last moment"} {
			s, p, ran := &shifting{}, &person{}, 0
			reg := &tools.Registry{}
			if err := reg.Register(s.tool(&ran)); err != nil {
				t.Fatal(err)
			}
			policy, err := tools.NewPolicy([]tools.Rule{{Action: tools.Ask}})
			if err != nil {
				t.Fatal(err)
			}
			e := tools.NewExecutor(reg, &tools.Options{Policy: policy, Approver: p})
			sc := scope("1")
			sc.Caller = &turnCaller{begin: func() { s.setting = change }}
			res := e.Run(t.Context(), sc, "exec", `{"command":"x"}`)
			if !strings.Contains(res.Text, want) || res.OK != (change == "") || len(p.asked) != 1 || (ran == 1) != (change == "") {
				t.Errorf("%q: %+v; asked %d times, ran %d times", change, res, len(p.asked), ran)
			}
		}
	})
}

// The wait for a person is not the tool's time: not in its result, the events,
// the statistics or the audit, which holds who decided what about which digest.
func TestTheWaitIsNotTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, s, p, ran := t.TempDir(), &shifting{setting: "folder: /w\nenvironment:\nA=$(touch A1)"}, &person{}, 0
		reg := &tools.Registry{}
		if err := reg.Register(s.tool(&ran)); err != nil {
			t.Fatal(err)
		}
		policy, err := tools.NewPolicy([]tools.Rule{{Action: tools.Ask}})
		if err != nil {
			t.Fatal(err)
		}
		audit := openAudit(t, dir, nil)
		e := tools.NewExecutor(reg, &tools.Options{Policy: policy, Approver: p, Audit: audit})
		res := e.Run(t.Context(), scope("1"), "exec", `{"command":"x"}`)
		if res.Duration != 2*time.Second || e.Stats().Tools["exec"].Average != 2*time.Second {
			t.Errorf("took %s, on average %s", res.Duration, e.Stats().Tools["exec"].Average)
		}
		raw, err := os.ReadFile(logFile(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		var got []tools.AuditRecord
		for line := range bytes.Lines(raw) {
			var r tools.AuditRecord
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if len(got) != 3 || got[1].Event != tools.AuditDecision || got[1].Status != "allowed" || got[2].DurationMS != 2000 {
			t.Fatalf("the records are\n%s", raw)
		}
		for _, want := range []string{`"question":"AB12CD"`, `"by":"1001"`, `"name":"Ann"`, `"digest":"` + p.asked[0].Digest} {
			if !strings.Contains(string(got[1].Approval), want) {
				t.Errorf("the decision lacks %s: %s", want, got[1].Approval)
			}
		}
		if got[1].Setting != s.setting || got[2].Setting != s.setting {
			t.Errorf("the setting is %q and %q", got[1].Setting, got[2].Setting)
		}
		problems(t, dir, &kv.Memory{})
	})
}

// Of a tool that cannot tell what it will do every argument is shown, the main
// one first, as it stands.
func TestEveryArgumentIsShown(t *testing.T) {
	q := tools.Asking(tools.Spec{Name: "post", Main: "url"}, json.RawMessage(`{"body":"a\nb","headers":{"Cookie":"x"},"url":"http://h","n":1}`), tools.Shown{})
	want := []tools.Part{{Name: "url", Text: "http://h"}, {Name: "body", Text: "a\nb"}, {Name: "headers", Text: `{"Cookie":"x"}`}, {Name: "n", Text: "1"}}
	if len(q.Parts) != len(want) {
		t.Fatalf("%+v", q.Parts)
	}
	for i := range want {
		if q.Parts[i] != want[i] {
			t.Errorf("part %d: want %+v, got %+v", i, want[i], q.Parts[i])
		}
	}
}
