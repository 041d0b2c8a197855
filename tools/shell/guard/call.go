package guard

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call judges a simple command.
func (j *judge) call(c *syntax.CallExpr, in input) error {
	for _, a := range c.Assigns {
		if err := j.assignment(a); err != nil {
			return err
		}
	}
	if len(c.Args) == 0 {
		return nil
	}
	for _, w := range c.Args {
		if err := j.substitutions(w); err != nil {
			return err
		}
	}
	all, err := j.calls(c.Args)
	if err != nil {
		return err
	}
	for _, args := range all {
		if j.guard.matches(joined(args)) {
			return denied("%q matches a pattern of tools.exec.deny_patterns", clip(joined(args)))
		}
		if err := j.run(args, in); err != nil {
			return err
		}
	}
	return nil
}

// calls lists what a command may come to.
func (j *judge) calls(args []*syntax.Word) ([][]word, error) {
	all := [][]word{nil}
	for _, w := range args {
		values := j.words(w)
		var next [][]word
		for _, sofar := range all {
			for _, v := range values {
				if len(next) == maxValues {
					return nil, denied("its variables have too many values to be judged; write the values out")
				}
				next = append(next, append(slices.Clone(sofar), split(v)...))
			}
		}
		all = next
	}
	return all, nil
}

// split cuts the value of an unquoted variable into words, as the shell does.
func split(w word) []word {
	if !w.bare || !w.known || !strings.ContainsAny(w.text, " \t\n") {
		return []word{w}
	}
	var all []word
	for _, f := range strings.Fields(w.text) {
		all = append(all, word{text: f, known: true, bare: strings.ContainsAny(f, "*?[")})
	}
	return all
}

func joined(args []word) string {
	text := make([]string, len(args))
	for i, a := range args {
		text[i] = a.text
	}
	return strings.Join(text, " ")
}

// run judges a command with its arguments.
func (j *judge) run(args []word, in input) error {
	if len(args) == 0 {
		return nil
	}
	if err := j.step(); err != nil {
		return err
	}
	if j.depth++; j.depth > maxDepth {
		return denied("commands are nested too deeply; run the inner one directly")
	}
	defer func() { j.depth-- }()
	name := args[0]
	if !name.known || name.bare && name.text != "[" {
		if j.exempt {
			return nil
		}
		return denied("the name of the command is only decided when it runs; write the name out")
	}
	base := path.Base(name.text)
	j.found.ran(args)
	for _, a := range args {
		j.named(a)
	}
	if base == "alias" || base == "env" || base == "hash" || base == "enable" || base == "export" {
		j.sets()
	}
	if _, wraps := wrappers()[base]; !wraps { // those look at their own words
		for i := 1; i < len(args); i++ {
			if isText(args, i) {
				continue
			}
			if err := j.paths(args[i]); err != nil {
				return err
			}
		}
	}
	// The program itself may stand anywhere, but the bot's files are no programs.
	if err := j.hidden(name); err != nil {
		return err
	}
	j.fetches = j.fetches || fetches(base, args[1:])
	switch base {
	case "read", "mapfile", "readarray", "getopts", "printf": // they set the variables that they name
		if base != "printf" || slices.ContainsFunc(args[1:], func(a word) bool { return !a.known || strings.HasPrefix(a.text, "-v") }) {
			j.sets()
		}
		for _, a := range args[1:] {
			j.unknown[a.text] = true
		}
	}
	if base == "cd" || base == "pushd" || base == "popd" {
		j.move(args[1:])
		return nil
	}
	if err := j.carrier(base, args[1:], in); err != nil || j.exempt {
		return err
	}
	return harmful(base, args[1:])
}

// move follows a cd.
func (j *judge) move(args []word) {
	for _, a := range args {
		if a.known && strings.HasPrefix(a.text, "-") && a.text != "-" {
			continue
		}
		switch {
		case !a.known || a.bare || a.text == "-":
			j.dirKnown = false
		case a.tilde:
			j.dirKnown = a.text == "~"
			j.dir = first(j.guard.opt.Open)
		default:
			j.dir = resolve(j.dir, a.text)
		}
		return
	}
	j.dir = first(j.guard.opt.Open) // HOME is there
}

// fetches says whether a command gets text from the network.
func fetches(base string, args []word) bool {
	switch base {
	case "curl", "wget", "nc", "ncat", "netcat", "telnet", "ssh", "scp", "sftp", "ftp", "rsync", "aria2c", "lynx", "w3m", "links", "http", "https", "dig", "nslookup", "gh":
		return true
	case "git":
		return has(args, "clone", "fetch", "pull", "ls-remote", "submodule")
	case "pip", "pip3", "npm", "npx", "yarn", "pnpm", "go", "cargo", "gem", "uvx", "uv":
		return has(args, "install", "download", "add", "get", "i", "exec", "view", "search") || base == "npx" || base == "uvx"
	}
	return false
}

func has(args []word, wanted ...string) bool {
	for _, a := range args {
		if slices.Contains(wanted, a.text) {
			return true
		}
	}
	return false
}
