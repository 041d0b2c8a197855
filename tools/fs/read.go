package fs

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"magpie/tools"
	"magpie/tools/fs/fence"
)

//go:embed read_file.md
var readFileText string

// The limits of read_file.
const (
	maxLines    = 2000
	manyLines   = 500     // from here on ranges are recommended
	maxLineRune = 10_000  // of one line; the rest of it is left out
	maxShown    = 400_000 // bytes of all lines shown
)

// SkillLoader returns the text of a skill, or an error that Is fs.ErrNotExist
// when there is none of that name.
type SkillLoader func(ctx context.Context, sc tools.Scope, name string) (string, error)

type readIn struct {
	Path      string `json:"path" jsonschema:"Path of the file, from the workspace." rule:"minlen=1"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"First line to show, counted from 1." rule:"min=0"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"Last line to show." rule:"min=1"`
	Encoding  string `json:"encoding,omitempty" jsonschema:"Encoding of the text; found out when it is not given: utf-8, utf-16, utf-16le, utf-16be, gbk, gb18030, big5 or latin1."`
	Offset    int    `json:"offset,omitempty" rule:"hidden,min=0"`
	Limit     int    `json:"limit,omitempty" rule:"hidden,min=1"`
}

var skillPath = regexp.MustCompile(`^skills/([^/]+)/SKILL\.md$`)

// ReadFile makes read_file. skill, if not nil, is asked for the whole of
// skills/<name>/SKILL.md before the workspace is; a range is one of the file.
func ReadFile(f *fence.Fence, skill SkillLoader) tools.Tool {
	spec := tools.Spec{
		Name: "read_file", Description: strings.TrimSpace(readFileText), Category: tools.File, Effect: tools.Reads,
		Main: "path", Aliases: pathAliases(),
	}
	r := reader{fence: f, skill: skill}
	return tools.New(spec, r.read, tools.WithSubject(f.Name), stampFile(f))
}

type reader struct {
	fence *fence.Fence
	skill SkillLoader
}

