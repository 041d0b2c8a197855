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
	Todo         string // what to do when it is not the file that has to be corrected
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
	if p.Todo != "" {
		b.WriteString("; " + p.Todo)
	}
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
	env      func(string) (string, bool) // nil knows no variable
	closed   *Problem                    // the file of variables that may not be read; nil = none
	problems []Problem
}

// fresh is a report of the same file without problems.
func (r *report) fresh() report { return report{file: r.file, env: r.env, closed: r.closed} }

// add notes a problem. Of a value that came out of variables it also says which
// they are and what form theirs have, and takes the value out of the text: it
// may be a secret that was put into the wrong place.
func (r *report) add(n *node, key, format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if n != nil && n.kind == text && r.env != nil {
		said = blame(n.text, r.env, said)
	}
	r.note(n, key, said)
}

// note is add for what names its variable already.
func (r *report) note(n *node, key, said string) {
	p := Problem{File: r.file, Key: key, Text: said}
	if n != nil {
		p.Line, p.Column = n.line, n.column
	}
	r.problems = append(r.problems, p)
	if r.closed != nil && n != nil && n.kind == text && lacks(n.text, r.env) {
		r.problems = append(r.problems, *r.closed)
	}
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
