// Package tooltest is the conformance suite of tools: every tool's test calls
// Run. Check does the same without a testing.T and names the rule that a tool
// breaks. The goroutines it starts have ended when it returns.
package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"magpie/chat"
	"magpie/tools"
)

// Options tell the suite about one tool.
type Options struct {
	// Good are arguments that must succeed, again and again and at the same
	// time; at least one.
	Good []string
	// Fresh makes arguments that succeed once, for tools that use up what they
	// work on, such as a file to delete; Good is not needed then.
	Fresh func() string
	// Slow are arguments of a call that takes so long that it must be ended by
	// cancelling; "" when the tool has none.
	Slow string
	// Mends says that the tool takes a number in the place of a text, and null in
	// the place of nothing.
	Mends bool
	// Workspace is a folder that the tool works on. A tool with effect reads
	// must leave it as it is.
	Workspace string
	// Scope of the calls; the zero value is a private chat in UTC.
	Scope tools.Scope
}

// wait bounds every wait of the suite.
const wait = 2 * time.Minute

// Run checks a tool.
func Run(t *testing.T, tool tools.Tool, o *Options) {
	t.Helper()
	for _, err := range Check(t.Context(), tool, o) {
		t.Errorf("tool %q: %v", tool.Spec().Name, err)
	}
}

// Check returns every rule that the tool breaks.
func Check(ctx context.Context, tool tools.Tool, o *Options) []error {
	s := &suite{tool: tool, spec: tool.Spec()}
	if o != nil {
		s.opt = *o
	}
	s.opt.Scope = withDefaults(s.opt.Scope)
	if s.opt.Fresh != nil {
		s.opt.Good = []string{s.opt.Fresh()}
	}
	reg := &tools.Registry{}
	if err := reg.Register(&guard{Tool: tool, suite: s}); err != nil {
		s.broken("definition", "%v", err)
		return s.found
	}
	s.exec = tools.NewExecutor(reg, &tools.Options{Timeout: wait, NetworkTimeout: wait})
	s.definition()
	s.badArguments(ctx)
	s.goodArguments(ctx)
	s.atOnce(ctx)
	s.cancel(ctx)
	ctx, done := context.WithTimeout(ctx, wait)
	defer done()
	if err := s.exec.Close(ctx); err != nil {
		s.broken("stops", "%v", err)
	}
	return s.found
}

func withDefaults(sc tools.Scope) tools.Scope {
	if sc.Addr == (chat.Address{}) {
		sc = tools.Scope{
			Addr: chat.Address{Channel: "test", Chat: "1"}, Sender: chat.Sender{ID: "7", Name: "Ann"},
			Direct: true, CallID: "call-1", Lang: "en",
		}
	}
	if sc.Zone == nil {
		sc.Zone = time.UTC
	}
	return sc
}

type suite struct {
	tool tools.Tool
	spec tools.Spec
	opt  Options
	exec *tools.Executor

	mu    sync.Mutex
	found []error
}

func (s *suite) broken(rule, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, fmt.Errorf("rule %s: %s", rule, fmt.Sprintf(format, args...)))
}

// guard reports panics, which the executor would turn into results.
type guard struct {
	tools.Tool
	suite *suite
}

// Unwrap gives the tool itself.
func (g *guard) Unwrap() tools.Tool { return g.Tool }

func (g *guard) Call(ctx context.Context, sc tools.Scope, args json.RawMessage) (tools.Result, error) {
	defer func() {
		if p := recover(); p != nil {
			g.suite.broken("no panic", "arguments %s: %v", args, p)
			panic(p)
		}
	}()
	return g.Tool.Call(ctx, sc, args)
}

func (s *suite) run(ctx context.Context, args string) tools.Result {
	ctx, done := context.WithTimeout(ctx, wait)
	defer done()
	return s.exec.Run(ctx, s.opt.Scope, s.spec.Name, args)
}

// definition checks what a model is told.
func (s *suite) definition() {
	if d := cmp.Diff(s.spec, s.tool.Spec()); d != "" {
		s.broken("same spec", "Spec changes from call to call:\n%s", d)
	}
	d := strings.TrimSpace(s.spec.Description)
	if words := strings.Fields(d); len(words) < 5 && len([]rune(d)) < 15 {
		s.broken("description", "%q tells a model too little", d)
	}
	if d != s.spec.Description {
		s.broken("description", "white space around it")
	}
	schema := s.schema()
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if schema.Properties[name].Description == "" {
			s.broken("description", "parameter %q has none", name)
		}
	}
	for alias := range s.spec.Aliases {
		if schema.Properties[alias] != nil {
			s.broken("aliases", "%q is advertised", alias)
		}
	}
}

// schema is what was registered, so it can be read.
func (s *suite) schema() *jsonschema.Schema {
	schema := &jsonschema.Schema{}
	if err := json.Unmarshal(s.spec.Schema, schema); err != nil {
		s.broken("definition", "%v", err)
	}
	return schema
}
