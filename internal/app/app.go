// Package app puts the parts together and runs them: bus, tools, agent,
// dispatchers, channels, console. It is the only package that knows them all.
// Run owns every goroutine of the program and ends them in an order in which
// nothing is cut off that could be finished: channels stop taking messages,
// the agent finishes or hands over its turns, the dispatchers finish their
// sends, the console and the bus close.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/cron"
	"magpie/internal/backup"
	"magpie/internal/console"
	"magpie/tools"
)

// The roles of a process.
const (
	Gateway = "gateway" // channels, dispatchers, chat page
	Agent   = "agent"   // turns
	Cron    = "cron"    // jobs
)

// Options are the optional parts of Run.
type Options struct {
	// Roles of this process; none = all. Several processes share the work over
	// an external bus.
	Roles []string
	// Version of the program, for logs and metrics.
	Version string
	Log     *slog.Logger // nil = silent
	// Command is what a person typed to start it, for the hint about a model;
	// "" = "bot".
	Command string
	// Out is the terminal of a person, who is told how to open the chat page,
	// with the token; nil = the log says so, without it.
	Out io.Writer
	// Load reads the configuration again, which Run does when one of its files
	// has changed or Hangup says so; nil = it stays as it is.
	Load   func() (*config.Config, error)
	Hangup <-chan os.Signal
	// Ready, if not nil, is called once when everything has been started.
	Ready func(Info)

	clock    cron.Clock    // of the jobs; nil = the real one
	patience time.Duration // of the dispatchers; 0 = their own
}

// Info says how to reach a running program.
type Info struct {
	URL   string // of the console
	Login string // the same with the token: for the eyes of the operator only
	Bot   console.Running
	// Unsent is how many messages wait to be sent, or are being sent, now; an
	// error of the store counts as none.
	Unsent func(ctx context.Context) int
	// Unconfined says why commands run without a wall, unless that is wanted;
	// "" = they have one, or there are none.
	Unconfined string
}

// Run runs the program until ctx ends and returns nil after an orderly stop.
func Run(ctx context.Context, cfg *config.Config, opts Options) (err error) {
	began := time.Now()
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if err := CheckRoles(cfg, opts.Roles); err != nil {
		return err
	}
	giveBack, err := borrow(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, giveBack()) }()
	if err := finishRestore(cfg, opts.Log); err != nil {
		return err
	}
	p := &program{cfg: cfg, stamp: stampOf(cfg.Files), opts: opts, log: opts.Log, began: began, meters: newMeters(cfg)}
	if err := p.prepare(); err != nil {
		return err
	}
	if p.token, err = console.LoadToken(cfg.DataDir, cfg.Web.Token); err != nil {
		return err
	}
	p.redact = tools.NewRedactor(unlogged(cfg, p.token))
	p.log = slog.New(&discreet{opts.Log.Handler(), p.redact})
	if p.bus, err = openBus(ctx, cfg, p.log, opener{opts.Version, busRole(opts.Roles, cfg.Bus.CredsFile != "")}); err != nil {
		return err
	}
	err = run(ctx, p)
	return errors.Join(err, p.bus.Close())
}

// program is what the files of this package build and run together.
type program struct {
	cfg    *config.Config
	opts   Options
	log    *slog.Logger
	bus    *bus.Bus
	token  chat.Secret // of the console
	redact *tools.Redactor
	began  time.Time
	jobs   *cron.Store
	meters *meters
	// cfg is what the program was started with; latest, if not nil, is in force
	// where a change needs no restart.
	latest atomic.Pointer[config.Config]
	stamp  string // of the configuration's files before the start
}

// config is the configuration in force.
func (p *program) config() *config.Config {
	if cfg := p.latest.Load(); cfg != nil {
		return cfg
	}
	return p.cfg
}

func (p *program) has(role string) bool {
	return len(p.opts.Roles) == 0 || slices.Contains(p.opts.Roles, role)
}

// CheckRoles says what is wrong with the roles of a process; none = all.
func CheckRoles(cfg *config.Config, roles []string) error {
	for _, r := range roles {
		if r != Gateway && r != Agent && r != Cron {
			return fmt.Errorf("role %q: want %s, %s or %s", r, Gateway, Agent, Cron)
		}
	}
	alone := len(roles) == 0 || slices.Contains(roles, Gateway) && slices.Contains(roles, Agent)
	if !alone && cfg.Bus.URL == "" {
		return fmt.Errorf("%s needs an external bus that the other processes share: set bus.url", strings.Join(roles, ","))
	}
	return nil
}

func busDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "bus") }

// finishRestore completes a restore that died at its very end.
func finishRestore(cfg *config.Config, log *slog.Logger) error {
	finished, err := backup.Finish(cfg.DataDir)
	if finished {
		log.Warn("a restore that was interrupted at its end is complete now")
	}
	if errors.Is(err, fs.ErrPermission) { // the folder is somebody else's
		err = explained(described(cfg.DataDir, err))
	}
	return err
}

