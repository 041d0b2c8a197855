// Package proxy says how calls leave this machine: by the proxy that a key of
// the configuration names, by the one of the environment, or by none.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpproxy"

	"magpie/internal/paste"
)

// Func is what http.Transport asks for the proxy of a request; nil is none.
type Func = func(*http.Request) (*url.URL, error)

// Variables are those that name proxies. Of two the first counts.
func Variables() []string {
	return []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}
}

// Environment is the proxy that the variables name for a request: HTTPS_PROXY
// or HTTP_PROXY by its scheme, else ALL_PROXY, and none for what NO_PROXY names
// and for this machine itself.
func Environment(req *http.Request) (*url.URL, error) {
	set := httpproxy.FromEnvironment()
	set.CGI = false // this is no CGI script, whatever variables there are
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	set.HTTPProxy, set.HTTPSProxy = cmp.Or(set.HTTPProxy, all), cmp.Or(set.HTTPSProxy, all)
	return set.ProxyFunc()(req.URL)
}

// None says that a key means: without a proxy, whatever the environment names.
func None(key string) bool { return key == "none" || key == "direct" }

// Of returns what a key means: "" is the environment's, none and direct are no
// proxy, and any other names the one for every call, also to this machine. Flaw
// has found nothing wrong with it.
func Of(key string) Func {
	switch {
	case key == "":
		return Environment
	case None(key):
		return nil
	}
	u, err := parse(key)
	if err != nil {
		return func(*http.Request) (*url.URL, error) {
			return nil, errors.New("the address of the proxy cannot be used")
		}
	}
	return http.ProxyURL(u)
}

// idleConns is how many connections to a server are kept for the next request:
// the standard two would have busy chats pay for a new one each time.
const idleConns = 128

// Transport makes connections of its own by the proxy of a key.
func Transport(key string) *http.Transport {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.Proxy = Of(key)
	tr.OnProxyConnectResponse = connected
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = idleConns, idleConns
	return tr
}

// connected says what a proxy answers that does not connect: net/http repeats
// the mere words of the status, as if they were the server's.
func connected(_ context.Context, at *url.URL, _ *http.Request, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return fmt.Errorf("the proxy %s does not let the bot through (HTTP status 407): give its user and password, as in http://user:password@%[1]s", at.Host)
	}
	return fmt.Errorf("the proxy %s does not connect (HTTP status %d)", at.Host, answer.StatusCode)
}

func parse(value string) (*url.URL, error) {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	return url.Parse(value)
}

// Host is the server of a proxy, without the user and the password; "" when the
// address cannot be read.
func Host(value string) string {
	u, err := parse(value)
	if err != nil {
		return ""
	}
	return u.Host
}

// Secrets are what must not be shown of proxies: their passwords, as they are
// meant, as they stand in the address and as they would be written there.
func Secrets(values ...string) []string {
	var all []string
	for _, value := range values {
		u, err := parse(value)
		if err != nil || u.User == nil {
			continue
		}
		password, _ := u.User.Password()
		_, escaped, _ := strings.Cut(u.User.String(), ":")
		_, address, found := strings.Cut(value, "://")
		if !found {
			address = value
		}
		_, given, _ := strings.Cut(address[:max(0, strings.LastIndex(address, "@"))], ":")
		for _, s := range []string{password, escaped, given} {
			if s != "" && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Flaw says what is wrong with the address of a proxy that stands under a name,
// without showing any of it; "" is nothing. Variables are read as they stand, so
// that nothing around the address can be left out.
func Flaw(name, value string) string {
	const want = "want the address of a proxy such as http://10.0.0.1:3128 or socks5://10.0.0.1:1080"
	clean, around := paste.Trim(name, value)
	odd := paste.Odd(value)
	u, err := parse(clean)
	switch {
	case value == "":
		return ""
	case around != "":
		return "has " + around + " around it: write " + name + "=… without"
	case odd != "":
		return odd
	case err != nil && strings.Contains(value, "@"):
		return want + "; in a user or a password write @ as %40, : as %3A, / as %2F, # as %23 and % as %25"
	case err != nil || !host(u.Hostname()) || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return want
	case !port(u):
		return "want a port from 1 to 65535 behind the host"
	case strings.Contains(u.Path+u.RawQuery+u.Fragment, "@"):
		return want + "; in a user or a password write @ as %40, / as %2F, # as %23 and ? as %3F"
	}
	return ""
}

// KeyFlaw is Flaw of a key of the configuration, which may be none or direct.
func KeyFlaw(key, value string) string {
	said := Flaw(key, value)
	switch {
	case None(value) || said == "" && !mere(value):
		return ""
	case mere(value):
		said = "want the address of a proxy such as http://10.0.0.1:3128 or socks5://10.0.0.1:1080"
	}
	return said + "; none is without a proxy, and an empty value as the environment says"
}

// mere is a word that names no server: off, false, system.
func mere(value string) bool { return value != "" && !strings.ContainsAny(value, ".:/[") }

func host(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".:-_%", r)
	})
}

func port(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n >= 1 && n <= 65535
}
