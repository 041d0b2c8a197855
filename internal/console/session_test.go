package console_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/internal/console"
	"magpie/internal/need"
)

// The cookie goes to every port of the host, so it opens nothing but the page
// as it stands in the program, and neither half does what both do.
func TestHalvesOfALogin(t *testing.T) {
	s := newConsole(t)
	both, other := loggedIn(t, s), loggedIn(t, s)
	cookie := map[string]string{"Cookie": both["Cookie"]}
	key := map[string]string{console.KeyHeader: both[console.KeyHeader]}
	if both["Cookie"] == other["Cookie"] || both[console.KeyHeader] == other[console.KeyHeader] {
		t.Error("two logins are the same")
	}
	for name, c := range map[string]struct {
		method, path string
		header       map[string]string
		want         int
	}{
		"both":                             {"GET", "/api/chat/chats", both, 200},
		"both, to act":                     {"POST", "/usual", both, 200},
		"the cookie, the page":             {"GET", "/", cookie, 200},
		"the cookie, the page's files":     {"GET", "/assets/chat.js", cookie, 200},
		"the cookie, to read":              {"GET", "/api/chat/chats", cookie, 401},
		"the cookie, a stream":             {"GET", "/api/chat/chats/main/events?after=1", cookie, 401},
		"the cookie, a file":               {"GET", "/api/chat/files/u1", cookie, 401},
		"the cookie, HEAD":                 {"HEAD", "/api/chat/files/u1", cookie, 401},
		"the cookie, a press":              {"POST", "/api/chat/chats/main/press", cookie, 401},
		"the cookie, the page to act":      {"POST", "/", cookie, 401},
		"the cookie, DELETE":               {"DELETE", "/api/chat/chats/main", cookie, 401},
		"the cookie, beside the files":     {"GET", "/assets", cookie, 401},
		"the cookie, out of the files":     {"GET", "/assets/../api/chat/chats", cookie, 307}, // to the clean path
		"the cookie, escaped":              {"GET", "/assets/%2e%2e/api/chat/chats", cookie, 401},
		"the cookie, a path of nobody":     {"GET", "/page", cookie, 401},
		"the cookie, to act on the files":  {"POST", "/assets/chat.js", cookie, 401},
		"the key, the page":                {"GET", "/", key, 401},
		"the key, to read":                 {"GET", "/api/chat/chats", key, 401},
		"the key, to act":                  {"POST", "/usual", key, 401},
		"the key of another login":         {"POST", "/usual", map[string]string{"Cookie": both["Cookie"], console.KeyHeader: other[console.KeyHeader]}, 401},
		"an empty key":                     {"POST", "/usual", map[string]string{"Cookie": both["Cookie"], console.KeyHeader: ""}, 401},
		"the cookie as the key":            {"POST", "/usual", map[string]string{"Cookie": both["Cookie"], console.KeyHeader: strings.SplitN(both["Cookie"], "=", 2)[1]}, 401},
		"the cookie's MAC as the key":      {"POST", "/usual", map[string]string{"Cookie": both["Cookie"], console.KeyHeader: both["Cookie"][strings.LastIndex(both["Cookie"], ".")+1:]}, 401},
		"the key in the address":           {"GET", "/api/chat/chats?key=" + both[console.KeyHeader] + "&in=" + both[console.KeyHeader], cookie, 401},
		"the key in another cookie":        {"POST", "/usual", map[string]string{"Cookie": both["Cookie"] + "; " + console.KeyHeader + "=" + both[console.KeyHeader]}, 401},
		"the key as the token":             {"POST", "/usual", map[string]string{"Cookie": both["Cookie"], "Authorization": "Bearer " + both[console.KeyHeader]}, 401},
		"beside cookies of another port":   {"POST", "/usual", map[string]string{"Cookie": "magpie_18990=1.x.y; " + both["Cookie"] + "; magpie_18990=", console.KeyHeader: both[console.KeyHeader]}, 200},
		"a cookie with another expiry":     {"GET", "/", map[string]string{"Cookie": strings.Replace(both["Cookie"], "=1", "=9", 1)}, 401},
		"the cookie of a bot beside":       {"GET", "/", map[string]string{"Cookie": strings.Replace(both["Cookie"], "18990", "18991", 1)}, 401},
		"the cookie, for people":           {"GET", "/api/chat/chats", map[string]string{"Cookie": both["Cookie"], "Accept": "text/html"}, 401},
		"the cookie from the page's place": {"GET", "/api/chat/chats", map[string]string{"Cookie": both["Cookie"], "Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:18990", "Referer": "http://127.0.0.1:18990/"}, 401},
	} {
		res := ask{method: c.method, path: c.path, header: c.header}.of(s)
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != c.want {
			t.Errorf("%s: %d %s, want %d", name, res.StatusCode, body, c.want)
		}
		if vary := res.Header.Get("Vary"); res.StatusCode != 307 && vary != console.KeyHeader {
			t.Errorf("%s: Vary %q: a browser may show it to others", name, vary)
		}
		if res.StatusCode == 401 && c.method != "HEAD" && c.header["Accept"] == "" && !strings.Contains(string(body), "log in") {
			t.Errorf("%s: no word of what is missing: %s", name, body)
		}
	}
}

