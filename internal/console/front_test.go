package console_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"magpie/internal/console"
	"magpie/internal/front"
)

// behind makes a console with something in front.
func behind(t *testing.T, cfg front.Config) *console.Server {
	t.Helper()
	return newConsole(t, func(c *console.Config) {
		if cfg.Listen == "" {
			cfg.Listen = c.Listen
		}
		c.Listen = cfg.Listen
		f, err := front.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.Front = f
	})
}

// What proxies and tunnels send that no test can start, as their
// documentation says and as they were seen to do.
func TestProxiesReplayed(t *testing.T) {
	const peer = "172.18.0.3:40000"
	for name, c := range map[string]struct {
		public, path, host string
		header             map[string]string
		cookiePath         string
		secure             bool
	}{
		"Traefik": {"https://bot.example.org", "/", "bot.example.org", map[string]string{
			"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "bot.example.org", "X-Forwarded-Port": "443", "X-Forwarded-Proto": "https",
			"X-Forwarded-Server": "d1f0a7c3b2e4", "X-Real-Ip": "203.0.113.9",
		}, "/", true},
		"Traefik, only told": {"", "/", "bot.example.org", map[string]string{
			"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "bot.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/bot",
		}, "/bot", true},
		"Traefik, path taken away": {"https://example.org/bot/", "/", "example.org", map[string]string{
			"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "example.org", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/bot",
		}, "/bot", true},
		"cloudflared": {"https://bot.example.org", "/", "bot.example.org", map[string]string{
			"Cdn-Loop": "cloudflare; loops=1", "Cf-Connecting-Ip": "203.0.113.9", "Cf-Ipcountry": "DE", "Cf-Ray": "8f0a1b2c3d4e5f60-FRA",
			"Cf-Visitor": `{"scheme":"https"}`, "Cf-Warp-Tag-Id": "0f0e", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "Accept-Encoding": "gzip, br",
		}, "/", true},
		"ngrok": {"https://a1b2-203-0-113-9.ngrok-free.app", "/", "a1b2-203-0-113-9.ngrok-free.app", map[string]string{
			"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "a1b2-203-0-113-9.ngrok-free.app", "X-Forwarded-Proto": "https",
		}, "/", true},
		"Tailscale serve": {"https://nas.tail1234.ts.net", "/", "nas.tail1234.ts.net", map[string]string{
			"X-Forwarded-For": "100.64.0.9", "X-Forwarded-Host": "nas.tail1234.ts.net", "X-Forwarded-Proto": "https", "Tailscale-User-Login": "a@example.org",
		}, "/", true},
		"frp": {"http://bot.example.org:8080", "/", "bot.example.org:8080", map[string]string{
			"X-Forwarded-For": "203.0.113.9", "X-From-Where": "frp",
		}, "/", false},
		"Apache": {"https://bot.example.org", "/", "127.0.0.1:18990", map[string]string{
			"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "bot.example.org", "X-Forwarded-Server": "bot.example.org", "Connection": "Keep-Alive",
		}, "/", true},
		"RFC 7239": {"", "/", "127.0.0.1:18990", map[string]string{"Forwarded": `for="[2001:db8::9]:4711";proto=https;host=bot.example.org;by=_x`}, "/", true},
	} {
		cfg := front.Config{PublicURL: c.public, TrustedProxies: []string{"172.16.0.0/12"}}
		if c.public == "" {
			cfg.Hosts = []string{c.host}
		}
		s := behind(t, cfg)
		c.header["Accept"] = "text/html"
		res := ask{path: c.path + "?token=" + secret, host: c.host, from: peer, header: c.header}.of(s)
		if len(res.Cookies()) != 1 {
			t.Errorf("%s: %s", name, res.Status)
			continue
		}
		if cookie := res.Cookies()[0]; cookie.Path != c.cookiePath || cookie.Secure != c.secure {
			t.Errorf("%s: cookie %v, want path %s, secure %v", name, cookie, c.cookiePath, c.secure)
		}
		// A browser that says nothing of itself but its origin.
		scheme := map[bool]string{true: "https://", false: "http://"}[c.secure]
		host := c.host
		if strings.HasPrefix(host, "127.") {
			host = "bot.example.org"
		}
		maps.Copy(c.header, halves(t, res))
		c.header["Origin"] = scheme + host
		if got := (ask{method: "POST", path: "/usual", host: c.host, from: peer, header: c.header}).of(s).StatusCode; got != 200 {
			t.Errorf("%s: a message gets %d", name, got)
		}
		c.header["Origin"] = "https://evil.example"
		if got := (ask{method: "POST", path: "/usual", host: c.host, from: peer, header: c.header}).of(s).StatusCode; got != 403 {
			t.Errorf("%s: a message of another page gets %d", name, got)
		}
	}
}

