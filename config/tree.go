package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// kind is what a value is in YAML.
type kind int

const (
	null kind = iota
	text
	integer
	number
	boolean
	list
	table
)

var kindNames = [...]string{"nothing", "text", "a whole number", "a number", "true or false", "a list", "a section with keys"}

func (k kind) String() string { return kindNames[k] }

// node is one value of the file with its place. The library's own tree is not
// used further: it holds tokens, comments and twenty types.
type node struct {
	kind         kind
	line, column int
	raw          string // a scalar as it is written
	text         string // the value of a text
	value        any    // int64, uint64, float64 or bool
	pairs        []pair
	items        []*node
}

type pair struct {
	key   string
	place *node // where the key stands
	value *node
}

// maxDepth bounds nesting; the contract needs six levels.
const maxDepth = 32

// maxLines keeps the reading under a second: the parser's time grows with the
// square of the number of keys (80,000 took 25 s).
const maxLines = 10_000

// parse reads one YAML document. Problems go to r; the returned node is nil
// when the text has no structure to go on with, or nothing in it.
func parse(data []byte, r *report) (root *node) {
	data, ok := clean(data, r)
	if !ok || !indented(data, r) {
		return nil
	}
	// The parser is other people's code and eats what people typed.
	defer func() {
		if p := recover(); p != nil {
			r.add(nil, "", "cannot be read as YAML")
			root = nil
		}
	}()
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		notYAML(data, err, r)
		return nil
	}
	b := &builder{report: r}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			second := (&builder{report: &report{}}).build(doc.Body, 0)
			r.add(second, "", "a second YAML document: everything belongs into one")
			break
		}
		root = b.build(doc.Body, 0)
	}
	return root
}

// clean refuses what is no UTF-8 text and what is nested so deeply that the
// recursive parser would eat all memory.
func clean(data []byte, r *report) ([]byte, bool) {
	if strings.HasPrefix(string(data), "\xff\xfe") || strings.HasPrefix(string(data), "\xfe\xff") {
		r.add(nil, "", "the file is UTF-16: save it as UTF-8")
		return nil, false
	}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	for number, line := range strings.Split(string(data), "\n") {
		at := &node{line: number + 1, column: 1}
		if number == maxLines {
			r.add(at, "", "the file has more than %d lines", maxLines)
			return nil, false
		}
		if !utf8.ValidString(line) {
			r.add(at, "", "the line is not UTF-8 text")
			return nil, false
		}
		if strings.ContainsRune(line, 0) {
			r.add(at, "", "the line holds a NUL character")
			return nil, false
		}
	}
	if at := tooDeep(string(data)); at != nil {
		r.add(at, "", "nested more than %d levels deep", maxDepth)
		return nil, false
	}
	return data, true
}

