// Package shell is the tool that runs commands: exec. The command is read by
// package guard before it runs, and runs in package sandbox. Every program that
// makes the tool calls sandbox.Helper first thing in main. The goroutines of a
// call end with it.
package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/egress"
	"magpie/tools/fs/fence"
	"magpie/tools/shell/guard"
	"magpie/tools/shell/sandbox"
)

//go:embed exec.md
var execText string

// The defaults of Config.
const (
	DefaultTimeout    = time.Minute
	DefaultMaxTimeout = 10 * time.Minute
	// DefaultMaxOutput is in characters.
	DefaultMaxOutput = 10_000
)

// Config is what an operator decides. Zero fields have defaults.
type Config struct {
	Workspace string   // where commands run; required, must exist
	Allowed   []string // further folders that they may change
	Hidden    []string // configuration, keys and store, which no command may reach
	Limits    Limits
	Rules     Rules
	Sandbox   sandbox.Kind  // "" is auto
	Env       []string      // names of the bot's variables that commands see
	Secrets   []chat.Secret // no variable of Env may hold one
	Network   sandbox.Network
	Listen    bool // commands may listen on TCP ports
}

// Limits bound a call.
type Limits struct {
	Timeout    time.Duration // unless the call asks for another one
	MaxTimeout time.Duration // the longest that a call may ask for
	MaxOutput  int           // characters that the model gets
}

// Rules are the operator's patterns; see guard.Options.
type Rules struct {
	Deny, Allow []string
	AllowOnly   bool
	Anywhere    bool // without a sandbox: commands may name any path
}

// Deps are what the tool needs of the program. Nil functions: nothing.
type Deps struct {
	Fence *fence.Fence // judges working_dir; required
	// Lookup finds a variable of the bot; nil is os.LookupEnv.
	Lookup func(string) (string, bool)
	// Session gives the variables that a chat has set for its commands.
	Session func(tools.Scope) map[string]string
	// Proxy is how commands of a guarded network reach the internet; nil: they do
	// not.
	Proxy *egress.Proxy
	// Progress is told what a long command does, one line at a time.
	Progress func(tools.Scope, string)
	// ProgressEvery is how often; 0 is 5 s.
	ProgressEvery time.Duration
}

const progressEvery = 5 * time.Second

// Shell runs commands. Safe for concurrent use.
type Shell struct {
	cfg     Config
	deps    Deps
	guard   *guard.Guard
	sandbox *sandbox.Sandbox
	shell   string            // path of the user's shell
	env     map[string]string // what every command sees
}

// New prepares what all calls share: it finds the shell and tries the sandbox.
// Errors are for the operator: a wrong pattern, a sandbox that does not work
// here, a workspace that holds what must stay hidden.
func New(cfg Config, deps Deps) (*Shell, error) {
	s := &Shell{cfg: cfg.withDefaults(), deps: deps.withDefaults()}
	var err error
	for i, p := range append([]*string{&s.cfg.Workspace}, pointers(s.cfg.Allowed)...) {
		if *p, err = realPath(*p); err != nil {
			return nil, fmt.Errorf("folder %d of exec: %w", i, err)
		}
	}
	folders := append([]string{s.cfg.Workspace}, s.cfg.Allowed...)
	s.sandbox, err = sandbox.New(sandbox.Options{
		Want: s.cfg.Sandbox, Write: folders, Hidden: s.cfg.Hidden, Limits: sandbox.Limits{CPU: 2 * s.cfg.Limits.MaxTimeout},
		Network: s.cfg.Network, Listen: s.cfg.Listen,
	})
	if err != nil {
		return nil, fmt.Errorf("tools.exec: %w", err)
	}
	rules := guard.Options{
		Deny: s.cfg.Rules.Deny, Allow: s.cfg.Rules.Allow, AllowOnly: s.cfg.Rules.AllowOnly,
		Open: folders, Hidden: absolute(s.cfg.Hidden),
	}
	if s.sandbox.Report().Kind == sandbox.Off && !s.cfg.Rules.Anywhere {
		rules.Fence = folders
	}
	if s.guard, err = guard.New(rules); err != nil {
		return nil, fmt.Errorf("tools.exec: %w", err)
	}
	s.shell = s.findShell()
	if s.env, err = s.baseEnv(); err != nil {
		return nil, fmt.Errorf("tools.exec.env: %w", err)
	}
	return s, nil
}

func (c Config) withDefaults() Config {
	if c.Limits.Timeout <= 0 {
		c.Limits.Timeout = DefaultTimeout
	}
	if c.Limits.MaxTimeout <= 0 {
		c.Limits.MaxTimeout = max(DefaultMaxTimeout, c.Limits.Timeout)
	}
	if c.Limits.MaxOutput <= 0 {
		c.Limits.MaxOutput = DefaultMaxOutput
	}
	c.Allowed = append([]string(nil), c.Allowed...)
	return c
}

func (d Deps) withDefaults() Deps {
	if d.Lookup == nil {
		d.Lookup = os.LookupEnv
	}
	if d.Session == nil {
		d.Session = func(tools.Scope) map[string]string { return nil }
	}
	if d.Progress == nil {
		d.Progress = func(tools.Scope, string) {}
	}
	if d.ProgressEvery <= 0 {
		d.ProgressEvery = progressEvery
	}
	return d
}

// Report says which sandbox is in force, for people.
func (s *Shell) Report() sandbox.Report { return s.sandbox.Report() }

type execIn struct {
	Command    string  `json:"command" jsonschema:"The command line for the shell." rule:"minlen=1"`
	WorkingDir string  `json:"working_dir,omitempty" jsonschema:"Folder to run in, relative to the workspace; the workspace itself when missing."`
	Timeout    float64 `json:"timeout,omitempty" jsonschema:"Seconds after which the command is stopped; the configuration's when missing." rule:"min=0"`
	TimeoutMS  float64 `json:"timeout_ms,omitempty" jsonschema:"The same in milliseconds." rule:"min=0,hidden"`
}

