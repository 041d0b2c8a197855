// Package page turns an HTML document into what a model can read: its title
// and, as Markdown, text or HTML, the article or else the whole page. Documents
// come from strangers: the work on one is bounded, and what a person would not
// see is left out. It fetches nothing and starts no goroutine.
package page

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability"
	"codeberg.org/readeck/go-readability/render"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Format is how a page is written.
type Format string

// The formats.
const (
	Markdown Format = "markdown"
	Text     Format = "text"
	HTML     Format = "html"
)

// Page is a document for reading.
type Page struct {
	Title string
	Body  string
	// Article is true when Body is the article alone, without what surrounds
	// it.
	Article bool
}

// The bounds of the work on one page, measured on hostile documents: the search
// for an article takes time by nodes times depth.
const (
	maxWork  = 3_000_000 // sum over all nodes of their depth
	maxNodes = 300_000
	// An article with less than minArticle characters, or less than one in
	// minShare of the page's, is most likely not what was meant.
	minArticle = 140
	minShare   = 12
)

// Read makes a Page of a document in UTF-8. Links become absolute by base,
// which is the document's own address. A document that breaks a library comes
// back as its bare text.
func Read(doc string, base *url.URL, f Format) (p Page, err error) {
	defer func() {
		if recover() != nil {
			p, err = Page{Body: bare(doc)}, nil
		}
	}()
	return read(doc, base, f)
}

func read(doc string, base *url.URL, f Format) (Page, error) {
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil { // nested deeper than 512 elements
		return Page{Body: bare(doc)}, nil
	}
	seen := clean(root, base)
	p := Page{Title: seen.title}
	body := root
	if seen.nodes > maxNodes {
		return Page{Title: seen.title, Body: bare(doc)}, nil
	}
	if seen.work <= maxWork {
		if article, title := article(root, base); article != nil {
			body, p.Article = article, true
			p.Title = first(title, p.Title)
		}
	}
	p.Body, err = write(body, f)
	return p, err
}

// article finds the main part of a page; nil when there is none worth it.
func article(root *html.Node, base *url.URL) (*html.Node, string) {
	a, err := readability.FromDocument(root, base)
	if err != nil || a.Node == nil {
		return nil, ""
	}
	got, all := utf8.RuneCountInString(strings.TrimSpace(a.TextContent)), textRunes(root)
	if got < minArticle || got*minShare < all {
		return nil, ""
	}
	return a.Node, a.Title
}

func write(n *html.Node, f Format) (string, error) {
	switch f {
	case HTML:
		var b bytes.Buffer
		if err := html.Render(&b, n); err != nil {
			return "", fmt.Errorf("write HTML: %w", err)
		}
		return strings.TrimSpace(b.String()), nil
	case Text:
		return strings.TrimSpace(render.InnerText(n)), nil
	}
	// Without escapes: they cost a model tokens, and finding them takes
	// quadratic time (256 KiB of "[(" took 21 s).
	c := converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(
			table.WithHeaderPromotion(true),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
		)),
	)
	escapeBars(n, false)
	md, err := c.ConvertNode(n)
	if err != nil {
		return "", fmt.Errorf("write Markdown: %w", err)
	}
	return strings.TrimSpace(string(md)), nil
}

// escapeBars keeps a | in the cell of a table from beginning another cell.
func escapeBars(n *html.Node, cell bool) {
	cell = cell || n.DataAtom == atom.Td || n.DataAtom == atom.Th
	if cell && n.Type == html.TextNode {
		n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
	}
	for i := range n.Attr {
		if a := &n.Attr[i]; !cell {
			break
		} else if a.Key == "href" || a.Key == "src" {
			a.Val = strings.ReplaceAll(a.Val, "|", "%7C")
		} else {
			a.Val = strings.ReplaceAll(a.Val, "|", `\|`)
		}
	}
	for child := range n.ChildNodes() {
		escapeBars(child, cell)
	}
}

// bare is the text of a document that is too wild for more.
func bare(doc string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(doc))
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.StartTagToken:
			if name, _ := z.TagName(); skip == "" && (string(name) == "script" || string(name) == "style") {
				skip = string(name)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if string(name) == skip {
				skip = ""
			}
		case html.TextToken:
			if text := strings.TrimSpace(string(z.Text())); skip == "" && text != "" {
				b.WriteString(text)
				b.WriteByte('\n')
			}
		}
	}
}

func first(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return strings.TrimSpace(a)
	}
	return strings.TrimSpace(b)
}
