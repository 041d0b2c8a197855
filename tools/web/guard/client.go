package guard

import (
	"net/http"
	"net/url"
	"time"

	"magpie/tools"
)

const (
	maxRedirects   = 5
	maxHeaderBytes = 64 << 10
	tlsTimeout     = 10 * time.Second
)

// kept are the request headers that say nothing about who asks; only these go
// along when a redirect leads to another host.
var kept = map[string]bool{"User-Agent": true, "Accept": true, "Accept-Language": true}

// Client is an HTTP client whose every connection passes the guard. It uses no
// proxy, keeps no connections and no cookies, and follows at most five
// redirects. It does not carry headers, credentials or a body to another host:
// a redirect that asks for the latter (307, 308) is returned as the response.
// The caller bounds the request's time and the size of the body it reads.
func (g *Guard) Client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            g.Dial,
			TLSHandshakeTimeout:    tlsTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			DisableKeepAlives:      true, // hosts hardly repeat, and idle connections outlive calls
		},
		CheckRedirect: redirect,
	}
}

func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return tools.Errorf(tools.Failed, "more than %d redirects; the page leads in circles, try another one", maxRedirects)
	}
	if err := check(req.URL); err != nil {
		return err
	}
	if err := Judge(req.Context(), req.URL); err != nil {
		return err
	}
	// Once away from the first host always away: on the way back it is the
	// other host that says what is asked for.
	for _, r := range append(via[1:len(via):len(via)], req) {
		if sameHost(via[0].URL, r.URL) {
			continue
		}
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			return http.ErrUseLastResponse
		}
		for name := range req.Header {
			if !kept[name] {
				req.Header.Del(name)
			}
		}
		return nil
	}
	return nil
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