// opener is who opens the store.
type opener struct {
	version string
	role    bus.Role
}

// openBus opens the store; one of an older version is backed up and brought up
// to date.
func openBus(ctx context.Context, cfg *config.Config, log *slog.Logger, by opener) (*bus.Bus, error) {
	if err := finishRestore(cfg, log); err != nil {
		return nil, err
	}
	opts := busOptions(cfg, log)
	opts.Upgrade.Before = beforeMigration(cfg, by.version)
	opts.Role = by.role
	return bus.Open(ctx, opts)
}

// busRole says what a process with these roles needs on an external bus; the
// grants of deploy/nats/nats.conf follow it. With keys, agents alone make the
// streams.
func busRole(roles []string, keys bool) bus.Role {
	has := func(role string) bool { return slices.Contains(roles, role) }
	switch {
	case len(roles) == 0 || has(Gateway) && has(Agent):
		return bus.Role{}
	case has(Gateway):
		return bus.Role{Inbox: Gateway, Writes: []bus.Stream{bus.In, bus.Out, bus.Dead, bus.Receipt}, Follows: keys}
	case has(Agent):
		return bus.Role{Inbox: Agent, Writes: []bus.Stream{bus.In, bus.Out, bus.Hist, bus.Dead, bus.Seen}}
	}
	return bus.Role{Inbox: Cron, Writes: []bus.Stream{bus.In, bus.Out}, Follows: keys}
}

func busOptions(cfg *config.Config, log *slog.Logger) bus.Options {
	return bus.Options{
		URL:          cfg.Bus.URL,
		Dir:          busDir(cfg),
		SyncInterval: cfg.Bus.SyncInterval(),
		MaxStore:     cfg.Bus.MaxStore,
		Replicas:     cfg.Bus.Replicas,
		CredsFile:    cfg.Bus.CredsFile,
		TLS:          bus.TLS{CA: cfg.Bus.TLS.CA, Cert: cfg.Bus.TLS.Cert, Key: cfg.Bus.TLS.Key},
		Log:          log.With("part", "bus"),
	}
}

// run builds everything, starts it in stages and stops it in reverse.
func run(ctx context.Context, p *program) (err error) {
	if p.jobs, err = p.openJobs(); err != nil {
		return err
	}
	tools, err := p.openTools(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tools.close()) }()
	unconfined := tools.wear.latest.unconfined()
	brain, err := p.newBrain(tools)
	if err != nil {
		return err
	}
	doors, err := p.newDoors(brain)
	if err != nil {
		return err
	}
	reload := &reloader{p: p, brain: brain, tools: tools, doors: doors, loaded: p.began}
	server, err := p.newServer(brain, tools, doors, reload)
	if err != nil {
		return err
	}
	if err := server.Listen(ctx); err != nil {
		return err
	}
	gone, err := server.Announce(p.cfg.DataDir)
	if err != nil {
		return err
	}
	defer gone()
	l := newLifecycle(p.log)
	defer func() { err = errors.Join(err, l.stop()) }()
	l.start("console", time.Second, server.Run)
	l.start("configuration", time.Second, reload.run)
	if p.has(Gateway) || p.has(Agent) {
		if err := doors.watch(l); err != nil {
			return err
		}
	}
	l.start("dispatch", 4*time.Second, doors.dispatchers()...)
	if p.has(Gateway) {
		l.start("files", time.Second, doors.fetch) // ends after the agent, whose turns may wait for one
	}
	if p.has(Agent) {
		l.start("mcp", 5*time.Second, tools.mcp.Run)
		l.start("agent", 5*time.Second, brain.ledger.Run, brain.work, brain.tasks)
	}
	if p.has(Cron) {
		l.start("jobs", 2*time.Second, p.jobRunner(brain, tools)...)
	}
	l.start("channels", 2*time.Second, doors.receivers()...)
	p.greet(server, unconfined)
	return p.rest(ctx, l.failed)
}

// rest waits for the end, or for a part that failed, and gives memory back
// that is not needed.
func (p *program) rest(ctx context.Context, failed <-chan error) error {
	settled := time.NewTimer(settleAfter)
	defer settled.Stop()
	unused := time.NewTicker(trimEvery)
	defer unused.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-settled.C:
			debug.FreeOSMemory() // what only the start needed
			p.trim()
		case <-unused.C:
			p.trim()
		}
	}
}

const (
	// settleAfter is when the start is over: the store is read, the channels
	// have connected.
	settleAfter = time.Second
	// trimEvery bounds how long parts of the program that are not used stay in
	// memory. What is used comes back within a millisecond in all.
	trimEvery = time.Minute
)

func (p *program) trim() {
	if err := trim(); err != nil {
		p.log.Debug("memory is not given back", "err", err)
	}
}
