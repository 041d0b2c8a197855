package archtest

import (
	"go/ast"
	"strconv"
	"strings"
)

// Imports checks the table of package table.go: our packages by row, outside
// modules by owner. That there are no cycles is the compiler's business.
func Imports(t *Tree) []Violation {
	var all []Violation
	for _, f := range t.Files {
		r, ok := rowOf(f.Dir)
		if !ok {
			all = append(all, t.violation(f.Syntax.Name, "imports", "package %s has no row in internal/archtest/table.go: add one", f.Dir))
			continue
		}
		for _, spec := range f.Syntax.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			if ours, ok := strings.CutPrefix(name, module+"/"); ok {
				all = append(all, t.inside(f, spec, r, ours)...)
			} else if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
				all = append(all, t.outside(f, spec, name)...)
			}
		}
	}
	return all
}

// inside checks an import of our own. A test may import its own package.
func (t *Tree) inside(f *File, spec *ast.ImportSpec, r row, ours string) []Violation {
	if f.Test && (ours == f.Dir || matchAny(forTests(), ours) || matchAny(r.ours, ours)) {
		return nil
	}
	if !matchAny(r.ours, ours) {
		return []Violation{t.violation(spec, "imports", "%s may not import %s; it may: %s", f.Dir, ours, strings.Join(r.ours, ", "))}
	}
	for target, by := range only() {
		if match(target, ours) && !matchAny(by, f.Dir) {
			return []Violation{t.violation(spec, "imports", "%s may be imported only by %s", ours, strings.Join(by, ", "))}
		}
	}
	return nil
}

func (t *Tree) outside(f *File, spec *ast.ImportSpec, name string) []Violation {
	for _, o := range owners() {
		if name != o.module && !strings.HasPrefix(name, o.module+"/") {
			continue
		}
		if matchAny(o.by, f.Dir) || f.Test && matchAny(o.tests, f.Dir) {
			return nil
		}
		return []Violation{t.violation(spec, "imports", "%s belongs to %s", o.module, strings.Join(o.by, ", "))}
	}
	return []Violation{t.violation(spec, "imports", "%s has no owner in internal/archtest/table.go", name)}
}

// rowOf finds the most exact row: of all that match, the longest pattern.
func rowOf(dir string) (best row, found bool) {
	for _, r := range table() {
		if r.of == dir {
			return r, true
		}
		if match(r.of, dir) && len(r.of) > len(best.of) {
			best, found = r, true
		}
	}
	return best, found
}

func matchAny(patterns []string, dir string) bool {
	for _, p := range patterns {
		if match(p, dir) {
			return true
		}
	}
	return false
}

func match(pattern, dir string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == base || strings.HasPrefix(dir, base+"/")
	}
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		rest, below := strings.CutPrefix(dir, base+"/")
		return below && !strings.Contains(rest, "/")
	}
	return pattern == dir
}
