package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// New makes a Tool from a typed function. In is a struct whose fields are the
// parameters; see paramsOf in schema.go and docs/adding-a-tool.md for the
// tags. Spec.Schema is derived from In and overwrites what the caller set.
//
// fn gets an In with defaults filled in and may run many times at once. An In
// that cannot be described is reported by Registry.Register, not here.
func New[In any](spec Spec, fn func(context.Context, Scope, In) (Result, error), options ...Option) Tool {
	params, err := paramsOf[In]()
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSchema, err)
	}
	spec.Schema = params.advertised
	t := &typed[In]{spec: spec, params: params, fn: fn, err: err}
	for _, o := range options {
		o(&t.extras)
	}
	return t
}

// Option gives a tool made by New more than its function.
type Option func(*extras)

type extras struct {
	subject func(main string) string
	stamp   func(ctx context.Context, sc Scope, args json.RawMessage) (string, bool)
}

// WithSubject makes the tool a Subjecter.
func WithSubject(fn func(main string) string) Option {
	return func(e *extras) { e.subject = fn }
}

// WithStamp makes the tool a Stamper.
func WithStamp(fn func(ctx context.Context, sc Scope, args json.RawMessage) (string, bool)) Option {
	return func(e *extras) { e.stamp = fn }
}

type typed[In any] struct {
	extras
	spec   Spec
	params params
	fn     func(context.Context, Scope, In) (Result, error)
	err    error // In cannot be described
}

// Subject implements Subjecter.
func (t *typed[In]) Subject(main string) string {
	if t.subject == nil {
		return main
	}
	return t.subject(main)
}

// Stamp implements Stamper.
func (t *typed[In]) Stamp(ctx context.Context, sc Scope, args json.RawMessage) (string, bool) {
	if t.stamp == nil {
		return "", false
	}
	return t.stamp(ctx, sc, args)
}

// Spec implements Tool.
func (t *typed[In]) Spec() Spec { return t.spec }

// Call implements Tool.
func (t *typed[In]) Call(ctx context.Context, sc Scope, args json.RawMessage) (Result, error) {
	var in In
	if err := json.Unmarshal(t.params.defaults, &in); err != nil {
		return Result{}, fmt.Errorf("defaults of %s: %w", t.spec.Name, err)
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return Result{}, Errorf(InvalidArgs, "the arguments do not fit: %w", err)
	}
	return t.fn(ctx, sc, in)
}

// accepted is the schema that calls are checked against: with the parameters
// that are accepted and not advertised.
func (t *typed[In]) accepted() (json.RawMessage, error) { return t.params.accepted, t.err }

// Errorf makes an *Error; the arguments are those of fmt.Errorf, and %w keeps
// the cause. Write it for the model: what was wrong, what would be right.
func Errorf(kind ErrorKind, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Text: err.Error(), Err: errors.Unwrap(err)}
}
