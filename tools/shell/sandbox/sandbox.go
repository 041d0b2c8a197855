// Package sandbox runs commands so that they reach nothing but the folders
// they were given and the system's programs and libraries, and so that nothing
// of them is left when they end. The wall is Landlock with a system call
// filter, or bwrap; where neither works it says so. It does not judge what a
// command means: package guard does.
//
// A command runs under two helper processes, both this same program started
// again (see Helper): the warden, which outlives the command, bounds the number
// of its processes and kills all that is left of it; and the one that confines
// itself and becomes the command.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Kind is what the wall is made of.
type Kind string

// The kinds.
const (
	Landlock Kind = "landlock"
	Bwrap    Kind = "bwrap"
	Off      Kind = "off"
	// Auto is the best kind that works here: landlock, bwrap or off.
	Auto Kind = "auto"
)

// Errors of New.
var (
	// ErrUnavailable: the wanted kind does not work on this machine.
	ErrUnavailable = errors.New("sandbox not available")
	// ErrExposed: what must stay hidden lies in a folder that commands get.
	ErrExposed = errors.New("the sandbox would not hide what it must")
)

// Options of a Sandbox.
type Options struct {
	// Want is the kind; "" is Auto.
	Want Kind
	// Write are the folders that commands may change. They must exist.
	Write []string
	// Hidden are files and folders that no command may reach: configuration,
	// keys, store. A folder of Write may lie inside one of them.
	Hidden []string
	// Limits bound a command; zero fields have defaults.
	Limits Limits
	// Network is what commands have unless one says otherwise; "" is AutoNetwork.
	Network Network
	// Listen lets guarded commands listen on TCP ports of this machine, and
	// connect to those.
	Listen bool
}

// Limits bound one command with all its processes, or each of its processes.
type Limits struct {
	CPU   time.Duration // of one process; 20 min
	File  int64         // bytes of one file; 1 GiB
	Data  int64         // bytes of memory of one process; 4 GiB
	Files int           // open files of one process; 1024
	Procs int           // processes and threads of the command; 512
}

func (l Limits) withDefaults() Limits {
	set := func(v *int64, to int64) {
		if *v <= 0 {
			*v = to
		}
	}
	if l.CPU <= 0 {
		l.CPU = 20 * time.Minute
	}
	set(&l.File, 1<<30)
	set(&l.Data, 4<<30)
	if l.Files <= 0 {
		l.Files = 1024
	}
	if l.Procs <= 0 {
		l.Procs = 512
	}
	return l
}

// Command is what to run.
type Command struct {
	Args           []string  // the program, as an absolute path, and its arguments
	Env            []string  // the whole environment, besides TMPDIR
	Dir            string    // an absolute path
	Stdin          io.Reader // nil: no input
	Stdout, Stderr io.Writer
	// Places is what this run has of its own; nil: what the Sandbox gives.
	Places *Places
	// Term asks the processes of the command to end (SIGTERM) when it is closed;
	// nil: never.
	Term <-chan struct{}
	// Network is what this one has; "" is the sandbox's. Guarded is an error of
	// Run where it does not work.
	Network Network
	// Proxy gets every connection that a guarded command makes to ProxyAddress,
	// each on a goroutine of its own. The connection is closed when Proxy
	// returns, and when the command has ended; then ctx ends, too, and Run waits
	// until Proxy has returned. nil: none is let through.
	Proxy func(ctx context.Context, conn net.Conn)

	// Prepare is told the folder of TMPDIR before the command starts. It may put
	// files there and returns more variables, which
	// count instead of those of Env; nil: none.
	Prepare func(temp string) (env []string, err error)

	reach []string // only tried, for Reaches
}

// Places are what one run reaches beside the system's programs, instead of the
// folders of the Sandbox. What lies in them may not be Hidden.
type Places struct {
	Read  []string // files and folders
	Write []string // the same, to be changed
	// Limits are those of this run; zero fields: those of the Sandbox.
	Limits Limits
	// Sockets allows a guarded command to make sockets of files and to listen
	// there, which some programs insist on. Nobody connects to one.
	Sockets bool
}

// Outcome is how a command ended.
type Outcome struct {
	Code   int    // exit code; -1 when a signal ended it (with Bwrap 128 and the signal's number)
	Signal string // "killed", "segmentation fault", …; "" when it exited
}

// Report says what is in force.
type Report struct {
	Kind Kind
	// Text is one line for people: what the wall is, or why there is none.
	Text string
	// Network is what commands have by default; never AutoNetwork.
	Network Network
}

// Sandbox runs commands. Safe for concurrent use. It starts no goroutine that
// outlives a Run.
type Sandbox struct {
	report Report
	read   []string // real paths of what may be read and executed
	write  []string // real paths of what may be changed
	hidden []string
	limits Limits
	bwrap  string   // path of the program
	users  []string // its options about user namespaces
	counts bool     // bwrap's commands are under a filter that counts forks
	abi    int      // of Landlock

	network Network
	listen  bool
	guards  bool // Guarded works here
}

// Report says what is in force.
func (s *Sandbox) Report() Report { return s.report }

