package web

import (
	"bytes"
	"html"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// markdown renders CommonMark with tables, task lists, strike-through and bare
// links to HTML that is safe whoever wrote the text: HTML in it is shown as
// text, links lead to web and mail only and open outside the page, pictures
// come from this page's own files only (anything else would tell a stranger's
// server that the message was read).
type markdown struct{ md goldmark.Markdown }

func newMarkdown() markdown {
	return markdown{goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify, extension.TaskList,
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeNodes{}, 100))),
	)}
}

// maxMarkup bounds what is parsed as Markdown, in bytes; longer texts are shown
// as they are. maxNest bounds the quotes and lists that one line opens, and
// maxMarks the marks of emphasis and links in one block: texts made of nothing
// else cost time by the square.
const (
	maxMarkup = 128 << 10
	maxNest   = 100
	maxMarks  = 5000
)

func (m markdown) render(text string) string {
	if len(text) <= maxMarkup && !costly(text) {
		var out bytes.Buffer
		if err := m.md.Convert([]byte(text), &out); err == nil && utf8.Valid(out.Bytes()) {
			return out.String()
		}
	}
	return `<p class="plain">` + html.EscapeString(text) + "</p>\n"
}

// costly reports whether text goes beyond maxNest or maxMarks.
func costly(text string) bool {
	marks := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			marks = 0
		}
		for _, mark := range []string{"*", "_", "["} {
			marks += strings.Count(line, mark)
		}
		nest := strings.Count(line, ">") + strings.Count(line, "- ") + strings.Count(line, "+ ") + strings.Count(line, "* ")
		if nest > maxNest || marks > maxMarks {
			return true
		}
	}
	return false
}

// safeNodes renders what goldmark's own renderer would drop or let out.
type safeNodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (s safeNodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHTMLBlock, s.htmlBlock)
	reg.Register(ast.KindRawHTML, s.rawHTML)
	reg.Register(ast.KindLink, s.link)
	reg.Register(ast.KindAutoLink, s.autoLink)
	reg.Register(ast.KindImage, s.image)
}

func (safeNodes) htmlBlock(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.HTMLBlock)
	_, _ = w.WriteString(`<p class="plain">`)
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		_, _ = w.Write(util.EscapeHTML(line.Value(src)))
	}
	if block.HasClosure() {
		_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(src)))
	}
	_, _ = w.WriteString("</p>\n")
	return ast.WalkContinue, nil
}

func (safeNodes) rawHTML(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		raw := n.(*ast.RawHTML)
		for i := range raw.Segments.Len() {
			segment := raw.Segments.At(i)
			_, _ = w.Write(util.EscapeHTML(segment.Value(src)))
		}
	}
	return ast.WalkSkipChildren, nil
}

func (safeNodes) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		open(w, string(n.(*ast.Link).Destination))
	} else {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func (safeNodes) autoLink(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink)
	target := string(link.URL(src))
	if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
		target = "mailto:" + target
	}
	open(w, target)
	_, _ = w.Write(util.EscapeHTML(link.Label(src)))
	_, _ = w.WriteString("</a>")
	return ast.WalkContinue, nil
}

// image shows own files and turns every other picture into a link to it; the
// children of the node are its description and become the link's text.
func (safeNodes) image(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	target := string(n.(*ast.Image).Destination)
	if id, ok := strings.CutPrefix(target, filePath); ok && validID(id) {
		if entering {
			_, _ = w.WriteString(`<img src="` + filePath + id + `" alt="` + html.EscapeString(plainText(n, src)) + `">`)
		}
		return ast.WalkSkipChildren, nil
	}
	if !entering {
		_, _ = w.WriteString("</a>")
		return ast.WalkContinue, nil
	}
	open(w, target)
	if n.FirstChild() == nil {
		_, _ = w.WriteString(html.EscapeString(target))
	}
	return ast.WalkContinue, nil
}

// open writes the start of a link; one that must not be followed has no
// target.
func open(w util.BufWriter, target string) {
	if u, err := url.Parse(target); err != nil || !linkable(u) {
		_, _ = w.WriteString("<a>")
		return
	}
	_, _ = w.WriteString(`<a href="`)
	_, _ = w.Write(util.EscapeHTML(util.URLEscape([]byte(target), true)))
	_, _ = w.WriteString(`" target="_blank" rel="noopener noreferrer nofollow">`)
}

func linkable(u *url.URL) bool {
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "mailto":
		return true
	}
	return false
}

func plainText(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(src))
		} else {
			b.WriteString(plainText(c, src))
		}
	}
	return b.String()
}
