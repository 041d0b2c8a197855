package render

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown holds the parsers of the package; they are safe for concurrent use.
var markdown = newParsers()

type parsers struct {
	full    parser.Parser
	blocks  parser.Parser // for crowded texts: no marks inside paragraphs
	guarded parser.Parser // full, with the places of links, and without those that are only text
}

func newParsers() parsers {
	blocks := []parser.Option{
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	}
	marks := parser.WithInlineParsers(
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewRawHTMLParser(), 400),
		util.Prioritized(delimiters{chars: "*_", node: emphasis}, 500),
		// Two tildes, not GFM's one or two: "3~5天，7~8天" is about days.
		util.Prioritized(delimiters{chars: "~", least: 2, most: 2, node: strikethrough}, 500),
		util.Prioritized(delimiters{chars: "|", least: 2, most: 2, node: spoilerNode}, 500),
	)
	plain := parser.WithInlineParsers(
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	)
	guarded := parser.WithInlineParsers(
		util.Prioritized(placed{parser.NewLinkParser()}, 200),
		util.Prioritized(placed{parser.NewAutoLinkParser()}, 300),
	)
	with := func(more ...parser.Option) parser.Parser { return parser.NewParser(slices.Concat(blocks, more)...) }
	return parsers{full: with(marks, plain), blocks: with(), guarded: with(marks, guarded)}
}

func parse(src []byte) ast.Node {
	return parseWith(markdown.full, src)
}

func parseWith(p parser.Parser, src []byte) ast.Node {
	if crowded(src) {
		p = markdown.blocks
	}
	return p.Parse(text.NewReader(src))
}

// mostMarks is how many possible marks lines without a blank one between them
// may hold: the parser's time grows with the square, here to a tenth of a
// second.
const mostMarks = 4000

func crowded(src []byte) bool {
	marks, blank := 0, true
	for i, c := range src {
		switch c {
		case '\n':
			if blank {
				marks = 0
			}
			blank = true
			continue
		case ' ', '\t', '>':
			continue
		case '[', '*', '_', '`', '<':
			marks++
		case '~', '|':
			if i > 0 && src[i-1] == c {
				marks++
			}
		}
		if blank = false; marks > mostMarks {
			return true
		}
	}
	return false
}

// delimiters parses paired runs of one character. It replaces goldmark's own
// emphasis parser because CommonMark's flanking rules suppose spaces between
// words: in "**注意：**请看" the closing stars would not count.
type delimiters struct {
	chars       string
	least, most int // length of a run; 0 = any
	node        func(char byte, length int) ast.Node
}

func (d delimiters) Trigger() []byte { return []byte(d.chars) }

// Parse implements parser.InlineParser.
func (d delimiters) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	run := parser.ScanDelimiter(line, before, max(d.least, 1), pairs{d, line[0]})
	if run == nil || d.most > 0 && (run.OriginalLength > d.most || before == rune(line[0])) {
		return nil
	}
	after, _ := utf8.DecodeRune(line[run.OriginalLength:])
	if len(line) == run.OriginalLength {
		after = '\n'
	}
	switch run.Char {
	case '|': // "a||b" is an expression, not a spoiler
		run.CanOpen = run.CanOpen && !isWord(before)
		run.CanClose = run.CanClose && !isWord(after)
	case '*', '~':
		run.CanOpen = run.CanOpen || isEastAsian(before) && !unicode.IsSpace(after)
		run.CanClose = run.CanClose || isEastAsian(after) && !unicode.IsSpace(before)
	}
	run.Segment = segment.WithStop(segment.Start + run.OriginalLength)
	block.Advance(run.OriginalLength)
	pc.PushDelimiter(run)
	return run
}

// pairs says which runs of one delimiter belong together.
type pairs struct {
	delimiters
	char byte
}

func (p pairs) IsDelimiter(b byte) bool { return b == p.char }

func (p pairs) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	same := opener.Char == closer.Char
	if p.most > 0 {
		same = same && opener.Length == closer.Length
	}
	return same
}

func (p pairs) OnMatch(length int) ast.Node { return p.node(p.char, length) }

func emphasis(_ byte, length int) ast.Node { return ast.NewEmphasis(length) }

// marked is a strikethrough or a spoiler.
type marked struct {
	ast.BaseInline
	style style
}

var kindMarked = ast.NewNodeKind("Marked")

// Kind implements ast.Node.
func (*marked) Kind() ast.NodeKind { return kindMarked }

// Dump implements ast.Node.
func (m *marked) Dump(src []byte, level int) { ast.DumpHelper(m, src, level, nil, nil) }

func strikethrough(byte, int) ast.Node { return &marked{style: strike} }
func spoilerNode(byte, int) ast.Node   { return &marked{style: spoiler} }

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isEastAsian holds for the scripts that put no spaces between words, and
// their punctuation.
func isEastAsian(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}