// New finds out what works here by running a command that does nothing. The
// program must call Helper first thing in main. Errors are ErrUnavailable and
// ErrExposed with an explanation for the operator.
func New(o Options) (*Sandbox, error) {
	s := &Sandbox{limits: o.Limits.withDefaults(), read: systemPaths(), hidden: o.Hidden, listen: o.Listen, network: Open}
	if o.Want == "" {
		o.Want = Auto
	}
	for _, dir := range o.Write {
		real, err := realPath(dir)
		if err != nil {
			return nil, fmt.Errorf("open folder for commands: %w", err)
		}
		s.write = append(s.write, real)
	}
	if o.Want != Off {
		if h, dir := s.exposed(append(s.read[:len(s.read):len(s.read)], s.write...)); h != "" {
			return nil, fmt.Errorf("%w: %s lies in %s, which commands may read; move one of them, or set tools.exec.enabled: false", ErrExposed, h, dir)
		}
	}
	if err := s.choose(o.Want); err != nil {
		return s, err
	}
	return s, s.chooseNetwork(o.Network)
}

// exposed says which hidden thing lies in which of the folders. Neither
// Landlock nor anybody who reads a configuration can subtract from a folder.
func (s *Sandbox) exposed(dirs []string) (hidden, in string) {
	for _, h := range s.hidden {
		real, err := realPath(h)
		if err != nil {
			continue // not there yet, or not ours to see
		}
		for _, dir := range dirs {
			if inside(real, dir) {
				return h, dir
			}
		}
	}
	return "", ""
}

// Exposes says whether something hidden lies in a folder, so that no run gets it.
func (s *Sandbox) Exposes(dir string) bool {
	real, err := realPath(dir)
	if err != nil {
		return false
	}
	hidden, _ := s.exposed([]string{real})
	return hidden != ""
}

// or takes from all what l leaves open.
func (l Limits) or(all Limits) Limits {
	return Limits{
		CPU: cmp.Or(l.CPU, all.CPU), File: cmp.Or(l.File, all.File), Data: cmp.Or(l.Data, all.Data),
		Files: cmp.Or(l.Files, all.Files), Procs: cmp.Or(l.Procs, all.Procs),
	}
}

// choose tries the wanted kind, or one after the other.
func (s *Sandbox) choose(want Kind) error {
	if want == Off {
		s.report = Report{Kind: Off, Text: "off: switched off by the configuration; commands can do what the bot's user can"}
		return nil
	}
	kinds := []Kind{want}
	if want == Auto {
		kinds = []Kind{Landlock, Bwrap}
	}
	if want == Auto && runtime.GOOS != "linux" {
		s.report = Report{Kind: Off, Text: "off: there is none for " + runtime.GOOS + "; commands can do what the bot's user can"}
		return nil
	}
	var why []string
	for _, kind := range kinds {
		text, err := s.try(kind)
		if err == nil {
			s.report = Report{Kind: kind, Text: text}
			return nil
		}
		why = append(why, fmt.Sprintf("%s: %v", kind, err))
	}
	if want == Auto {
		s.report = Report{Kind: Off, Text: "off: nothing to build it of works here (" + strings.Join(why, "; ") + "); commands can do what the bot's user can"}
		return nil
	}
	return fmt.Errorf("%w: %s. Landlock needs Linux 5.13 or newer with landlock in the list of its security modules "+
		"(boot parameter lsm=landlock,…) on amd64, arm64, arm or riscv64; bwrap needs the package bubblewrap. "+
		"tools.exec.sandbox: auto takes what there is, tools.exec.enabled: false has no commands",
		ErrUnavailable, strings.Join(why, "; "))
}

// Readable says whether a program at this absolute path can be run inside, by
// commands that also get more.
func (s *Sandbox) Readable(path string, more ...string) bool {
	if s.report.Kind == Off {
		return true
	}
	real, err := realPath(path)
	if err != nil {
		return false
	}
	for _, dir := range slices.Concat(s.read, s.write, more) {
		if dir, err := realPath(dir); err == nil && inside(real, dir) {
			return true
		}
	}
	return false
}

// environment is that of a command whose TMPDIR is temp.
func (c Command) environment(temp string) ([]string, error) {
	env := append(slices.Clone(c.Env), "TMPDIR="+temp)
	if c.Prepare == nil {
		return env, nil
	}
	more, err := c.Prepare(temp)
	if err != nil {
		return nil, fmt.Errorf("prepare a command: %w", err)
	}
	env = slices.DeleteFunc(env, func(old string) bool {
		name, _, _ := strings.Cut(old, "=")
		return slices.ContainsFunc(more, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	})
	return append(env, more...), nil
}

func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// inside says whether a clean path is dir or lies in it.
func inside(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// systemPaths are what programs need of the system to run: programs and
// libraries, and the few files of /etc without secrets that the C library and
// TLS read. Folders of the system that also hold private things (/etc, /var,
// /run, /opt, /home, /proc) are not among them.
func systemPaths() []string {
	all := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
		"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust/extracted",
		"/etc/ca-certificates", "/etc/crypto-policies",
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
		"/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/mime.types", "/etc/magic",
		"/etc/os-release", "/etc/debian_version", "/etc/terminfo", "/etc/inputrc", "/etc/fonts", "/etc/java", "/etc/perl",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems",
		"/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/cap_last_cap",
		"/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage",
	}
	if runtime.GOOS != "linux" {
		return all[:7]
	}
	return all
}
