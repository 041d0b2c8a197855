package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"magpie/config"
	"magpie/internal/app"
)

// The roles of a process, in the order of a message.
var roles = []string{"gateway", "agent", "cron"}

// stopTime is how long a stop may take. `bot run` promises to end within 10 s
// of a signal; what is not finished then goes on after the next start.
const stopTime = 9 * time.Second

func (p *program) runCommand() *cobra.Command {
	var wanted []string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the bot until SIGINT or SIGTERM",
		Long: "Run the bot until SIGINT (Ctrl-C) or SIGTERM; it ends within 10 seconds, and a second signal\n" +
			"ends it at once. What was not finished goes on after the next start.\n\n" +
			"With bus.url several processes share the work by --roles: gateway is the channels and the chat\n" +
			"page, agent answers, cron fires reminders and jobs.",
		Args: noArgs,
		RunE: p.start(func(cmd *cobra.Command) error { return p.runBot(cmd.Context(), wanted) }),
	}
	cmd.Flags().StringSliceVar(&wanted, "roles", roles, "what this process does: any of gateway,agent,cron")
	return cmd
}

func (p *program) runBot(ctx context.Context, wanted []string) error {
	wanted, err := parseRoles(wanted)
	if err != nil {
		return err
	}
	cfg, _, err := p.load()
	if cfg != nil && cfg.Log.Format == "json" { // also when the rest of it is wrong
		p.log = newLog(p.err, cfg.Log, p.env)
	}
	if err != nil {
		p.warn(cfg)
		return err
	}
	if err := app.CheckRoles(cfg, wanted); err != nil {
		return fmt.Errorf("%w: --roles %w", errUsage, err)
	}
	log := newLog(p.err, cfg.Log, p.env)
	for _, w := range cfg.Warnings(variableNames()...) {
		log.Warn("configuration", "problem", w)
	}
	if warning := app.FitMemory(); warning != "" {
		log.Warn(warning)
	}
	signals := make(chan os.Signal, 2)
	hangup := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(signals)
	defer signal.Stop(hangup)
	err = untilSignal(ctx, signals, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return p.run(ctx, cfg, app.Options{
			Roles: wanted, Version: buildVersion(), Command: typed(), Out: p.person(), Log: log,
			Load: p.again, Hangup: unlessGone(hangup, cancel),
		})
	})
	if errors.Is(err, errHardStop) {
		log.Warn("stopped before everything had ended", "after", stopTime)
		return nil
	}
	return err
}

// person is where a person reads what the program prints, nil when it prints
// into a file or a pipe, or is a service whose output somebody collects: an
// engine does so with a container's terminal as well.
func (p *program) person() io.Writer {
	if !terminal(p.out) || os.Getppid() <= 1 {
		return nil
	}
	return p.out
}

// again is load for a program that runs already.
func (p *program) again() (*config.Config, error) {
	cfg, _, err := p.load()
	return cfg, err
}

// unlessGone passes hangups on: they mean that the configuration is to be read
// again. One that came because the terminal was closed ends the program.
func unlessGone(hangup <-chan os.Signal, end func()) <-chan os.Signal {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return hangup
	}
	passed := make(chan os.Signal)
	go func() { // ends with the process
		for s := range hangup {
			if !term.IsTerminal(int(os.Stdin.Fd())) {
				end()
				return
			}
			passed <- s
		}
	}()
	return passed
}

// parseRoles checks the roles and puts them into their order.
func parseRoles(wanted []string) ([]string, error) {
	for i, role := range wanted {
		wanted[i] = strings.TrimSpace(role)
		if !slices.Contains(roles, wanted[i]) {
			return nil, fmt.Errorf("%w: --roles: want any of %s, got %q", errUsage, strings.Join(roles, ", "), role)
		}
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("%w: --roles: want at least one of %s", errUsage, strings.Join(roles, ", "))
	}
	var all []string
	for _, role := range roles {
		if slices.Contains(wanted, role) {
			all = append(all, role)
		}
	}
	return all, nil
}

var (
	errHardStop  = errors.New("the stop took too long")
	errImpatient = errors.New("stopped at once by a second signal")
)

// untilSignal runs fn until it ends. The first signal ends fn's context; fn has
// stopTime to end then, else errHardStop is returned while it still runs: the
// process is about to exit. A second signal returns errImpatient at once.
func untilSignal(ctx context.Context, signals <-chan os.Signal, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	select {
	case err := <-done:
		return err
	case <-signals:
	}
	cancel()
	hard := time.NewTimer(stopTime)
	defer hard.Stop()
	select {
	case err := <-done:
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	case <-signals:
		return errImpatient
	case <-hard.C:
		return errHardStop
	}
}

// typed is what a person typed to start the program.
func typed() string { return typedAs(os.Args[0]) }

// goRun finds the folders in which go run keeps what it has built: a temporary
// one, or an entry of the build cache wherever that is.
var goRun = regexp.MustCompile(`go-build|[/\\][0-9a-f]{64}-d[/\\]`)

// typedAs makes a command for people of the path of the program: go run builds
// it into a folder that nobody knows.
func typedAs(path string) string {
	if goRun.MatchString(path) {
		return "go run ./cmd/bot"
	}
	return path
}
