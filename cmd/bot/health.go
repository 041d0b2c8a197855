package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"magpie/config"
	"magpie/internal/console"
)

// healthTimeout bounds the one question; container runtimes ask every few
// seconds.
const healthTimeout = 3 * time.Second

func (p *program) healthCommand() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the running bot whether it lives, or can work",
		Long: "Ask the running bot whether it lives, with --ready whether it can work, and if not, what is missing.\n" +
			"It ends with 1 when the answer is no, or when no bot answers on any of the ways to it.",
		Args: noArgs,
		RunE: p.start(func(cmd *cobra.Command) error { return p.health(cmd.Context(), ready) }),
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it has its bus and its channels")
	return cmd
}

func (p *program) health(ctx context.Context, ready bool) error {
	// A configuration with problems still says where the bot listens.
	cfg, err := config.Load(p.path, p.env)
	if cfg == nil {
		return err
	}
	bot, ok := console.FindRunning(cfg.DataDir)
	if !ok {
		bot = console.At(cfg.DataDir, cfg.Web.Listen)
	}
	address := bot.URL + "/healthz"
	if ready {
		address = bot.URL + "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	resp, err := get(ctx, bot.Client(), address)
	if err != nil {
		return fmt.Errorf("no bot answers at %s: %w", address, asked(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK && ready:
		fmt.Fprintln(p.out, "ready")
		return nil
	case resp.StatusCode == http.StatusOK:
		fmt.Fprintln(p.out, "ok")
		return nil
	case ready && resp.StatusCode == http.StatusServiceUnavailable:
		return missing(resp.Body)
	}
	return fmt.Errorf("%s answers %s", address, resp.Status)
}

// missing is what a bot that is not ready waits for.
func missing(answer io.Reader) error {
	var said struct{ Missing []console.Problem }
	if err := json.NewDecoder(io.LimitReader(answer, maxAnswer)).Decode(&said); err != nil {
		return fmt.Errorf("not ready, and its answer cannot be read: %w", err)
	}
	all := make([]string, len(said.Missing))
	for i, m := range said.Missing {
		all[i] = m.What + ": " + m.Why
	}
	return errors.New("not ready: " + strings.Join(all, "; "))
}