// What a stranger says of himself changes nothing.
func TestForgedHeaders(t *testing.T) {
	s := behind(t, front.Config{Listen: "0.0.0.0:18990", TrustedProxies: []string{"10.0.0.1"}})
	forged := func(n string) map[string]string {
		return map[string]string{
			"X-Forwarded-For": "203.0.113." + n, "X-Real-Ip": "203.0.113." + n, "Forwarded": "for=203.0.113." + n + ";proto=https",
			"X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/evil", "X-Forwarded-Host": "evil.example",
		}
	}
	res := ask{path: "/?token=" + secret, header: forged("1")}.of(s)
	if c := res.Cookies()[0]; c.Secure || c.Path != "/" || res.Header.Get("Location") != "./" {
		t.Errorf("cookie %v, to %q", c, res.Header.Get("Location"))
	}
	guess := func(n string) int {
		h := forged(n)
		h["Authorization"] = "Bearer wrong"
		return ask{path: "/", header: h}.of(s).StatusCode
	}
	for i := range 10 {
		if got := guess(string(rune('0' + i))); got != 401 {
			t.Fatalf("guess %d: %d", i, got)
		}
	}
	if got := guess("99"); got != 429 {
		t.Errorf("with another forged address the guessing goes on: %d", got)
	}
	h := forged("1")
	maps.Copy(h, loggedIn(t, s))
	h["Origin"] = "https://evil.example"
	if got := (ask{method: "POST", path: "/usual", header: h}).of(s).StatusCode; got != 403 {
		t.Errorf("a forged host makes a foreign page one of ours: %d", got)
	}
}

