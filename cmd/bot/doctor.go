package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/console"
	"magpie/internal/rights"
)

func (p *program) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Prove configuration, store, channels, models and the machine, and say what to do",
		Long: "Prove configuration, store, bus, disk, clock, channels, models, bucket, browser, sandbox and MCP\n" +
			"servers, and say what to do about each finding. It makes real calls to what is configured, works beside a running bot too, and ends\n" +
			"with 1 when something is not good. What could not be looked at stands as skip.",
		Args: noArgs,
		RunE: p.start(func(cmd *cobra.Command) error { return p.doctor(cmd.Context(), asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// doctor reports every finding and fails when one of them is not good.
func (p *program) doctor(ctx context.Context, asJSON bool) error {
	findings := app.FitBeside()
	if findings == nil {
		findings = p.examine(ctx)
	}
	bad := 0
	for _, f := range findings {
		if f.Bad() {
			bad++
		}
	}
	if asJSON {
		out := json.NewEncoder(p.out)
		out.SetIndent("", "  ")
		if err := out.Encode(map[string]any{"ok": bad == 0, "findings": findings}); err != nil {
			return err
		}
	} else {
		p.print(findings)
	}
	if bad > 0 {
		return fmt.Errorf("problems found: %d", bad)
	}
	return nil
}

func (p *program) print(findings []app.Finding) {
	for _, f := range findings {
		mark := "ok  "
		switch {
		case f.Skipped:
			mark = "skip"
		case f.Bad():
			mark = "FAIL"
		}
		fmt.Fprintf(p.out, "%s  %s: %s\n", mark, f.Check, strings.ReplaceAll(f.Text, "\n", "\n      "))
		if f.Bad() {
			fmt.Fprintln(p.out, "      what to do:", f.Todo)
		}
	}
}

// examine makes all checks. Without a readable configuration there is nothing
// else to check.
func (p *program) examine(ctx context.Context) []app.Finding {
	cfg, _, err := p.load()
	if err != nil {
		f := wrong(err)
		if cfg != nil {
			f.Text += warnings(cfg)
		}
		return []app.Finding{f}
	}
	findings := append([]app.Finding{p.configuration(cfg)}, p.store(ctx, cfg)...)
	findings = append(findings, p.inForce(ctx, cfg)...)
	return append(findings, app.Examine(ctx, cfg)...)
}

// wrong is the finding about a configuration that cannot be used. Where it is
// not the file that is wrong, what to do stands in the advice.
func wrong(err error) app.Finding {
	f := app.Finding{Check: "configuration", Text: err.Error(), Todo: "correct the places named; bot config schema describes every key"}
	var all *config.Error
	if !errors.As(err, &all) {
		return f
	}
	bare := slices.Clone(all.Problems)
	for i, p := range bare {
		if bare[i].Todo = ""; p.Todo != "" {
			f.Todo = p.Todo
		}
	}
	f.Text = (&config.Error{Problems: bare}).Error()
	return f
}

// inForce says whether a running bot works with the configuration as it is
// now.
func (p *program) inForce(ctx context.Context, cfg *config.Config) []app.Finding {
	if runs, _ := p.ours(ctx, cfg); !runs {
		return nil
	}
	const check = "configuration in force"
	var state app.ReloadState
	err := p.operate(ctx, app.CheckReload, nil, &state)
	switch {
	case err != nil, !state.Running: // gone by now, or the store's finding says what is wrong
		return nil
	case state.Problem != "":
		return []app.Finding{{
			Check: check, Text: "since " + state.Since.Format(time.DateTime) + " the running bot keeps the last good one: " + state.Problem,
			Todo: "correct the places named; the bot takes the file again by itself",
		}}
	case len(state.Restart) > 0:
		return []app.Finding{{
			Check: check, Text: "these keys have changed since the start of the running bot: " + strings.Join(state.Restart, ", "),
			Todo: "restart the bot",
		}}
	}
	return []app.Finding{{Check: check, OK: true, Text: "taken at " + state.Loaded.Format(time.DateTime)}}
}

// warnings are lines below what is said of a configuration.
func warnings(cfg *config.Config) (lines string) {
	for _, w := range cfg.Warnings(variableNames()...) {
		lines += "\nwarning: " + w
	}
	return lines
}

func (p *program) configuration(cfg *config.Config) app.Finding {
	f := app.Finding{Check: "configuration", OK: true, Text: cfg.File + " is good"}
	if cfg.File == "" {
		f.Text = "no file, the defaults are used"
	}
	f.Text += warnings(cfg)
	if cfg.Blank {
		f.OK, f.Text, f.Todo = false, cfg.File+" is empty, the defaults are used", "put back what stood in it, or write {} when the defaults are meant"
	}
	if cfg.File == "" || cfg.Blank {
		return f
	}
	file := config.EnvFile(cfg.File)
	info, err := os.Stat(file)
	switch {
	case err != nil:
	case syscall.Access(file, 4) != nil: // R_OK
		denied := rights.ReadSecret(file)
		f.OK, f.Text, f.Todo = false, file+" "+denied.Why, denied.Todo
	case info.Mode().Perm()&0o077 != 0:
		f.OK, f.Text = false, fmt.Sprintf("%s holds keys, and others can read it (mode %04o)", file, info.Mode().Perm())
		f.Todo = "chmod 600 " + file
	}
	return f
}

// storeWait bounds the look at a bus of its own: a start waits longer for a cluster
// whose servers are not all there yet, a person does not.
const storeWait = 20 * time.Second

// store proves the bus and its store: the running bot's, else by opening it.
func (p *program) store(ctx context.Context, cfg *config.Config) []app.Finding {
	where := "can be opened; no bot runs"
	runs, taken := p.ours(ctx, cfg)
	if runs {
		where = "the running bot uses it"
	}
	checked := ctx
	if cfg.Bus.URL != "" {
		var cancel context.CancelFunc
		checked, cancel = context.WithTimeout(ctx, storeWait)
		defer cancel()
	}
	state, err := p.checkStore(checked, cfg, runs)
	if cfg.Bus.URL != "" {
		return append(taken, outside(cfg, state, err))
	}
	f := app.Finding{Check: "store", OK: true, Text: where}
	if err != nil {
		f.OK, f.Text = false, err.Error()
		f.Todo = "end the other program that has " + cfg.DataDir + " open, or free disk space"
		if errors.As(err, new(*console.Unreached)) {
			f.Todo = "a bot has " + cfg.DataDir + " open but does not listen: restart it"
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			f.Todo = "let the check end"
		}
		return append(taken, f)
	}
	bus := app.Finding{Check: "bus", OK: true, Text: "embedded; every write is on the disk before it counts (bus.sync: always)"}
	if pause := cfg.Bus.SyncInterval(); pause > 0 {
		bus.Text = "embedded; a power cut may cost what was written in the last " + pause.String() + " (bus.sync)"
	}
	return append(taken, f, bus)
}

// checkStore has the running bot look at its store, or looks itself: another
// program on the port is not asked.
func (p *program) checkStore(ctx context.Context, cfg *config.Config, runs bool) (state app.StoreState, err error) {
	if runs {
		err = p.operate(ctx, app.CheckStore, nil, &state)
		return state, err
	}
	answer, err := app.Operate(ctx, cfg, app.CheckStore, nil)
	if err == nil {
		err = json.Unmarshal(answer, &state)
	}
	return state, err
}

// ours says whether a bot runs that works with this configuration's store.
// Another program on its port is a finding of its own, and says nothing about
// the store.
func (p *program) ours(ctx context.Context, cfg *config.Config) (runs bool, taken []app.Finding) {
	if _, here := console.FindRunning(cfg.DataDir); here {
		return true, nil
	}
	bot, runs, err := p.running(ctx, cfg)
	if runs && err == nil {
		if _, err = p.ask(ctx, bot, app.OpPath+app.CheckReload, []byte("null")); err == nil {
			return true, nil
		}
	}
	l, err := net.Listen("tcp", cfg.Web.Listen)
	if err == nil {
		_ = l.Close()
		return false, nil
	}
	return false, []app.Finding{{
		Check: "web.listen", Text: fmt.Sprintf("%s cannot be listened on by a bot of this configuration, and none runs: %v", cfg.Web.Listen, err),
		Todo: "stop the other program (it may be a bot with another data_dir), or set web.listen to another port",
	}}
}

// outside is the finding about a bus of its own.
func outside(cfg *config.Config, state app.StoreState, err error) app.Finding {
	f := app.Finding{Check: "bus", OK: true, Text: fmt.Sprintf("bus.url is reached and lets the bot do what it must; replicas: %d", cfg.Bus.Replicas)}
	for _, note := range state.Notes {
		f.Text += "\nwarning: " + note
	}
	if err == nil {
		return f
	}
	f.OK, f.Text = false, err.Error()
	var wise interface{ Advice() string }
	if errors.As(err, &wise) {
		f.Todo = wise.Advice()
		f.Text = strings.TrimSuffix(f.Text, ": "+f.Todo)
		return f
	}
	switch text := strings.ToLower(f.Text); {
	case strings.Contains(text, "authorization") || strings.Contains(text, "credentials"):
		f.Todo = "correct bus.creds_file, or let the server know this user"
	case strings.Contains(text, "permission"):
		f.Todo = "grant the user of bus.creds_file what the text names"
	case strings.Contains(text, "tls") || strings.Contains(text, "certificate"):
		f.Todo = "correct bus.tls"
	case strings.Contains(text, "replicas") || strings.Contains(text, "jetstream"):
		f.Todo = "switch on JetStream on the server, and set bus.replicas to no more than it has nodes"
	default:
		f.Todo = "check that this machine reaches bus.url, and that the server runs"
	}
	return f
}
