package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"magpie/internal/front"
)

// guard lets in who knows the token.
type guard struct {
	token [sha256.Size]byte // hashed, so that comparing tells not even the length
	key   []byte
	front *front.Front
	local bool // listens on this machine only
	port  atomic.Value
	tries map[entry]*tries
	spent spent
	log   *slog.Logger
	now   func() time.Time
}

func newGuard(cfg Config) *guard {
	host, port, _ := net.SplitHostPort(cfg.Listen) // New has checked it
	g := &guard{
		token: sha256.Sum256([]byte(cfg.Token)), key: cfg.Key, front: cfg.Front,
		local: front.Local(host), tries: map[entry]*tries{}, log: cfg.Log, now: cfg.Now,
		spent: spent{began: cfg.Now(), nonces: map[string]time.Time{}},
	}
	for _, w := range []entry{byLink, byForeignLink, byForm, byHeader, byOperator} {
		g.tries[w] = newTries(cfg.Now)
	}
	g.port.Store(port)
	return g
}

func (g *guard) setPort(a net.Addr) {
	if _, port, err := net.SplitHostPort(a.String()); err == nil {
		g.port.Store(port)
	}
}

// verdict is what became of a token that was presented.
type verdict int

const (
	wrong verdict = iota
	right
	tooOften
)

// entry is how a token is presented. Wrong ones are counted for each alone:
// what any page may have a browser ask for must not use up the tries of a form,
// or of a program.
type entry string

const (
	byLink        entry = "link"
	byForeignLink entry = "link on another page"
	byForm        entry = "form"
	byHeader      entry = "header"
	byOperator    entry = "command"
)

// linked tells a link that somebody opened from one that a page elsewhere has
// the browser ask for, as far as the browser says it.
func linked(r *http.Request) entry {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return byLink
	}
	return byForeignLink
}

// check compares a presented token. The right one always passes: whoever sends
// wrong ones must not shut the owner out, who may come from the same address.
func (g *guard) check(r *http.Request, w entry, token string) verdict {
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return right
	}
	return g.failed(r, w)
}

func (g *guard) failed(r *http.Request, w entry) verdict {
	from := remote(r)
	if !g.tries[w].allowed(from) {
		return tooOften
	}
	g.tries[w].failed(from)
	g.log.Warn("console login failed", "from", from, "by", string(w))
	return wrong
}

// protect lets requests with the token or with both halves of a login pass;
// the cookie alone opens the page, in which nothing stands yet.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Vary", KeyHeader) // what a browser keeps is for who has the key
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			if v := g.check(r, byHeader, bearer); v != right {
				g.refuse(rw, r, v)
				return
			}
			next.ServeHTTP(rw, r)
			return
		}
		query := r.URL.Query()
		if token := query.Get("token"); token != "" && r.Method == http.MethodGet {
			if v := g.check(r, linked(r), token); v != right {
				g.refuse(rw, r, v)
				return
			}
			query.Del("token")
			rw.Header().Set("Cache-Control", "no-store")
			g.enter(rw, r, r.URL.Path, query)
			return
		}
		if !g.loggedIn(r, isPage(r)) {
			g.refuse(rw, r, wrong)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// localPath is a path on this server, whatever was asked for: "//host" would
// lead elsewhere.
func localPath(path string) string {
	return "/" + strings.TrimLeft(strings.ReplaceAll(path, `\`, "/"), "/")
}

// redirect leads to a path of this server. http.Redirect would make a relative
// address absolute, without the part that a proxy took away.
func redirect(rw http.ResponseWriter, r *http.Request, path string, query url.Values) {
	rw.Header().Set("Location", front.Link(r, localPath(path), query))
	rw.WriteHeader(http.StatusSeeOther)
}

// refuse answers people with the login page and programs with an error.
func (g *guard) refuse(rw http.ResponseWriter, r *http.Request, v verdict) {
	status, text := http.StatusUnauthorized, "log in first: the token is missing or wrong"
	switch {
	case v == tooOften:
		status, text = http.StatusTooManyRequests, "too many wrong tokens, wait a minute"
		rw.Header().Set("Retry-After", strconv.Itoa(int(tryWindow.Seconds())))
	case g.loggedIn(r, true):
		text = "log in again: this has the cookie of a login without its key, which only the page that logged in has"
	}
	if isRead(r) && wantsPage(r) {
		if v == wrong && r.URL.Query().Has("token") {
			status = http.StatusForbidden // somebody tried: say that it was wrong
		}
		g.writeLogin(rw, r, status, localPath(r.URL.Path))
		return
	}
	if status == http.StatusUnauthorized {
		rw.Header().Set("WWW-Authenticate", `Bearer realm="magpie"`)
	}
	answer(rw, status, map[string]string{"error": text})
}

// checkHost refuses names that the console does not answer to: a foreign page
// whose name was made to point here must not be taken for the console's own.
// On a network, monitors ask for what is open by whatever name they know.
func (g *guard) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		monitor := !g.local && (r.URL.Path == "/readyz" || r.URL.Path == "/metrics")
		if !monitor && !g.front.Answers(r.Host) {
			answer(rw, http.StatusMisdirectedRequest, map[string]string{"error": fmt.Sprintf(
				"the console does not answer to the host name %.100q: if it is yours, set web.public_url to the address that people open, or add the name to web.hosts", r.Host)})
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// checkOrigin refuses what pages of others send. Browsers say it themselves,
// but only over TLS and to this machine; elsewhere the Origin tells.
func (g *guard) checkOrigin(next http.Handler) http.Handler {
	others := http.NewCrossOriginProtection()
	others.SetDenyHandler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		answer(rw, http.StatusForbidden, map[string]string{"error": fmt.Sprintf(
			"a page of %.100q may not send this: if that is the address of this console, set web.public_url to it", r.Header.Get("Origin"))})
	}))
	checked := others.Handler(next)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Site") == "" && g.front.Own(r) {
			next.ServeHTTP(rw, r)
			return
		}
		checked.ServeHTTP(rw, r)
	})
}

// remote is who failed attempts are counted for: an address, for IPv6 its /64,
// of which one sender usually has all.
func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return ip.Mask(net.CIDRMask(64, 128)).String()
}
