package config

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/chat"
	"magpie/internal/front"
	"magpie/internal/paste"
)

// Web is the section web.
type Web struct {
	Listen string // host:port
	Token  chat.Secret
	// PublicURL is where people and platforms reach Listen through a reverse
	// proxy or a tunnel, without a slash at its end; "" = there is none.
	PublicURL      string
	Hosts          Names // host names under which it may be asked for besides
	TrustedProxies Names // addresses and networks that may say who asks
}

// complete writes the address in its one form; a wrong one stays for the check.
func (w *Web) complete() {
	if u, err := front.ParseURL(w.PublicURL); err == nil {
		w.PublicURL = u.String()
	}
}

// lend makes the address the default of the channels' key of that name.
func (w Web) lend(all []Channel) {
	for i := range all {
		decode := all[i].Decode
		all[i].Decode = func(target any) error {
			err := decode(target)
			v, wrong := pointer(target)
			if wrong != nil {
				return err
			}
			for _, f := range fieldsOf(v) {
				if f.name == "public_url" && f.value.Kind() == reflect.String && f.value.String() == "" {
					f.value.SetString(w.PublicURL)
				}
			}
			return err
		}
	}
}

// Names is a list that may also be given as one text with commas or blanks
// between its elements, so that one variable can hold all of them.
type Names []string

func (s *Names) decode(d *decoder, n *node, key string) {
	var all []string
	if n.kind == list {
		d.value(n, key, field{}.of(&all))
	} else {
		var one string
		if d.scalar(n, key, field{name: key}.of(&one)) {
			all = []string{one}
		}
	}
	*s = nil
	for _, text := range all {
		if inside, ok := bracketed(text); ok {
			text = inside
		}
		*s = append(*s, strings.FieldsFunc(text, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(",;，、；", r)
		})...)
	}
}

// bracketed is what stands in the brackets of a list that one text holds: what
// the file teaches, written into a variable. Those of [::1] are its own.
func bracketed(text string) (inside string, ok bool) {
	text = strings.TrimSpace(text)
	inside, open := strings.CutPrefix(text, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	_, err := netip.ParseAddr(inside)
	if !open || !closed || err == nil || strings.Index(inside, "]") < strings.Index(inside, "[") {
		return "", false
	}
	return strings.NewReplacer(`"`, " ", "'", " ").Replace(inside), true
}

// The shortest tokens that are taken where others can try them, and that are
// not warned of.
const (
	shortestToken = 8
	goodToken     = 16
)

// guessable warns of a token that can be tried out. Of one mistake the check
// has spoken.
func (c *Config) guessable() string {
	token := string(c.Web.Token)
	switch {
	case token == "" || c.Web.short() || paste.OddPhrase(token) != "":
		return ""
	case paste.Sample(token):
		return "web.token is the text of an example, which everybody knows: " + makeToken
	case utf8.RuneCountInString(token) < goodToken:
		return fmt.Sprintf("web.token has fewer than %d characters and can be guessed: %s", goodToken, makeToken)
	case paste.Guessable(token):
		return "web.token is made of rows of keys, repetitions or well-known words and can be guessed: " + makeToken
	}
	return ""
}

// short says that a token is too short for where others can try it.
func (w Web) short() bool {
	host, _, _ := net.SplitHostPort(w.Listen)
	return utf8.RuneCountInString(string(w.Token)) < shortestToken && !loopback(host)
}

const makeToken = "openssl rand -hex 16 makes a good one"

func (c *checker) web() {
	w := c.cfg.Web
	host, port, err := net.SplitHostPort(w.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err == nil && !listenable(host) {
		c.bad("web.listen", "want an address of this machine before the port, such as 127.0.0.1 or 0.0.0.0 for all of them, got %s", c.got("web.listen"))
	}
	if err != nil {
		c.bad("web.listen", "want host:port such as 127.0.0.1:18990, got %s", c.got("web.listen"))
	}
	odd := paste.OddPhrase(string(w.Token))
	switch {
	case odd != "":
		c.bad("web.token", "%s", odd)
	case err != nil || loopback(host):
	case w.Token == "":
		c.bad("web.token", "is required because web.listen can be reached from other machines")
	case w.short():
		c.bad("web.token", "is too short, since web.listen can be reached from other machines: want at least %d characters; %s", shortestToken, makeToken)
	}
	if w.PublicURL != "" {
		if _, err := front.ParseURL(w.PublicURL); err != nil {
			got := ", got " + c.got("web.public_url")
			if strings.Contains(w.PublicURL, "@") { // a password stands before it
				got = ""
			}
			c.bad("web.public_url", "%v%s", err, got)
		}
	}
	for _, entry := range w.Hosts {
		if _, err := front.ParseHost(entry); err != nil {
			c.entry("web.hosts", entry, err)
		}
	}
	for _, entry := range w.TrustedProxies {
		if _, err := front.ParseProxy(entry); err != nil {
			c.entry("web.trusted_proxies", entry, err)
		}
	}
}

// entry reports a wrong element of Names, at its place in a list.
func (c *checker) entry(key, entry string, err error) {
	for i, item := range c.root.find(key).items {
		if item.kind == text && strings.Contains(item.text, entry) {
			key = index(key, i)
			break
		}
	}
	c.bad(key, "%v, got %s", err, c.got(key))
}

// listenable: a name is looked up only when the program starts, but * and 0,
// which other programs take for every address, are none.
func listenable(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return true
	}
	_, err := front.ParseHost(host)
	return err == nil && strings.ContainsFunc(host, unicode.IsLetter)
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
