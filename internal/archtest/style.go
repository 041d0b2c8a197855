package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Globals refuses init functions and package-level variables that can change:
// those without a first value, those made by calls other than the known ones
// (tests may call anything), and those that the package assigns to. The linker
// may set version in cmd.
func Globals(t *Tree) []Violation {
	var all []Violation
	names := map[string]map[string]bool{} // by folder
	for _, f := range t.Files {
		for _, d := range f.Syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					all = append(all, t.violation(d, "no init", "do it where it is needed"))
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					all = append(all, t.variables(f, d, names)...)
				}
			}
		}
	}
	for _, f := range t.Files {
		all = append(all, t.changes(f, names[f.Dir])...)
	}
	return all
}

func (t *Tree) variables(f *File, d *ast.GenDecl, names map[string]map[string]bool) []Violation {
	var all []Violation
	for _, s := range d.Specs {
		v := s.(*ast.ValueSpec)
		for i, name := range v.Names {
			if name.Name == "_" {
				continue
			}
			if names[f.Dir] == nil {
				names[f.Dir] = map[string]bool{}
			}
			names[f.Dir][name.Name] = true
			linked := strings.HasPrefix(f.Dir, "cmd/") && name.Name == "version"
			embedded := d.Doc != nil && strings.Contains(d.Doc.List[len(d.Doc.List)-1].Text, "//go:embed") ||
				v.Doc != nil && strings.Contains(v.Doc.List[len(v.Doc.List)-1].Text, "//go:embed")
			known := exceptions()[f.Dir+"."+name.Name] != ""
			if linked || embedded || known || i < len(v.Values) && (f.Test || fixed(v.Values[i])) {
				continue
			}
			all = append(all, t.violation(name, "no globals that change", "%s: want a constant, an error, a compiled pattern or a literal", name.Name))
		}
	}
	return all
}

// makers return values that nobody changes.
var makers = []string{
	"errors.New", "fmt.Errorf", "regexp.MustCompile", "reflect.TypeFor", "reflect.TypeOf", "strings.NewReplacer", "template.Must",
	"netip.MustParsePrefix", "netip.MustParseAddr", "base32.NewEncoding", "time.Date", "time.FixedZone", "cases.Fold",
	"goldmark.New", "ast.NewNodeKind", "sync.OnceValue",
}

func fixed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit, *ast.Ident, *ast.SelectorExpr, *ast.FuncLit:
		return true
	case *ast.BinaryExpr:
		return fixed(e.X) && fixed(e.Y)
	case *ast.UnaryExpr:
		return e.Op == token.AND && fixed(e.X)
	case *ast.CompositeLit:
		kind, _ := e.Type.(*ast.SelectorExpr)
		from, _ := unwrapped(kind)
		return from != "sync" && from != "atomic"
	case *ast.CallExpr:
		called := e.Fun
		if generic, ok := called.(*ast.IndexExpr); ok {
			called = generic.X
		}
		switch fn := called.(type) {
		case *ast.ArrayType: // a conversion such as []byte("…")
			return true
		case *ast.SelectorExpr:
			if from, name := unwrapped(fn); slices.Contains(makers, from+"."+name) {
				return true
			}
			// A method of a fixed value: base32.StdEncoding.WithPadding(…).
			inner, ok := fn.X.(*ast.CallExpr)
			return ok && fixed(inner) || strings.HasPrefix(fn.Sel.Name, "With")
		}
	}
	return false
}

func unwrapped(s *ast.SelectorExpr) (from, name string) {
	if s == nil {
		return "", ""
	}
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name, s.Sel.Name
	}
	return "", s.Sel.Name
}

// changes finds assignments to package-level variables. Names that a function
// declares itself hide them.
func (t *Tree) changes(f *File, names map[string]bool) []Violation {
	var all []Violation
	for _, d := range f.Syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || len(names) == 0 {
			continue
		}
		local := locals(fn)
		ast.Inspect(fn, func(n ast.Node) bool {
			for _, target := range assigned(n) {
				if id := base(target); id != nil && names[id.Name] && !local[id.Name] {
					all = append(all, t.violation(n, "no globals that change", "%s is changed", id.Name))
				}
			}
			return true
		})
	}
	return all
}

func assigned(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// base is the variable at the root of a[i].b.
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func locals(fn *ast.FuncDecl) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok {
						all[id.Name] = true
					}
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				all[id.Name] = true
			}
		case *ast.Field: // parameters, results and the receiver
			for _, id := range n.Names {
				all[id.Name] = true
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok {
					all[id.Name] = true
				}
			}
		}
		return true
	})
	return all
}

// Sleeps refuses time.Sleep in tests: they wait for events or use a fake
// clock.
func Sleeps(t *Tree) []Violation {
	var all []Violation
	for _, f := range t.Files {
		if !f.Test {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if from, name := unwrapped(s); from == "time" && name == "Sleep" {
					all = append(all, t.violation(n, "no sleeping tests", "wait for the event, or use testing/synctest"))
				}
			}
			return true
		})
	}
	return all
}

// Skips refuses tests that leave themselves out: what a machine lacks is said by
// need.Unmet, which fails where everything has to be there. The files with
// another reason stand in skipping.
func Skips(t *Tree) []Violation {
	var all []Violation
	for _, f := range t.Files {
		if skipping()[f.Name] != "" {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if e, ok := n.(*ast.ExprStmt); ok { // a skip returns nothing
				c, _ := e.X.(*ast.CallExpr)
				if c == nil {
					return true
				}
				s, _ := c.Fun.(*ast.SelectorExpr)
				if _, name := unwrapped(s); name == "Skip" || name == "Skipf" || name == "SkipNow" {
					all = append(all, t.violation(n, "no hidden skips", "say it by need.Unmet, or give the reason in internal/archtest/table.go"))
				}
			}
			return true
		})
	}
	return all
}
