package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	File string // as it was named to Load; "" when it stands in no file
	// Line and Column count from 1; 0 means the whole file.
	Line, Column int
	Key          string // the path of the key, for example "llm.models[0].price"
	Text         string // what is wrong and what is accepted; never a secret
}

// String writes "file:line:column: key: text", leaving out what is unknown.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Error holds every problem of a configuration, in the order of the file.
type Error struct{ Problems []Problem }

// Error writes one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// report collects problems while a file is read.
type report struct {
	file     string
	problems []Problem
}

func (r *report) add(n *node, key, format string, args ...any) {
	p := Problem{File: r.file, Key: key, Text: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line, p.Column = n.line, n.column
	}
	r.problems = append(r.problems, p)
}

// err is nil when nothing is wrong.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Error{Problems: slices.Compact(r.problems)}
}
