package guard

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// carrier judges what a command runs in its turn: the command after env or
// nohup, the text after sh -c or eval, the code of an interpreter.
func (j *judge) carrier(base string, args []word, in input) error {
	if valued, ok := wrappers()[base]; ok {
		return j.wrapped(base, args, in, valued)
	}
	switch base {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish":
		return j.shell(base, args, in)
	case "eval":
		return j.text(base, args)
	case ".", "source":
		if len(args) > 0 && (!args[0].known || inside(args[0].text, "/dev")) {
			return j.unless(denied("%s reads commands that nobody has seen; write them to a file first", base))
		}
	case "trap":
		if len(args) > 1 {
			return j.text(base, args[:1])
		}
	case "alias":
		for _, a := range args {
			if _, value, ok := strings.Cut(a.text, "="); ok {
				if err := j.text(base, []word{{text: value, known: a.known}}); err != nil {
					return err
				}
			}
		}
	case "find", "fd", "fdfind":
		return j.find(args)
	case "awk", "gawk", "mawk", "perl", "ruby", "node", "nodejs", "php", "lua", "deno", "bun", "tclsh", "osascript", "pwsh":
		return j.code(args, in)
	}
	if python.MatchString(base) {
		return j.code(args, in)
	}
	return nil
}

var python = regexp.MustCompile(`^(python|pypy)[0-9.]*$`)

// unless drops a refusal when the allow patterns exempt the command.
func (j *judge) unless(err error) error {
	if j.exempt {
		return nil
	}
	return err
}

// wrappers run the command that follows their options. The value names the
// options that take a value in a word of its own.
func wrappers() map[string][]string {
	return map[string][]string{
		"sudo":    {"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--user", "--group", "--chdir"},
		"doas":    {"-u", "-C"},
		"env":     {"-u", "-C", "--unset", "--chdir"},
		"nice":    {"-n", "--adjustment"},
		"ionice":  {"-c", "-n", "--class", "--classdata"},
		"timeout": {"-s", "-k", "--signal", "--kill-after"},
		"stdbuf":  {"-i", "-o", "-e", "--input", "--output", "--error"},
		"xargs":   {"-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--arg-file", "--delimiter", "--max-args", "--max-procs", "--replace"},
		"time":    {"-f", "-o", "--format", "--output"},
		"watch":   {"-n", "--interval"},
		"taskset": {"-c", "-p"}, "chrt": {"-T", "-P", "-D"}, "flock": {"-w", "-E"},
		"nohup": nil, "setsid": nil, "exec": {"-a"}, "command": nil, "builtin": nil, "busybox": nil, "toybox": nil,
		"chroot": nil, "unshare": nil, "strace": {"-o", "-e", "-p"}, "ltrace": {"-o", "-e"}, "parallel": {"-j", "--jobs"}, "unbuffer": nil,
	}
}

// skipped are the operands that stand between a wrapper's options and its
// command.
func skipped(base string) int {
	switch base {
	case "timeout", "taskset", "chrt", "flock", "chroot":
		return 1
	}
	return 0
}

// wrapped judges the command inside a wrapper.
func (j *judge) wrapped(base string, args []word, in input, valued []string) error {
	skip := skipped(base)
	for i := 0; i < len(args); i++ {
		a := args[i]
		if skip > 0 || !a.known || strings.HasPrefix(a.text, "-") || assigns.MatchString(a.text) {
			if err := j.paths(a); err != nil {
				return err
			}
		}
		switch {
		case base == "env" && (a.text == "-S" || strings.HasPrefix(a.text, "--split-string")):
			_, value, _ := strings.Cut(a.text, "=")
			return j.text(base, append([]word{{text: value, known: a.known}}, args[i+1:]...))
		case base == "env" && strings.HasPrefix(a.text, "-S"):
			return j.text(base, append([]word{{text: a.text[2:], known: a.known}}, args[i+1:]...))
		case a.text == "-c" && base == "flock" || base == "watch" && !strings.HasPrefix(a.text, "-"):
			if base == "flock" {
				i++
			}
			return j.text(base, args[min(i, len(args)):])
		case strings.HasPrefix(a.text, "-") && a.known && len(a.text) > 1:
			if slices.Contains(valued, a.text) && i+1 < len(args) {
				i++
				if err := j.paths(args[i]); err != nil {
					return err
				}
			}
		case (base == "env" || base == "sudo") && assigns.MatchString(a.text):
		case skip > 0:
			skip--
		default:
			return j.run(args[i:], in)
		}
	}
	return nil
}