// The key goes to the page and to nobody else.
func TestKeyIsForThePage(t *testing.T) {
	s := newConsole(t)
	html := map[string]string{"Accept": "text/html"}
	form := func(accept, next string) ask {
		return ask{method: "POST", path: "/login", body: "token=" + secret + "&next=" + next, header: map[string]string{
			"Content-Type": "application/x-www-form-urlencoded", "Accept": accept,
		}}
	}
	for name, c := range map[string]struct {
		ask ask
		to  string // where it leads; + when with a key
	}{
		"a link":                   {ask{path: "/?token=" + secret, header: html}, "./+"},
		"a link with more":         {ask{path: "/?a=1&token=" + secret, header: html}, "./?a=1+"},
		"a link of a program":      {ask{path: "/?token=" + secret}, "./"},
		"a link to another path":   {ask{path: "/some/page?token=" + secret, header: html}, "../some/page"},
		"the form":                 {form("text/html,*/*", "/"), "./+"},
		"the form, elsewhere":      {form("text/html,*/*", "/a/b"), "./a/b"},
		"the form, another's host": {form("text/html", "//evil.example"), "./evil.example"},
		"the form of a program":    {form("", "/"), "./"},
	} {
		res := c.ask.of(s)
		want, with := strings.CutSuffix(c.to, "+")
		to, key, has := strings.Cut(res.Header.Get("Location"), "#in=")
		if res.StatusCode != http.StatusSeeOther || to != want || has != with || with && len(key) < 40 {
			t.Errorf("%s: %d to %q, want %q", name, res.StatusCode, res.Header.Get("Location"), c.to)
		}
		if res.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: Referrer-Policy %q", name, res.Header.Get("Referrer-Policy"))
		}
	}
	// The page that stays open asks for it as JSON.
	res := form("application/json", "/").of(s)
	body, _ := io.ReadAll(res.Body)
	_, key, _ := strings.Cut(string(body), `"key":"`)
	key, _, _ = strings.Cut(key, `"`)
	got := map[string]string{"Cookie": res.Cookies()[0].Name + "=" + res.Cookies()[0].Value, console.KeyHeader: key}
	if status := (ask{method: "POST", path: "/usual", header: got}).of(s).StatusCode; res.StatusCode != 200 || status != 200 {
		t.Errorf("%d %s, then %d", res.StatusCode, body, status)
	}
	wrong := form("application/json", "/")
	wrong.body = "token=wrong"
	if res := wrong.of(s); res.StatusCode != http.StatusForbidden || len(res.Cookies()) != 0 {
		t.Errorf("a wrong token: %d, cookies %v", res.StatusCode, res.Cookies())
	}
}

