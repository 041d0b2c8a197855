package fs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a look into one file.
const (
	maxGrepLine = 1 << 20 // bytes of a line that is looked at
	shownLine   = 200     // runes of a hit
	hitsPerFile = 5
	grepBuffer  = 64 << 10 // bytes
	grepHead    = 8 << 10  // bytes that tell whether a file is text
)

// grep finds a text in the lines of files, one after the other; its buffers
// are used again. An upper-case letter in the text makes case count.
type grep struct {
	needle []byte
	fold   bool
	reader *bufio.Reader
	line   []byte
	lower  []byte
}

func newGrep(text string) grep {
	g := grep{needle: []byte(text), reader: bufio.NewReaderSize(nil, grepBuffer)}
	if g.fold = !strings.ContainsFunc(text, unicode.IsUpper); g.fold {
		g.needle = []byte(strings.ToLower(text))
	}
	return g
}

// lines returns the lines that hold the text, with their numbers; none of a
// binary file.
func (g *grep) lines(r io.Reader) (hits []string) {
	g.reader.Reset(r)
	if head, _ := g.reader.Peek(grepHead); bytes.IndexByte(head, 0) >= 0 {
		return nil // binary
	}
	for n := 1; ; n++ {
		err := g.next()
		if g.holds() {
			if len(hits) == hitsPerFile {
				return append(hits, "…")
			}
			hits = append(hits, fmt.Sprintf("%d: %s", n, g.shown()))
		}
		if err != nil {
			return hits
		}
	}
}

// next reads a line without its end; what a line has beyond its bound is
// passed over.
func (g *grep) next() error {
	g.line = g.line[:0]
	for {
		part, err := g.reader.ReadSlice('\n')
		if len(g.line) < maxGrepLine {
			g.line = append(g.line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			g.line = bytes.TrimRight(g.line, "\r\n")
			return err
		}
	}
}

func (g *grep) holds() bool { return bytes.Contains(g.folded(), g.needle) }

// folded is the line as it is compared.
func (g *grep) folded() []byte {
	if !g.fold {
		return g.line
	}
	g.lower = g.lower[:0]
	for _, c := range g.line {
		if c >= utf8.RuneSelf {
			return bytes.ToLower(g.line)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		g.lower = append(g.lower, c)
	}
	return g.lower
}

// shown is the part of the line around the hit.
func (g *grep) shown() string {
	folded := g.folded()
	if len(folded) != len(g.line) {
		folded = g.line
	}
	at := max(0, bytes.Index(folded, g.needle))
	runes := []rune(strings.ToValidUTF8(string(g.line), "\uFFFD"))
	if len(runes) <= shownLine {
		return strings.TrimSpace(string(runes))
	}
	first := max(0, utf8.RuneCount(g.line[:min(at, len(g.line))])-shownLine/4)
	last := min(len(runes), first+shownLine)
	return "…" + strings.TrimSpace(string(runes[min(first, last):last])) + "…"
}
