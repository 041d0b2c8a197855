// Package archtest keeps the house rules: who may import whom, how large
// things may be, what may not be written. Each rule is a function from the
// parsed tree to violations; the tests run all of them over the repository and
// each over a sample that breaks it. Nothing imports this package, and it
// reads only source text.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// module is the path of the main module.
const module = "magpie"

// File is one parsed Go file.
type File struct {
	Name   string // from the root, with slashes
	Dir    string // the package's folder; "." is the root
	Test   bool
	Lines  int
	Syntax *ast.File
}

// Tree is the parsed repository without nested modules.
type Tree struct {
	Fset  *token.FileSet
	Files []*File
}

// Violation is one place where a rule is broken.
type Violation struct {
	Place string // file:line
	Rule  string
	Text  string
}

// String writes "file:line: rule: text".
func (v Violation) String() string { return v.Place + ": " + v.Rule + ": " + v.Text }

// Load parses every Go file below root. Folders that the go command ignores
// and modules of their own are left out.
func Load(root string) (*Tree, error) {
	t := &Tree{Fset: token.NewFileSet()}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name != "." && ignored(root, name, e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		return t.Add(name, source)
	})
	if err != nil {
		return nil, fmt.Errorf("load tree %q: %w", root, err)
	}
	return t, nil
}

func ignored(root, name, base string) bool {
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name), "go.mod"))
	return err == nil
}

// Add parses one file. One that is never built ("//go:build never") is left
// out.
func (t *Tree) Add(name string, source []byte) error {
	if strings.HasPrefix(string(source), "//go:build never") {
		return nil
	}
	syntax, err := parser.ParseFile(t.Fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %q: %w", name, err)
	}
	t.Files = append(t.Files, &File{
		Name: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"),
		Lines: strings.Count(string(source), "\n"), Syntax: syntax,
	})
	return nil
}

// lines is the number of lines from the start to the end of a node.
func (t *Tree) lines(n ast.Node) int {
	return t.Fset.Position(n.End()).Line - t.Fset.Position(n.Pos()).Line + 1
}

func (t *Tree) violation(n ast.Node, rule, format string, args ...any) Violation {
	p := t.Fset.Position(n.Pos())
	return Violation{Place: fmt.Sprintf("%s:%d", p.Filename, p.Line), Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// Check runs every rule.
func (t *Tree) Check() []Violation {
	var all []Violation
	for _, rule := range []func(*Tree) []Violation{
		Imports, Sizes, Globals, Sleeps, Skips, Docs,
	} {
		all = append(all, rule(t)...)
	}
	return all
}
