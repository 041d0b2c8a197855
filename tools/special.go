package tools

import (
	"slices"
	"strings"
)

// risky says whether a call could carry out of the chat what a text from
// outside wishes, or leave it where it is obeyed later: it runs commands, acts
// on others than the current chat, changes a file that programs or later turns
// take for orders, or fetches an address that holds a piece of what the turn
// knows.
func (e *Executor) risky(c *call, m *matter) bool {
	if c.scope.Leaves = c.leaves(); c.scope.Leaves != "" {
		return true
	}
	spec := c.entry.spec
	s, ok := as[Stayer](c.entry.tool)
	if ok && !s.Stays(c.scope, c.args) {
		return true
	}
	if spec.Effect != Acts {
		return spec.Category == Code || spec.Effect == Writes && spec.Category == File && e.reaches(m, e.opt.Policy.obeyed)
	}
	return !ok
}

// reaches says whether one of the files of a call is of some kind, by any of its
// names.
func (e *Executor) reaches(m *matter, kind func(name string) bool) bool {
	return slices.ContainsFunc(append(slices.Clone(m.main), m.also[:m.ours]...), func(name string) bool {
		return kind(name) || slices.ContainsFunc(e.opt.Policy.names(name), kind)
	})
}

// reachesHome says whether a file tool changes the home of commands, where all
// of them look for what to load.
func (e *Executor) reachesHome(c *call, m *matter) bool {
	return c.entry.spec.Effect == Writes && c.entry.spec.Category == File && e.reaches(m, isHome)
}

// isHome says whether a path leads into the home of commands.
func isHome(name string) bool { return liesIn(name, ".home") }

// isSkill says whether a path leads into the folder of skills.
func isSkill(name string) bool { return liesIn(name, "skills") }

// liesIn compares as a file system does that does not tell upper from lower
// case.
func liesIn(name, folder string) bool {
	top, _, _ := strings.Cut(name, "/")
	return strings.EqualFold(top, folder)
}
