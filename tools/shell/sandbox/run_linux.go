package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// killTime is how long the warden may take to kill what is left: on a slow
	// processor with much to do, looking for it takes seconds.
	killTime = 20 * time.Second
	// waitDelay is how long the warden may take after its command was called
	// off; then it is killed.
	waitDelay = killTime + 3*time.Second
)

// job is what a warden is told, as JSON.
type job struct {
	Kind      Kind
	Args, Env []string
	Dir       string
	Places
	ABI     int  // of Landlock
	Counts  bool // with Bwrap: forks are counted
	Network Network
	Listen  bool
	Reach   []string // addresses to try
}

// place puts what a run has of its own into its job.
func (s *Sandbox) place(j *job, p *Places) error {
	j.Read, j.Limits = s.read[:len(s.read):len(s.read)], s.limits
	if p == nil {
		j.Write = s.write[:len(s.write):len(s.write)]
		return nil
	}
	j.Limits, j.Sockets = p.Limits.or(s.limits), p.Sockets
	for i, path := range append(p.Read[:len(p.Read):len(p.Read)], p.Write...) {
		real, err := realPath(path)
		if err != nil {
			return fmt.Errorf("open folder for a command: %w", err)
		}
		if h, _ := s.exposed([]string{real}); h != "" && s.report.Kind != Off {
			return fmt.Errorf("%w: %s lies in %s", ErrExposed, h, path)
		}
		if i < len(p.Read) {
			j.Read = append(j.Read, real)
		} else {
			j.Write = append(j.Write, real)
		}
	}
	return nil
}

// ending is what a warden answers, as JSON.
type ending struct {
	Outcome
	Err string // why the command was not run
}

// try runs a command that does nothing inside a kind.
func (s *Sandbox) try(kind Kind) (text string, err error) {
	if os.Getenv(helperVariable) != "" {
		return "", errors.New("this program does not call sandbox.Helper first thing in main")
	}
	switch kind {
	case Landlock:
		if auditArch == 0 {
			return "", fmt.Errorf("this program has no filter of system calls for %s", runtime.GOARCH)
		}
		if s.abi, err = landlockABI(); err != nil {
			return "", err
		}
		text = fmt.Sprintf("landlock (ABI %d) with a system call filter: commands read the system's programs and change only %s", s.abi, strings.Join(s.write, ", "))
	case Bwrap:
		if s.bwrap, err = exec.LookPath("bwrap"); err != nil {
			return "", errors.New("bwrap is not installed")
		}
		s.report.Kind = kind
		if err := s.probeBwrap(); err != nil {
			return "", err
		}
		text = "bwrap: commands see the system's programs and change only " + strings.Join(s.write, ", ")
		if !s.counts {
			text += "; the number of their processes has no bound"
		}
		return text, nil
	default:
		return "", fmt.Errorf("want %s, %s, %s or %s", Auto, Landlock, Bwrap, Off)
	}
	s.report.Kind = kind
	return text, s.probe(Open)
}

// probeBwrap finds out how much of a wall bwrap is here. Versions from 0.8 on
// can keep commands from namespaces of their own. A filter needs a kernel that
// lets another process answer (Linux 5.5), and a bwrap that is not setuid; and
// it is made for some architectures only.
func (s *Sandbox) probeBwrap() (err error) {
	counts := []bool{true, false}
	if auditArch == 0 {
		counts = counts[1:]
	}
	for _, s.counts = range counts {
		for _, s.users = range [][]string{{"--unshare-user", "--disable-userns"}, {"--unshare-user-try"}} {
			if err = s.probe(Open); err == nil {
				return nil
			}
		}
	}
	return err
}

// probe runs a command that does nothing.
func (s *Sandbox) probe(n Network) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	var said bytes.Buffer
	out, err := s.Run(ctx, Command{Args: []string{"/bin/sh", "-c", "exit 0"}, Dir: "/", Stdout: &said, Stderr: &said, Network: n})
	if err == nil && out != (Outcome{}) {
		err = fmt.Errorf("a command that does nothing ended with %+v: %s", out, said.String())
	}
	return err
}

