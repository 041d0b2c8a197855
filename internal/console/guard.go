package console

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
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

const (
	loginLasts = 30 * 24 * time.Hour
	maxLogin   = 4 << 10 // bytes of a login form
)

// guard lets in who knows the token.
type guard struct {
	token [sha256.Size]byte // hashed, so that comparing tells not even the length
	key   []byte
	front *front.Front
	local bool // listens on this machine only
	port  atomic.Value
	tries *tries
	log   *slog.Logger
	now   func() time.Time
}

func newGuard(cfg Config) *guard {
	host, port, _ := net.SplitHostPort(cfg.Listen) // New has checked it
	g := &guard{
		token: sha256.Sum256([]byte(cfg.Token)), key: cfg.Key, front: cfg.Front,
		local: front.Local(host), tries: newTries(cfg.Now), log: cfg.Log, now: cfg.Now,
	}
	g.port.Store(port)
	return g
}

func (g *guard) setPort(a net.Addr) {
	if _, port, err := net.SplitHostPort(a.String()); err == nil {
		g.port.Store(port)
	}
}

// cookieName holds the port: browsers keep one set of cookies for all ports of
// a host, and two bots on a machine must not log each other out.
func (g *guard) cookieName() string { return "magpie_" + g.port.Load().(string) }

// cookie is "<expiry>.<mac>": nothing to store, and worthless after the token
// or the key has changed.
func (g *guard) cookie(expires time.Time) string {
	text := strconv.FormatInt(expires.Unix(), 10)
	mac := hmac.New(sha256.New, g.key)
	mac.Write(g.token[:])
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (g *guard) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(g.cookieName())
	if err != nil {
		return false
	}
	text, _, _ := strings.Cut(c.Value, ".")
	unix, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false
	}
	expires := time.Unix(unix, 0)
	return subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.cookie(expires))) == 1 && g.now().Before(expires)
}

func (g *guard) setCookie(rw http.ResponseWriter, r *http.Request, value string, age time.Duration) {
	http.SetCookie(rw, &http.Cookie{
		Name: g.cookieName(), Value: value, Path: cmp.Or(front.Base(r), "/"), MaxAge: int(age.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.front.Secure(r),
	})
}

// verdict is what became of a token that was presented.
type verdict int

const (
	wrong verdict = iota
	right
	tooOften
)

// check compares a presented token. The right one always passes: whoever sends
// wrong ones must not shut the owner out, who may come from the same address.
func (g *guard) check(r *http.Request, token string) verdict {
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return right
	}
	from := remote(r)
	if !g.tries.allowed(from) {
		return tooOften
	}
	g.tries.failed(from)
	g.log.Warn("console login failed", "from", from)
	return wrong
}

// protect lets requests with the cookie or the token pass.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			if v := g.check(r, bearer); v != right {
				g.refuse(rw, r, v)
				return
			}
			next.ServeHTTP(rw, r)
			return
		}
		query := r.URL.Query()
		if token := query.Get("token"); token != "" && r.Method == http.MethodGet {
			if v := g.check(r, token); v != right {
				g.refuse(rw, r, v)
				return
			}
			query.Del("token")
			g.setCookie(rw, r, g.cookie(g.now().Add(loginLasts)), loginLasts)
			rw.Header().Set("Cache-Control", "no-store")
			redirect(rw, r, r.URL.Path, query)
			return
		}
		if !g.hasCookie(r) {
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
	if v == tooOften {
		status, text = http.StatusTooManyRequests, "too many wrong tokens, wait a minute"
		rw.Header().Set("Retry-After", strconv.Itoa(int(tryWindow.Seconds())))
	}
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		if v == wrong && r.URL.Query().Has("token") {
			status = http.StatusForbidden // somebody tried: say that it was wrong
		}
		writeLogin(rw, r, status, localPath(r.URL.Path))
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
