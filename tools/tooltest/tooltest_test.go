package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"magpie/tools"
	"magpie/tools/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type in struct {
	Name string `json:"name" jsonschema:"Whom to greet."`
	Wait bool   `json:"wait,omitempty" jsonschema:"Wait for the end."`
}

func spec() tools.Spec {
	return tools.Spec{
		Name: "greet", Description: "Greets somebody by name and waits if asked.", Category: tools.Custom, Effect: tools.Reads,
		Aliases: map[string]string{"who": "name"},
	}
}

func good(ctx context.Context, _ tools.Scope, in in) (tools.Result, error) {
	if in.Wait {
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}
	return tools.Result{Text: "hello " + in.Name}, nil
}

func TestAGoodToolPasses(t *testing.T) {
	tooltest.Run(t, tools.New(spec(), good), options(t.TempDir()))
}

func options(dir string) *tooltest.Options {
	return &tooltest.Options{Good: []string{`{"name":"喜鹊"}`}, Slow: `{"name":"a","wait":true}`, Workspace: dir}
}

// loose is a tool that takes anything.
type loose struct{ tools.Tool }

func (loose) Spec() tools.Spec {
	s := spec()
	s.Aliases, s.Schema = nil, json.RawMessage(`{"type":"object","properties":{"name":{}}}`)
	return s
}

func (loose) Call(ctx context.Context, _ tools.Scope, args json.RawMessage) (tools.Result, error) {
	if strings.Contains(string(args), "wait") {
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}
	return tools.Result{}, nil
}

// grumpy refuses everything without a reason.
type grumpy struct{ loose }

func (grumpy) Call(context.Context, tools.Scope, json.RawMessage) (tools.Result, error) {
	return tools.Result{}, tools.Errorf(tools.InvalidArgs, "no")
}

// changing has another spec every time.
type changing struct {
	tools.Tool
	n *atomic.Int32
}

func (c changing) Spec() tools.Spec {
	s := c.Tool.Spec()
	s.MaxChars = int(c.n.Add(1))
	return s
}

// brokenTools has a tool for every rule of the suite that breaks it.
func brokenTools(dir string) map[string]tools.Tool {
	short := spec()
	short.Description = "greet"
	undescribed := tools.New(spec(), func(ctx context.Context, sc tools.Scope, in2 struct {
		Name string `json:"name"`
		Wait bool   `json:"wait,omitempty"`
	},
	) (tools.Result, error) {
		return good(ctx, sc, in{Name: in2.Name, Wait: in2.Wait})
	})
	unnamed := spec()
	unnamed.Name = ""
	return map[string]tools.Tool{
		"rule definition":                    tools.New(unnamed, good),
		"rule same spec":                     changing{tools.New(spec(), good), &atomic.Int32{}},
		`rule description: "greet"`:          tools.New(short, good),
		`rule description: parameter "name"`: undescribed,
		"rule bad arguments":                 loose{},
		"rule helpful errors":                grumpy{},
		"rule no panic":                      tools.New(spec(), func(context.Context, tools.Scope, in) (tools.Result, error) { panic("boom") }),
		"rule good arguments": tools.New(spec(), func(ctx context.Context, sc tools.Scope, in in) (tools.Result, error) {
			return tools.Result{}, errors.New("never")
		}),
		"rule aliases": tools.New(spec(), func() func(context.Context, tools.Scope, in) (tools.Result, error) {
			var n atomic.Int32
			return func(ctx context.Context, sc tools.Scope, in in) (tools.Result, error) {
				if n.Add(1) == 2 { // the call by the other name
					return tools.Result{}, errors.New("not twice")
				}
				return good(ctx, sc, in)
			}
		}()),
		"rule reads changes nothing": tools.New(spec(), func(ctx context.Context, sc tools.Scope, in in) (tools.Result, error) {
			if !in.Wait {
				return tools.Result{}, os.WriteFile(filepath.Join(dir, "trace"), nil, 0o600)
			}
			return good(ctx, sc, in)
		}),
		"rule concurrency": tools.New(spec(), func() func(context.Context, tools.Scope, in) (tools.Result, error) {
			var n atomic.Int32
			return func(ctx context.Context, sc tools.Scope, in in) (tools.Result, error) {
				if n.Add(1) > 4 {
					return tools.Result{}, errors.New("busy")
				}
				return good(ctx, sc, in)
			}
		}()),
		"rule cancel": tools.New(spec(), func(_ context.Context, _ tools.Scope, in in) (tools.Result, error) {
			return tools.Result{}, nil
		}),
	}
}

func TestBrokenToolsAreFound(t *testing.T) {
	dir := t.TempDir()
	for rule, tool := range brokenTools(dir) {
		if !found(tooltest.Check(t.Context(), tool, options(dir)), rule) {
			t.Errorf("%q was not found", rule)
		}
		_ = os.Remove(filepath.Join(dir, "trace")) // made by one of them
	}
}

func TestUselessOptionsAreFound(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	o.Good = nil
	if !found(tooltest.Check(t.Context(), tools.New(spec(), good), o), "the test gives none") {
		t.Error("a test without good arguments passes")
	}
	o = options(dir)
	o.Slow = `{"nme":"a"}`
	if !found(tooltest.Check(t.Context(), tools.New(spec(), good), o), "nothing to cancel") {
		t.Error("a slow call that is refused passes")
	}
}

func found(errs []error, text string) bool {
	for _, err := range errs {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
