package tools

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// otherNames lists every name a top-level parameter is accepted under besides
// its own: the aliases, and the camelCase spelling of both.
func otherNames(spec Spec, s *jsonschema.Schema) map[string]string {
	names := map[string]string{}
	add := func(other, canonical string) {
		if s.Properties[other] == nil && names[other] == "" {
			names[other] = canonical
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(spec.Aliases)) {
		add(alias, spec.Aliases[alias])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		add(camel(name), name)
	}
	for _, alias := range slices.Sorted(maps.Keys(spec.Aliases)) {
		add(camel(alias), spec.Aliases[alias])
	}
	return names
}

// camel writes start_line as startLine.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// rename gives every parameter its canonical name. Two names of one parameter
// with different values are a violation: guessing could do harm.
func rename(values map[string]any, names map[string]string) (violations []string) {
	for _, given := range slices.Sorted(maps.Keys(values)) {
		name, ok := names[given]
		if !ok {
			continue
		}
		v := values[given]
		delete(values, given)
		old, twice := values[name]
		switch {
		case twice && v == nil: // says nothing
			continue
		case twice && old != nil && !reflect.DeepEqual(old, v):
			violations = append(violations, fmt.Sprintf("%s: also given as %s with another value; give it once", name, given))
			continue
		}
		values[name] = v
	}
	return violations
}
