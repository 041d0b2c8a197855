package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/tools"
)

// homeFolder is the home of commands, in the workspace: caches and settings
// that programs write stay there, and those of the bot's user are not read.
const homeFolder = ".home"

// minSecret is the shortest secret that is looked for in a variable; shorter
// ones stand in ordinary texts by chance.
const minSecret = 6

// calm makes programs go on without a person: no pager, no editor, no
// questions, no colours.
func calm() map[string]string {
	return map[string]string{
		"CI": "1", "TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat",
		"EDITOR": "false", "VISUAL": "false",
		"GIT_PAGER": "cat", "GIT_EDITOR": "false", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false", "SSH_ASKPASS": "false", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "GCM_INTERACTIVE": "never",
		"DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1", "npm_config_yes": "true", "HOMEBREW_NO_AUTO_UPDATE": "1",
	}
}

// baseEnv is what every command sees of the bot's environment: its language,
// where programs are, and what the configuration names.
func (s *Shell) baseEnv() (map[string]string, error) {
	home := filepath.Join(s.cfg.Workspace, homeFolder)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("create home of commands: %w", err)
	}
	env := calm()
	env["HOME"], env["SHELL"], env["PATH"], env["LANG"] = home, s.shell, s.path(), "C.UTF-8"
	if lang, ok := s.deps.Lookup("LANG"); ok && lang != "" {
		env["LANG"] = lang
	}
	for _, name := range s.cfg.Env {
		value, ok := s.deps.Lookup(name)
		if !ok {
			continue
		}
		for _, secret := range s.cfg.Secrets {
			if text := string(secret); len(text) >= minSecret && strings.Contains(value, text) {
				return nil, fmt.Errorf("%s holds a key of the bot's, which commands must not see; give the command a key of its own under another name", name)
			}
		}
		env[name] = value
	}
	return env, nil
}

// path is the bot's PATH without the folders that commands cannot reach: a
// shell would find a program there and fail to start it.
func (s *Shell) path() string {
	const usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	value, _ := s.deps.Lookup("PATH")
	var dirs []string
	for _, dir := range append(filepath.SplitList(value), filepath.SplitList(usual)...) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) && s.sandbox.Readable(dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// Base is what every command sees, but for PWD and TMPDIR.
func (s *Shell) Base() map[string]string { return maps.Clone(s.env) }

// environment is what one command sees: besides, what its chat has set.
func (s *Shell) environment(sc tools.Scope, dir string) []string {
	env := maps.Clone(s.env)
	for name, value := range s.deps.Session(sc) {
		if name != "" && !strings.ContainsAny(name, "=\x00") && !strings.ContainsRune(value, 0) {
			env[name] = value
		}
	}
	env["PWD"] = dir
	delete(env, "TMPDIR") // the sandbox gives one
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}

// findShell is the user's shell when the guard can read its language, else
// the system's.
func (s *Shell) findShell() string {
	for _, p := range shells(s.deps.Lookup) {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && s.sandbox.Readable(p) {
			return p
		}
	}
	return "/bin/sh"
}

// shells are the places where one may be, the user's own first.
func shells(lookup func(string) (string, bool)) []string {
	places := []string{"/bin/bash", "/usr/bin/bash", "/bin/sh"}
	path, _ := lookup("SHELL")
	if filepath.IsAbs(path) && slices.Contains([]string{"bash", "sh", "dash", "zsh", "ksh", "mksh"}, filepath.Base(path)) {
		places = append([]string{path}, places...)
	}
	return places
}

// Missing: the machine has no shell, as a container of nothing but the bot, so
// no command could ever run. New need not be called then: it tries the sandbox,
// in processes that take memory.
func Missing() bool {
	return !slices.ContainsFunc(shells(os.LookupEnv), func(path string) bool {
		_, err := os.Stat(path)
		return !errors.Is(err, fs.ErrNotExist)
	})
}
