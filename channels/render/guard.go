package render

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"magpie/internal/links"
)

// Guard rewrites CommonMark so that no client makes a link of what keep does
// not know, and none loads a picture: what would be a link is written readable
// but broken (evil[.]example/path), behind the words that it stood under, and
// pictures are links. keep is given each thing that could be followed as it is
// written: a URL, a name of a host with or without a path, "mailto:" and an
// address, or an @name.
//
// The places are found in the text as people will see it, with marks, escapes
// and character references resolved, since a platform looks for links in that.
func Guard(md string, keep func(target string) bool) string {
	md = clean(md)
	for range guardPasses {
		g := guard{src: []byte(md), keep: keep}
		g.block(parseWith(markdown.guarded, g.src))
		if len(g.edits) == 0 {
			return md
		}
		md = links.Apply(md, g.edits)
	}
	// Something that is put right turns into something else each time: it is
	// shown as code, in which nothing else has a meaning.
	return "    " + strings.ReplaceAll(links.Defang(md), "\n", "\n    ")
}

// guardPasses is how often a text is looked at: once more shows that nothing is
// left, and taking marks away may bring out others.
const guardPasses = 4

type guard struct {
	src   []byte
	keep  func(string) bool
	edits []links.Edit
	flow  []glyph // of the paragraph, as it is seen
}

// glyph is a character that is seen, with where it stands in the source.
type glyph struct {
	r        rune
	from, to int
	code     bool
	fixed    bool // in the words of a link that stays
}

// barrier is what no link goes over.
const barrier = '\n'

func (g *guard) edit(from, to int, with string) {
	g.edits = append(g.edits, links.Edit{From: from, To: to, Text: with})
}

// block goes over the blocks below n.
func (g *guard) block(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.LinkReferenceDefinition:
			if lines := c.Lines(); !g.stays(unescape(c.Destination)) && lines.Len() > 0 {
				g.edit(lines.At(0).Start, lines.At(lines.Len()-1).Stop, "")
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
			_, raw := c.(*ast.HTMLBlock)
			for i := range c.Lines().Len() {
				seg := c.Lines().At(i)
				g.raw(seg.Start, seg.Stop, !raw)
			}
			if block, ok := c.(*ast.HTMLBlock); ok && block.HasClosure() {
				g.raw(block.ClosureLine.Start, block.ClosureLine.Stop, false)
			}
			g.look()
		default:
			if c.Type() == ast.TypeInline {
				g.inline(n, false)
				g.look()
				return
			}
			g.block(c)
		}
	}
}

// inline adds what is seen below n to the flow.
func (g *guard) inline(n ast.Node, linked bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			g.text(c, linked)
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				seg := c.Segments.At(i)
				g.raw(seg.Start, seg.Stop, false)
			}
		case *ast.AutoLink:
			g.autoLink(c)
		case *ast.Link:
			g.link(c, string(c.Destination), linked)
		case *ast.Image:
			g.link(c, string(c.Destination), linked)
		default:
			g.inline(c, linked)
		}
	}
}

func (g *guard) text(n *ast.Text, linked bool) {
	code := n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan
	from := len(g.flow)
	if code || n.IsRaw() {
		g.raw(n.Segment.Start, n.Segment.Stop, code)
	} else {
		g.unescaped(n.Segment.Start, n.Segment.Stop)
	}
	for i := from; i < len(g.flow) && linked; i++ {
		g.flow[i].fixed = true
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		g.add(barrier, n.Segment.Stop, n.Segment.Stop, code)
	}
}

// raw adds source that is seen as it stands.
func (g *guard) raw(from, to int, code bool) {
	for i, r := range string(g.src[from:to]) {
		g.add(r, from+i, from+i+utf8.RuneLen(r), code)
	}
}

// unescaped adds source in which escapes and character references are resolved.
func (g *guard) unescaped(from, to int) {
	for i := from; i < to; {
		n := 1
		switch c := g.src[i]; {
		case c == '\\' && i+1 < to && util.IsPunct(g.src[i+1]):
			n = 2
		case c == '&':
			end := strings.IndexByte(string(g.src[i:min(to, i+40)]), ';')
			if ref := ""; end > 0 {
				ref = string(g.src[i : i+end+1])
				if seen := html.UnescapeString(ref); seen != ref {
					for _, r := range seen {
						g.add(r, i, i+end+1, false)
					}
					i += end + 1
					continue
				}
			}
		case c >= utf8.RuneSelf:
			_, n = utf8.DecodeRune(g.src[i:to])
		}
		r, _ := utf8.DecodeLastRune(g.src[i : i+n])
		g.add(r, i, i+n, false)
		i += n
	}
}

func (g *guard) add(r rune, from, to int, code bool) {
	if r = links.Fold(r); r >= 0 {
		g.flow = append(g.flow, glyph{r: r, from: from, to: to, code: code})
	}
}

