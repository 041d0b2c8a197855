package front

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

const (
	forHeader       = "X-Forwarded-For"
	forwardedHeader = "Forwarded" // RFC 7239
	realHeader      = "X-Real-Ip"
)

// heard is what is believed of a request.
type heard struct {
	from  netip.Addr // invalid when not even the peer is known
	proto string     // "http", "https", or "" when nobody said
	host  string     // that the first proxy was asked for
	base  string     // "/bot", not escaped
}

// hear takes the word of trusted proxies and of nobody else.
func (f *Front) hear(r *http.Request) heard {
	h := heard{from: address(r.RemoteAddr)}
	if f.public != nil {
		h.base = f.public.Path
	}
	if !f.trusts(h.from) {
		f.stranger(r, h.from)
		return h
	}
	elements := forwarded(r.Header)
	h.from = f.sender(h.from, senders(r.Header, elements))
	h.proto = scheme(first(r.Header, protoHeader, elements, "proto"))
	h.host = first(r.Header, hostHeader, elements, "host")
	if h.base == "" {
		h.base = prefix(r.Header)
	}
	return h
}

func (f *Front) trusts(ip netip.Addr) bool {
	return ip.IsValid() && slices.ContainsFunc(f.trusted, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// stranger says once that somebody who is not trusted sends headers of a proxy:
// it may be one that was forgotten.
func (f *Front) stranger(r *http.Request, from netip.Addr) {
	if f.log == nil || r.Header.Get(forHeader) == "" && r.Header.Get(protoHeader) == "" && r.Header.Get(forwardedHeader) == "" {
		return
	}
	f.strange.Do(func() {
		f.log.Warn("headers of a proxy are not believed; if one of yours has this address, name it in web.trusted_proxies", "from", from.String())
	})
}

// sender walks a chain of proxies from its near end: each trusted one is
// believed about who asked it. What cannot be read ends the walk, since all
// that stands before it may have been made up.
func (f *Front) sender(peer netip.Addr, chain []string) netip.Addr {
	from := peer
	for _, s := range slices.Backward(chain) {
		ip := address(s)
		if !ip.IsValid() {
			break
		}
		from = ip
		if !f.trusts(ip) {
			break
		}
	}
	return from
}

// senders are the addresses that the proxies noted, the farthest first. Only
// one kind of header counts: a proxy that writes one passes the others on as
// anybody may have sent them.
func senders(h http.Header, elements []map[string]string) []string {
	if values := h.Values(forHeader); len(values) > 0 {
		return strings.Split(strings.Join(values, ","), ",")
	}
	if len(elements) > 0 {
		var all []string
		for _, e := range elements {
			all = append(all, e["for"])
		}
		return all
	}
	return h.Values(realHeader)
}

// address reads an address as proxies write it: with a port or without, IPv6
// in brackets or without, in quotes. "unknown" and hidden names are none.
func address(s string) netip.Addr {
	s = strings.Trim(strings.TrimSpace(s), `"`)
	if inside, ok := strings.CutPrefix(s, "["); ok {
		s, _, _ = strings.Cut(inside, "]")
	} else if name, _, ok := strings.Cut(s, ":"); ok && strings.Count(s, ":") == 1 {
		s = name
	}
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return ip.WithZone("").Unmap()
}

// first is what the proxy nearest to the sender says in a header of its own,
// else in Forwarded.
func first(h http.Header, name string, elements []map[string]string, key string) string {
	value, _, _ := strings.Cut(h.Get(name), ",")
	if value = strings.TrimSpace(value); value != "" {
		return value
	}
	for _, e := range elements {
		if e[key] != "" {
			return e[key]
		}
	}
	return ""
}

func scheme(s string) string {
	switch strings.ToLower(s) {
	case "https", "wss":
		return "https"
	case "http", "ws":
		return "http"
	}
	return ""
}

// prefix is the path that proxies took away, in the order in which they did.
func prefix(h http.Header) string {
	var base string
	for _, part := range strings.Split(strings.Join(h.Values(prefixHeader), ","), ",") {
		if part = strings.Trim(strings.TrimSpace(part), "/"); part != "" {
			base += "/" + part
		}
	}
	base, err := url.PathUnescape(base)
	if err != nil || checkBase(base) != nil {
		return ""
	}
	return base
}

// forwarded reads the header of RFC 7239.
func forwarded(h http.Header) []map[string]string {
	var all []map[string]string
	for _, element := range split(strings.Join(h.Values(forwardedHeader), ","), ',') {
		pairs := map[string]string{}
		for _, pair := range split(element, ';') {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			pairs[strings.ToLower(name)] = strings.ReplaceAll(strings.Trim(value, `"`), `\`, "")
		}
		all = append(all, pairs)
	}
	return all
}

// split cuts a text at a byte that does not stand in quotes. Nothing gives
// nothing.
func split(s string, at byte) (parts []string) {
	if s == "" {
		return nil
	}
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == at && !quoted:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}
