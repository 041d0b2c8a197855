package fs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/fold"
	"magpie/tools/fs/charset"
)

// The limits of a look into one file.
const (
	maxGrepLine = 1 << 20 // bytes of a line that is looked at
	shownLine   = 200     // runes of a hit
	hitsPerFile = 5
	grepBuffer  = 64 << 10 // bytes, which tell what a file is
)

// grep finds a text in the lines of files, one after the other; its buffers
// are used again. An upper-case letter in the text makes case count, an accent
// or a wide letter makes these count.
type grep struct {
	needle        []byte
	fold, accents bool
	head          *bufio.Reader // the file
	reader        *bufio.Reader // its text
	line          []byte
	lower         []byte
}

func newGrep(text string) grep {
	g := grep{head: bufio.NewReaderSize(nil, grepBuffer), fold: !strings.ContainsFunc(text, unicode.IsUpper)}
	text = fold.Same(text)
	g.accents = fold.Plain(text) != text
	if g.needle = []byte(text); g.fold {
		g.needle = []byte(strings.ToLower(text))
	}
	return g
}

// lines returns the lines that hold the text, with their numbers; none of a
// binary file. What is not UTF-8 is read in the encodings that it may have, until
// something is found.
func (g *grep) lines(file io.ReadSeeker) (hits []string) {
	g.head.Reset(io.LimitReader(file, maxGrepBytes))
	start, _ := g.head.Peek(grepBuffer)
	names, binary := written(start)
	switch {
	case binary:
		return nil
	case len(names) == 0:
		g.reader = g.head
		return g.scan()
	}
	for i, name := range names {
		if i > 0 {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return nil
			}
			g.head.Reset(io.LimitReader(file, maxGrepBytes))
		}
		g.reader = bufio.NewReaderSize(charset.Named(name).NewDecoder().Reader(g.head), grepBuffer)
		if hits = g.scan(); len(hits) > 0 {
			return hits
		}
	}
	return nil
}

func (g *grep) scan() (hits []string) {
	for n := 1; ; n++ {
		err := g.next()
		if g.holds(g.line) || g.hidden() {
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

// hidden says whether a line that is not UTF-8, in a file that is, holds the text
// in one of the encodings that it may have.
func (g *grep) hidden() bool {
	if utf8.Valid(g.line) {
		return false
	}
	for _, name := range charset.Candidates(g.line) {
		if line, err := charset.Named(name).NewDecoder().Bytes(g.line); err == nil && g.holds(line) {
			g.line = line
			return true
		}
	}
	return false
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

func (g *grep) holds(line []byte) bool { return bytes.Contains(g.folded(line), g.needle) }

// folded is a line as it is compared.
func (g *grep) folded(line []byte) []byte {
	if g.lower = g.lower[:0]; bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
		text := string(line)
		if text = fold.Same(text); !g.accents {
			text = fold.Plain(text)
		}
		if g.fold {
			text = strings.ToLower(text)
		}
		g.lower = append(g.lower, text...)
		return g.lower
	}
	if !g.fold {
		return line
	}
	for _, c := range line {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		g.lower = append(g.lower, c)
	}
	return g.lower
}

// shown is the part of the line around the hit.
func (g *grep) shown() string {
	runes := []rune(strings.ToValidUTF8(string(g.line), "\uFFFD"))
	if len(runes) <= shownLine {
		return strings.TrimSpace(string(runes))
	}
	// The least beginning of the line that holds the text ends where it does.
	end := sort.Search(len(runes), func(n int) bool { return g.holds([]byte(string(runes[:n]))) })
	first := max(0, end-utf8.RuneCount(g.needle)-shownLine/4)
	last := min(len(runes), first+shownLine)
	return "…" + strings.TrimSpace(string(runes[first:last])) + "…"
}