func (g *guard) autoLink(n *ast.AutoLink) {
	from, to, ok := extent(n)
	target, label := string(n.URL(g.src)), string(n.Label(g.src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
		target = "mailto:" + target
	}
	if ok && !g.keep(target) {
		g.edit(from, to, literal(links.Defang(label)))
	}
	g.add(barrier, to, to, false)
}

// link keeps a link, or leaves its words with the broken target behind them. A
// picture becomes a link, and inside of one only its description is left.
func (g *guard) link(n ast.Node, dest string, linked bool) {
	from, to, ok := extent(n)
	target := unescape([]byte(dest))
	_, picture := n.(*ast.Image)
	stays := g.stays(target) && !(picture && linked)
	if picture && stays && !strings.Contains(target, ":") && len(links.Find(target, false)) == 0 {
		g.inline(n, linked) // a file of the chat page, or nothing
		return
	}
	g.inline(n, linked || stays)
	if !ok {
		return
	}
	sign, words := 1, shutAt(n, from, to)
	if picture {
		sign = 2
	}
	switch {
	case stays && picture && words <= from+sign:
		g.edit(from, to, "<"+linkEscaper.Replace(target)+">")
	case stays && picture:
		g.edit(from, from+1, "")
	case stays:
	default:
		behind := ""
		if shown := string(g.src[min(from+sign, words):words]); !linked && !sameTarget(shown, target) && target != "" {
			if behind = literal(links.Defang(target)); words > from+sign {
				behind = " (" + behind + ")"
			}
		}
		g.edit(from, from+sign, "")
		g.edit(words, to, behind)
		g.add(barrier, to, to, false)
	}
}

// stays reports whether a target may be followed: keep knows it, or it leads
// nowhere, as a fragment does.
func (g *guard) stays(target string) bool {
	folded, _ := links.Flat(target)
	if folded != target {
		return false
	}
	return g.keep(target) || !strings.HasPrefix(target, "//") && !strings.Contains(target, ":") && len(links.Find(target, false)) == 0
}

// literal writes text so that Markdown sees nothing but text in it.
func literal(s string) string {
	var b strings.Builder
	s = strings.Join(strings.Fields(s), " ")
	for i, r := range s {
		ours := strings.HasPrefix(s[i:], "[.]") || strings.HasPrefix(s[i:], "[:]") || strings.HasPrefix(s[i:], "[@]")
		if strings.ContainsRune("\\`*_{}<>!|~&", r) || r == '[' && !ours {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// look finds what would be linked in the flow, and empties it.
func (g *guard) look() {
	flow := g.flow
	g.flow = nil
	for len(flow) > 0 { // code and prose are looked at each for itself, but in one piece
		n := 1
		for n < len(flow) && flow[n].code == flow[0].code {
			n++
		}
		g.find(flow[:n])
		flow = flow[n:]
	}
}

func (g *guard) find(flow []glyph) {
	var seen strings.Builder
	var at []int // the glyph of each byte
	for i, c := range flow {
		seen.WriteRune(c.r)
		for range utf8.RuneLen(c.r) {
			at = append(at, i)
		}
	}
	all := seen.String()
	at = append(at, len(flow))
	place := func(i int) int {
		if at[i] < len(flow) {
			return flow[at[i]].from
		}
		return flow[len(flow)-1].to
	}
	code := flow[0].code
	for _, f := range links.Find(all, code) {
		end := g.kept(f)
		if end == 0 && !code { // some clients take the letters before it for a part of the name, some do not
			if n := asciiFrom(all[f.From:f.To]); n > 0 {
				if inner := links.Find(all[f.From+n:f.To], false); len(inner) > 0 && inner[0].From == 0 {
					if to := g.kept(inner[0]); to > 0 {
						g.edit(place(f.From+n), place(f.From+n), " ")
						f.From, end = f.From+n, f.From+n+to
					}
				}
			}
		}
		part := flow[at[f.From]:at[f.To]]
		switch {
		case end > 0 && g.settle(all, f, end, flow[at[f.From]:at[end]]):
			continue
		case f.File && !strings.ContainsRune(all, '`') && whole(part) && !part[0].fixed:
			g.edit(part[0].from, part[0].from, "`")
			g.edit(part[len(part)-1].to, part[len(part)-1].to, "`")
			continue
		}
		for _, e := range f.Defang {
			if e.From >= f.From {
				g.edit(place(e.From), flow[at[e.To-1]].to, e.Text)
			}
		}
	}
}

// asciiFrom is where ASCII begins in a name that begins otherwise; 0: nowhere.
func asciiFrom(name string) int {
	for i, r := range name {
		switch {
		case r >= utf8.RuneSelf:
		case i > 0 && isWord(r):
			return i
		default:
			return 0
		}
	}
	return 0
}

// kept is where the longest reading of a find ends that may be followed; 0:
// none.
func (g *guard) kept(f links.Found) int {
	for _, t := range f.Targets {
		if g.keep(t.Text) {
			return t.To
		}
	}
	return 0
}

// settle leaves a find that is known, up to end, and sees to it that no client
// takes what follows for a part of it; false where that cannot be.
func (g *guard) settle(all string, f links.Found, end int, part []glyph) bool {
	rest := strings.TrimLeft(all[end:f.To], ".,;:!?'\")]}*_~")
	next, _ := utf8.DecodeRuneInString(all[f.To:])
	if rest == "" && !(next >= utf8.RuneSelf && isWord(next)) {
		return true
	}
	if !whole(part) || part[0].fixed || part[0].code {
		return false
	}
	last := part[len(part)-1].to
	if strings.Contains(all[f.From:end], "://") {
		g.edit(part[0].from, part[0].from, "<")
		g.edit(last, last, ">")
	} else {
		g.edit(last, last, " ")
	}
	return true
}

// whole reports whether glyphs stand in one piece in the source.
func whole(flow []glyph) bool {
	for i := 1; i < len(flow); i++ {
		if flow[i].from != flow[i-1].to {
			return false
		}
	}
	return len(flow) > 0
}
