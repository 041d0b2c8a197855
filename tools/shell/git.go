package shell

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// steadyGit says whether git does what its subcommand says and nothing else: its
// settings, hooks and options can make it run any program (git-config(1),
// githooks(5), gitattributes(5), read 2026-11-27). Only what is known to run
// none is let pass.
func (s *Shell) steadyGit(args []string, dir string) bool {
	for len(args) > 0 && (args[0] == "--no-pager" || args[0] == "-P") {
		args = args[1:]
	}
	if len(args) == 0 || !slices.Contains(steadySubcommands(), args[0]) || slices.ContainsFunc(args[1:], runsProgram) {
		return false
	}
	for _, file := range []string{".gitconfig", ".config/git/config"} {
		if !harmlessConfig(filepath.Join(s.env["HOME"], file)) {
			return false
		}
	}
	for at := dir; s.inside(at); at = path.Dir(at) {
		if has(at, "HEAD") && has(at, "objects") && has(at, "refs") {
			return false // a bare repository, whose settings lie open
		}
		if has(at, ".git") {
			return s.steadyRepository(at)
		}
	}
	return true
}

func has(folder, name string) bool {
	_, err := os.Lstat(path.Join(folder, name))
	return err == nil
}

func steadySubcommands() []string {
	return strings.Fields("status log diff show shortlog rev-parse rev-list ls-files ls-tree describe blame annotate branch tag cat-file show-ref reflog whatchanged add commit mv rm restore checkout switch reset stash fetch pull push version")
}

// runsProgram says whether an option runs a program, or writes where it is told
// to. Options may be shortened.
func runsProgram(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	if !strings.HasPrefix(name, "--") {
		// -O of grep opens a pager, -x of rebase runs; those are no steady
		// subcommands. -o writes to a file, -c sets, -u of fetch is a program.
		return len(name) > 1 && name[0] == '-' && strings.ContainsAny(name[1:], "o")
	}
	if name == "--" || name == "--oneline" {
		return false
	}
	for _, bad := range []string{"--output", "--ext-diff", "--textconv", "--exec", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--config", "--template", "--edit", "--interactive", "--patch-with", "--gpg-sign", "--sign", "--signoff-by", "--show-signature", "--verify-signatures", "--recurse-submodules", "--submodule", "--filters"} {
		if strings.HasPrefix(bad, name) || strings.HasPrefix(name, bad) {
			return true
		}
	}
	return false
}

// steadyRepository says whether nothing in a repository makes git run programs.
func (s *Shell) steadyRepository(at string) bool {
	folder := path.Join(at, ".git")
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || has(folder, "commondir") || has(folder, "modules") || has(at, ".gitmodules") || !harmlessConfig(path.Join(folder, "config")) {
		return false
	}
	if hooks, err := os.Lstat(path.Join(folder, "hooks")); err == nil && !hooks.IsDir() {
		return false
	}
	found, _ := os.ReadDir(path.Join(folder, "hooks"))
	if slices.ContainsFunc(found, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".sample") }) {
		return false
	}
	return !nested(at)
}

// nested says whether there may be another repository in the work tree: git asks
// that for its state, by its own settings.
func nested(at string) bool {
	const most = 50_000
	n, found := 0, false
	_ = filepath.WalkDir(at, func(p string, d fs.DirEntry, err error) error {
		n++
		switch {
		case n > most || err == nil && d.Name() == ".git" && path.Dir(p) != at:
			found = true
			return fs.SkipAll
		case err == nil && d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		}
		return nil
	})
	return found
}

var (
	gitSection = regexp.MustCompile(`^\[([A-Za-z]+)(?: "[^"\\]*")?\]$`)
	gitSetting = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)\s*=\s*([^\\]*)$`)
)

// harmlessConfig says whether a file of settings is not there, or holds only
// such as name no program.
func harmlessConfig(file string) bool {
	raw, err := os.ReadFile(file)
	if err != nil {
		_, err = os.Lstat(file)
		return os.IsNotExist(err)
	}
	section := ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := gitSection.FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := gitSetting.FindStringSubmatch(line)
		if m == nil || !slices.Contains(harmlessSettings(section), strings.ToLower(m[1])) {
			return false
		}
		if strings.EqualFold(m[1], "url") && strings.Contains(m[2], "::") {
			return false // ext::command
		}
	}
	return true
}

func harmlessSettings(section string) []string {
	switch section {
	case "core":
		return strings.Fields("repositoryformatversion filemode logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol quotepath abbrev bare")
	case "user":
		return []string{"name", "email"}
	case "remote":
		return []string{"url", "fetch"}
	case "branch":
		return []string{"remote", "merge", "rebase"}
	case "init":
		return []string{"defaultbranch"}
	case "push":
		return []string{"default"}
	case "pull":
		return []string{"rebase", "ff"}
	case "fetch":
		return []string{"prune"}
	case "advice":
		return []string{"detachedhead"}
	}
	return nil
}
