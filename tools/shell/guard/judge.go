package guard

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// judge walks through one command, in the order in which it would run.
type judge struct {
	guard    *Guard
	dir      string              // where the next part runs
	dirKnown bool                // false after cd to somewhere unknown
	values   map[string][]string // what variables may hold
	unknown  map[string]bool     // variables that may hold anything
	exempt   bool                // by the allow patterns
	fetches  bool
	depth    int
	steps    *int // counted also for the texts inside
	found    *Found
}

func (j *judge) file(file *syntax.File) error {
	return j.stmts(file.Stmts)
}

// inner judges a command that stands as text in another one.
func (j *judge) inner(command string) error {
	if err := j.step(); err != nil {
		return err
	}
	if j.depth >= maxDepth {
		return denied("commands are nested too deeply; run the inner one directly")
	}
	file, err := j.parse(command)
	if err != nil {
		return err
	}
	j.depth++
	defer func() { j.depth-- }()
	return j.file(file)
}

// step bounds the work.
func (j *judge) step() error {
	if *j.steps++; *j.steps > maxSteps {
		return denied("it is too complex to be judged; write a script file and run that, or do less at once")
	}
	return nil
}

func (j *judge) stmts(all []*syntax.Stmt) error {
	for _, s := range all {
		if err := j.stmt(s, false); err != nil {
			return err
		}
	}
	return nil
}

// stmt judges one statement; piped says that its input comes from another.
func (j *judge) stmt(s *syntax.Stmt, piped bool) error {
	if s == nil {
		return nil
	}
	if err := j.redirections(s); err != nil {
		return err
	}
	fed := input{pipe: piped}
	for _, r := range s.Redirs {
		fed.add(j, r)
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return j.call(c, fed)
	case *syntax.BinaryCmd:
		if err := j.stmt(c.X, piped); err != nil {
			return err
		}
		return j.stmt(c.Y, c.Op == syntax.Pipe || c.Op == syntax.PipeAll || piped)
	case *syntax.Subshell:
		dir, known := j.dir, j.dirKnown
		err := j.blocks(piped, c.Stmts)
		j.dir, j.dirKnown = dir, known
		return err
	case *syntax.Block:
		return j.blocks(piped, c.Stmts)
	case *syntax.FuncDecl:
		j.sets()
		if callsItself(c) {
			return denied("%s() starts itself again and again (a fork bomb)", c.Name.Value)
		}
		return j.stmt(c.Body, piped)
	case *syntax.TimeClause:
		return j.stmt(c.Stmt, piped)
	case *syntax.CoprocClause:
		return j.stmt(c.Stmt, piped)
	case nil:
		return nil
	}
	return j.compound(s.Cmd, piped)
}

func (j *judge) blocks(piped bool, lists ...[]*syntax.Stmt) error {
	for _, list := range lists {
		for _, s := range list {
			if err := j.stmt(s, piped); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *judge) compound(cmd syntax.Command, piped bool) error {
	switch c := cmd.(type) {
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			if err := j.blocks(piped, c.Cond, c.Then); err != nil {
				return err
			}
		}
		return nil
	case *syntax.WhileClause:
		return j.blocks(piped, c.Cond, c.Do)
	case *syntax.ForClause:
		if it, ok := c.Loop.(*syntax.WordIter); ok {
			if err := j.wordParts(it.Items...); err != nil {
				return err
			}
			j.assign(it.Name.Value, it.Items...)
		} else if err := j.substitutions(c.Loop); err != nil {
			return err
		}
		return j.blocks(piped, c.Do)
	case *syntax.CaseClause:
		if err := j.wordParts(c.Word); err != nil {
			return err
		}
		for _, item := range c.Items {
			if err := j.blocks(piped, item.Stmts); err != nil {
				return err
			}
		}
		return nil
	case *syntax.DeclClause:
		for _, a := range c.Args {
			if err := j.assignment(a); err != nil {
				return err
			}
		}
		return nil
	}
	return j.substitutions(cmd) // arithmetic, tests: only what they run counts
}

// substitutions judges the commands whose output a node uses.
func (j *judge) substitutions(n syntax.Node) (err error) {
	if n == nil {
		return nil
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if err != nil {
			return false
		}
		var list []*syntax.Stmt
		switch c := n.(type) {
		case *syntax.CmdSubst:
			list = c.Stmts
		case *syntax.ProcSubst:
			list = c.Stmts
		default:
			return true
		}
		dir, known := j.dir, j.dirKnown
		err = j.stmts(list)
		j.dir, j.dirKnown = dir, known
		return false
	})
	return err
}