// Run runs a command to its end and returns when no process of it is left.
// TMPDIR is a folder that is gone afterwards. When ctx ends the command is
// killed and the cause returned.
func (s *Sandbox) Run(ctx context.Context, c Command) (out Outcome, err error) {
	network, err := s.networkOf(c)
	if err != nil {
		return out, err
	}
	temp, err := os.MkdirTemp("", "magpie-exec-")
	if err != nil {
		return out, fmt.Errorf("create folder for a command: %w", err)
	}
	defer removeTree(temp)
	if temp, err = realPath(temp); err != nil {
		return out, fmt.Errorf("find folder for a command: %w", err)
	}
	env, err := c.environment(temp)
	if err != nil {
		return out, err
	}
	j := job{
		Kind: s.report.Kind, Args: c.Args, Env: env, Dir: c.Dir,
		ABI: s.abi, Counts: s.counts, Network: network, Listen: s.listen, Reach: c.reach,
	}
	if err := s.place(&j, c.Places); err != nil {
		return out, err
	}
	j.Write = append(j.Write, temp)
	if j.Kind == Bwrap {
		j.Args = append(append([]string{s.bwrap}, s.bwrapArgs(j)...), c.Args...)
	}
	end, err := runWarden(ctx, j, c)
	switch {
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case err != nil:
		return out, err
	case end.Err != "":
		return out, fmt.Errorf("start a command: %s", end.Err)
	}
	return end.Outcome, nil
}

// runWarden starts the warden. The pipe over which it gets its job is also its
// lifeline: it kills the command when the other end is closed, be it because
// ctx ended or because this program died.
func runWarden(ctx context.Context, j job, c Command) (end ending, err error) {
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		return end, fmt.Errorf("start a command: %w", err)
	}
	defer lifeW.Close()
	endR, endW, err := os.Pipe()
	if err != nil {
		lifeR.Close()
		return end, fmt.Errorf("start a command: %w", err)
	}
	defer endR.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{helperName}
	// A program built with the race detector would sleep a second at its end.
	cmd.Env = []string{helperVariable + "=" + wardenRole, "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.ExtraFiles = []*os.File{lifeR, endW}
	if j.Network == Guarded {
		way, err := openWay(ctx, c.Proxy)
		if err != nil {
			return end, err
		}
		defer way.close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, way.theirs)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = lifeW.Close
	cmd.WaitDelay = waitDelay
	err = cmd.Start()
	lifeR.Close()
	endW.Close()
	if err != nil {
		return end, fmt.Errorf("start a command: %w", err)
	}
	// A warden that dies early says more by its end than this by its error.
	wrote := json.NewEncoder(lifeW).Encode(j)
	ended := make(chan struct{})
	var asked sync.WaitGroup
	asked.Go(func() {
		select {
		case <-c.Term:
			_, _ = lifeW.Write([]byte{askToEnd}) // it has ended, if nobody reads
		case <-ended:
		}
	})
	waited := cmd.Wait()
	close(ended)
	asked.Wait()
	if err := json.NewDecoder(endR).Decode(&end); err != nil {
		return end, fmt.Errorf("the warden of a command died: %w", errors.Join(waited, wrote))
	}
	return end, nil
}

// bwrapArgs are the options for bwrap; the command follows them.
func (s *Sandbox) bwrapArgs(j job) []string {
	args := append([]string{
		"--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--tmpfs", "/", "--dev", "/dev", "--proc", "/proc",
	}, s.users...)
	if j.Network == None && !j.Counts { // else the filter is there
		args = append(args, "--unshare-net")
	}
	for _, p := range kernelSettings() {
		args = append(args, "--ro-bind-try", p, p)
	}
	for _, p := range j.Read {
		if inside(p, "/proc") || inside(p, "/dev") {
			continue
		}
		if to, err := os.Readlink(p); err == nil && !strings.HasPrefix(p, "/etc/") {
			args = append(args, "--symlink", to, p) // /bin -> usr/bin
			continue
		}
		args = append(args, "--ro-bind-try", p, p)
	}
	for _, p := range j.Write {
		args = append(args, "--bind", p, p)
	}
	return append(args, "--chdir", j.Dir, "--")
}

// kernelSettings lists what of /proc could be written to by root, whose files
// they are, without any capability: /proc/sys/kernel/core_pattern names a
// program that the kernel runs outside of everything.
func kernelSettings() []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []string{"/proc/sys"}
	}
	var all []string
	for _, e := range entries {
		if e.Name()[0] >= '0' && e.Name()[0] <= '9' {
			continue // a process: its own files are its owner's
		}
		if info, err := e.Info(); err == nil && (e.IsDir() || info.Mode().IsRegular() && info.Mode()&0o222 != 0) {
			all = append(all, filepath.Join("/proc", e.Name()))
		}
	}
	return all
}
