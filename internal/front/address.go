package front

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// ParseURL reads the address under which people and platforms reach the
// console, such as https://bot.example.org or https://example.org/bot/. What it
// returns is written in one way: a small host name in ASCII, a path without a
// slash at its end.
func ParseURL(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if r, ok := wide(s); ok {
		return nil, fmt.Errorf("holds the full-width character %c: type it in ASCII", r)
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("want an address with http:// or https:// such as https://bot.example.org")
	}
	name, err := hostName(u.Hostname())
	switch {
	case err != nil:
		return nil, err
	case u.User != nil:
		return nil, errors.New("want an address without a user and a password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#"):
		return nil, errors.New("want an address without ? and #")
	case !validPort(u.Port()):
		return nil, fmt.Errorf("want a port from 1 to 65535 after the host, got %q", u.Port())
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("%s is where a program listens, not an address that can be opened: want the name or address that people type", name)
	}
	base := strings.TrimRight(u.Path, "/")
	if err := checkBase(base); err != nil {
		return nil, err
	}
	return &url.URL{Scheme: u.Scheme, Host: joinHost(name, u.Port()), Path: base}, nil
}

// wide finds a character that Chinese keyboards write in place of one that an
// address needs.
func wide(s string) (rune, bool) {
	for _, r := range s {
		if r >= '!'+0xFEE0 && r <= '~'+0xFEE0 || r == '。' || r == '\u3000' {
			return r, true
		}
	}
	return 0, false
}

// own are the first parts of the console's own paths. Under a base that begins
// with one nobody could say whether a request carries the base.
var own = []string{"api", "assets", "favicon.ico", "healthz", "hooks", "login", "login.css", "logout", "metrics", "readyz"}

// checkBase takes "" and paths such as "/bot".
func checkBase(base string) error {
	if base == "" {
		return nil
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(base, "/"), "/")
	switch {
	case !strings.HasPrefix(base, "/") || path.Clean(base) != base || strings.ContainsFunc(base, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune(`\;,"<>`, r)
	}):
		return errors.New("want a plain path such as /bot/ after the host")
	case slices.Contains(own, first):
		return fmt.Errorf("the path /%s is one of the console's own: want another, such as /bot/", first)
	}
	return nil
}

func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= 65535
}

func joinHost(name, port string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port != "" {
		name += ":" + port
	}
	return name
}

// Host is a name under which the console may be asked for: a host name or an
// address, with a port or without, "*.example.org" for every name below one, or
// "*" for any.
type Host struct {
	name string // in ASCII and small; of "*.example.org" what stands behind the star
	port string
	wild bool
}

// ParseHost reads one entry of web.hosts.
func ParseHost(s string) (Host, error) {
	const want = "want a host name such as bot.example.org or *.example.org"
	s = strings.TrimSpace(s)
	if s == "*" {
		return Host{wild: true}, nil
	}
	if strings.Contains(s, "://") || strings.Contains(s, "/") {
		return Host{}, errors.New(want + " alone, without a scheme and a path: a whole address belongs into web.public_url")
	}
	rest, wild := strings.CutPrefix(s, "*.")
	name, port := cutPort(rest)
	name, err := hostName(name)
	if err != nil || !validPort(port) || strings.Contains(name, "*") {
		return Host{}, errors.New(want)
	}
	return Host{name: name, port: port, wild: wild}, nil
}

// cutPort takes host:port apart; a bare IPv6 address has none.
func cutPort(host string) (name, port string) {
	if inside, ok := strings.CutPrefix(host, "["); ok {
		if inside, ok = strings.CutSuffix(inside, "]"); ok {
			return inside, ""
		}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String(), ""
	}
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return host, ""
}

var asciiName = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// hostName writes a host name or an address in the one form in which browsers
// send it: small, Chinese and other letters as punycode, without the dot of
// the root.
func hostName(s string) (string, error) {
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.WithZone("").Unmap().String(), nil
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := idna.Lookup.ToASCII(s)
		if err != nil {
			return "", fmt.Errorf("%q is no host name", s)
		}
		s = strings.TrimSuffix(ascii, ".")
	}
	if !asciiName.MatchString(s) || len(s) > 253 {
		return "", fmt.Errorf("%q is no host name", s)
	}
	return s, nil
}

// ParseProxy reads one entry of web.trusted_proxies: an address, or a network
// such as 172.16.0.0/12.
func ParseProxy(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	if ip, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		ip = ip.WithZone("").Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, errors.New("want the address of a proxy or its network, such as 127.0.0.1 or 172.16.0.0/12")
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}
