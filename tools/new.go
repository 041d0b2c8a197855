package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// New makes a Tool from a typed function. In is a struct whose fields are the
// parameters; see paramsOf in schema.go and docs/adding-a-tool.md for the
// tags. Spec.Schema is derived from In and overwrites what the caller set.
//
// fn gets an In with defaults filled in and may run many times at once. An In
// that cannot be described is reported by Registry.Register, not here.
func New[In any](spec Spec, fn func(context.Context, Scope, In) (Result, error), options ...Option) Tool {
	// As little as possible is generic: all of it is compiled once for each tool.
	call := func(ctx context.Context, sc Scope, decode func(any) error) (Result, error) {
		var in In
		if err := decode(&in); err != nil {
			return Result{}, err
		}
		return fn(ctx, sc, in)
	}
	return newTyped(spec, reflect.TypeFor[In](), call, options)
}

// caller runs a tool's function with what decode puts into its parameters.
type caller func(ctx context.Context, sc Scope, decode func(any) error) (Result, error)

func newTyped(spec Spec, in reflect.Type, call caller, options []Option) Tool {
	params, err := paramsOf(in)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSchema, err)
	}
	spec.Schema = params.advertised
	t := &typed{spec: spec, params: params, call: call, err: err}
	for _, o := range options {
		o(&t.extras)
	}
	return t
}

// Option gives a tool made by New more than its function.
type Option func(*extras)

type extras struct {
	subject  func(main string) string
	subjects func(args json.RawMessage) []string
	stamp    func(ctx context.Context, sc Scope, args json.RawMessage) (string, bool)
	stays    func(sc Scope, args json.RawMessage) bool
	judge    func(args json.RawMessage) error
	mend     func(args map[string]any)
	show     func(ctx context.Context, sc Scope, args json.RawMessage) (Shown, error)
}

// WithSubject makes the tool a Subjecter.
func WithSubject(fn func(main string) string) Option {
	return func(e *extras) { e.subject = fn }
}

// WithSubjects lets the policy look at several things of one call, such as both
// ends of a move: what Subjects returns counts in place of the main argument,
// unless it is empty.
func WithSubjects(fn func(args json.RawMessage) []string) Option {
	return func(e *extras) { e.subjects = fn }
}

// WithStamp makes the tool a Stamper.
func WithStamp(fn func(ctx context.Context, sc Scope, args json.RawMessage) (string, bool)) Option {
	return func(e *extras) { e.stamp = fn }
}

// WithStays makes the tool a Stayer.
func WithStays(fn func(sc Scope, args json.RawMessage) bool) Option {
	return func(e *extras) { e.stays = fn }
}

// WithJudge makes the tool a Judge.
func WithJudge(fn func(args json.RawMessage) error) Option {
	return func(e *extras) { e.judge = fn }
}

// WithMend makes the tool a Mender.
func WithMend(fn func(args map[string]any)) Option {
	return func(e *extras) { e.mend = fn }
}

// WithShow makes the tool a Shower.
func WithShow(fn func(ctx context.Context, sc Scope, args json.RawMessage) (Shown, error)) Option {
	return func(e *extras) { e.show = fn }
}

type typed struct {
	extras
	spec   Spec
	params params
	call   caller
	err    error // the parameters cannot be described
}

// Subject implements Subjecter.
func (t *typed) Subject(main string) string {
	if t.subject == nil {
		return main
	}
	return t.subject(main)
}

// Subjects says what of a call a policy looks at, none for the main argument.
func (t *typed) Subjects(args json.RawMessage) []string {
	if t.subjects == nil {
		return nil
	}
	return t.subjects(args)
}

// Stamp implements Stamper.
func (t *typed) Stamp(ctx context.Context, sc Scope, args json.RawMessage) (string, bool) {
	if t.stamp == nil {
		return "", false
	}
	return t.stamp(ctx, sc, args)
}

// Stays implements Stayer.
func (t *typed) Stays(sc Scope, args json.RawMessage) bool {
	if t.stays == nil {
		return t.spec.Effect != Acts
	}
	return t.stays(sc, args)
}

// Judge implements Judge.
func (t *typed) Judge(args json.RawMessage) error {
	if t.judge == nil {
		return nil
	}
	return t.judge(args)
}

// Mend implements Mender.
func (t *typed) Mend(args map[string]any) {
	if t.mend != nil {
		t.mend(args)
	}
}

// Show implements Shower.
func (t *typed) Show(ctx context.Context, sc Scope, args json.RawMessage) (Shown, error) {
	if t.show == nil {
		return Shown{}, nil
	}
	return t.show(ctx, sc, args)
}

// Spec implements Tool.
func (t *typed) Spec() Spec { return t.spec }

// Call implements Tool.
func (t *typed) Call(ctx context.Context, sc Scope, args json.RawMessage) (Result, error) {
	return t.call(ctx, sc, func(in any) error {
		if err := json.Unmarshal(t.params.defaults, in); err != nil {
			return fmt.Errorf("defaults of %s: %w", t.spec.Name, err)
		}
		if err := json.Unmarshal(args, in); err != nil {
			return Errorf(InvalidArgs, "the arguments do not fit: %w", err)
		}
		return nil
	})
}

// Accepted is the schema that calls are checked against: with the parameters
// that are accepted and not advertised.
func (t *typed) Accepted() (json.RawMessage, error) { return t.params.accepted, t.err }

// Errorf makes an *Error; the arguments are those of fmt.Errorf, and %w keeps
// the cause. Write it for the model: what was wrong, what would be right.
func Errorf(kind ErrorKind, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Text: err.Error(), Err: errors.Unwrap(err)}
}
