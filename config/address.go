package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"magpie/internal/paste"
	"magpie/internal/proxy"
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

// proxies looks at the variables of the way out.
func (c *checker) proxies() {
	for _, name := range proxy.Variables() {
		if c.env == nil {
			return
		}
		value, _ := c.env(name)
		if said := proxy.Flaw(name, value); said != "" {
			c.problems = append(c.problems, Problem{Key: name, Text: said})
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if value, _ := c.env(name); paste.Odd(value) != "" {
			c.problems = append(c.problems, Problem{Key: name, Text: paste.Odd(value)})
		}
	}
}

// way checks the key proxy of a channel.
func (d *decoder) way(n *node, key, value string) {
	if said := proxy.KeyFlaw("proxy", value); said != "" {
		d.add(n.find("proxy"), key, "%s", said)
	}
}

// Proxies are the addresses of proxies that stand in keys.
func (c *Config) Proxies() []string {
	var all []string
	for _, ch := range c.Channels {
		all = append(all, ch.Proxy)
	}
	for _, m := range c.LLM.Models {
		all = append(all, m.Proxy)
	}
	return all
}
