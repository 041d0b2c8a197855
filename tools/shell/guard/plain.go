package guard

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// Plain reads a command of which nothing is left to be decided when it runs:
// simple commands in a row, a pipe, a test or a loop, of words that stand there
// as they are. It returns their words; false for every other: with variables,
// patterns or commands in its words, settings before it, files that it writes or
// reads by redirection, functions, or builtins that change what later commands
// mean.
func Plain(command string) (parts [][]string, ok bool) {
	if len(command) > maxCommand || strings.ContainsRune(command, 0) {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, false
	}
	parts, ok = plains(nil, file.Stmts)
	return parts, ok && len(parts) > 0
}

func plains(parts [][]string, lists ...[]*syntax.Stmt) ([][]string, bool) {
	for _, list := range lists {
		for _, s := range list {
			var ok bool
			if parts, ok = plain(s, parts); !ok {
				return nil, false
			}
		}
	}
	return parts, true
}

func plain(s *syntax.Stmt, parts [][]string) ([][]string, bool) {
	if s == nil || s.Coprocess || slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return !quiet(r) }) {
		return nil, false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		parts, ok := plain(c.X, parts)
		if !ok {
			return nil, false
		}
		return plain(c.Y, parts)
	case *syntax.Block:
		return plains(parts, c.Stmts)
	case *syntax.Subshell:
		return plains(parts, c.Stmts)
	case *syntax.WhileClause:
		return plains(parts, c.Cond, c.Do)
	case *syntax.IfClause:
		ok := true
		for ; c != nil && ok; c = c.Else {
			parts, ok = plains(parts, c.Cond, c.Then)
		}
		return parts, ok
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return nil, false
		}
		words := make([]string, len(c.Args))
		for i, w := range c.Args {
			text, ok := fixed(w)
			if !ok {
				return nil, false
			}
			words[i] = text
		}
		if slices.Contains(changing(), words[0]) {
			return nil, false
		}
		return append(parts, words), true
	}
	return nil, false
}

// quiet are redirections that touch no file: 2>&1, >/dev/null.
func quiet(r *syntax.Redirect) bool {
	if r.Word == nil || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
		return false
	}
	text, ok := fixed(r.Word)
	if r.Op == syntax.DplOut || r.Op == syntax.DplIn {
		return ok && strings.Trim(text, "0123456789-") == ""
	}
	return ok && text == "/dev/null"
}

// fixed is a word that is the same whenever it is read.
func fixed(w *syntax.Word) (string, bool) {
	j := &judge{values: map[string][]string{}, unknown: map[string]bool{}}
	all := j.words(w)
	if len(all) != 1 || !all[0].known || all[0].bare || all[0].tilde {
		return "", false
	}
	simple := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch q := n.(type) {
		case *syntax.Word, *syntax.Lit, *syntax.DblQuoted, nil:
		case *syntax.SglQuoted:
			simple = simple && !q.Dollar
		default:
			simple = false
		}
		return simple
	})
	return all[0].text, simple && !strings.ContainsRune(all[0].text, '\n')
}

// changing are the builtins that change what comes after them, or run what they
// are given.
func changing() []string {
	return strings.Fields(`. source eval exec alias unalias export declare typeset local readonly set unset shopt enable hash trap builtin command
		bind complete compgen mapfile readarray read getopts cd pushd popd dirs ulimit umask coproc function fc history jobs bg fg disown suspend`)
}

// Written writes words so that each is told from the next: those with more than
// letters, digits and harmless signs stand in quotes.
func Written(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_@%+=:,./-", r)
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		all[i] = w
	}
	return strings.Join(all, " ")
}

// Found is what stands in a command.
type Found struct {
	// Commands are the simple commands in it, also those inside of others, with
	// their quotes taken off; one that is called by a path stands there by its
	// bare name, too.
	Commands []string
	Programs []string // theirs, as they are called
	Paths    []string // absolute; some name nothing
	Settings bool     // it sets variables, functions or aliases
}

// mostFound bounds each of them.
const mostFound = 1000

// ran notes a simple command: as it stands there, and by the bare name of its
// program.
func (f *Found) ran(args []word) {
	if f == nil || len(f.Commands) >= mostFound {
		return
	}
	f.Commands = append(f.Commands, joined(args))
	base := path.Base(args[0].text)
	f.Programs = append(f.Programs, args[0].text)
	if base != args[0].text {
		f.Commands = append(f.Commands, joined(append([]word{{text: base}}, args[1:]...)))
	}
}

// named notes a word that may name a file.
func (j *judge) named(w word) {
	if j.found == nil || w.text == "" || len(j.found.Paths) >= mostFound {
		return
	}
	names := []string{w.text}
	if _, value, ok := strings.Cut(w.text, "="); ok && value != "" {
		names = append(names, value)
	}
	if strings.HasPrefix(w.text, "-") && len(w.text) > 2 {
		names = append(names, w.text[2:])
	}
	for _, n := range names {
		if n = strings.TrimPrefix(n, "@"); n == "" { // as curl -d @file
			continue
		}
		if rest, home := strings.CutPrefix(n, "~/"); home && w.tilde {
			n = path.Join(first(j.guard.opt.Open), ".home", rest)
		}
		j.found.Paths = append(j.found.Paths, resolve(j.dir, n))
	}
}
