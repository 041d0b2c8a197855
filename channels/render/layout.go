package render

import (
	"slices"
	"sort"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// layout knows what stands where in a Markdown text.
type layout struct {
	src        string
	seams      map[int]int // offsets of line starts that begin a block, with their rank
	starts     []int       // the offsets in seams that begin a top-level block, in order
	regions    []region    // fenced code and tables, in order
	containers []container // top-level blocks whose lines have a prefix, in order
	soft       [][2]int    // not to be cut inside if it can be avoided: links, code spans, rows
	firm       [][2]int    // never to be cut inside: fences and headers
	bare       bool        // the last block was a heading, which wants to stay with the next
}

// region is a block that, when cut, needs something around each piece.
type region struct {
	start, body, end int    // the block; what comes after its opening
	table            bool   // else fenced code
	open, shut       string // lines to repeat before and after a piece, with \n before shut
	prefix           string // what a line of it starts with
}

// container is a top-level list, quote or block of indented code.
type container struct {
	start, end int
	quote      bool
	code       bool
}

func newLayout(src string) *layout {
	l := &layout{src: src, seams: map[int]int{}}
	doc := parse([]byte(src))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		l.block(n, atBlock)
		l.addContainer(n)
	}
	l.soft, l.firm = merge(l.soft), merge(l.firm)
	slices.Sort(l.starts)
	return l
}

func (l *layout) addContainer(n ast.Node) {
	if k := len(l.containers); k > 0 && l.containers[k-1].end == len(l.src) && n.Pos() >= 0 {
		l.containers[k-1].end = max(l.lineStart(n.Pos()), l.containers[k-1].start)
	}
	c := container{start: l.lineStart(n.Pos()), end: len(l.src)}
	switch n.Kind() {
	case ast.KindBlockquote:
		c.quote = true
	case ast.KindCodeBlock:
		c.code = true
	case ast.KindList:
	default:
		return
	}
	l.containers = append(l.containers, c)
}

// block notes what it finds in and below a block node; rank is the worth of
// cutting before it.
func (l *layout) block(n ast.Node, rank int) {
	if n.Pos() < 0 || n.Pos() > len(l.src) {
		return
	}
	at := l.lineStart(n.Pos())
	if _, seen := l.seams[at]; !seen {
		if l.bare {
			rank = atLine
		}
		l.seams[at] = rank
		if rank == atBlock {
			l.starts = append(l.starts, at)
		}
	}
	if n.Pos() > at { // not between a list marker and its text
		l.soft = append(l.soft, [2]int{at, n.Pos() + 1})
	}
	l.bare = n.Kind() == ast.KindHeading
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		l.fence(n)
	case *extast.Table:
		l.table(n)
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		l.atoms(n)
	default:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if c.Type() == ast.TypeBlock {
				l.block(c, min(rank+1, atLine))
			}
		}
	}
}

func (l *layout) fence(n *ast.FencedCodeBlock) {
	at := n.Pos()
	line := l.lineStart(at)
	opening := strings.TrimRight(l.src[at:l.lineEnd(at)], " \t\n")
	bare := strings.TrimLeft(opening, opening[:1])
	mark := opening[:len(opening)-len(bare)]
	r := region{start: line, body: l.lineEnd(at), prefix: continued(l.src[line:at])}
	r.end = r.body
	if k := n.Lines().Len(); k > 0 {
		r.end = max(r.body, n.Lines().At(k-1).Stop)
	}
	for i := r.body; i < r.end; i = l.lineEnd(i) {
		if i > r.body && strings.TrimSpace(l.src[l.lineStart(i-1):i]) == "" {
			l.seams[i] = atItem // after a blank line
		}
	}
	closing := strings.TrimSpace(strings.TrimLeft(l.src[r.end:l.lineEnd(r.end)], " >\t"))
	if len(closing) >= len(mark) && strings.Trim(closing, mark[:1]) == "" {
		l.firm = append(l.firm, [2]int{r.end - 1, l.lineEnd(r.end)})
		r.end = l.lineEnd(r.end)
	}
	l.firm = append(l.firm, [2]int{line, r.body + 1})
	r.open, r.shut = r.prefix+opening+"\n", "\n"+r.prefix+mark
	l.regions = append(l.regions, r)
}

