// Package guard reads a shell command before it runs and refuses what is
// plainly harmful: recursive deletion, formatting, writing to devices,
// stopping the machine, fork bombs, code from a pipe, the bot's own files. It
// parses with a real shell parser and looks at every part. It is advice: a
// program can do whatever it likes once it runs, so the wall is the sandbox.
// It starts no goroutine and runs nothing.
package guard

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"magpie/tools"
)

// Options of a Guard.
type Options struct {
	// Deny are further patterns (RE2): a command or a part of it in which one
	// is found is refused.
	Deny []string
	// Allow are patterns (RE2) that must match a part as a whole. When all
	// parts match, the command is exempt from everything but Fence and Hidden.
	Allow []string
	// AllowOnly refuses whatever Allow does not exempt.
	AllowOnly bool
	// Fence are the folders outside of which no path may be named; none: paths
	// are the sandbox's business. The first is the workspace.
	Fence []string
	// Hidden are files and folders that no command may name, except what lies
	// in Open.
	Hidden []string
	// Open are the folders that commands work in.
	Open []string
	// Exists says whether a file is there; nil asks the system.
	Exists func(path string) bool
}

// Guard judges commands. Safe for concurrent use.
type Guard struct {
	deny, allow []*regexp.Regexp
	opt         Options
}

// New makes a Guard. The error names a pattern that is none.
func New(o Options) (*Guard, error) {
	g := &Guard{opt: o}
	if g.opt.Exists == nil {
		g.opt.Exists = exists
	}
	for _, p := range o.Deny {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("deny pattern %q: %w", p, err)
		}
		g.deny = append(g.deny, re)
	}
	for _, p := range o.Allow {
		re, err := regexp.Compile(`\A(?:` + p + `)\z`)
		if err != nil {
			return nil, fmt.Errorf("allow pattern %q: %w", p, err)
		}
		g.allow = append(g.allow, re)
	}
	return g, nil
}

// Limits of what is looked at. What is larger is refused: it cannot be judged.
const (
	maxCommand = 64 << 10 // bytes; a kernel takes 128 KiB as one argument
	maxDepth   = 8        // commands inside commands: sh -c "sh -c …"
	maxValues  = 32       // values that a variable may have
	maxWord    = maxCommand
	maxSteps   = 4000 // commands looked at, each with every value of its variables
)

// Verdict is what is known of a command that may run.
type Verdict struct {
	// Fetches is true when a part of the command gets text from the network,
	// so that its output is not to be trusted.
	Fetches bool
}

// Judge says whether a command may run in a folder, which is an absolute path.
// The error is a *tools.Error for the model.
func (g *Guard) Judge(command, dir string) (Verdict, error) {
	v, _, err := g.Look(command, dir)
	return v, err
}

// Look is Judge that also tells what it has come upon, up to where it refused.
func (g *Guard) Look(command, dir string) (Verdict, Found, error) {
	j := &judge{guard: g, dir: dir, dirKnown: true, values: map[string][]string{}, unknown: map[string]bool{}, steps: new(int), found: &Found{}}
	v, err := g.judge(j, command)
	return v, *j.found, err
}

func (g *Guard) judge(j *judge, command string) (Verdict, error) {
	if len(command) > maxCommand {
		return Verdict{}, tools.Errorf(tools.InvalidArgs, "the command is longer than %d bytes; write it to a file with write_file and run that", maxCommand)
	}
	for name, v := range map[string]string{"PWD": j.dir, "HOME": first(g.opt.Open), "IFS": " "} {
		j.values[name] = []string{v}
	}
	if g.matches(command) {
		return Verdict{}, denied("it matches a pattern of tools.exec.deny_patterns")
	}
	file, err := j.parse(command)
	if err != nil {
		return Verdict{}, err
	}
	j.exempt = len(g.allow) > 0 && g.allowsAll(file)
	if g.opt.AllowOnly {
		j.exempt = j.exempt && g.allowsPlain(command)
	}
	if g.opt.AllowOnly && !j.exempt {
		return Verdict{}, tools.Errorf(tools.Security, "only commands of tools.exec.allow_patterns may run, and %q is none, or not by what it comes to: each part must match without variables, patterns, settings, redirections to files or commands inside", clip(cmp.Or(g.notAllowed(file), command)))
	}
	if err := j.file(file); err != nil {
		return Verdict{}, err
	}
	return Verdict{Fetches: j.fetches}, nil
}

func first(s []string) string {
	if len(s) == 0 {
		return "/"
	}
	return s[0]
}

func (g *Guard) matches(text string) bool {
	for _, re := range g.deny {
		if re.MatchString(text) {
			return true
		}
	}
	return false
}

// parse reads a command as the shell will.
func (j *judge) parse(command string) (*syntax.File, error) {
	if strings.ContainsRune(command, 0) {
		return nil, tools.Errorf(tools.InvalidArgs, "the command holds a NUL character; want plain text")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, tools.Errorf(tools.InvalidArgs, "the command is not valid shell (%v); want a command as one would type it, with its quotes and brackets closed", err)
	}
	return file, nil
}

// allowsAll says whether every part of a command matches an allow pattern.
func (g *Guard) allowsAll(file *syntax.File) bool { return g.notAllowed(file) == "" }

// allowsPlain says whether every part matches an allow pattern by what it comes
// to, and nothing of it is only decided when it runs.
func (g *Guard) allowsPlain(command string) bool {
	parts, ok := Plain(command)
	return ok && !slices.ContainsFunc(parts, func(words []string) bool {
		return !slices.ContainsFunc(g.allow, func(re *regexp.Regexp) bool { return re.MatchString(Written(words)) })
	})
}

// notAllowed finds the first part that no allow pattern matches as a whole.
// Parts are simple commands with their redirections; commands inside of others
// are parts of their own, too.
func (g *Guard) notAllowed(file *syntax.File) (part string) {
	syntax.Walk(file, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok || part != "" {
			return part == ""
		}
		text := partText(s)
		if text == "" {
			return true
		}
		for _, re := range g.allow {
			if re.MatchString(text) {
				return true
			}
		}
		part = text
		return false
	})
	return part
}

// partText writes a simple command as one line; "" for a compound one that
// redirects nothing.
func partText(s *syntax.Stmt) string {
	switch s.Cmd.(type) {
	case *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause,
		*syntax.CaseClause, *syntax.FuncDecl, *syntax.TimeClause:
		if len(s.Redirs) == 0 {
			return ""
		}
	}
	bare := *s
	bare.Background, bare.Negated, bare.Comments = false, false, nil
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, &bare); err != nil {
		return "?" // matches no pattern that was meant
	}
	return strings.TrimSpace(b.String())
}

func denied(why string, args ...any) error {
	return tools.Errorf(tools.Security, "the command was not run: %s", fmt.Sprintf(why, args...))
}

func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func inside(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

func insideAny(path string, dirs []string) bool {
	for _, d := range dirs {
		if inside(path, d) {
			return true
		}
	}
	return false
}

// resolve makes a path absolute by its text alone.
func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
