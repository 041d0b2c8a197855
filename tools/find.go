package tools

import (
	"context"
	"path"
	"slices"
	"strings"
)

// find looks the tool up; a tool that does not exist is answered with the
// names that were most likely meant.
func (e *Executor) find(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		if found := e.reg.entry(c.name); found != nil && e.exists(c.scope, found.spec) {
			c.entry, c.name = found, found.spec.Name
			return next(ctx, c)
		}
		var names []string
		for _, s := range e.Specs(c.scope) {
			names = append(names, s.Name)
		}
		if near := Nearest(c.name, names); len(near) > 0 {
			return Result{}, Errorf(NotFound, "there is no tool %q; did you mean %s?", clip(c.name, shownRunes), quoted(near))
		}
		if len(names) == 0 {
			return Result{}, Errorf(NotFound, "there is no tool %q, and no other; answer without tools", clip(c.name, shownRunes))
		}
		return Result{}, Errorf(NotFound, "there is no tool %q; there are: %s", clip(c.name, shownRunes), strings.Join(names, ", "))
	}
}

// Picked applies patterns as in Options.Enabled to a name; matches compares it
// with one. When the first pattern removes, it removes from all.
func Picked(patterns []string, name string, matches func(pattern, name string) bool) bool {
	on := len(patterns) == 0 || strings.HasPrefix(patterns[0], "-")
	for _, p := range patterns {
		if rest, off := strings.CutPrefix(p, "-"); matches(rest, name) {
			on = !off
		}
	}
	return on
}

// means says whether a name or pattern of the configuration means a tool: a
// name means it by each of its names, a pattern by the real one.
func means(pattern string, s Spec) bool {
	return globs(pattern, s.Name) || slices.Contains(s.Also, pattern)
}

// globs says whether a pattern with * matches a tool's name.
func globs(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// arguments reads, renames, casts and validates; after it c.args is what the
// tool gets.
func (e *Executor) arguments(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		values, err := c.parse()
		if err != nil {
			return Result{}, err
		}
		c.values = values
		violations := rename(values, c.entry.names)
		if m, ok := as[Mender](c.entry.tool); ok {
			m.Mend(values)
		}
		(&caster{root: c.entry.schema}).cast(c.entry.schema, values, 0)
		if err := validate(c.entry.schema, values, violations); err != nil {
			return Result{}, err
		}
		c.args = appendValue(nil, values)
		return next(ctx, c)
	}
}
