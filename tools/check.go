package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The reasons why Register refuses a tool; test with errors.Is.
var (
	ErrName        = errors.New("the name must be 1 to 64 of a-z A-Z 0-9 _ -")
	ErrDescription = errors.New("the description is empty")
	ErrCategory    = errors.New("unknown category")
	ErrEffect      = errors.New("the effect must be reads, writes or acts")
	ErrSchema      = errors.New("the schema must be a JSON Schema of type object")
	ErrRequired    = errors.New("a required parameter is not defined")
	ErrAlias       = errors.New("an alias must lead to a defined parameter and be none itself")
	ErrMain        = errors.New("the main parameter is not defined")
	ErrDuplicate   = errors.New("a tool of this name exists")
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// newEntry checks a tool's definition and works out what calls need.
func newEntry(t Tool) (*entry, error) {
	spec := t.Spec()
	e := &entry{tool: t, spec: spec}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("register tool %q: %w", spec.Name, err)
	}
	e.names = otherNames(spec, e.schema)
	return e, nil
}

func (e *entry) check() error {
	spec := e.spec
	accepted := spec.Schema
	if t, ok := as[interface {
		Accepted() (json.RawMessage, error)
	}](e.tool); ok {
		var err error
		if accepted, err = t.Accepted(); err != nil {
			return err
		}
	}
	switch {
	case slices.ContainsFunc(append([]string{spec.Name}, spec.Also...), func(n string) bool { return !toolName.MatchString(n) }):
		return ErrName
	case strings.TrimSpace(spec.Description) == "":
		return ErrDescription
	case !slices.Contains([]Category{System, File, Network, Data, Code, MCP, Custom}, spec.Category):
		return fmt.Errorf("%w %q", ErrCategory, spec.Category)
	case !slices.Contains([]Effect{Reads, Writes, Acts}, spec.Effect):
		return fmt.Errorf("%w, got %q", ErrEffect, spec.Effect)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(accepted, s); err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	if s.Type != "object" {
		return fmt.Errorf("%w, got type %q", ErrSchema, s.Type)
	}
	e.schema = s
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			return fmt.Errorf("%w: %q", ErrRequired, name)
		}
	}
	for alias, to := range spec.Aliases {
		if s.Properties[to] == nil || s.Properties[alias] != nil {
			return fmt.Errorf("%w: %q → %q", ErrAlias, alias, to)
		}
	}
	if spec.Main != "" && s.Properties[spec.Main] == nil {
		return fmt.Errorf("%w: %q", ErrMain, spec.Main)
	}
	return nil
}

// as finds an ability of a tool, also behind wrappers that have
// Unwrap() Tool.
func as[T any](t Tool) (T, bool) {
	for {
		if found, ok := t.(T); ok {
			return found, true
		}
		wrapper, ok := t.(interface{ Unwrap() Tool })
		if !ok {
			var none T
			return none, false
		}
		t = wrapper.Unwrap()
	}
}