func (r reader) read(ctx context.Context, sc tools.Scope, in readIn) (tools.Result, error) {
	lines, err := in.lines()
	if err != nil {
		return tools.Result{}, err
	}
	if m := skillPath.FindStringSubmatch(r.fence.Name(in.Path)); m != nil && r.skill != nil && lines.whole {
		text, err := r.skill(ctx, sc, m[1])
		if err == nil {
			from := r.fence.Origin().Under(r.fence.Real(in.Path))
			return tools.Result{Text: text, Untrusted: len(from) > 0, Sources: from}, nil
		}
		if !errors.Is(err, iofs.ErrNotExist) {
			return tools.Result{}, fmt.Errorf("load skill %q: %w", m[1], err)
		}
	}
	file, info, err := open(ctx, r.fence, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer file.Close()
	if info.IsDir() {
		text, err := listText(ctx, r.fence, listIn{Path: in.Path})
		return tools.Result{Text: text}, err
	}
	text, err := show(ctx, file, in, lines)
	from := r.fence.Sources(in.Path, file)
	return tools.Result{Text: text, Untrusted: len(from) > 0, Sources: from}, err
}

// span is a range of lines, counted from 1, both ends shown.
type span struct {
	first, last int
	whole       bool // nobody asked for a range
}

// lines works out the range from its two notations.
func (in readIn) lines() (span, error) {
	if in.StartLine > 0 && in.Offset > 0 && in.StartLine != in.Offset {
		return span{}, tools.Errorf(tools.InvalidArgs, "start_line is %d and offset is %d; give start_line only", in.StartLine, in.Offset)
	}
	first := max(1, cmp.Or(in.StartLine, in.Offset))
	s := span{first: first, last: first + maxLines - 1, whole: in.StartLine+in.EndLine+in.Offset+in.Limit == 0}
	if in.Limit > 0 {
		s.last = min(s.last, first+min(in.Limit, maxLines)-1)
	}
	if in.EndLine > 0 {
		if in.EndLine < first {
			return span{}, tools.Errorf(tools.InvalidArgs, "end_line %d is before start_line %d; want end_line ≥ start_line", in.EndLine, first)
		}
		s.last = min(s.last, in.EndLine)
	}
	return s, nil
}

// show reads the whole file, to count its lines, and keeps the range.
func show(ctx context.Context, file *os.File, in readIn, want span) (string, error) {
	text, err := decoder(file, in.Path, in.Encoding)
	if err != nil {
		return "", err
	}
	if text.binary != "" {
		return text.binary, nil
	}
	got, err := collect(ctx, bufio.NewReaderSize(text.reader, 64<<10), want)
	if err != nil {
		return "", fmt.Errorf("read %q: %w", in.Path, err)
	}
	if got.total > 0 && want.first > got.total {
		return "", tools.Errorf(tools.InvalidArgs, "%q has %d lines, there is no line %d; want start_line from 1 to %d", in.Path, got.total, want.first, got.total)
	}
	return got.render(in, want, text.encoding), nil
}

// page is the part of a file that is shown.
type page struct {
	lines []string
	total int
	full  bool // the page's bytes were used up before its lines
	cut   int  // lines of which the end was left out
}

// collect reads line by line, with bounded memory whatever the file is like.
func collect(ctx context.Context, r *bufio.Reader, want span) (page, error) {
	var p page
	shown, room := 0, maxShown
	var line strings.Builder
	for {
		piece, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return p, err
		}
		if ctx.Err() != nil {
			return p, context.Cause(ctx)
		}
		number := p.total + 1
		inside := number >= want.first && number <= want.last && !p.full
		if keep := 4*maxLineRune + 2 - line.Len(); inside && keep > 0 {
			line.Write(piece[:min(len(piece), keep)])
		}
		ended := err == nil
		if ended || errors.Is(err, io.EOF) && (len(piece) > 0 || line.Len() > 0) {
			p.total++
			if inside && shown < room {
				shown += p.add(line.String())
				p.full = shown >= room
			}
			line.Reset()
		}
		if errors.Is(err, io.EOF) {
			return p, nil
		}
	}
}

// add keeps one line without its end and says how long it is.
func (p *page) add(line string) int {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	line = strings.ToValidUTF8(line, "\uFFFD")
	if r := []rune(line); len(r) > maxLineRune {
		line = string(r[:maxLineRune]) + " … [the rest of this line is left out]"
		p.cut++
	}
	p.lines = append(p.lines, line)
	return len(line)
}

func (p *page) render(in readIn, want span, encoding string) string {
	var b strings.Builder
	last := want.first + len(p.lines) - 1
	fmt.Fprintf(&b, "File: %s\nLanguage: %s\n", fence.Shown(in.Path), language(path.Base(in.Path)))
	if encoding != "utf-8" {
		fmt.Fprintf(&b, "Encoding: %s\n", encoding)
	}
	truncated := last < p.total && (want.whole || last < in.asked(want)) || p.cut > 0
	switch {
	case p.total == 0:
		b.WriteString("Lines: 0 (the file is empty)\n")
	default:
		fmt.Fprintf(&b, "Lines: %d-%d of %d\n", want.first, last, p.total)
	}
	fmt.Fprintf(&b, "Truncated: %s\n", map[bool]string{true: "yes", false: "no"}[truncated])
	if last < p.total && truncated {
		fmt.Fprintf(&b, "Continue with start_line=%d.\n", last+1)
	}
	if want.whole && p.total > manyLines {
		fmt.Fprintf(&b, "This file is long: read parts of it with start_line and end_line.\n")
	}
	b.WriteByte('\n')
	width := len(fmt.Sprint(last))
	for i, line := range p.lines {
		fmt.Fprintf(&b, "%*d | %s\n", width, want.first+i, line)
	}
	return b.String()
}

// asked is the last line that the model wanted to see.
func (in readIn) asked(want span) int {
	switch {
	case in.EndLine > 0:
		return in.EndLine
	case in.Limit > 0:
		return want.first + in.Limit - 1
	}
	return int(^uint(0) >> 1)
}
