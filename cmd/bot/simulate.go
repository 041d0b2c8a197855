package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/simulate"
)

// simulation is what the flags of `bot simulate` say.
type simulation struct {
	prompt, page  bool
	listen, level string
}

// levels are those of logs.
var levels = []string{"debug", "info", "warn", "error"}

func (p *program) simulateCommand() *cobra.Command {
	var o simulation
	cmd := &cobra.Command{
		Use:   "simulate [platform...]",
		Short: "Try the bot on fake platforms, without any account",
		Long: "Start fakes of the platforms (telegram, feishu, discord, dingtalk, qq; all unless some are\n" +
			"named) and a bot that talks to them, and let you be the person there: on a page in the\n" +
			"browser, or at a prompt (--prompt, or in a pipe). Nothing outside this machine is reached,\n" +
			"except the model, if OPENAI_API_KEY, ANTHROPIC_API_KEY or the llm of --config names one.\n" +
			"Everything is forgotten at the end.",
		Args:      cobra.OnlyValidArgs,
		ValidArgs: simulate.Names(),
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		p.started = true
		return p.simulate(cmd.Context(), o, names)
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.prompt, "prompt", false, "talk in lines instead of on a page (:help lists what there is)")
	flags.BoolVar(&o.page, "page", false, "serve the page even when this is no terminal")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "where the page is served; loopback only")
	flags.StringVar(&o.level, "log", "error", "what the bot logs: "+strings.Join(levels, ", "))
	cmd.MarkFlagsMutuallyExclusive("prompt", "page")
	return cmd
}

func (p *program) simulate(ctx context.Context, o simulation, names []string) error {
	if !slices.Contains(levels, o.level) {
		return fmt.Errorf("%w: --log: want one of %s, got %q", errUsage, strings.Join(levels, ", "), o.level)
	}
	if !o.prompt && !o.page {
		o.prompt = !terminal(p.out) || !term.IsTerminal(int(os.Stdin.Fd()))
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	err := untilSignal(ctx, signals, func(ctx context.Context) (err error) {
		dir, err := os.MkdirTemp("", "magpie-simulate-")
		if err != nil {
			return fmt.Errorf("create a folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		world, err := simulate.New(ctx, names...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, world.Close()) }()
		cfg, err := p.simulated(world, dir, o.level)
		if err != nil {
			return err
		}
		return p.inWorld(ctx, world, cfg, o)
	})
	if errors.Is(err, errHardStop) {
		return nil
	}
	return err
}

// simulated is the configuration of a bot in that world. Of the file that
// --config names only the models are taken over.
func (p *program) simulated(world *simulate.World, dir, level string) (*config.Config, error) {
	text, err := json.Marshal(map[string]any{ // which is YAML too
		"data_dir": dir,
		"log":      map[string]any{"level": level},
		"web":      map[string]any{"listen": "127.0.0.1:0"},
		"channels": world.Channels(),
		"security": map[string]any{"admins": world.Admins(), "rate_limit": map[string]any{"per_sender": ""}},
		// So that there is something to press.
		"tools": map[string]any{"policy": []any{map[string]any{"tool": "write_file", "action": "ask"}}},
	})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	made := *p
	made.path = path
	cfg, _, err := made.load()
	if err != nil || p.path == "" {
		return cfg, err
	}
	theirs, err := config.Load(p.path, p.env)
	if err != nil {
		return nil, err
	}
	cfg.LLM = theirs.LLM
	return cfg, nil
}

// inWorld runs the bot beside the conversation.
func (p *program) inWorld(ctx context.Context, world *simulate.World, cfg *config.Config, o simulation) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan app.Info, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- p.run(ctx, cfg, app.Options{
			Version: buildVersion(), Command: typed(), Log: newLog(p.err, cfg.Log, p.env), Ready: func(i app.Info) { ready <- i },
		})
		cancel() // a bot that failed ends the conversation
	}()
	var info app.Info
	select {
	case err := <-ended:
		return err
	case info = <-ready:
	}
	err := world.Ready(ctx)
	if err == nil {
		err = p.converse(ctx, world, cfg, o, info)
	}
	cancel()
	return errors.Join(err, <-ended)
}

func (p *program) converse(ctx context.Context, world *simulate.World, cfg *config.Config, o simulation, info app.Info) error {
	if cfg.LLM.Models[0].Provider == config.Offline {
		fmt.Fprintln(p.err, "No model is configured, so the offline assistant answers. To use one: OPENAI_API_KEY=sk-... "+typed()+" simulate")
	}
	if o.prompt {
		client := info.Bot.Client()
		script := !term.IsTerminal(int(os.Stdin.Fd()))
		if !script {
			fmt.Fprintln(p.out, "You are a person on each platform. Write something; :help says what else there is. Ctrl-D ends.")
		}
		return world.Prompt(ctx, os.Stdin, p.out, &simulate.PromptOptions{Script: script, Busy: func() bool { return busy(ctx, client, info) }})
	}
	return world.Page(ctx, o.listen, func(url string) {
		fmt.Fprintf(p.out, "\nYou are a person on each platform. Open the page:\n  %s\nCtrl-C ends it.\n\n", url)
	})
}

// busy says whether a turn runs, or parts of an answer wait for the platform's
// rate.
func busy(ctx context.Context, client *http.Client, bot app.Info) bool {
	return thinks(ctx, client, bot.URL) || bot.Unsent(ctx) > 0
}

// thinks asks the bot's metrics whether a turn runs. Who does not answer in time
// has much to do.
func thinks(ctx context.Context, client *http.Client, at string) bool {
	bound, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	resp, err := get(bound, client, at+"/metrics")
	if err != nil {
		return ctx.Err() == nil
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxAnswer))
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "magpie_turns_running "); ok {
			return n != "0"
		}
	}
	return false
}