// tooDeep overestimates nesting from brackets and block dashes. It ignores
// quoting on purpose: nobody writes that many opening brackets by mistake.
func tooDeep(s string) *node {
	const opened = 8 * maxDepth // generous, because quotes are not looked at
	depth, line, column := 0, 1, 0
	for _, c := range s {
		column++
		switch c {
		case '\n':
			line, column = line+1, 0
		case '[', '{':
			if depth++; depth > opened {
				return &node{line: line, column: column}
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	for number, l := range strings.Split(s, "\n") {
		if strings.Count(l, "- ") > opened || strings.Count(l, "? ") > opened || strings.Count(l, ": ") > opened {
			return &node{line: number + 1, column: 1}
		}
	}
	return nil
}

// notYAML words an error of the parser.
func notYAML(data []byte, err error, r *report) {
	if colons(data, r) {
		return
	}
	for number, line := range strings.Split(string(data), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if i := strings.IndexByte(indent, '\t'); i >= 0 && strings.TrimSpace(line) != "" {
			r.add(&node{line: number + 1, column: i + 1}, "", "a tab indents the line: YAML wants spaces")
			return
		}
	}
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		p := e.GetToken().Position
		r.add(&node{line: p.Line, column: p.Column}, "", "no valid YAML: %s", e.GetMessage())
		return
	}
	r.add(nil, "", "no valid YAML")
}

func place(n ast.Node) *node {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return &node{line: tk.Position.Line, column: tk.Position.Column}
	}
	return &node{}
}

// builder turns the library's tree into nodes.
type builder struct{ *report }

func (b *builder) build(from ast.Node, depth int) *node {
	n := place(from)
	if depth > maxDepth {
		b.add(n, "", "nested more than %d levels deep", maxDepth)
		return n
	}
	switch t := from.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.kind, n.text, n.raw = text, t.Value, written(t.Token)
	case *ast.LiteralNode:
		n.kind, n.text, n.raw = text, t.Value.Value, t.Value.Value
	case *ast.IntegerNode:
		n.kind, n.value, n.raw = integer, t.Value, written(t.Token)
	case *ast.FloatNode:
		n.kind, n.value, n.raw = number, t.Value, written(t.Token)
	case *ast.BoolNode:
		n.kind, n.value, n.raw = boolean, t.Value, written(t.Token)
	case *ast.SequenceNode:
		n.kind = list
		for _, item := range t.Values {
			n.items = append(n.items, b.build(item, depth+1))
		}
	case *ast.MappingNode:
		n.kind = table
		b.fill(n, t.Values, depth)
	case *ast.MappingValueNode:
		n.kind = table
		b.fill(n, []*ast.MappingValueNode{t}, depth)
	default:
		b.add(n, "", "%s: not supported here, write the value out", refused(from))
	}
	return n
}

// refused names what of YAML a configuration may not use: aliases can grow
// without bound, tags would change what a value is.
func refused(n ast.Node) string {
	switch n.Type() {
	case ast.AnchorType:
		return "a YAML anchor (&name)"
	case ast.AliasType:
		return "a YAML alias (*name)"
	case ast.TagType:
		return "a YAML tag (!name)"
	case ast.InfinityType, ast.NanType:
		return "a number without a value"
	}
	return "this part of YAML"
}

func (b *builder) fill(n *node, values []*ast.MappingValueNode, depth int) {
	for i, v := range values {
		at := place(v.Key)
		if i == 0 && len(n.pairs) == 0 {
			n.line, n.column = at.line, at.column // the library points at the colon
		}
		if v.Key.IsMergeKey() {
			b.add(at, "", "a YAML merge key (<<): not supported here, write the keys out")
			continue
		}
		key, ok := keyText(v.Key)
		if !ok {
			b.add(at, "", "a key must be plain text")
			continue
		}
		at.kind, at.raw = text, key
		n.pairs = append(n.pairs, pair{key: key, place: at, value: b.build(v.Value, depth+1)})
	}
}

func keyText(k ast.MapKeyNode) (string, bool) {
	switch t := k.(type) {
	case *ast.StringNode:
		return t.Value, true
	case *ast.IntegerNode, *ast.BoolNode, *ast.FloatNode, *ast.NullNode:
		return k.GetToken().Value, true
	}
	return "", false
}

func written(t *token.Token) string {
	if t == nil {
		return ""
	}
	return t.Value
}

// find returns the value at a path such as "llm.models[0].price", or the
// nearest place above it.
func (n *node) find(path string) *node {
	for n != nil && path != "" {
		next, rest := n.step(path)
		if next == nil {
			return n
		}
		n, path = next, strings.TrimPrefix(rest, ".")
	}
	return n
}

func (n *node) step(path string) (next *node, rest string) {
	for i, item := range n.items {
		if rest, ok := strings.CutPrefix(path, fmt.Sprintf("[%d]", i)); ok {
			return item, rest
		}
	}
	for _, p := range n.pairs {
		rest, ok := strings.CutPrefix(path, canonical(p.key))
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			// A section is pointed at by its key, a value by itself.
			if p.value.kind == null {
				return p.place, rest
			}
			return p.value, rest
		}
	}
	return nil, ""
}
