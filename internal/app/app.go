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
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/internal/console"
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
	// Out is where a person is told how to open the chat page; nil = nobody is.
	Out io.Writer
	// Ready, if not nil, is called once when everything has been started.
	Ready func(Info)
}

// Info says how to reach a running program.
type Info struct {
	URL   string // of the console
	Login string // the same with the token: for the eyes of the operator only
}

// Run runs the program until ctx ends and returns nil after an orderly stop.
func Run(ctx context.Context, cfg *config.Config, opts Options) error {
	began := time.Now()
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if err := CheckRoles(cfg, opts.Roles); err != nil {
		return err
	}
	for _, dir := range []string{cfg.DataDir, cfg.Workspace} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create folder: %w", err)
		}
	}
	token, err := console.LoadToken(cfg.DataDir, cfg.Web.Token)
	if err != nil {
		return err
	}
	b, err := bus.Open(ctx, busOptions(cfg, opts.Log))
	if err != nil {
		return err
	}
	err = run(ctx, &program{cfg: cfg, opts: opts, log: opts.Log, bus: b, token: token, began: began})
	return errors.Join(err, b.Close())
}

// program is what the files of this package build and run together.
type program struct {
	cfg   *config.Config
	opts  Options
	log   *slog.Logger
	bus   *bus.Bus
	token chat.Secret // of the console
	began time.Time
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

func busOptions(cfg *config.Config, log *slog.Logger) bus.Options {
	return bus.Options{
		URL:          cfg.Bus.URL,
		Dir:          cfg.DataDir + "/bus",
		SyncInterval: cfg.Bus.SyncInterval(),
		MaxStore:     cfg.Bus.MaxStore,
		Replicas:     cfg.Bus.Replicas,
		CredsFile:    cfg.Bus.CredsFile,
		CA:           cfg.Bus.TLS.CA,
		Cert:         cfg.Bus.TLS.Cert,
		Key:          cfg.Bus.TLS.Key,
		Log:          log.With("part", "bus"),
	}
}

// run builds everything, starts it in stages and stops it in reverse.
func run(ctx context.Context, p *program) (err error) {
	tools, err := p.openTools(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tools.close()) }()
	brain, err := p.newBrain(tools)
	if err != nil {
		return err
	}
	doors, err := p.newDoors(brain)
	if err != nil {
		return err
	}
	server, err := p.newServer(brain, tools, doors)
	if err != nil {
		return err
	}
	if err := server.Listen(ctx); err != nil {
		return err
	}
	l := newLifecycle(p.log)
	defer func() { err = errors.Join(err, l.stop()) }()
	l.start("console", time.Second, server.Run)
	if err := doors.watch(l); err != nil {
		return err
	}
	l.start("dispatch", 4*time.Second, doors.dispatchers()...)
	if p.has(Agent) {
		l.start("agent", 5*time.Second, brain.ledger.Run, brain.work)
	}
	l.start("channels", 2*time.Second, doors.receivers()...)
	p.greet(server)
	settled := time.After(settleAfter)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-l.failed:
			return err
		case <-settled:
			debug.FreeOSMemory() // what only the start needed
		}
	}
}

// settleAfter is when the start is over: the store is read, the channels have
// connected.
const settleAfter = time.Second
