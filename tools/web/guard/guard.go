// Package guard keeps URLs that a model or a stranger chose away from the
// machine's own network (SSRF). It judges the address that is really dialled,
// for every connection and every redirect, so a name that resolves to another
// address the second time gets nowhere. It does not judge what a public server
// answers. It starts no goroutine.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"magpie/tools"
)

// dialTimeout bounds one connection: who has not answered by then will not.
const dialTimeout = 10 * time.Second

// Options of a Guard. The zero value lets nothing private through.
type Options struct {
	// Allow are networks that are let through although they are private
	// (tools.web.allow_private), as "10.1.0.0/16" or one address.
	Allow []string
	// Resolver looks up names; nil is the system's.
	Resolver *net.Resolver
}

// Guard decides which addresses may be reached. Safe for concurrent use.
type Guard struct {
	list   *ssrf.Guardian
	allow  []netip.Prefix // although private
	dialer net.Dialer
}

// New makes a Guard; the error names an entry of Allow that is no network.
func New(o *Options) (*Guard, error) {
	if o == nil {
		o = &Options{}
	}
	var v4, v6 []netip.Prefix
	for _, text := range o.Allow {
		p, err := network(text)
		if err != nil {
			return nil, err
		}
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	g := &Guard{allow: append(v4, v6...), list: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
	g.dialer = net.Dialer{Timeout: dialTimeout, Control: g.control, Resolver: o.Resolver}
	return g, nil
}

func network(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("allow private network %q: want a network such as 10.1.0.0/16", text)
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= mappedBits {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-mappedBits)
	}
	return p.Masked(), nil
}

const (
	mappedBits = 96 // of ::ffff:0:0/96
	nat64Bytes = 12 // before the IPv4 address in 64:ff9b::/96 (RFC 6052)
)

// Check says whether an address may be reached. An IPv4 address that stands in
// an IPv6 one (mapped, or of the well-known NAT64 prefix) counts as itself;
// other forms of it (compatible, 6to4, Teredo) are refused whatever they hold.
func (g *Guard) Check(addr netip.Addr) error {
	inner := addr.Unmap()
	if ssrf.IPv6NAT64Prefix.Contains(inner) {
		raw := inner.As16()
		inner = netip.AddrFrom4([4]byte(raw[nat64Bytes:]))
	}
	if err := g.list.SafeAddr(inner); err != nil {
		return tools.Errorf(tools.Security, "%s is a private or reserved address, which web tools do not reach; want a public one."+
			" If this network is to be reachable, the owner of the bot lists it under tools.web.allow_private", addr)
	}
	if !slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(inner) }) && own(inner) {
		return tools.Errorf(tools.Security, "%s is an address of the bot's own machine, whose services web tools do not reach."+
			" If they are to be reachable, the owner of the bot lists it under tools.web.allow_private", addr)
	}
	return nil
}

// own says whether a public address is this machine's. The addresses are looked
// up each time: they change.
func own(addr netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == addr
	})
}

// CheckHost judges a host that somebody else dials, a proxy by which this
// machine gets out: by what it looks like from here. A name that only the proxy
// knows is the proxy's to judge, unless it is one of a local network.
func (g *Guard) CheckHost(ctx context.Context, host string) error {
	host = strings.TrimSuffix(host, ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.Check(addr)
	}
	for _, end := range []string{"localhost", "local", "internal", "lan", "home.arpa"} {
		if host == end || strings.HasSuffix(host, "."+end) || !strings.Contains(host, ".") {
			return tools.Errorf(tools.Security, "%s is a name of the local network, which is not reached; want a public host", host)
		}
	}
	resolver := g.dialer.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, _ := resolver.LookupNetIP(ctx, "ip", host) // not known here: see above
	for _, addr := range addresses {
		if err := g.Check(addr); err != nil {
			return err
		}
	}
	return nil
}

// control is asked right before a connection is made, with the address that the
// name has come to.
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return tools.Errorf(tools.Security, "web tools use TCP only, not %s", network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return tools.Errorf(tools.Security, "the address %q cannot be judged", address)
	}
	return g.Check(ap.Addr())
}

// Dial connects to host:port over TCP if the address is allowed.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return g.dialer.DialContext(ctx, network, address)
}

// Explain writes a failed connection for the model. host is the one that was
// asked for; errors that explain themselves come back as they are.
func Explain(ctx context.Context, host string, err error) error {
	var said *tools.Error
	var dns *net.DNSError
	var timed net.Error
	switch {
	case err == nil || errors.As(err, &said):
		if said != nil {
			return said
		}
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &dns) && dns.IsNotFound:
		return tools.Errorf(tools.Failed, "there is no host %q; check its spelling, or search for the page", host)
	case errors.As(err, &dns):
		return tools.Errorf(tools.Failed, "the name %q could not be looked up; try again later", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return tools.Errorf(tools.Failed, "no connection to %s: nothing listens there", host)
	case errors.As(err, &timed) && timed.Timeout():
		return tools.Errorf(tools.Timeout, "no connection to %s: no answer in time", host)
	}
	cause := last(err)
	return &tools.Error{Kind: tools.Failed, Err: err, Outside: quotes(cause), Text: fmt.Sprintf("no answer from %s: %v", host, cause)}
}

// quotes says whether a cause may repeat what a server has sent, as a header
// that is none, an address in Location or the names of a certificate. Only
// those of the system and of a connection that ended are known not to.
func quotes(cause error) bool {
	var no syscall.Errno
	return !errors.As(cause, &no) && cause != io.EOF && cause != io.ErrUnexpectedEOF
}

// last is the innermost cause: the outer ones repeat the URL, which may hold
// a password.
func last(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
