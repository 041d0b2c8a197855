package tools

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Registry holds tools by name. The zero value is ready; all methods may be
// called at any time, also while calls run: a call that has begun ends with
// the tool it began with.
type Registry struct {
	// Under is looked at for what is not found here; nil: nothing is. It is not
	// set after the first use, and holds no name twice.
	Under *Registry

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
func (r *Registry) RegisterAll(all ...Tool) error { return r.register(false, all) }

// Replace puts a tool in the place of the one that has its name, so that no
// call finds none in between. When it is refused, the old one stays.
func (r *Registry) Replace(t Tool) error { return r.register(true, []Tool{t}) }

func (r *Registry) register(replace bool, all []Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh, taken := map[string]*entry{}, map[string]bool{}
	var errs []error
	for _, t := range all {
		e, err := newEntry(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		name := e.spec.Name
		for _, n := range append([]string{name}, e.spec.Also...) {
			old := r.find(n)
			if old != nil && (!replace || old.spec.Name != name) || taken[n] {
				errs = append(errs, fmt.Errorf("register tool %q: %q: %w", name, n, ErrDuplicate))
			}
			taken[n] = true
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
	return r.find(name)
}

// find looks a tool up by any of its names; r.mu is held.
func (r *Registry) find(name string) *entry {
	if e := r.entries[name]; e != nil {
		return e
	}
	for _, e := range r.entries {
		if slices.Contains(e.spec.Also, name) {
			return e
		}
	}
	if r.Under != nil {
		return r.Under.entry(name)
	}
	return nil
}

// List returns the specs of all tools, ordered by name.
func (r *Registry) List() []Spec {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]Spec, 0, len(r.entries))
	if r.Under != nil {
		all = r.Under.List()
	}
	for _, e := range r.entries {
		all = append(all, e.spec)
	}
	// A generic sort of large values costs 20 kB of program for each type.
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
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

// remote begins the names of the tools of MCP servers, which are known only
// when their server answers.
const remote = "mcp_"

// Misnamed says what is wrong with a name in Rule.Tool or, without its leading
// "-", in Options.Enabled: that no tool has it. It is nil for a pattern, which
// may mean what is still to come, and for a tool of an MCP server.
func (r *Registry) Misnamed(name string) error {
	if name == "" || strings.ContainsAny(name, `*?[\`) || strings.HasPrefix(name, remote) || r.Has(name) {
		return nil
	}
	var names []string
	for _, s := range r.List() {
		names = append(append(names, s.Name), s.Also...)
	}
	if near := Nearest(name, names); len(near) > 0 {
		return fmt.Errorf("there is no tool %q; did you mean %s?", clip(name, shownRunes), quoted(near))
	}
	return fmt.Errorf("there is no tool %q; docs/tools.md lists them", clip(name, shownRunes))
}