// A login lasts as its cookie says, over restarts, until the token or the key
// of the data folder changes.
func TestLoginLasts(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	clock := func(c *console.Config) { c.Now = func() time.Time { return now } }
	s := newConsole(t, clock)
	both := loggedIn(t, s)
	get := func(s *console.Server) int { return ask{path: "/api", header: both}.of(s).StatusCode }
	for name, c := range map[string]struct {
		s    *console.Server
		want int
	}{
		"now":                     {s, 200},
		"after a restart":         {newConsole(t, clock), 200},
		"after a change of token": {newConsole(t, clock, func(c *console.Config) { c.Token = chat.Secret("changed") }), 401},
		"with another key":        {newConsole(t, clock, func(c *console.Config) { c.Key = []byte("other") }), 401},
	} {
		if got := get(c.s); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	now = now.Add(31 * 24 * time.Hour)
	if got := get(s); got != 401 {
		t.Errorf("after 31 days: %d", got)
	}
}

// The cookie of an earlier version opens nothing, and its owner is told.
func TestCookieOfAnEarlierVersion(t *testing.T) {
	s := newConsole(t)
	expiry := "1999999999"
	token := sha256.Sum256([]byte(secret))
	mac := hmac.New(sha256.New, []byte("key"))
	mac.Write(token[:])
	mac.Write([]byte(expiry))
	old := map[string]string{"Cookie": "magpie_18990=" + expiry + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}
	for lang, want := range map[string][2]string{
		"en-GB": {"Your login has ended", "Log in again."}, "zh-CN,zh": {"登录已失效", "请再次登录"},
	} {
		header := map[string]string{"Accept": "text/html", "Accept-Language": lang}
		first, _ := io.ReadAll(ask{path: "/", header: header}.of(s).Body)
		maps.Copy(header, old)
		res := ask{path: "/", header: header}.of(s)
		body, _ := io.ReadAll(res.Body)
		for _, word := range want {
			if res.StatusCode != 401 || !strings.Contains(string(body), word) || strings.Contains(string(first), word) {
				t.Errorf("%s: %d %s", lang, res.StatusCode, body)
			}
		}
	}
}

// Whatever wrong tokens came before, by whichever way, the right one passes by
// each, and a person's typing error is called one.
func TestWrongTokensDoNotShutOut(t *testing.T) {
	foreign := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image", "Accept": "image/*"}
	for name, flood := range map[string]ask{
		"pictures on a page of another site":     {path: "/?token=bad", header: foreign},
		"pictures on a page of another port":     {path: "/x?token=bad", header: map[string]string{"Sec-Fetch-Site": "same-site"}},
		"pictures in a browser that says little": {path: "/?token=bad", header: map[string]string{"Accept": "image/*"}},
		"frames":                                 {path: "/?token=bad", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Accept": "text/html"}},
		"a form":                                 {method: "POST", path: "/login", body: "token=bad", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "https://evil.example"}},
	} {
		s := newConsole(t)
		for range 1000 {
			flood.of(s)
		}
		form := func(token string) *http.Response {
			return ask{method: "POST", path: "/login", body: "token=" + token, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}}.of(s)
		}
		if res := form("typo"); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: a typing error in the form gets %d", name, res.StatusCode)
		}
		if res := (ask{path: "/", header: bearer("other")}).of(s); res.StatusCode != 401 {
			t.Errorf("%s: a program with another token gets %d", name, res.StatusCode)
		}
		if strings.Contains(name, "page of") {
			if res := (ask{path: "/?token=typo", header: map[string]string{"Accept": "text/html", "Sec-Fetch-Site": "none"}}).of(s); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s: a typing error in the address gets %d", name, res.StatusCode)
			}
		}
		halves(t, form(secret))
		loggedIn(t, s)
		halves(t, ask{path: "/?token=" + secret, header: map[string]string{"Accept": "text/html", "Sec-Fetch-Site": "cross-site"}}.of(s)) // a link in a mail
		if res := (ask{path: "/", header: bearer(secret)}).of(s); res.StatusCode != 200 {
			t.Errorf("%s: the token of a program gets %d", name, res.StatusCode)
		}
	}
}

// Nobody else can be the console to who opens it as localhost: it has the port
// on both addresses that this name has.
func TestBothLoopbackAddresses(t *testing.T) {
	if !hasIPv6(t) {
		return
	}
	for host, other := range map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"} {
		s := newConsole(t, func(c *console.Config) { c.Listen = net.JoinHostPort(host, "0") })
		if err := s.Listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL(), "http://"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		if err := free(net.JoinHostPort(other, port)); err == nil {
			t.Errorf("beside %s the port is free on %s", host, other)
		}
		for _, at := range []string{host, other, "localhost"} {
			res, err := http.Get("http://" + net.JoinHostPort(at, port) + "/healthz")
			if err != nil {
				t.Errorf("%s: %v", at, err)
				continue
			}
			if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", at, res.Status)
			}
		}
		cancel()
		if err := errors.Join(<-ended, free(net.JoinHostPort(other, port))); err != nil {
			t.Errorf("after its end: %v", err)
		}
	}
}

func hasIPv6(t *testing.T) bool {
	t.Helper()
	err := free("[::1]:0")
	if err != nil {
		need.Unmet(t, "no IPv6: %v", err)
	}
	return err == nil
}

// free says whether an address can be listened on.
func free(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// Where another has the other address the console says so, and works on its own.
func TestOtherLoopbackAddressIsTaken(t *testing.T) {
	if !hasIPv6(t) {
		return
	}
	for range 10 { // the port may be taken on both
		taken, err := net.Listen("tcp", "[::1]:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = taken.Close() }()
		_, port, _ := net.SplitHostPort(taken.Addr().String())
		var said bytes.Buffer
		s := newConsole(t, func(c *console.Config) {
			c.Listen, c.Log = "127.0.0.1:"+port, slog.New(slog.NewTextHandler(&said, nil))
		})
		if err := s.Listen(t.Context()); err != nil {
			continue
		}
		if !strings.Contains(said.String(), "do not open the page as localhost") {
			t.Errorf("the log says %q", said.String())
		}
		return
	}
	t.Error("no port is free on 127.0.0.1")
}
