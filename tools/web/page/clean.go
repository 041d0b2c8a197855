package page

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// survey is what clean has seen.
type survey struct {
	title string
	nodes int
	work  int // sum of depths
}

// cleaner goes once over a document.
type cleaner struct {
	survey
	base *url.URL
}

// dropped hold nothing for a reader.
var dropped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Iframe: true, atom.Object: true,
	atom.Embed: true, atom.Svg: true, atom.Canvas: true, atom.Link: true, atom.Input: true, atom.Select: true, atom.Button: true,
}

// maxSpan bounds colspan and rowspan: a table is laid out cell by cell, and
// they may say a billion.
const maxSpan = 50

// clean takes out what a person would not see, makes links absolute and says
// how large the document is.
func clean(root *html.Node, base *url.URL) survey {
	c := cleaner{base: base}
	c.walk(root, 0)
	return c.survey
}

func (c *cleaner) walk(n *html.Node, depth int) {
	c.nodes++
	c.work += depth
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type == html.CommentNode || child.Type == html.ElementNode && invisible(child):
			n.RemoveChild(child)
		case child.Type == html.TextNode:
			next = mergeText(n, child)
			c.nodes++
			c.work += depth
		default:
			c.element(child)
			c.walk(child, depth+1)
		}
		child = next
	}
}

// mergeText joins a text with the texts and comments right behind it: a
// renderer joins neighbours pair by pair, in quadratic time.
func mergeText(parent, text *html.Node) (next *html.Node) {
	var more []string
	for next = text.NextSibling; next != nil && (next.Type == html.TextNode || next.Type == html.CommentNode); {
		after := next.NextSibling
		if next.Type == html.TextNode {
			more = append(more, next.Data)
		}
		parent.RemoveChild(next)
		next = after
	}
	if len(more) > 0 {
		text.Data += strings.Join(more, "")
	}
	return next
}

// invisible finds what browsers do not show: instructions to a model like to
// hide there.
func invisible(n *html.Node) bool {
	if dropped[n.DataAtom] {
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "property", "name", "itemprop":
			// Dates would be read by a library that nobody maintains; nobody wants them.
			if n.DataAtom == atom.Meta && !strings.Contains(strings.ToLower(a.Val), "title") {
				return true
			}
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func (c *cleaner) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Title:
		if c.title == "" && n.FirstChild != nil && n.Namespace == "" {
			c.title = strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
	case atom.Base:
		if href, ok := attribute(n, "href"); ok && c.base != nil {
			if u, err := c.base.Parse(href); err == nil {
				c.base = u
			}
		}
	}
	kept := n.Attr[:0]
	for _, a := range n.Attr {
		switch a.Key {
		case "href", "src":
			a.Val = c.absolute(a.Val)
		case "colspan", "rowspan":
			if span, err := strconv.Atoi(a.Val); err != nil || span < 1 || span > maxSpan {
				a.Val = "1"
			}
		case "srcset", "style", "onclick", "onload":
			continue
		}
		if a.Val == "" && (a.Key == "href" || a.Key == "src") {
			continue
		}
		kept = append(kept, a)
	}
	n.Attr = kept
}

// absolute completes a link; those that lead to no page ("" and javascript:,
// data: and so on) become "".
func (c *cleaner) absolute(link string) string {
	u, err := url.Parse(strings.TrimSpace(link))
	if err != nil {
		return ""
	}
	if c.base != nil {
		u = c.base.ResolveReference(u)
	}
	switch u.Scheme {
	case "", "http", "https", "mailto", "tel":
		return u.String()
	}
	return ""
}

func attribute(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// textRunes is how much text there is, with white space collapsed.
func textRunes(n *html.Node) int {
	count := 0
	if n.Type == html.TextNode {
		for _, word := range strings.Fields(n.Data) {
			count += utf8.RuneCountInString(word) + 1
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		count += textRunes(child)
	}
	return count
}
