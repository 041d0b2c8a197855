package guard

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"magpie/tools"
)

const maxURL = 8192 // bytes; servers refuse longer ones

// URL reads a URL that a model wrote and judges it by its text: http or https,
// with a host that is a name or an address in its usual form. "example.org/a"
// gets its https://.
func URL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxURL {
		return nil, tools.Errorf(tools.InvalidArgs, "the URL is longer than %d bytes", maxURL)
	}
	if scheme, _, ok := strings.Cut(text, "://"); (!ok || strings.ContainsAny(scheme, "/?#")) && strings.Contains(text, ".") && !hasScheme(text) {
		text = "https://" + text
	}
	u, err := url.Parse(Encoded(text))
	if err != nil {
		return nil, tools.Errorf(tools.InvalidArgs, "this is no URL; want one such as https://example.org/page")
	}
	return u, check(u)
}

// Encoded writes what may not stand in path, query and fragment in percent form,
// as browsers do it: blanks, letters beyond ASCII, and a percent sign that is the
// beginning of no such form. What is encoded already stays.
func Encoded(text string) string {
	at := 0
	if i := strings.Index(text, "://"); i >= 0 {
		at = i + len("://")
	}
	if end := strings.IndexAny(text[at:], "/?#"); end >= 0 {
		return text[:at+end] + escape(text[at+end:])
	}
	return text
}

func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 || c == '%' && !hexPair(text[i+1:]) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func hexPair(s string) bool {
	return len(s) >= 2 && strings.Trim(s[:2], "0123456789abcdefABCDEF") == ""
}

// hasScheme tells file:a.b and mailto:a@b.c from a.b:80/c.
func hasScheme(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	return ok && !strings.ContainsAny(scheme, "./") && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// check also judges where redirects lead.
func check(u *url.URL) error {
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" {
		return tools.Errorf(tools.Security, "%q URLs are not fetched; want http:// or https://", u.Scheme)
	}
	u.RawQuery = escape(u.RawQuery)
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return tools.Errorf(tools.InvalidArgs, "the URL names no host; want one such as https://example.org/page")
	}
	if strings.Contains(host, ":") { // an IPv6 address; the guard judges it when it is dialled
		if _, err := netip.ParseAddr(host); err != nil {
			return tools.Errorf(tools.InvalidArgs, "%q is no address", host)
		}
		return nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		if !plain(host) {
			return tools.Errorf(tools.InvalidArgs, "%q is no host name", host)
		}
		ascii = strings.ToLower(host) // names with an underscore exist
	}
	if _, err := netip.ParseAddr(ascii); err != nil && numeric(ascii) {
		return tools.Errorf(tools.Security, "the host %q is a disguised address; write addresses as in 93.184.216.34", host)
	}
	u.Host = ascii
	if port != "" {
		u.Host += ":" + port
	}
	return nil
}

func plain(host string) bool {
	for _, c := range host {
		if c > '~' || c <= ' ' || strings.ContainsRune(`/\:%@?#[]<>^|`, c) {
			return false
		}
	}
	return true
}

// numeric says whether a host's last label is a number, as in 2130706433,
// 0x7f.1 or 0177.0.0.1: browsers and some resolvers read these as addresses
// (WHATWG URL, "ends in a number", read 2026-11-21).
func numeric(host string) bool {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	end := labels[len(labels)-1]
	if hex, ok := strings.CutPrefix(end, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return end != "" && strings.Trim(end, "0123456789") == ""
}

// Normal writes a URL in its one spelling, so that a policy's pattern cannot be
// passed by writing it another way: lower-case scheme and host without user,
// final dot or usual port, a path without dot segments, and no character encoded
// that need not be (RFC 3986 section 6.2.2, read 2026-11-27). What is no URL
// comes back as it is.
func Normal(text string) string {
	u, err := URL(text)
	if err != nil {
		return text
	}
	host := strings.TrimRight(u.Hostname(), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := strings.TrimLeft(u.Port(), "0"); port != "" && (u.Scheme != "http" || port != "80") && (u.Scheme != "https" || port != "443") {
		host += ":" + port
	}
	text = u.Scheme + "://" + host + undotted(unencoded(u.EscapedPath()))
	if u.RawQuery != "" || u.ForceQuery {
		text += "?" + unencoded(u.RawQuery)
	}
	return text
}

// Spellings are the ways in which a policy looks at a URL: its one spelling, and
// that with every character decoded, as some servers read it.
func Spellings(text string) []string {
	one := Normal(text)
	all := []string{one}
	if open, err := url.PathUnescape(one); err == nil && open != one {
		all = append(all, open, Normal(open))
	}
	return all
}

// Judge asks the policy of the call about a page that it is led to.
func Judge(ctx context.Context, u *url.URL) error {
	all := Spellings(u.String())
	return tools.Visited(ctx, all[0], all[1:]...)
}

var encoded = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unencoded decodes what is the same without being encoded.
func unencoded(text string) string {
	return encoded.ReplaceAllStringFunc(text, func(code string) string {
		n, _ := strconv.ParseUint(code[1:], 16, 8) // two digits
		if c := byte(n); c == '-' || c == '.' || c == '_' || c == '~' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return string(rune(c))
		}
		return strings.ToUpper(code)
	})
}

// undotted takes "." and ".." out of a path.
func undotted(p string) string {
	var out []string
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == ".." && len(out) > 0:
			out = out[:len(out)-1]
		case part != "." && part != "..":
			out = append(out, part)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}
