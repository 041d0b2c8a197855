package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Network is what commands have of the network.
type Network string

// The networks.
const (
	// Guarded: a command's only connections are to ProxyAddress, which the
	// caller answers (Command.Proxy). No datagrams, no names, nothing listens.
	Guarded Network = "guarded"
	// Open is the machine's own network.
	Open Network = "open"
	// None at all.
	None Network = "none"
	// AutoNetwork is guarded where the kernel can, else open.
	AutoNetwork Network = "auto"
)

// ProxyAddress is what a guarded command connects to. Nobody listens there: the
// warden connects the command's socket to the caller of Run instead.
const ProxyAddress = "127.0.0.1:3128"

// Network says what a command has by default.
func (s *Sandbox) Network() Network { return s.network }

// Guards says whether a command's network can be guarded here.
func (s *Sandbox) Guards() bool { return s.guards }

// Listens says whether guarded commands may listen on TCP ports.
func (s *Sandbox) Listens() bool { return s.listen }

// of is the network of one command.
func (s *Sandbox) networkOf(c Command) (Network, error) {
	n := c.Network
	if n == "" || n == AutoNetwork {
		n = s.network
	}
	if n != Open && (s.report.Kind == Off || n == Guarded && !s.guards) {
		return n, fmt.Errorf("%w: the network of a command cannot be %s here", ErrUnavailable, n)
	}
	return n, nil
}

// chooseNetwork finds out what is possible with the kind that was chosen.
func (s *Sandbox) chooseNetwork(want Network) error {
	if want == "" {
		want = AutoNetwork
	}
	if !slices.Contains([]Network{Guarded, Open, None, AutoNetwork}, want) {
		return fmt.Errorf("%w: network %q; want %s, %s or %s", ErrUnavailable, want, Guarded, Open, None)
	}
	s.network = Open
	why := errors.New("there is no sandbox")
	if s.report.Kind != Off {
		why = s.tryGuarded()
	}
	s.guards = why == nil
	switch {
	case want == None && s.report.Kind != Off:
		s.network = None
	case s.guards && (want == Guarded || want == AutoNetwork):
		s.network = Guarded
	case want == Guarded || want == None:
		return fmt.Errorf("%w: a network that is %s needs a sandbox, and for guarded Linux 5.9 or newer: %w. "+
			"Without tools.exec.network commands have the best that there is", ErrUnavailable, want, why)
	}
	s.report.Network = s.network
	if s.report.Kind == Off {
		return nil // that says it all
	}
	s.report.Text += "; " + networkText(s.network, s.listen)
	if s.network == Open && want == AutoNetwork {
		s.report.Text += fmt.Sprintf(" (guarded does not work here: %v)", why)
	}
	return nil
}

func networkText(n Network, listen bool) string {
	switch n {
	case Guarded:
		text := "network guarded: only the internet, by the bot's filtering proxy; "
		if listen {
			return text + "they may listen on TCP ports"
		}
		return text + "nothing listens"
	case None:
		return "network none"
	}
	return "network open: they reach the internet, the local network and the services of this machine, the bot's included"
}

// probeTime bounds the command that does nothing: starting this program twice
// takes some 20 ms, more on a busy machine.
const probeTime = 20 * time.Second

// tryGuarded has a command of nothing reach for the proxy, which must be there,
// and for a service of this machine, which must not.
func (s *Sandbox) tryGuarded() error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	service, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for a trial: %w", err)
	}
	defer service.Close()
	s.guards = true // for this trial
	reached, err := s.Reaches(ctx, Guarded, service.Addr().String(), ProxyAddress)
	if err != nil {
		return err
	}
	if slices.Contains(reached, service.Addr().String()) {
		return errors.New("a command still reached a service of this machine")
	}
	if !slices.Contains(reached, ProxyAddress) {
		return errors.New("a command did not reach the proxy")
	}
	if s.report.Kind == Bwrap { // has more to do for it
		return s.probe(Guarded)
	}
	return nil
}

// Reaches says to which of these addresses (host:port) a command of this
// network gets a connection over TCP.
func (s *Sandbox) Reaches(ctx context.Context, n Network, addresses ...string) ([]string, error) {
	var said strings.Builder
	_, err := s.Run(ctx, Command{
		Dir: "/", Stdout: &said, Network: n, reach: addresses,
		Proxy: func(context.Context, net.Conn) {},
	})
	return strings.Fields(said.String()), err
}
