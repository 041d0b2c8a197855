package render

import (
	"bufio"
	"fmt"
	"html"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// standard reads CommonMark as its specification says, with GFM's tables and
// strikethrough, and none of this package's own rules.
var standard = parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
		util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewStrikethroughParser(), 500))...),
)

// Signs that stand for styles in what shown and expected return.
const (
	boldSign   = "\x11"
	italicSign = "\x12"
	strikeSign = "\x13"
)

// shown is what a reader of standard Markdown sees of text, styles between
// signs, the targets of links between ⟦ and ⟧.
func shown(md string) string {
	src := []byte(md)
	r := shownReader{src: src}
	r.node(standard.Parse(text.NewReader(src)))
	return r.b.String()
}

type shownReader struct {
	src []byte
	b   strings.Builder
}

func (r *shownReader) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.node(c)
	}
}

func (r *shownReader) around(sign string, n ast.Node) {
	r.b.WriteString(sign)
	r.children(n)
	r.b.WriteString(sign)
}

func (r *shownReader) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		var b strings.Builder
		w := bufio.NewWriter(&b)
		goldhtml.DefaultWriter.Write(w, n.Segment.Value(r.src))
		_ = w.Flush()
		r.b.WriteString(html.UnescapeString(b.String()))
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			b.Write(c.(*ast.Text).Segment.Value(r.src))
		}
		r.b.WriteString(codeSpan(b.String()))
	case *ast.Emphasis:
		r.around(map[int]string{1: italicSign, 2: boldSign}[n.Level], n)
	case *extast.Strikethrough:
		r.around(strikeSign, n)
	case *ast.Link:
		r.children(n)
		r.b.WriteString("⟦" + string(n.Destination) + "⟧")
	case *ast.Image:
		r.b.WriteString("IMAGE")
	case *ast.AutoLink:
		r.b.WriteString(string(n.Label(r.src)) + "⟦" + string(n.URL(r.src)) + "⟧")
	case *ast.RawHTML, *ast.HTMLBlock:
		r.b.WriteString("HTML")
	case *ast.FencedCodeBlock:
		r.b.WriteString("{" + string(n.Lines().Value(r.src)) + "}")
	case *ast.CodeBlock:
		r.b.WriteString("INDENTED")
	case *ast.List:
		number := n.Start
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if n.IsOrdered() {
				fmt.Fprintf(&r.b, "\n%d. ", number)
				number++
			} else {
				r.b.WriteString("\n- ")
			}
			r.children(c)
		}
	case *ast.Heading:
		r.b.WriteString("\n")
		r.children(n)
	case *ast.Blockquote:
		r.b.WriteString("\n")
		r.children(n)
	case *extast.TableCell:
		r.children(n)
		r.b.WriteString("¦")
	default:
		r.b.WriteString("\n")
		r.children(n)
	}
}

// expected writes what shown should return for the output of d with flavor f,
// by the same walk, but with nothing to escape.
func expected(md string, d *dialect, f *flavor, headings int) string {
	open := opened(f)
	like := *d
	like.inline = open.inline
	like.heading = func(level int, s []span) string {
		if level > headings {
			s = embolden(s)
		}
		return open.line(s, false)
	}
	like.code = func(lang, body string) string {
		fence := strings.Split(d.code(lang, body), "\n") // breaks up what needs it
		return "{" + strings.Join(fence[1:len(fence)-1], "\n") + "}"
	}
	like.quote = func(body string) string { return body }
	like.rule = strings.Trim(d.rule, "-*")
	if d.tables > 0 || d.flat { // which know tables
		like.table = func(g grid) string {
			var b strings.Builder
			for _, row := range g.rows {
				for i := range g.rows[0] {
					if i < len(row) {
						b.WriteString(open.line(row[i], true))
					}
					b.WriteString("¦")
				}
			}
			return b.String()
		}
	} else {
		like.table = func(g grid) string { return g.items(open) }
	}
	return render(md, &like)
}

// opened is f with signs for its marks and with nothing to escape.
func opened(f *flavor) *flavor {
	open := &flavor{br: "\n", inert: f.inert, rawCode: f.rawCode, escape: func(c byte) string { return string(rune(c)) }}
	for _, m := range []mark{{bold, boldSign}, {italic, italicSign}, {strike, strikeSign}} {
		for _, known := range f.marks {
			if known.style == m.style {
				open.marks = append(open.marks, m)
			}
		}
	}
	open.link = func(text, target string) string { return text + "⟦" + linkEscaper.Replace(target) + "⟧" }
	open.bare = func(target string) string { return target + "⟦" + linkEscaper.Replace(target) + "⟧" }
	if f.bare != nil {
		open.bare = func(target string) string {
			target = bracketEscaper.Replace(target)
			return target + "⟦" + target + "⟧"
		}
	}
	return open
}

// looks reduces text to what counts: for every visible rune its styles, white
// space and gaps left out. At marks punctuation may lose its style.
func looks(text string) []string {
	var out []string
	styles := ""
	for _, r := range text {
		s := string(r)
		switch {
		case strings.Contains(boldSign+italicSign+strikeSign, s):
			if strings.Contains(styles, s) {
				styles = strings.Replace(styles, s, "", 1)
			} else {
				styles += s
			}
		case unicode.IsSpace(r), s == gap:
		case unicode.IsLetter(r), unicode.IsDigit(r):
			out = append(out, s+sorted(styles))
		default:
			out = append(out, s)
		}
	}
	return out
}

func sorted(styles string) string {
	if strings.Contains(styles, strikeSign) {
		return "s" // beside letters it stands alone
	}
	out := ""
	for _, s := range []string{boldSign, italicSign, strikeSign} {
		if strings.Contains(styles, s) {
			out += map[string]string{boldSign: "b", italicSign: "i", strikeSign: "s"}[s]
		}
	}
	return out
}
