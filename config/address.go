package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"magpie/internal/paste"
)

// noURL says what is wrong with the address of a web server, without showing
// any of it; "" is nothing.
func noURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "want a URL with http:// or https://"
	case !port(u):
		return "want a port from 1 to 65535 behind the host"
	}
	return ""
}

func port(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n >= 1 && n <= 65535
}

// noBase is noURL of the server of a model, whose calls are added to its
// address.
func noBase(s string) string {
	if said := noURL(s); said != "" {
		return said
	}
	u, err := url.Parse(s)
	switch {
	case err != nil: // noURL has said so
	case u.User != nil:
		return "want it without a user and a password before the host: the server's key is api_key"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#"):
		return "want it without ? and # and what follows; Azure's is https://NAME.openai.azure.com/openai/v1"
	}
	return ""
}

// busAddresses says what is wrong with a list of NATS servers. A sign of a
// password that is not escaped ends the host for who reads the URL, and the
// rest of the password would be looked up and shown as a host.
func busAddresses(list string) string {
	if list == "" {
		return ""
	}
	wrong := slices.ContainsFunc(strings.Split(list, ","), func(server string) bool {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil || u.Hostname() == "" || !port(u) || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return true
		}
		plain := u.Scheme == "nats" || u.Scheme == "tls"
		return u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(u.Path, "@") || plain && strings.Trim(u.Path, "/") != ""
	})
	if !wrong {
		return ""
	}
	said := "want nats://host:port, several with commas between them"
	_, rest, _ := strings.Cut(list, "://")
	if at := strings.LastIndex(rest, "@"); at >= 0 && strings.ContainsAny(rest[:at], "/?#,%[]^|<>\"\\{}`") {
		said += "; in a user or a password write @ as %40, : as %3A, / as %2F, # as %23, ? as %3F, a comma as %2C and % as %25"
	}
	return said
}

// proxies looks at the variables of the way out. Every call reads them as they
// stand, so that nothing around the address can be left out.
func (c *checker) proxies() {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if c.env == nil {
			return
		}
		value, _ := c.env(name)
		if said := noProxy(name, value); said != "" {
			c.problems = append(c.problems, Problem{Key: name, Text: said})
		}
	}
}

// noProxy says what is wrong with the address of a proxy, without showing any
// of it; "" is nothing.
func noProxy(name, value string) string {
	const want = "want the address of a proxy such as http://10.0.0.1:3128"
	clean, around := paste.Trim(name, value)
	odd := paste.Odd(value)
	if !strings.Contains(value, "://") {
		clean = "http://" + clean
	}
	u, err := url.Parse(clean)
	switch {
	case value == "":
		return ""
	case around != "":
		return "has " + around + " around it: write " + name + "=… without"
	case odd != "":
		return odd
	case err != nil && strings.Contains(value, "@"):
		return want + "; in a user or a password write @ as %40, : as %3A, / as %2F, # as %23 and % as %25"
	case err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return want
	case !port(u):
		return "want a port from 1 to 65535 behind the host"
	case strings.Contains(u.Path+u.RawQuery+u.Fragment, "@"):
		return want + "; in a user or a password write @ as %40, / as %2F, # as %23 and ? as %3F"
	}
	return ""
}
