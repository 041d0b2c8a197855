package tools

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Registry holds tools by name. The zero value is ready; all methods may be
// called at any time, also while calls run: a call that has begun ends with
// the tool it began with.
type Registry struct {
	mu      sync.RWMutex
	entries map[string]*entry
}

// entry is a registered tool with what is worked out once.
type entry struct {
	tool   Tool
	spec   Spec
	schema *jsonschema.Schema
	names  map[string]string // every other accepted top-level parameter name → canonical
}

// Register adds a tool. It refuses a definition that no model could use, with
// one of this package's Err values, and then leaves the registry as it was.
func (r *Registry) Register(t Tool) error { return r.RegisterAll(t) }

// RegisterAll adds all of the tools or, when one is refused, none; the error
// names every refused one.
func (r *Registry) RegisterAll(all ...Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := map[string]*entry{}
	var errs []error
	for _, t := range all {
		e, err := newEntry(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		name := e.spec.Name
		if r.entries[name] != nil || fresh[name] != nil {
			errs = append(errs, fmt.Errorf("register tool %q: %w", name, ErrDuplicate))
		}
		fresh[name] = e
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if r.entries == nil {
		r.entries = map[string]*entry{}
	}
	maps.Copy(r.entries, fresh)
	return nil
}

// Unregister removes a tool and says whether there was one.
func (r *Registry) Unregister(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.entries[name]
	delete(r.entries, name)
	return ok
}

// Get returns the tool of that name.
func (r *Registry) Get(name string) (Tool, bool) {
	if e := r.entry(name); e != nil {
		return e.tool, true
	}
	return nil, false
}

// Has says whether there is a tool of that name.
func (r *Registry) Has(name string) bool { return r.entry(name) != nil }

func (r *Registry) entry(name string) *entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.entries[name]
}

// List returns the specs of all tools, ordered by name.
func (r *Registry) List() []Spec {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]Spec, 0, len(r.entries))
	for _, e := range r.entries {
		all = append(all, e.spec)
	}
	slices.SortFunc(all, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// ListByCategory returns the specs of one category, ordered by name.
func (r *Registry) ListByCategory(c Category) []Spec {
	return slices.DeleteFunc(r.List(), func(s Spec) bool { return s.Category != c })
}

// Definitions returns all tools in OpenAI's function format, ordered by name.
func (r *Registry) Definitions() []Definition {
	specs := r.List()
	defs := make([]Definition, len(specs))
	for i, s := range specs {
		defs[i] = s.Definition()
	}
	return defs
}

// Unmatched returns the patterns (as in Options.Enabled) that match no tool of
// the registry: most likely spelling mistakes.
func (r *Registry) Unmatched(patterns []string) []string {
	specs := r.List()
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool {
		return slices.ContainsFunc(specs, func(s Spec) bool { return globs(strings.TrimPrefix(p, "-"), s.Name) })
	})
}