func (l *layout) table(n *extast.Table) {
	if n.FirstChild() == nil {
		return
	}
	first := n.FirstChild().Pos() // the header's; the table's may be that of text before it
	start := l.lineStart(first)
	r := region{start: start, body: l.lineEnd(l.lineEnd(start)), table: true}
	r.end = r.body
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		at := l.lineStart(row.Pos())
		end := l.lineEnd(at)
		l.soft = append(l.soft, [2]int{at, end})
		if at >= r.body {
			l.seams[at] = atLine
			r.end = max(r.end, end)
		}
	}
	head := l.src[start:r.body]
	indent := min(len(head)-len(strings.TrimLeft(head, " \t>*+-0123456789.)")), first-start)
	r.prefix = continued(head[:indent])
	r.open = r.prefix + strings.TrimRight(head[indent:], " \t\n") + "\n"
	l.firm = append(l.firm, [2]int{start, r.body + 1})
	l.regions = append(l.regions, r)
}

// atoms notes the inline nodes of a paragraph that should stay whole: what
// lies between one plain text and the next.
func (l *layout) atoms(n ast.Node) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return
	}
	from := lines.At(0).Start
	if n.Kind() == ast.KindHeading {
		l.soft = append(l.soft, [2]int{l.lineStart(from), from + 1})
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			from = t.Segment.Stop
			continue
		}
		to := lines.At(lines.Len() - 1).Stop
		for next := c.NextSibling(); next != nil; next = next.NextSibling() {
			if t, ok := next.(*ast.Text); ok {
				to = t.Segment.Start
				break
			}
			c = next
		}
		if to > from {
			l.soft = append(l.soft, [2]int{from, to})
		}
	}
}

// continued turns the prefix of a block's first line into that of a further
// line: list markers become spaces.
func continued(prefix string) string {
	return strings.Map(func(r rune) rune {
		if r == '>' || r == '\t' {
			return r
		}
		return ' '
	}, prefix)
}

// merge sorts intervals and unites those that overlap.
func merge(in [][2]int) [][2]int {
	sort.Slice(in, func(a, b int) bool { return in[a][0] < in[b][0] })
	out := in[:0]
	for _, v := range in {
		if k := len(out); k > 0 && v[0] < out[k-1][1] {
			out[k-1][1] = max(out[k-1][1], v[1])
			continue
		}
		out = append(out, v)
	}
	return out
}

func (l *layout) lineStart(i int) int { return strings.LastIndexByte(l.src[:max(i, 0)], '\n') + 1 }

// lineEnd is the offset behind the line end of the line at i.
func (l *layout) lineEnd(i int) int {
	if n := strings.IndexByte(l.src[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(l.src)
}

func (l *layout) atLineStart(i int) bool { return i == 0 || l.src[i-1] == '\n' }

// regionAt is the region that a cut at i would go through, or nil.
func (l *layout) regionAt(i int) *region {
	k := sort.Search(len(l.regions), func(k int) bool { return l.regions[k].end > i })
	if k < len(l.regions) && l.regions[k].start < i {
		return &l.regions[k]
	}
	return nil
}

func (l *layout) fenced(i int) bool {
	r := l.regionAt(i)
	return r != nil && !r.table
}

// containerAt is the container that i lies in, or nil; its very start counts
// as outside.
func (l *layout) containerAt(i int) *container {
	k := sort.Search(len(l.containers), func(k int) bool { return l.containers[k].end > i })
	if k < len(l.containers) && l.containers[k].start < i {
		return &l.containers[k]
	}
	return nil
}
