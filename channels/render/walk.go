package render

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// dialect is how one platform writes the pieces of a text.
type dialect struct {
	inline  func(spans []span) string
	heading func(level int, spans []span) string
	code    func(lang, body string) string // body without the last line end
	quote   func(body string) string       // body is rendered already
	flat    bool                           // quotes are one line: what begins one has no place in them
	rule    string
	// table writes a table; nil: as code, in aligned columns, as are those
	// after the first tables ones (0: any number).
	table  func(g grid) string
	tables int
	// bullet is the sign of a list's items where the platform knows lists;
	// "": lists are plain text.
	bullet string
	indent int // of what stands in an item; 0: as wide as its marker
	// prose changes what is no code before it is written; nil: nothing.
	prose func(string) string
}

// markdown reports whether the platform will read the result as Markdown.
func (d *dialect) markdown() bool { return d.bullet != "" }

// deepest is how many lists and quotes may stand in each other; what is deeper
// is shown as if it stood there.
const deepest = 12

// textRule is a rule where the platform has none.
const textRule = "———"

// block is one rendered block with what separates it from the one before.
type block struct {
	sep  string
	text string
	// solid blocks (code, tables, quotes) are not indented inside a list:
	// their lines would change.
	solid bool
}

type walker struct {
	d      *dialect
	src    []byte
	depth  int
	quoted bool
	listed bool
	tables *int // so far
}

func render(md string, d *dialect) string {
	src := []byte(clean(md))
	w := &walker{d: d, src: src, tables: new(int)}
	return w.join(w.blocks(parse(src), "\n\n"))
}

func (w *walker) join(all []block) string {
	var b strings.Builder
	solid := false
	for _, bl := range all {
		if bl.text == "" {
			continue
		}
		switch {
		case b.Len() == 0:
		case w.d.markdown() && (solid || bl.solid):
			b.WriteString("\n\n") // or a line would go on in the block before
		default:
			b.WriteString(bl.sep)
		}
		b.WriteString(bl.text)
		solid = bl.solid
	}
	return b.String()
}

// blocks renders the block children of n.
func (w *walker) blocks(n ast.Node, sep string) []block {
	var out []block
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		got := w.block(c)
		if w.d.markdown() && isNumbered(c) && isNumbered(c.PreviousSibling()) {
			out = append(out, block{sep: sep, text: gap}) // or they would be one list
		}
		if len(got) > 0 {
			got[0].sep = sep
			if list, ok := c.(*ast.List); ok && n.Kind() == ast.KindListItem && (list.Start <= 1 || !w.d.markdown()) {
				got[0].sep = "\n"
			}
		}
		out = append(out, got...)
	}
	return out
}

func (w *walker) block(n ast.Node) []block {
	switch n := n.(type) {
	case *ast.Heading:
		level := n.Level
		if w.listed && w.d.markdown() || w.quoted && w.d.flat {
			level = 7 // not all know headings in lists
		}
		return []block{{text: w.d.heading(level, trimSpans(w.spans(n)))}}
	case *ast.FencedCodeBlock:
		return w.code(string(n.Language(w.src)), w.lines(n))
	case *ast.CodeBlock:
		return w.code("", w.lines(n))
	case *ast.HTMLBlock:
		body := w.lines(n)
		if n.HasClosure() {
			body += "\n" + string(n.ClosureLine.Value(w.src))
		}
		return []block{{text: w.d.inline(w.changed([]span{{text: strings.Trim(body, "\n")}}))}}
	case *ast.ThematicBreak:
		if w.listed && w.d.markdown() {
			return []block{{text: textRule}} // "- ---" would be a rule without its item
		}
		return []block{{text: w.d.rule}}
	case *ast.List:
		return w.list(n)
	case *ast.Blockquote:
		return w.quote(n)
	case *extast.Table:
		return w.table(n)
	case *ast.LinkReferenceDefinition:
		return nil
	case *ast.Paragraph, *ast.TextBlock:
		return []block{{text: w.d.inline(trimSpans(w.spans(n)))}}
	}
	return w.blocks(n, "\n\n")
}

func (w *walker) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(w.src))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// code renders a block of code; one with nothing to see is left out.
func (w *walker) code(lang, body string) []block {
	if strings.TrimSpace(body) == "" {
		return nil
	}
	return []block{{text: w.d.code(lang, body), solid: true}}
}

func (w *walker) quote(n ast.Node) []block {
	if w.quoted || w.depth >= deepest {
		return w.blocks(n, "\n\n")
	}
	inner := *w
	inner.quoted, inner.depth = true, w.depth+1
	body := inner.join(inner.blocks(n, "\n\n"))
	if body == "" {
		return nil
	}
	return []block{{text: w.d.quote(body), solid: true}}
}

func (w *walker) list(n *ast.List) []block {
	inner := *w
	inner.depth, inner.listed = w.depth+1, true
	sep := "\n"
	if !n.IsTight {
		sep = "\n\n"
	}
	var out []block
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		marker := "• "
		if w.d.markdown() {
			marker = w.d.bullet
		}
		if n.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		if isTask(c) && !w.d.markdown() {
			marker = ""
		}
		pad := w.pad(marker)
		item := w.item(marker, pad, inner.blocks(c, sep))
		item[0].sep = sep
		out = append(out, item...)
	}
	return out
}

// pad is what stands before the further lines of an item.
func (w *walker) pad(marker string) string {
	if w.depth >= deepest {
		return ""
	}
	return strings.Repeat(" ", max(len([]rune(marker)), w.d.indent, 2))
}

// item puts the marker before the first block and indents the others.
func (w *walker) item(marker, pad string, content []block) []block {
	if len(content) == 0 || content[0].solid {
		content = append([]block{{}}, content...)
	}
	if content[0].text == "" && w.d.markdown() {
		content[0].text = gap // an empty item ends lists in odd ways
	}
	for i := range content {
		if content[i].solid {
			if w.d.markdown() { // which ended the list
				pad = ""
			}
			continue
		}
		content[i].text = strings.ReplaceAll(content[i].text, "\n", "\n"+pad)
		if i > 0 && content[i].text != "" {
			content[i].text = pad + content[i].text
		}
	}
	content[0].text = marker + content[0].text
	return content
}

func isNumbered(n ast.Node) bool {
	list, ok := n.(*ast.List)
	return ok && list.IsOrdered()
}

// isTask reports whether a list item begins with a check box, which is marker
// enough.
func isTask(item ast.Node) bool {
	first := item.FirstChild()
	return first != nil && first.FirstChild() != nil && first.FirstChild().Kind() == extast.KindTaskCheckBox
}

// trimSpans takes white space off both ends.
func trimSpans(s []span) []span {
	for len(s) > 0 {
		if s[0].text = strings.TrimLeft(s[0].text, " \t\n"); s[0].text != "" {
			break
		}
		s = s[1:]
	}
	for n := len(s) - 1; n >= 0; n-- {
		if s[n].text = strings.TrimRight(s[n].text, " \t\n"); s[n].text != "" {
			break
		}
		s = s[:n]
	}
	return s
}
