package console

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"magpie/internal/front"
)

const (
	loginLasts = 30 * 24 * time.Hour
	maxLogin   = 4 << 10 // bytes of a login form
)

// A login has two halves. Browsers send a cookie to every port of a host, so a
// program that listens on another port of this machine gets it by one click;
// the storage of a page they keep apart by origin, port included. So the cookie
// is worth something only with the key of the same login, which the page gets
// when it logs in, keeps in its storage and sends in KeyHeader.

// KeyHeader carries the half of a login that only its page has.
const KeyHeader = "X-Magpie-Key"

// cookieName holds the port: browsers keep one set of cookies for all ports of
// a host, and two bots on a machine must not log each other out.
func (g *guard) cookieName() string { return "magpie_" + g.port.Load().(string) }

// sign is a MAC over a text for one purpose: nothing to store, and worthless
// after the token or the key has changed.
func (g *guard) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, g.key)
	mac.Write(g.token[:])
	mac.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// newLogin makes the halves of a login. The cookie is "<expiry>.<id>.<mac>",
// the key another MAC over the same login.
func (g *guard) newLogin() (cookie, key string) {
	login := strconv.FormatInt(g.now().Add(loginLasts).Unix(), 10) + "." + rand.Text()
	return login + "." + g.sign("cookie", login), g.sign("page", login)
}

// loggedIn says whether a request carries a login: both halves, or where that
// is enough the cookie alone. Who listens on another port may have set cookies
// of that name besides ours.
func (g *guard) loggedIn(r *http.Request, cookieAlone bool) bool {
	for _, c := range r.CookiesNamed(g.cookieName()) {
		i := strings.LastIndexByte(c.Value, '.')
		if i < 0 {
			continue
		}
		login := c.Value[:i]
		expires, _, _ := strings.Cut(login, ".")
		unix, err := strconv.ParseInt(expires, 10, 64)
		if err != nil || !g.now().Before(time.Unix(unix, 0)) || !hmac.Equal([]byte(c.Value[i+1:]), []byte(g.sign("cookie", login))) {
			continue
		}
		if cookieAlone || hmac.Equal([]byte(r.Header.Get(KeyHeader)), []byte(g.sign("page", login))) {
			return true
		}
	}
	return false
}

func (g *guard) setCookie(rw http.ResponseWriter, r *http.Request, value string, age time.Duration) {
	http.SetCookie(rw, &http.Cookie{
		Name: g.cookieName(), Value: value, Path: cmp.Or(front.Base(r), "/"), MaxAge: int(age.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.front.Secure(r),
	})
}

// enter logs in and leads to a path. The page finds the key behind the # of its
// address, which browsers send nowhere, and takes it out of there; programs and
// other paths have no use for one.
func (g *guard) enter(rw http.ResponseWriter, r *http.Request, next string, query url.Values) {
	cookie, key := g.newLogin()
	g.setCookie(rw, r, cookie, loginLasts)
	next = localPath(next)
	to := front.Link(r, next, query)
	if wantsPage(r) && next == "/" {
		to += "#in=" + key
	}
	rw.Header().Set("Location", to)
	rw.WriteHeader(http.StatusSeeOther)
}

// isPage says whether a request is for the page as it stands in the program:
// its HTML and what that names. All else acts, or reads what is the owner's.
func isPage(r *http.Request) bool {
	at := r.URL.Path
	return isRead(r) && (at == "/" || strings.HasPrefix(at, "/assets/") && path.Clean(at) == at)
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// wantsPage says whether a browser shows the answer to a person.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