var assigns = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// shell judges what a shell is told to run.
func (j *judge) shell(base string, args []word, in input) error {
	for i, a := range args {
		switch {
		case !a.known:
			return j.unless(denied("what %s runs is only decided when it runs; write the commands out", base))
		case strings.HasPrefix(a.text, "--") || strings.HasPrefix(a.text, "+"):
			continue
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1:
			if strings.Contains(a.text, "c") {
				if i+1 >= len(args) {
					return nil
				}
				return j.text(base, args[i+1:i+2])
			}
			if strings.Contains(a.text, "s") {
				return j.fed(base, in)
			}
			continue
		case a.text == "-" || a.text == "/dev/stdin" || strings.HasPrefix(a.text, "/dev/fd") || strings.HasPrefix(a.text, "/proc/"):
			return j.fed(base, in)
		}
		return nil // a file: it can be read before, and the sandbox holds
	}
	return j.fed(base, in)
}

// fed judges the input of a shell.
func (j *judge) fed(base string, in input) error {
	if in.pipe && len(in.text) == 0 && !in.file {
		return j.unless(denied("%s reads its commands from a pipe, so nobody can see them before; write them to a file, read it, then run it", base))
	}
	return j.each(base, in.text)
}

func (j *judge) each(base string, texts []word) error {
	for _, t := range texts {
		if err := j.text(base, []word{t}); err != nil {
			return err
		}
	}
	return nil
}

// text judges words that a command runs as shell.
func (j *judge) text(base string, words []word) error {
	for _, w := range words {
		if !w.known {
			return j.unless(denied("what %s runs is only decided when it runs; write the commands out", base))
		}
	}
	return j.inner(joined(words))
}

// find judges the actions of find.
func (j *judge) find(args []word) error {
	for i, a := range args {
		switch a.text {
		case "-delete":
			return j.unless(denied("find -delete deletes recursively; list the files first and delete them by name"))
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			rest := args[i+1:]
			if end := slices.IndexFunc(rest, func(w word) bool { return w.text == ";" || w.text == "+" }); end >= 0 {
				rest = rest[:end]
			}
			if len(rest) > 0 && path.Base(rest[0].text) == "rm" {
				return j.unless(denied("find %s rm deletes recursively; list the files first and delete them by name", a.text))
			}
			if err := j.run(rest, input{}); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	// wipes are the calls with which languages delete a tree.
	wipes = regexp.MustCompile(`rmtree|remove_tree|rm_rf|rm_r\b|removedirs|rmSync|rmdirSync|fs\.rm\b|deleteTree|Remove-Item`)
	// quotedText are the strings of a program, in most languages.
	quotedText = regexp.MustCompile("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|`([^`]*)`")
)

// code judges a program given on the command line or in a here-document. It
// cannot be understood; what it says to a shell can.
func (j *judge) code(args []word, in input) error {
	for _, w := range append(slices.Clone(args), in.text...) {
		if !j.exempt && wipes.MatchString(w.text) {
			return denied("the code deletes a whole folder; delete files by name, or with delete_file")
		}
		for _, m := range quotedText.FindAllStringSubmatch(w.text, -1) {
			text := m[1] + m[2] + m[3]
			if j.exempt || !strings.Contains(text, " ") && !strings.HasPrefix(text, "/") {
				continue
			}
			if err := j.spoken(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// spoken judges a text that may be a command. Only harm counts: most texts are
// no commands at all.
func (j *judge) spoken(text string) error {
	file, err := j.parse(text)
	if err != nil {
		return nil
	}
	probe := &judge{guard: &Guard{deny: j.guard.deny, opt: Options{Exists: j.guard.opt.Exists}}, dir: j.dir, values: map[string][]string{}, unknown: map[string]bool{}, depth: j.depth, steps: j.steps, found: j.found}
	if err := probe.file(file); err != nil && strings.Contains(err.Error(), "not run") && !strings.Contains(err.Error(), "only decided") {
		return err
	}
	return nil
}
