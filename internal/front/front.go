// Package front knows what stands in front of the console: the address under
// which the world reaches it, the names it may be asked for, and the proxies
// that may say who asks. It starts no goroutine.
//
// Handler goes around everything else. Behind it a request can be taken at its
// word: RemoteAddr is who asks, X-Forwarded-Proto, -Host and -Prefix are there
// only when they are to be believed, and the path begins with the console's
// own first part.
package front

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const (
	protoHeader  = "X-Forwarded-Proto"
	hostHeader   = "X-Forwarded-Host"
	prefixHeader = "X-Forwarded-Prefix"
)

// Config is the section web as far as it is about what stands in front.
type Config struct {
	Listen         string   // host:port
	PublicURL      string   // as ParseURL reads it; "" = none
	Hosts          []string // as ParseHost reads them
	TrustedProxies []string // as ParseProxy reads them
	Log            *slog.Logger
}

// Front is made by New. Its methods are safe for concurrent use.
type Front struct {
	public  *url.URL // nil = none
	listen  string   // the host of Config.Listen
	hosts   []Host
	trusted []netip.Prefix
	log     *slog.Logger
	strange sync.Once // a stranger's headers are spoken of once
}

// New checks the configuration.
func New(cfg Config) (*Front, error) {
	f := &Front{log: cfg.Log}
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("web.listen %q: want host:port such as 127.0.0.1:18990: %w", cfg.Listen, err)
	}
	f.listen = host
	if cfg.PublicURL != "" {
		if f.public, err = ParseURL(cfg.PublicURL); err != nil {
			return nil, fmt.Errorf("web.public_url: %w", err)
		}
	}
	for _, s := range cfg.Hosts {
		h, err := ParseHost(s)
		if err != nil {
			return nil, fmt.Errorf("web.hosts: %w, got %q", err, s)
		}
		f.hosts = append(f.hosts, h)
	}
	for _, s := range cfg.TrustedProxies {
		p, err := ParseProxy(s)
		if err != nil {
			return nil, fmt.Errorf("web.trusted_proxies: %w, got %q", err, s)
		}
		f.trusted = append(f.trusted, p)
	}
	return f, nil
}

// Handler makes requests what the package says of them.
func (f *Front) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := f.hear(r)
		seen := r.Clone(r.Context())
		for _, name := range []string{protoHeader, hostHeader, prefixHeader, forHeader, forwardedHeader, realHeader} {
			seen.Header.Del(name)
		}
		for name, value := range map[string]string{protoHeader: h.proto, hostHeader: h.host, prefixHeader: escaped(h.base)} {
			if value != "" {
				seen.Header.Set(name, value)
			}
		}
		if h.from.IsValid() {
			seen.RemoteAddr = netip.AddrPortFrom(h.from, 0).String()
		}
		if h.base != "" && r.URL.Path == h.base && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			// What a page names is looked for beside it: it needs the slash.
			to := url.URL{Path: h.base + "/", RawQuery: r.URL.RawQuery}
			http.Redirect(rw, r, to.String(), http.StatusTemporaryRedirect)
			return
		}
		strip(seen.URL, h.base)
		next.ServeHTTP(rw, seen)
	})
}

// strip takes the base from a path that carries it; proxies may have done so
// before. Those that take a slash too few away leave two of them.
func strip(u *url.URL, base string) {
	if rest, ok := strings.CutPrefix(u.Path, base); ok && base != "" && (rest == "" || rest[0] == '/') {
		raw, ok := strings.CutPrefix(u.RawPath, escaped(base))
		if !ok {
			raw = ""
		}
		u.Path, u.RawPath = rest, raw
	}
	u.Path = "/" + strings.TrimLeft(u.Path, "/")
	if u.RawPath != "" {
		u.RawPath = "/" + strings.TrimLeft(u.RawPath, "/")
	}
}

func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// Base is the path under which the world sees the console, "" for none; it
// stands before every path of a link, escaped.
func Base(r *http.Request) string { return r.Header.Get(prefixHeader) }

// Link writes a path of the console, as the sender of r has to ask for it. When
// no base is known it is relative: right also below one that a proxy takes away
// without a word.
func Link(r *http.Request, path string, query url.Values) string {
	to := url.URL{Path: path, RawQuery: query.Encode()}
	if base := Base(r); base != "" {
		return base + to.String()
	}
	to.Path = strings.TrimPrefix(path, "/")
	up := strings.Repeat("../", strings.Count(r.URL.EscapedPath(), "/")-1)
	if up == "" {
		up = "./"
	}
	rest := to.EscapedPath()
	if to.RawQuery != "" {
		rest += "?" + to.RawQuery
	}
	return up + rest
}

// Answers says whether the console answers under the host name that was asked
// for. A page elsewhere may have its name point to this machine, and must not
// be taken for the console's own. That cannot be done with an address, nor with
// a name without a dot, which only the own network gives; and it asks with a
// name, which a check of health without one does not.
func (f *Front) Answers(host string) bool {
	name, _ := cutPort(host)
	name, err := hostName(name)
	switch {
	case host == "":
		return true
	case err != nil:
		return false
	case !strings.Contains(name, "."), isAddress(name), Local(name), strings.EqualFold(name, f.listen):
		return true
	case f.public != nil && name == f.public.Hostname():
		return true
	case f.public == nil && f.hosts == nil && !Local(f.listen):
		return true // on a network, with names that nobody has told it
	}
	return slices.ContainsFunc(f.hosts, func(h Host) bool { return h.matches(name) })
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

func (h Host) matches(name string) bool {
	if h.wild {
		return h.name == "" || strings.HasSuffix(name, "."+h.name)
	}
	return name == h.name
}

// Local says whether a host name or an address is this machine's alone.
func Local(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// Own says whether the page that sent a request is one of the console's own, by
// its Origin. Proxies change the Host, so beside it the names that they pass on
// and that were configured count, with their ports.
func (f *Front) Own(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || origin.Host == "" || origin.Scheme != "http" && origin.Scheme != "https" {
		return false
	}
	same := func(host string) bool {
		return host != "" && fullHost(origin.Scheme, origin.Host) == fullHost(origin.Scheme, host)
	}
	if same(r.Host) || same(r.Header.Get(hostHeader)) {
		return true
	}
	if f.public != nil && origin.Scheme == f.public.Scheme && same(f.public.Host) {
		return true
	}
	return slices.ContainsFunc(f.hosts, func(h Host) bool { return !h.wild && same(joinHost(h.name, h.port)) })
}

// fullHost is name:port, with the scheme's port where there is none.
func fullHost(scheme, host string) string {
	name, port := cutPort(host)
	if clean, err := hostName(name); err == nil {
		name = clean
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return joinHost(name, port)
}

// Secure says whether the sender of r sees the console over TLS, so that a
// cookie can be kept for that. Where no proxy says it, the configured address
// does, unless the console was asked for by another one.
func (f *Front) Secure(r *http.Request) bool {
	switch proto := r.Header.Get(protoHeader); {
	case r.TLS != nil || proto == "https":
		return true
	case proto != "" || f.public == nil || f.public.Scheme != "https":
		return false
	}
	name, port := cutPort(r.Host)
	if port == "" { // nginx's $host
		port = f.public.Port()
	}
	asked := fullHost("https", joinHost(name, port))
	// Browsers send Sec-Fetch headers to trustworthy addresses only.
	return asked == fullHost("https", f.public.Host) || Local(name) || r.Header.Get("Sec-Fetch-Site") != ""
}
