package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"magpie/tools/egress"
	"magpie/tools/shell/sandbox"
)

// wall is the sandbox that the server runs in; nil: it runs without.
func (s *server) wall() *sandbox.Sandbox {
	if s.cfg.Bare || s.opt.Wall == nil {
		return nil
	}
	return s.opt.Wall()
}

// startWalled starts the server in the sandbox, where it has its own folder, the
// system's programs, what its configuration opens, and the files that its
// command line names.
func (s *server) startWalled(c *child, wall *sandbox.Sandbox, cmd *exec.Cmd) error {
	program, err := filepath.Abs(cmd.Path)
	if err != nil {
		return err
	}
	places := &sandbox.Places{Read: s.named(wall, program), Write: append([]string{cmd.Dir}, s.cfg.Paths...), Limits: sandbox.Limits{CPU: serverCPU}}
	for _, p := range s.cfg.Paths {
		if _, err := os.Stat(p); err != nil {
			return fmt.Errorf("tools.mcp_servers.%s.paths: %w; want files and folders that exist", s.cfg.Name, err)
		}
	}
	s.mu.Lock()
	s.walled, s.state.Closed = true, s.closed(wall, places)
	closed := s.state.Closed
	s.mu.Unlock()
	if len(closed) > 0 {
		s.opt.Log.Warn("mcp server runs in the sandbox and cannot reach what its arguments name; tools.mcp_servers."+s.cfg.Name+".paths opens it", "paths", closed)
	}
	var pipes [3][2]*os.File
	var errs [3]error
	for i := range pipes {
		pipes[i][0], pipes[i][1], errs[i] = os.Pipe()
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	c.in, c.out, c.stray = pipes[0][1], pipes[1][0], pipes[2][0]
	run := sandbox.Command{
		Args: append([]string{program}, s.cfg.Args...), Env: append(s.environment(), "HOME="+cmd.Dir), Dir: cmd.Dir,
		Stdin: pipes[0][0], Stdout: pipes[1][1], Stderr: pipes[2][1], Places: places,
	}
	if wall.Network() == sandbox.Guarded {
		run.Prepare = func(temp string) ([]string, error) {
			return egress.Prepare(temp, sandbox.ProxyAddress, wall.Listens(), run.Env)
		}
		if s.opt.Proxy != nil {
			way := s.opt.Proxy.Run()
			run.Proxy = way.Serve
			s.mu.Lock()
			s.way = way
			s.mu.Unlock()
		}
	}
	s.runWalled(c, wall, run)
	return nil
}

// runWalled runs it until it ends or is killed.
func (s *server) runWalled(c *child, wall *sandbox.Sandbox, run sandbox.Command) {
	ctx, cancel := context.WithCancel(context.Background())
	term, ended, how := make(chan struct{}), make(chan struct{}), ""
	run.Term = term
	go func() {
		defer close(ended)
		out, err := wall.Run(ctx, run)
		for _, f := range []any{run.Stdin, run.Stdout, run.Stderr} {
			_ = f.(*os.File).Close() // the server has its own
		}
		switch {
		case err != nil:
			how = s.clean(err).Error()
		case out.Signal != "":
			how = "signal: " + out.Signal
		default:
			how = fmt.Sprintf("exit status %d", out.Code)
		}
	}()
	c.tell = sync.OnceFunc(func() { close(term) })
	c.wait = func() string {
		<-ended
		return how
	}
	c.kill = func() {
		cancel()
		soon(ended) // after that the sandbox goes on alone
	}
}

// named are the files that the command line names: they may be read, and with
// them the code that they are part of: the program's installation, a package of
// Node, an environment of Python. Whatever else a server wants the operator
// opens.
func (s *server) named(wall *sandbox.Sandbox, program string) []string {
	all := installation(program)
	for _, file := range append([]string{program}, s.cfg.Args...) {
		if !filepath.IsAbs(file) || !fileExists(file) {
			continue
		}
		all = append(all, file)
		for _, f := range spellings(file) {
			if i := strings.Index(f, "/node_modules/"); i >= 0 {
				all = append(all, f[:i+len("/node_modules")])
			}
		}
		if venv := filepath.Dir(filepath.Dir(file)); fileExists(filepath.Join(venv, "pyvenv.cfg")) {
			all = append(all, venv)
		}
	}
	return slices.DeleteFunc(all, wall.Exposes)
}

// spellings are a file's name and where it leads.
func spellings(file string) []string {
	real, err := filepath.EvalSymlinks(file)
	if err != nil || real == file {
		return []string{file}
	}
	return []string{file, real}
}

// installation is the folder above the bin that a program lies in, as versions
// of Node and Python in a home have it. A home itself is none.
func installation(program string) (all []string) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/root"
	}
	for _, f := range spellings(program) {
		bin := filepath.Dir(f)
		top := filepath.Dir(bin)
		switch rel, err := filepath.Rel(top, home); {
		case !slices.Contains([]string{"bin", "sbin", "shims"}, filepath.Base(bin)):
		case err == nil && rel != ".." && !strings.HasPrefix(rel, "../"), top == filepath.Join(home, ".local"):
			all = append(all, bin)
		default:
			all = append(all, top)
		}
	}
	return all
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// closed are the arguments and variables that name what exists and is out of
// reach: most likely they were written before there was a sandbox.
func (s *server) closed(wall *sandbox.Sandbox, places *sandbox.Places) (all []string) {
	open := slices.Concat(places.Read, places.Write)
	out := func(path string) bool {
		_, err := os.Stat(path)
		return filepath.IsAbs(path) && err == nil && !wall.Readable(path, open...)
	}
	for _, word := range s.cfg.Args {
		if _, value, ok := strings.Cut(word, "="); ok && !filepath.IsAbs(word) { // --root=/srv/docs
			word = value
		}
		if out(word) {
			all = append(all, s.opt.Redact(word))
		}
	}
	for name, value := range s.cfg.Env { // secrets, so they are not shown
		path := string(value)
		if dir := filepath.Dir(path); out(path) || !fileExists(path) && dir != "/" && out(dir) {
			all = append(all, "the path in env."+name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// maxRefused is how many refused hosts are told.
const maxRefused = 3

// refused are the words of programs that the sandbox has stopped.
var refused = regexp.MustCompile(`(?i)\b(EACCES|EPERM|EROFS|EAFNOSUPPORT|permission denied|not permitted|access is denied|read-only file system|address family not supported|connection refused|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|fetch failed|name resolution|forbidden)\b`)

// advice says which key opens the sandbox; "" when the server runs without one.
func (s *server) advice() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.walled {
		return ""
	}
	if lines := s.way.Refused(); len(lines) > 0 {
		return fmt.Sprintf("it runs in the sandbox, whose network is guarded: %s; tools.web.allow_private lets networks through, tools.mcp_servers.%s.sandbox: off runs it without",
			s.opt.Redact(strings.Join(lines[:min(len(lines), maxRefused)], "; ")), s.cfg.Name)
	}
	key, what := "tools.mcp_servers."+s.cfg.Name, "what it needs"
	if len(s.state.Closed) > 0 {
		what = strings.Join(s.state.Closed, ", ")
	}
	return fmt.Sprintf("it runs in the sandbox: %s.paths opens %s, %s.sandbox: off runs it without", key, what, key)
}