// Tool makes exec.
func (s *Shell) Tool() tools.Tool {
	spec := tools.Spec{
		Name: "exec", Also: []string{"bash"}, Description: strings.TrimSpace(execText), Category: tools.Code, Effect: tools.Acts,
		Main: "command", Timeout: -1, MaxChars: s.cfg.Limits.MaxOutput,
		Aliases: map[string]string{"cmd": "command", "cwd": "working_dir", "workdir": "working_dir"},
	}
	return tools.New(spec, s.call, tools.WithShow(s.show), tools.WithJudge(func(args json.RawMessage) error {
		var in execIn
		if err := json.Unmarshal(args, &in); err != nil {
			return nil // Call says it
		}
		_, err := s.plan(in)
		return err
	}))
}

// plan is what is known of a call before it runs.
type plan struct {
	limit   time.Duration
	dir     string // absolute
	verdict guard.Verdict
}

// plan refuses what cannot run.
func (s *Shell) plan(in execIn) (p plan, err error) {
	if strings.TrimSpace(in.Command) == "" {
		return p, tools.Errorf(tools.InvalidArgs, "the command is empty; want a command line such as ls -la")
	}
	if p.limit, err = s.limit(in); err != nil {
		return p, err
	}
	if p.dir, err = s.folder(in.WorkingDir); err != nil {
		return p, err
	}
	p.verdict, err = s.guard.Judge(in.Command, p.dir)
	return p, err
}

// errTimedOut ends a command that takes too long.
var errTimedOut = errors.New("the command's time is over")

func (s *Shell) call(ctx context.Context, sc tools.Scope, in execIn) (tools.Result, error) {
	p, err := s.plan(in)
	if err != nil {
		return tools.Result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.limit, errTimedOut)
	defer cancel()
	run := &running{started: time.Now()}
	stop := s.tell(sc, run)
	defer stop()
	cmd := sandbox.Command{
		Args: []string{s.shell, "-c", in.Command}, Env: s.environment(sc, p.dir), Dir: p.dir, Stdout: &run.stdout, Stderr: &run.stderr,
	}
	way := s.guarded(&cmd)
	out, err := s.sandbox.Run(ctx, cmd)
	res := s.heard(way, p.verdict)
	res.Untrusted = res.Untrusted || touchesForeign(in.Command+"\n"+in.WorkingDir)
	for _, refused := range way.Refused() {
		fmt.Fprintf(&run.stderr, "network: %s\n", refused)
	}
	switch {
	case errors.Is(err, errTimedOut):
		return res, tools.Errorf(tools.Timeout, "the command was stopped after %s with all that it had started; give a larger timeout (at most %s), or do less at once\n%s",
			short(p.limit), short(s.cfg.Limits.MaxTimeout), run.text("timed_out: true"))
	case err != nil:
		return res, err
	}
	res.Text = run.text(ended(out))
	return res, nil
}

func ended(out sandbox.Outcome) string {
	if out.Signal != "" {
		return fmt.Sprintf("exit_code: %d (ended by a signal: %s)", out.Code, out.Signal)
	}
	return fmt.Sprintf("exit_code: %d", out.Code)
}

// millis is where a timeout is taken for milliseconds: no command is given
// 10000 s, and other systems count so.
const millis = 10_000

// limit is the time that a call gets.
func (s *Shell) limit(in execIn) (time.Duration, error) {
	seconds := in.Timeout
	if in.TimeoutMS > 0 {
		if seconds > 0 {
			return 0, tools.Errorf(tools.InvalidArgs, "timeout and timeout_ms are both given; give timeout, in seconds")
		}
		seconds = in.TimeoutMS / 1000
	} else if seconds >= millis {
		seconds /= 1000
	}
	if seconds == 0 {
		return s.cfg.Limits.Timeout, nil
	}
	if most := s.cfg.Limits.MaxTimeout; seconds >= most.Seconds() {
		return most, nil
	}
	return max(time.Millisecond, time.Duration(seconds*float64(time.Second))), nil
}

// folder is the absolute path of the folder to run in.
func (s *Shell) folder(name string) (string, error) {
	if name == "" {
		return s.cfg.Workspace, nil
	}
	dir, err := s.deps.Fence.Open(name)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return "", tools.Errorf(tools.Failed, "cannot use %q: %w", name, err)
	}
	if !info.IsDir() {
		return "", tools.Errorf(tools.InvalidArgs, "working_dir %q is a file; want a folder", name)
	}
	path := s.deps.Fence.Name(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.cfg.Workspace, path)
	}
	return path, nil
}

func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// absolute lists every name under which a path is known.
func absolute(paths []string) []string {
	var all []string
	for _, p := range paths {
		if abs, err := filepath.Abs(p); err == nil {
			all = append(all, abs)
		}
		if real, err := realPath(p); err == nil {
			all = append(all, real)
		}
	}
	return all
}

func pointers(paths []string) []*string {
	all := make([]*string, len(paths))
	for i := range paths {
		all[i] = &paths[i]
	}
	return all
}

// short writes a duration without what is zero: 1m0s as 1m.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// foreign are the folders of the workspace that hold what others have written:
// attachments, downloads, pictures of pages and kept outputs of tools.
var foreign = regexp.MustCompile(`(^|[^\pL\pN_])(inbox|downloads|screenshots|tool_output)(/|$|[^\pL\pN_])`)

// touchesForeign says whether a command names such a folder, as far as its text
// tells.
func touchesForeign(text string) bool { return foreign.MatchString(text) }