func TestHosts(t *testing.T) {
	local := behind(t, front.Config{PublicURL: "https://bot.example.org/bot", Hosts: []string{"*.example.net"}})
	network := behind(t, front.Config{Listen: "0.0.0.0:18990", PublicURL: "https://bot.example.org"})
	for name, c := range map[string]struct {
		s    *console.Server
		ask  ask
		want int
	}{
		"own":                        {local, ask{path: "/", host: "127.0.0.1:18990"}, 200},
		"public":                     {local, ask{path: "/bot/", host: "bot.example.org"}, 200},
		"listed":                     {local, ask{path: "/", host: "a.example.net:8443"}, 200},
		"another":                    {local, ask{path: "/", host: "evil.example"}, 421},
		"another below the path":     {local, ask{path: "/bot/", host: "evil.example"}, 421},
		"another on the network":     {network, ask{path: "/", host: "evil.example"}, 421},
		"health":                     {local, ask{path: "/healthz", host: "evil.example"}, 200},
		"health below the path":      {local, ask{path: "/bot/healthz", host: "lb.internal"}, 200},
		"health without a name":      {local, ask{path: "/healthz"}, 200},
		"metrics":                    {local, ask{path: "/metrics", host: "evil.example"}, 421},
		"readiness":                  {local, ask{path: "/readyz", host: "evil.example"}, 421},
		"metrics on the network":     {network, ask{path: "/metrics", host: "prometheus.internal"}, 200},
		"readiness on the network":   {network, ask{path: "/readyz", host: "lb.internal"}, 200},
		"login on the network":       {network, ask{path: "/login", host: "evil.example"}, 421},
		"a hook":                     {local, ask{method: "POST", path: "/hooks/telegram", host: "tunnel.example"}, 200},
		"a hook below the path":      {local, ask{method: "POST", path: "/bot/hooks/telegram", host: "tunnel.example"}, 200},
		"another, with its own page": {local, ask{method: "POST", path: "/usual", host: "evil.example"}, 421},
	} {
		c.ask.header = bearer(secret)
		if got := c.ask.of(c.s).StatusCode; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// Redirects, the login page and the cookie stay below the path.
func TestLinksBelowAPath(t *testing.T) {
	s := behind(t, front.Config{PublicURL: "https://example.org/bot/"})
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for _, path := range []string{"/a/b", "/bot/a/b"} {
		res := ask{path: path, header: map[string]string{"Accept": "text/html"}}.of(s)
		body, _ := io.ReadAll(res.Body)
		for _, want := range []string{`href="/bot/login.css"`, `action="/bot/login"`, `value="/a/b"`} {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: no %s in %s", path, want, body)
			}
		}
	}
	for name, c := range map[string]struct {
		ask  ask
		want string
	}{
		"the link":               {ask{path: "/?a=1&token=" + secret}, "/bot/?a=1"},
		"the link below":         {ask{path: "/bot/x?token=" + secret}, "/bot/x"},
		"the form":               {ask{method: "POST", path: "/login", header: form, body: "next=/x&token=" + secret}, "/bot/x"},
		"the form, led away":     {ask{method: "POST", path: "/bot/login", header: form, body: "next=//evil.example/&token=" + secret}, "/bot/evil.example/"},
		"logging out":            {ask{method: "POST", path: "/bot/logout"}, "/bot/login"},
		"the path without slash": {ask{path: "/bot?token=" + secret}, "/bot/?token=" + secret},
	} {
		res := c.ask.of(s)
		if to := res.Header.Get("Location"); to != c.want {
			t.Errorf("%s: %d to %q, want %q", name, res.StatusCode, to, c.want)
		}
		for _, cookie := range res.Cookies() {
			if cookie.Path != "/bot" {
				t.Errorf("%s: cookie %v", name, cookie)
			}
		}
	}
}

// A key that an error tells people to set is one that exists.
func TestAdviceNamesKeys(t *testing.T) {
	data, err := os.ReadFile("../../deploy/config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, web, _ := strings.Cut(string(data), "\nweb:\n")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../front/*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range append(files, more...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bweb\.([a-z_]+)`).FindAllStringSubmatch(string(code), -1) {
			if m[1] == "token" || m[1] == "key" {
				continue // files of the data folder, and a key
			}
			named++
			if !regexp.MustCompile(`(?m)^  ` + m[1] + `:`).MatchString(web) {
				t.Errorf("%s speaks of %s, which is no key", file, m[0])
			}
		}
	}
	if named == 0 {
		t.Error("no key is named anywhere")
	}
	s := behind(t, front.Config{})
	for name, c := range map[string]struct {
		ask  ask
		want []string
	}{
		"host": {ask{path: "/", host: "evil.example:80"}, []string{"evil.example:80", "web.public_url", "web.hosts"}},
		"page": {ask{method: "POST", path: "/usual", header: map[string]string{"Origin": "http://192.168.1.5"}}, []string{"http://192.168.1.5", "web.public_url"}},
	} {
		body, _ := io.ReadAll(c.ask.of(s).Body)
		for _, want := range c.want {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: no %s in %s", name, want, body)
			}
		}
	}
	if got := (ask{path: "/", host: strings.Repeat("x", 5000) + ".example"}).of(s); got.StatusCode != http.StatusMisdirectedRequest || got.ContentLength > 1000 {
		t.Errorf("a long name: %s", got.Status)
	}
}
