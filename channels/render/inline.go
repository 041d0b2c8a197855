package render

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// style is a set of ways to show text.
type style uint8

const (
	bold style = 1 << iota
	italic
	strike
	spoiler
	code
)

// span is a run of text in one style. Flat spans instead of a tree, because
// platforms forbid most nestings.
type span struct {
	text  string
	style style
	link  string // target as written; see linkable
}

// spans collects the inline content below n.
func (w *walker) spans(n ast.Node) []span {
	c := collector{src: w.src}
	c.children(n, span{})
	return w.changed(c.out)
}

// changed lets the dialect change what is no code.
func (w *walker) changed(spans []span) []span {
	for i := range spans {
		if w.d.prose == nil {
			break
		}
		if spans[i].style&code == 0 {
			spans[i].text = w.d.prose(spans[i].text)
		}
		spans[i].link = w.d.prose(spans[i].link)
	}
	return spans
}

type collector struct {
	src []byte
	out []span
}

func (c *collector) children(n ast.Node, like span) {
	for n = n.FirstChild(); n != nil; n = n.NextSibling() {
		c.node(n, like)
	}
}

func (c *collector) node(n ast.Node, like span) {
	switch n := n.(type) {
	case *ast.Text:
		c.text(n, like)
	case *ast.String:
		c.add(string(n.Value), like)
	case *ast.CodeSpan:
		like.style |= code
		c.children(n, like)
	case *ast.Emphasis:
		if n.Level == 2 {
			like.style |= bold
		} else {
			like.style |= italic
		}
		c.children(n, like)
	case *marked:
		like.style |= n.style
		c.children(n, like)
	case *ast.Link:
		c.link(n, string(n.Destination), like)
	case *ast.Image:
		c.link(n, string(n.Destination), like)
	case *ast.AutoLink:
		if like.link == "" {
			like.link = string(n.URL(c.src))
			if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(like.link, "mailto:") {
				like.link = "mailto:" + like.link
			}
		}
		c.add(string(n.Label(c.src)), like)
	case *ast.RawHTML:
		c.rawHTML(n, like)
	case *extast.TaskCheckBox:
		if n.IsChecked {
			c.add("☑ ", like)
		} else {
			c.add("☐ ", like)
		}
	default: // a node of an extension we do not know: its content
		c.children(n, like)
	}
}

func (c *collector) text(n *ast.Text, like span) {
	raw := n.Segment.Value(c.src)
	switch {
	case like.style&code != 0:
		c.add(strings.ReplaceAll(string(raw), "\n", " "), like)
	case n.IsRaw():
		c.add(string(raw), like)
	default:
		c.add(unescape(raw), like)
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		c.add("\n", like)
	}
}

func (c *collector) link(n ast.Node, dest string, like span) {
	if like.link == "" { // inside another link the outer one wins
		like.link = unescape([]byte(dest))
	}
	before := len(c.out)
	c.children(n, like)
	if len(c.out) == before {
		c.add(like.link, like)
	}
}

func (c *collector) rawHTML(n *ast.RawHTML, like span) {
	var b strings.Builder
	for i := range n.Segments.Len() {
		seg := n.Segments.At(i)
		b.Write(seg.Value(c.src))
	}
	if isBreak(b.String()) {
		c.add("\n", like)
		return
	}
	c.add(b.String(), like)
}

// isBreak reports whether tag is <br>, which models write in table cells.
func isBreak(tag string) bool {
	tag = strings.ToLower(strings.Trim(tag, "<> /"))
	return tag == "br"
}

func (c *collector) add(text string, like span) {
	if text == "" {
		return
	}
	if n := len(c.out); n > 0 && c.out[n-1].style == like.style && c.out[n-1].link == like.link {
		c.out[n-1].text += text
		return
	}
	like.text = text
	c.out = append(c.out, like)
}

// unescape resolves backslash escapes and character references.
func unescape(raw []byte) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			if i+1 < len(raw) && util.IsPunct(raw[i+1]) {
				i++
			}
			b.WriteByte(raw[i])
		case '&':
			end := strings.IndexByte(string(raw[i:min(len(raw), i+40)]), ';')
			if end < 0 {
				b.WriteByte('&')
				continue
			}
			ref := string(raw[i : i+end+1])
			b.WriteString(strings.Map(dropControl, html.UnescapeString(ref)))
			i += end
		default:
			b.WriteByte(raw[i])
		}
	}
	return b.String()
}

func dropControl(r rune) rune {
	if isControl(r) {
		return -1
	}
	return r
}

// linkable reports whether a platform may be given target as a link: schemes
// that can run something are never passed on.
func linkable(target string) bool {
	scheme, rest, ok := strings.Cut(target, ":")
	if !ok || rest == "" || strings.ContainsAny(target, " \n\t") {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return strings.HasPrefix(rest, "//") && len(rest) > 2
	case "tg":
		return strings.HasPrefix(rest, "//")
	case "mailto":
		return true
	}
	return false
}

// spelled is the text of spans without styles, targets written behind the
// text of a link unless they say the same.
func spelled(spans []span) string {
	var b strings.Builder
	for i, s := range spans {
		b.WriteString(s.text)
		last := i+1 == len(spans) || spans[i+1].link != s.link
		if s.link != "" && last && !sameTarget(linkText(spans[:i+1]), s.link) {
			b.WriteString(" (" + s.link + ")")
		}
	}
	return b.String()
}

// linkText is the text of the link that the last span belongs to.
func linkText(spans []span) string {
	i := len(spans) - 1
	text := spans[i].text
	for ; i > 0 && spans[i-1].link == spans[i].link; i-- {
		text = spans[i-1].text + text
	}
	return text
}

func sameTarget(text, target string) bool {
	for _, scheme := range []string{"", "mailto:", "http://", "https://"} {
		if scheme+text == target || scheme+text+"/" == target {
			return true
		}
	}
	return false
}
