package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"magpie/config"
	"magpie/internal/console"
)

// healthTimeout bounds the one question; container runtimes ask every few
// seconds.
const healthTimeout = 3 * time.Second

func (p *program) healthCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask the running bot whether it lives",
		Args:  noArgs,
		RunE:  p.start(p.health),
	}
}

func (p *program) health(cmd *cobra.Command) error {
	// A configuration with problems still says where the bot listens.
	cfg, err := config.Load(p.path, p.env)
	if cfg == nil {
		return err
	}
	address := console.BaseURL(cfg.Web.Listen)
	if bot, ok := console.FindRunning(cfg.DataDir); ok {
		address = bot.URL
	}
	address += "/healthz"
	resp, err := p.get(cmd.Context(), address)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return fmt.Errorf("no bot answers at %s: %w", address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	fmt.Fprintln(p.out, "ok")
	return nil
}
