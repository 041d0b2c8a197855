package archtest

import (
	"go/ast"
	"strings"
)

// The limits of the house.
const (
	maxFileLines  = 400
	maxFuncLines  = 60
	maxMethods    = 5
	maxFields     = 12
	maxParameters = 4 // besides ctx, options and *testing.T
)

// Sizes checks how large files, functions, interfaces, structs and parameter
// lists are. In a test the lines of tables of cases do not count: they are
// data.
func Sizes(t *Tree) []Violation {
	var all []Violation
	for _, f := range t.Files {
		if f.Lines > maxFileLines {
			all = append(all, t.violation(f.Syntax.Name, "file size", "%d lines, at most %d", f.Lines, maxFileLines))
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				all = append(all, t.function(f, n)...)
			case *ast.InterfaceType:
				if got := n.Methods.NumFields(); got > maxMethods {
					all = append(all, t.violation(n, "interface size", "%d methods, at most %d", got, maxMethods))
				}
			case *ast.TypeSpec:
				return wide()[f.Syntax.Name.Name+"."+n.Name.Name] == ""
			case *ast.StructType:
				if got := n.Fields.NumFields(); got > maxFields {
					all = append(all, t.violation(n, "struct size", "%d fields, at most %d", got, maxFields))
				}
			}
			return true
		})
	}
	return all
}

func (t *Tree) function(f *File, fn *ast.FuncDecl) []Violation {
	var all []Violation
	lines := t.lines(fn)
	if f.Test {
		lines -= t.tables(fn)
	}
	if lines > maxFuncLines {
		all = append(all, t.violation(fn, "function size", "%s has %d lines, at most %d", fn.Name.Name, lines, maxFuncLines))
	}
	if got := parameters(fn.Type); got > maxParameters {
		all = append(all, t.violation(fn, "parameters", "%s has %d parameters, at most %d besides ctx and options", fn.Name.Name, got, maxParameters))
	}
	return all
}

// tables counts the lines inside the outermost literals of slices and maps.
func (t *Tree) tables(fn *ast.FuncDecl) int {
	count := 0
	ast.Inspect(fn, func(n ast.Node) bool {
		c, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch c.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			count += t.lines(c) - 1
			return false
		}
		return true
	})
	return count
}

func parameters(fn *ast.FuncType) int {
	count := 0
	for _, p := range fn.Params.List {
		if free(p.Type) {
			continue
		}
		count += max(1, len(p.Names))
	}
	return count
}

// free says whether a parameter of that type is not counted.
func free(e ast.Expr) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	switch e := e.(type) {
	case *ast.Ellipsis:
		return true
	case *ast.Ident:
		return strings.HasSuffix(e.Name, "Options")
	case *ast.SelectorExpr:
		from, _ := e.X.(*ast.Ident)
		return from != nil && (from.Name == "context" || from.Name == "testing") || strings.HasSuffix(e.Sel.Name, "Options")
	}
	return false
}
