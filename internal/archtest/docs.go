package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Docs wants one package comment a package and a comment on every exported
// name outside tests.
func Docs(t *Tree) []Violation {
	var all []Violation
	comments := map[string]int{}
	first := map[string]*File{}
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		if first[f.Dir] == nil {
			first[f.Dir] = f
		}
		if f.Syntax.Doc != nil {
			comments[f.Dir]++
			if !strings.HasPrefix(f.Syntax.Doc.Text(), "Package ") && !strings.HasPrefix(f.Syntax.Doc.Text(), "Command ") {
				all = append(all, t.violation(f.Syntax.Doc, "package comment", "want it to begin with Package or Command"))
			}
		}
		for _, d := range f.Syntax.Decls {
			all = append(all, t.undocumented(d)...)
		}
	}
	for dir, f := range first {
		if comments[dir] != 1 {
			all = append(all, t.violation(f.Syntax.Name, "package comment", "%s has %d, want one", dir, comments[dir]))
		}
	}
	return all
}

// obvious methods need no words.
var obvious = []string{"String", "Error", "GoString"}

func (t *Tree) undocumented(d ast.Decl) []Violation {
	var all []Violation
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && receiverExported(d) && !slices.Contains(obvious, d.Name.Name) {
			all = append(all, t.violation(d, "documented names", "%s has no comment", d.Name.Name))
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || d.Doc != nil && d.Tok != token.TYPE {
			return nil
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
					all = append(all, t.violation(s, "documented names", "%s has no comment", s.Name.Name))
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil {
					all = append(all, t.violation(s, "documented names", "%s has no comment", s.Names[0].Name))
				}
			}
		}
	}
	return all
}

func receiverExported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	id := base(fn.Recv.List[0].Type)
	return id == nil || id.IsExported()
}