// wordParts judges what stands in words: commands and paths.
func (j *judge) wordParts(words ...*syntax.Word) error {
	for _, w := range words {
		if w == nil {
			continue
		}
		if err := j.substitutions(w); err != nil {
			return err
		}
		for _, v := range j.words(w) {
			if err := j.paths(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *judge) sets() {
	if j.found != nil {
		j.found.Settings = true
	}
}

func (j *judge) assignment(a *syntax.Assign) error {
	j.sets()
	if a.Array != nil {
		if err := j.substitutions(a.Array); err != nil {
			return err
		}
		var items []*syntax.Word
		for _, e := range a.Array.Elems {
			items = append(items, e.Value)
		}
		if a.Name != nil {
			j.assign(a.Name.Value, items...)
		}
		return j.wordParts(items...)
	}
	if err := j.wordParts(a.Value); err != nil {
		return err
	}
	if a.Name != nil && a.Append { // X=r; X+=m
		j.unknown[a.Name.Value] = true
	} else if a.Name != nil && a.Value != nil {
		j.assign(a.Name.Value, a.Value)
	}
	return nil
}

// assign remembers every value that a variable has had: which one holds where
// it is used is not followed.
func (j *judge) assign(name string, values ...*syntax.Word) {
	j.sets()
	for _, w := range values {
		for _, v := range j.words(w) {
			if !v.known || len(j.values[name]) == maxValues {
				j.unknown[name] = true
				return
			}
			j.values[name] = append(j.values[name], v.text)
		}
	}
}

// callsItself says whether a function starts itself in a pipe or beside
// itself.
func callsItself(f *syntax.FuncDecl) bool {
	calls := func(n syntax.Node) (found bool) {
		if n == nil {
			return false
		}
		syntax.Walk(n, func(n syntax.Node) bool {
			c, ok := n.(*syntax.CallExpr)
			found = found || ok && len(c.Args) > 0 && c.Args[0].Lit() == f.Name.Value
			return !found
		})
		return found
	}
	bomb := false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch c := n.(type) {
		case *syntax.BinaryCmd:
			bomb = bomb || (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) && calls(c)
		case *syntax.Stmt:
			bomb = bomb || c.Background && calls(c)
		}
		return !bomb
	})
	return bomb
}

// input is what a part reads: code, when the part is a shell.
type input struct {
	pipe bool
	text []word // of here-documents
	file bool   // < file
}

func (in *input) add(j *judge, r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		in.text = append(in.text, j.words(r.Hdoc)...)
	case syntax.WordHdoc:
		in.text = append(in.text, j.words(r.Word)...)
	case syntax.RdrIn:
		in.file = true
	}
}

// redirections judges where output goes, and the paths of all.
func (j *judge) redirections(s *syntax.Stmt) error {
	for _, r := range s.Redirs {
		if err := j.substitutions(r); err != nil {
			return err
		}
		if r.Word == nil || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
			continue
		}
		for _, w := range j.words(r.Word) {
			j.named(w)
			if err := j.paths(w); err != nil {
				return err
			}
			if writes(r.Op) && !j.exempt && isDevice(resolve(j.dir, w.text)) {
				return denied("it writes to the device %s", w.text)
			}
		}
	}
	return nil
}

func writes(op syntax.RedirOperator) bool {
	return op != syntax.RdrIn && op != syntax.DplIn
}

// isDevice says whether a path is a device that is not harmless to write to.
func isDevice(p string) bool {
	if !inside(p, "/dev") || p == "/dev" {
		return false
	}
	switch path.Base(p) {
	case "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "ptmx":
		return false
	}
	for _, safe := range []string{"/dev/fd", "/dev/pts", "/dev/shm", "/dev/tcp", "/dev/udp"} {
		if strings.HasPrefix(p, safe+"/") {
			return false
		}
	}
	return true
}
