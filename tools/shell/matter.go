package shell

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/shell/guard"
)

// matter is what a command is about, for the policy: a rule allows it by each
// simple command that it comes to, if nothing but these words says what will
// run; other rules see what stands inside of it, and the files that it names.
func (s *Shell) matter(sc tools.Scope, args json.RawMessage) (m tools.Matter) {
	var in execIn
	if json.Unmarshal(args, &in) != nil {
		return m
	}
	dir := s.folderOr(in.WorkingDir)
	_, found, _ := s.guard.Look(in.Command, dir)
	parts, ok := guard.Plain(in.Command)
	m.Main, m.Unclear = []string{in.Command}, true
	if ok && s.steady(sc, parts, dir) {
		m.Main, m.Unclear = nil, false
		for _, words := range parts {
			m.Main = append(m.Main, guard.Written(words))
		}
	}
	m.Also = found.Commands
	for _, p := range append(s.spread(found.Paths), dir) {
		if s.inside(p) {
			m.Also = append(m.Also, s.deps.Fence.Names(p)...)
		}
	}
	return m
}

// folderOr is the folder to run in, the workspace when there is no such one: the
// call says so later.
func (s *Shell) folderOr(name string) string {
	dir, err := s.folder(name)
	if err != nil {
		return s.cfg.Workspace
	}
	return dir
}

// mostSpread bounds what the patterns in a command stand for.
const mostSpread = 2000

// spread puts the files in the place of patterns.
func (s *Shell) spread(paths []string) []string {
	var all []string
	for _, p := range paths {
		all = append(all, p)
		if !strings.ContainsAny(p, "*?[") || !s.inside(p) {
			continue
		}
		if found, err := filepath.Glob(p); err == nil {
			all = append(all, found[:min(len(found), mostSpread)]...)
		}
	}
	return all
}

// inside says whether a path lies in a folder that commands may change.
func (s *Shell) inside(p string) bool {
	return slices.ContainsFunc(append([]string{s.cfg.Workspace}, s.cfg.Allowed...), func(folder string) bool {
		rest, ok := strings.CutPrefix(p, strings.TrimSuffix(folder, "/"))
		return ok && (rest == "" || rest[0] == '/')
	})
}

// steady says whether the words of simple commands tell what will run: programs
// of the system, in the environment that all chats have, and git only where
// nothing in the workspace makes it run something else.
func (s *Shell) steady(sc tools.Scope, parts [][]string, dir string) bool {
	if len(s.deps.VariablesFrom(sc)) > 0 {
		return false
	}
	for _, words := range parts {
		name := words[0]
		if slices.Contains([]string{"echo", "printf", "pwd", "true", "false", "test", "[", ":"}, name) {
			if len(words) > 1 && name == "printf" && strings.HasPrefix(words[1], "-v") {
				return false
			}
			continue
		}
		program := s.program(name, dir)
		if program == "" || s.inside(program) {
			return false
		}
		if path.Base(name) == "git" && !s.steadyGit(words[1:], dir) {
			return false
		}
	}
	return true
}

// program is the file that a name runs, with links followed; "" none is found.
func (s *Shell) program(name, dir string) string {
	places := filepath.SplitList(s.env["PATH"])
	if strings.Contains(name, "/") {
		places = []string{dir}
		if path.IsAbs(name) {
			places = []string{""}
		}
	}
	for _, place := range places {
		file := path.Join(place, name)
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil || s.inside(file) {
			return ""
		}
		return real
	}
	return ""
}

// sources are where the words came from that a command reads, as far as it
// names files: others have written them.
func (s *Shell) sources(found guard.Found, dir string) (from []chat.Source) {
	origin := s.deps.Fence.Origin()
	if origin == nil || !slices.ContainsFunc(found.Programs, func(p string) bool { return !slices.Contains(namers(), path.Base(p)) }) {
		return nil
	}
	paths := s.spread(found.Paths)
	if slices.ContainsFunc(found.Commands, looksAround) {
		paths = append(paths, dir)
	}
	for _, p := range paths {
		if !s.inside(p) {
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		name := s.deps.Fence.Real(p)
		if info.IsDir() {
			if p != dir || slices.ContainsFunc(found.Commands, looksAround) {
				from = chat.JoinSources(from, origin.Under(name))
			}
			continue
		}
		if file, err := s.deps.Fence.Open(p); err == nil {
			from = chat.JoinSources(from, origin.Of(name, file))
			file.Close() // opened for reading
		}
	}
	return from
}

// namers are programs that show names of files and nothing of what is in them.
func namers() []string {
	return strings.Fields("ls du df stat cd pushd popd pwd mkdir rmdir rm chmod chown touch test [ true false echo printf which basename dirname realpath readlink date sleep")
}

// looksAround says whether a command shows what stands in files without naming
// them.
func looksAround(command string) bool {
	words := strings.Fields(command)
	switch {
	case len(words) == 0:
		return false
	case words[0] == "rg" || words[0] == "ag" || words[0] == "ack":
		return true
	case words[0] == "grep" || words[0] == "egrep" || words[0] == "fgrep":
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.HasPrefix(w, "--rec") || strings.HasPrefix(w, "--der") || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "rR")
		})
	case words[0] == "git" && len(words) > 1:
		return slices.Contains([]string{"diff", "show", "grep", "blame", "annotate", "stash"}, words[1]) || slices.Contains(words, "-p") || slices.Contains(words, "--patch")
	}
	return false
}
