// Package egress knows what may leave a turn that has read text from outside:
// which links its answers may hold, and whether an address that a tool is to
// fetch carries something of the conversation away. It starts no goroutine and
// keeps nothing.
package egress

import (
	"net/url"
	"regexp"
	"strings"

	"magpie/internal/links"
)

// View is what a turn has before it. It is made in the order of the
// conversation, because an address that the bot has written first is not found
// by reading it again.
type View struct {
	hosts map[string]bool // named by the person or the configuration
	known map[string]bool // addresses as they stand: written by the person, found or fetched
	own   map[string]bool // that the bot has written, and that were not known by then
	parts []part
}

// part is text that is not to be carried away.
type part struct{ of, text string }

// New makes a View that knows the hosts of the configuration; one that begins
// with a dot or "*." stands for all below it.
func New(hosts []string) *View {
	v := &View{hosts: map[string]bool{}, known: map[string]bool{}, own: map[string]bool{}}
	for _, h := range hosts {
		v.hosts[strings.TrimPrefix(hostKey(h), "*")] = true
	}
	return v
}

// Person adds words of the person: they name hosts, and addresses.
func (v *View) Person(text string) {
	for _, target := range links.All(text) {
		v.known[key(target)] = true
		if u, ok := parse(target); ok && u.User == nil {
			v.hosts[hostKey(u.Host)] = true
		}
	}
}

// Found adds what was read: addresses in it are known, but those that the bot
// has written before.
func (v *View) Found(text string) {
	for _, target := range links.All(unescaper.Replace(text)) {
		if k := key(target); !v.own[k] {
			v.known[k] = true
		}
	}
}

// unescaper reads what JSON and HTML write otherwise in an address.
var unescaper = strings.NewReplacer(`\/`, "/", `\u0026`, "&", `\u003d`, "=", "&amp;", "&", `\"`, `"`, `\n`, "\n", `\t`, "\t")

// Fetched adds an address that was fetched.
func (v *View) Fetched(address string) { v.known[key(address)] = true }

// Own adds words of the bot.
func (v *View) Own(text string) {
	for _, target := range links.All(unescaper.Replace(text)) {
		if k := key(target); !v.known[k] {
			v.own[k] = true
		}
	}
}

// Keep adds text that is not to be carried away; of says to people what it is.
func (v *View) Keep(of, text string) {
	if text != "" {
		v.parts = append(v.parts, part{of, text})
	}
}

// Links reports whether an answer may hold a link to target.
func (v *View) Links(target string) bool {
	if v.known[key(target)] {
		return true
	}
	u, ok := parse(target)
	return ok && u.User == nil && (u.Scheme == "http" || u.Scheme == "https") && v.named(u.Host)
}

func (v *View) named(host string) bool {
	host = hostKey(host)
	if v.hosts[host] {
		return true
	}
	for i, c := range host {
		if c == '.' && v.hosts[host[i:]] {
			return true
		}
	}
	return false
}

// hostKey is a host with its port, if that is not one of the web's: what listens
// on another port may be somebody else's.
func hostKey(host string) string {
	host = strings.ToLower(strings.TrimSpace(host))
	host = strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":80")
	return strings.TrimPrefix(strings.TrimSuffix(host, "."), "www.")
}

// schemed matches what has a scheme already; a port is none.
var schemed = regexp.MustCompile(`^(?i)(?:[a-z][a-z0-9+-]*://|mailto:|[a-z][a-z0-9+-]*:[^0-9/])`)

// parse reads a target; what has no scheme is of the web.
func parse(target string) (*url.URL, bool) {
	if strings.ContainsAny(target, "\\ \t\n") {
		return nil, false
	}
	if !schemed.MatchString(target) {
		target = "https://" + strings.TrimPrefix(target, "//")
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, false
	}
	u.Scheme = strings.ToLower(u.Scheme)
	return u, true
}

// key is the same for what leads to the same place: the scheme of the web, the
// case of the host and an empty path make no difference.
func key(target string) string {
	u, ok := parse(target)
	if !ok || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return target
	}
	k := strings.ToLower(u.Host)
	switch {
	case u.Scheme == "https":
		k = strings.TrimSuffix(k, ":443")
	default:
		k = strings.TrimSuffix(k, ":80")
	}
	k += strings.TrimSuffix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		k += "?" + u.RawQuery
	}
	if u.Fragment != "" {
		k += "#" + u.EscapedFragment()
	}
	return k
}
