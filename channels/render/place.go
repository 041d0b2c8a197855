package render

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// placed notes where what a parser finds begins and ends.
type placed struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (p placed) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	_, before := block.Position()
	n := p.InlineParser.Parse(parent, block, pc)
	switch n.(type) {
	case *ast.AutoLink:
		n.SetAttribute([]byte("start"), before.Start)
	case *ast.Link, *ast.Image:
		n.SetAttribute([]byte("start"), n.Pos())
	default:
		return n
	}
	_, after := block.Position()
	n.SetAttribute([]byte("end"), after.Start)
	n.SetAttribute([]byte("shut"), before.Start)
	return n
}

// CloseBlock implements parser.CloseBlocker.
func (p placed) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// extent is where a link stands in the source.
func extent(n ast.Node) (from, to int, ok bool) {
	start, _ := n.AttributeString("start")
	end, _ := n.AttributeString("end")
	from, ok = start.(int)
	to, _ = end.(int)
	return from, to, ok && from >= 0 && to > from
}

// shutAt is where the words of a link end: at the bracket that shuts it.
func shutAt(n ast.Node, from, to int) int {
	at, _ := n.AttributeString("shut")
	if shut, ok := at.(int); ok && shut >= from && shut < to {
		return shut
	}
	return from
}
