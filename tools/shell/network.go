package shell

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/egress"
	"magpie/tools/shell/guard"
	"magpie/tools/shell/sandbox"
)

// guarded gives a command its way to the network, if that is by the proxy; nil:
// there is none to look at.
func (s *Shell) guarded(c *sandbox.Command) *egress.Run {
	if s.sandbox.Network() != sandbox.Guarded || s.deps.Proxy == nil {
		return nil
	}
	way := s.deps.Proxy.Run()
	c.Proxy = way.Serve
	env := c.Env
	c.Prepare = func(temp string) ([]string, error) {
		return egress.Prepare(temp, sandbox.ProxyAddress, s.cfg.Listen, env)
	}
	return way
}

// heard says whose words the output may hold. Where the network is open only the
// command's text tells, and does not tell all.
func (s *Shell) heard(way *egress.Run, v guard.Verdict) (res tools.Result) {
	if s.sandbox.Network() == sandbox.Open {
		res.Untrusted = v.Fetches
		return res
	}
	for _, host := range way.Reached() {
		res.Untrusted = true
		res.Sources = append(res.Sources, chat.Source{Kind: chat.SourceCommand, Name: host, At: time.Now()})
	}
	return res
}

// Proof tries from inside what a guarded command must not reach and what it
// must, and says in words that it holds; "" when the network is not guarded.
// private are addresses (host:port), besides a service of this machine that is
// started for it.
func (s *Shell) Proof(ctx context.Context, private ...string) (string, error) {
	n := s.sandbox.Network()
	if n == sandbox.Open {
		return "", nil
	}
	service, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for a trial: %w", err)
	}
	defer service.Close()
	private = append(private, service.Addr().String())
	reached, err := s.sandbox.Reaches(ctx, n, append(private, sandbox.ProxyAddress)...)
	if err != nil {
		return "", err
	}
	for _, address := range private {
		if slices.Contains(reached, address) {
			return "", fmt.Errorf("a command reached %s, which the network %s should not let it", address, n)
		}
	}
	if got := slices.Contains(reached, sandbox.ProxyAddress); got != (n == sandbox.Guarded) {
		return "", fmt.Errorf("the network is %s; a command reached the bot's proxy: %v", n, got)
	}
	return fmt.Sprintf("tried: no command reaches %v", private), nil
}
