package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"magpie/config"
)

// healthTimeout bounds the one question; container runtimes ask every few
// seconds.
const healthTimeout = 3 * time.Second

func (p *program) healthCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask the running bot whether it lives",
		Args:  cobra.NoArgs,
		RunE:  p.start(p.health),
	}
}

func (p *program) health(cmd *cobra.Command) error {
	// A configuration with problems still says where the bot listens.
	cfg, err := config.Load(p.path, p.env)
	if cfg == nil {
		return err
	}
	address := "http://" + reachable(cfg.Web.Listen) + "/healthz"
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	resp, err := p.http.Do(req)
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

// reachable turns the address that the bot listens on into one that can be
// dialled from this machine.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
