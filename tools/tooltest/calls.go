package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"magpie/tools"
)

// hints are the words with which a refusal says what would be right.
var hints = []string{"want", "accepted", "did you mean", "no parameters", "give"}

// badArguments makes wrong arguments of the good ones: each must be refused
// with a text that says what would be right.
func (s *suite) badArguments(ctx context.Context) {
	for _, args := range []string{"{", "[]", "7", `"text"`, "\x00", `{"a":}`} {
		s.refused(ctx, args)
	}
	if len(s.opt.Good) == 0 {
		s.broken("good arguments", "the test gives none")
		return
	}
	var good map[string]any
	if err := json.Unmarshal([]byte(s.opt.Good[0]), &good); err != nil {
		s.broken("good arguments", "%v", err)
		return
	}
	schema := s.schema()
	s.refused(ctx, with(good, "no_such_parameter", 1))
	for _, name := range schema.Required {
		less := maps.Clone(good)
		delete(less, name)
		s.refused(ctx, write(less))
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		for _, bad := range wrong(schema.Properties[name]) {
			if bad == nil && !slices.Contains(schema.Required, name) {
				continue // as if it were not given
			}
			if _, text := bad.(int); s.opt.Mends && (bad == nil || text && schema.Properties[name].Type == "string") {
				continue
			}
			s.refused(ctx, with(good, name, bad))
		}
	}
}

// wrong lists values that a schema does not accept, also not after a cast.
func wrong(p *jsonschema.Schema) []any {
	values := map[string][]any{
		"string":  {42, true, nil, []any{"x"}, map[string]any{"x": 1}},
		"integer": {"x", 1.5, true, nil, []any{1}, "9" + strings.Repeat("0", 30)},
		"number":  {"x", true, nil, []any{1}},
		"boolean": {"maybe", 2, nil, []any{true}},
		"array":   {"['x']", true, nil, map[string]any{}},
		"object":  {"x", 1, nil, []any{}},
	}[p.Type]
	if len(p.Enum) > 0 {
		values = append(values, "none of these")
	}
	if p.Minimum != nil {
		values = append(values, *p.Minimum-1)
	}
	if p.Maximum != nil {
		values = append(values, *p.Maximum+1)
	}
	if p.MaxLength != nil {
		values = append(values, strings.Repeat("字", *p.MaxLength+1))
	}
	return values
}

func (s *suite) refused(ctx context.Context, args string) {
	res := s.run(ctx, args)
	switch {
	case res.OK:
		s.broken("bad arguments", "%s was accepted", args)
	case res.Err != tools.InvalidArgs:
		s.broken("bad arguments", "%s: want kind %s, got %s: %s", args, tools.InvalidArgs, res.Err, res.Text)
	case !slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(res.Text, h) }):
		s.broken("helpful errors", "%s: %q does not say what would be right", args, res.Text)
	}
}

// goodArguments runs the good calls, also by their other names.
func (s *suite) goodArguments(ctx context.Context) {
	before := s.snapshot()
	for _, args := range s.opt.Good {
		args = s.usable(args)
		if res := s.run(ctx, args); !res.OK || res.Err != "" {
			s.broken("good arguments", "%s: %s", args, res.Text)
		}
		s.otherNames(ctx, args)
	}
	if s.spec.Effect != tools.Reads {
		return
	}
	if d := cmp.Diff(before, s.snapshot()); d != "" {
		s.broken("reads changes nothing", "the workspace is another one:\n%s", d)
	}
}

// usable are arguments that can succeed now.
func (s *suite) usable(args string) string {
	if s.opt.Fresh != nil {
		return s.opt.Fresh()
	}
	return args
}

func (s *suite) otherNames(ctx context.Context, args string) {
	var good map[string]any
	if json.Unmarshal([]byte(args), &good) != nil {
		return
	}
	for alias, name := range s.spec.Aliases {
		v, ok := good[name]
		if !ok {
			continue
		}
		other := maps.Clone(good)
		if s.opt.Fresh != nil && json.Unmarshal([]byte(s.opt.Fresh()), &other) == nil {
			v = other[name]
		}
		delete(other, name)
		other[alias] = v
		if res := s.run(ctx, write(other)); !res.OK {
			s.broken("aliases", "%q for %q: %s", alias, name, res.Text)
		}
	}
}

// atOnce runs the good calls at the same time: a tool is shared by all chats.
func (s *suite) atOnce(ctx context.Context) {
	const each = 8
	var all sync.WaitGroup
	for _, args := range s.opt.Good {
		for range each {
			all.Go(func() {
				args := s.usable(args)
				if res := s.run(ctx, args); !res.OK {
					s.broken("concurrency", "%s at the same time: %s", args, res.Text)
				}
			})
		}
	}
	all.Wait()
}

// cancel ends a long call from outside: it must end by itself, and say that it
// did not do what it was asked.
func (s *suite) cancel(ctx context.Context) {
	if s.opt.Slow == "" {
		return
	}
	watched := &begun{Tool: s.tool, call: make(chan struct{}), err: make(chan error, 1)}
	reg := &tools.Registry{}
	if err := reg.Register(watched); err != nil {
		s.broken("definition", "%v", err)
		return
	}
	exec := tools.NewExecutor(reg, nil)
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() {
		if res := exec.Run(inner, s.opt.Scope, s.spec.Name, s.opt.Slow); res.OK {
			s.broken("cancel", "%s: the call took no notice", s.opt.Slow)
		}
		watched.begin() // also when the arguments were refused
	})
	<-watched.call
	cancel()
	running.Wait()
	if err := exec.Close(ctx); err != nil {
		s.broken("cancel", "%s: the call did not end: %v", s.opt.Slow, err)
		return
	}
	select {
	case <-watched.err:
	default:
		s.broken("cancel", "%s: refused, so there is nothing to cancel", s.opt.Slow)
	}
}

// begun tells when a call has begun and that it has ended.
type begun struct {
	tools.Tool
	once sync.Once
	call chan struct{}
	err  chan error
}

func (b *begun) begin() { b.once.Do(func() { close(b.call) }) }

// Unwrap gives the tool itself.
func (b *begun) Unwrap() tools.Tool { return b.Tool }

func (b *begun) Call(ctx context.Context, sc tools.Scope, args json.RawMessage) (tools.Result, error) {
	b.begin()
	res, err := b.Tool.Call(ctx, sc, args)
	b.err <- err
	return res, err
}

// snapshot describes every file of the workspace.
func (s *suite) snapshot() map[string]string {
	all := map[string]string{}
	if s.opt.Workspace == "" {
		return all
	}
	err := filepath.WalkDir(s.opt.Workspace, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			raw, err := os.ReadFile(path)
			all[path] += string(raw)
			return err
		}
		return nil
	})
	if err != nil {
		s.broken("workspace", "%v", err)
	}
	return all
}

func with(args map[string]any, name string, value any) string {
	other := maps.Clone(args)
	other[name] = value
	return write(other)
}

func write(v any) string {
	raw, err := json.Marshal(v)
	if err != nil { // only values of this file are written
		return "{}"
	}
	return string(raw)
}
