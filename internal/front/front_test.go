package front_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/front"
)

func open(t *testing.T, cfg front.Config) *front.Front {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:18990"
	}
	f, err := front.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// request is one with headers, given as name and value in turn.
func request(method, target, peer string, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// behind is what a handler behind the front sees; nil when none is asked.
func behind(f *front.Front, r *http.Request) (seen *http.Request, answer *http.Response) {
	rec := httptest.NewRecorder()
	f.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r })).ServeHTTP(rec, r)
	return seen, rec.Result()
}

// The names that browsers, monitors and proxies ask for, and those of pages
// that want to be taken for the console.
func TestHostNames(t *testing.T) {
	for name, c := range map[string]struct {
		cfg front.Config
		yes []string
		no  []string
	}{
		"loopback": {
			front.Config{},
			[]string{
				"127.0.0.1:18990", "localhost:18990", "LOCALHOST", "localhost.", "bot.localhost:1", "[::1]:18990", "::1", "127.8.8.8",
				"192.168.1.2", "192.168.1.2:18990", "[2001:db8::1]", "[fe80::1%25eth0]:1", // no name that somebody could point here
				"nas", "magpie_backend", "bot:18990", // an upstream of nginx, a service of Compose
				"", // HTTP/1.0
			},
			[]string{
				"evil.example", "evil.example:18990", "127.0.0.1.evil.example:18990", "localhost.evil.example", "127.0.0.1.nip.io",
				"nas.local", "evil.example.", "bot..example", "a b", "[::1", "机器人.example", ".", "..", "127.0.0.1:80:80.example",
			},
		},
		"loopback behind a proxy": {
			front.Config{PublicURL: "https://bot.example.org/bot/", Hosts: []string{"Nas.Local:8080", "*.example.net", "[2001:db8::5]:80"}},
			[]string{
				"bot.example.org", "BOT.example.org:443", "bot.example.org.", "nas.local", "nas.local:1", "a.example.net", "b.a.example.net:8443", "127.0.0.1", "nas",
			},
			[]string{"evil.example", "example.org", "x.bot.example.org", "bot.example.org.evil.example", "example.net", "badexample.net", "evil-nas.local"},
		},
		"Chinese name": {
			front.Config{PublicURL: "https://机器人.example.org", Hosts: []string{"小鸟.中国"}},
			[]string{"xn--gmqz0qc7o.example.org", "机器人.example.org", "xn--yet605m.xn--fiqs8s"},
			[]string{"xn--gmqz0qc7p.example.org"},
		},
		"on the network":         {front.Config{Listen: "0.0.0.0:18990"}, []string{"evil.example", "nas.local:18990"}, []string{"a b"}},
		"on the network, named":  {front.Config{Listen: "[::]:18990", PublicURL: "http://nas.local:18990"}, []string{"nas.local:18990", "10.0.0.1", "bot"}, []string{"evil.example"}},
		"listens on a name":      {front.Config{Listen: "bot.internal:18990", Hosts: []string{"a.example"}}, []string{"bot.internal:18990", "a.example"}, []string{"evil.example"}},
		"any name":               {front.Config{Hosts: []string{"*"}}, []string{"evil.example", "x.y.z"}, nil},
		"on the network, listed": {front.Config{Listen: ":18990", Hosts: []string{"nas.local"}}, []string{"nas.local"}, []string{"evil.example"}},
	} {
		f := open(t, c.cfg)
		for _, host := range c.yes {
			if !f.Answers(host) {
				t.Errorf("%s: %q is refused", name, host)
			}
		}
		for _, host := range c.no {
			if f.Answers(host) {
				t.Errorf("%s: %q is let in", name, host)
			}
		}
	}
}

// Who asks, by what proxies say of it.
func TestSender(t *testing.T) {
	const peer = "127.0.0.1:5000"
	trusted := []string{"127.0.0.1", "::1", "10.0.0.7/8", "::ffff:172.18.0.0/112"}
	for name, c := range map[string]struct {
		peer   string
		header []string
		want   string
	}{
		"nobody says":            {peer, nil, "127.0.0.1:0"},
		"one proxy":              {peer, []string{"X-Forwarded-For", "203.0.113.9"}, "203.0.113.9:0"},
		"IPv6 peer":              {"[::1]:5000", []string{"X-Forwarded-For", "2001:db8::9"}, "[2001:db8::9]:0"},
		"mapped peer":            {"[::ffff:127.0.0.1]:5000", []string{"X-Forwarded-For", "203.0.113.9"}, "203.0.113.9:0"},
		"mapped network":         {"172.18.0.1:5000", []string{"X-Forwarded-For", "203.0.113.9"}, "203.0.113.9:0"},
		"mapped sender":          {peer, []string{"X-Forwarded-For", "::ffff:203.0.113.9"}, "203.0.113.9:0"},
		"with ports":             {peer, []string{"X-Forwarded-For", "203.0.113.9:1234, [2001:db8::9]:443"}, "[2001:db8::9]:0"},
		"chain of trusted":       {peer, []string{"X-Forwarded-For", "203.0.113.9, 10.1.2.3, 10.9.9.9"}, "203.0.113.9:0"},
		"made up at the far end": {peer, []string{"X-Forwarded-For", "1.1.1.1, 203.0.113.9"}, "203.0.113.9:0"},
		"two headers":            {peer, []string{"X-Forwarded-For", "1.1.1.1", "X-Forwarded-For", "203.0.113.9"}, "203.0.113.9:0"},
		"all trusted":            {peer, []string{"X-Forwarded-For", "10.1.1.1, 10.2.2.2"}, "10.1.1.1:0"},
		"unknown":                {peer, []string{"X-Forwarded-For", "unknown"}, "127.0.0.1:0"},
		"nonsense ends it":       {peer, []string{"X-Forwarded-For", "1.1.1.1, <x>, 10.2.2.2"}, "10.2.2.2:0"},
		"empty":                  {peer, []string{"X-Forwarded-For", ""}, "127.0.0.1:0"},
		"blanks and commas":      {peer, []string{"X-Forwarded-For", " 203.0.113.9 ,"}, "127.0.0.1:0"},
		"a zone":                 {peer, []string{"X-Forwarded-For", "fe80::1%eth0"}, "[fe80::1]:0"},
		"real ip":                {peer, []string{"X-Real-IP", "203.0.113.9"}, "203.0.113.9:0"},
		"forwarded":              {peer, []string{"Forwarded", `for=203.0.113.9;proto=https`}, "203.0.113.9:0"},
		"forwarded chain":        {peer, []string{"Forwarded", `For=1.1.1.1, for="[2001:db8:cafe::17]:4711";by=x, for=10.1.1.1`}, "[2001:db8:cafe::17]:0"},
		"forwarded hidden":       {peer, []string{"Forwarded", "for=1.1.1.1, for=_secret"}, "127.0.0.1:0"},
		"forwarded quotes":       {peer, []string{"Forwarded", `for="1.1.1.1, for=2.2.2.2"`}, "127.0.0.1:0"},
		"forwarded open quote":   {peer, []string{"Forwarded", `for="1.1.1.1`}, "1.1.1.1:0"},
		"both, one is a visitor's": {
			peer, []string{"Forwarded", "for=1.1.1.1", "X-Forwarded-For", "203.0.113.9", "X-Real-IP", "2.2.2.2"}, "203.0.113.9:0",
		},
		"a stranger":          {"198.51.100.1:5000", []string{"X-Forwarded-For", "203.0.113.9", "Forwarded", "for=1.1.1.1", "X-Real-IP", "2.2.2.2"}, "198.51.100.1:0"},
		"next to the network": {"172.19.0.1:5000", []string{"X-Forwarded-For", "203.0.113.9"}, "172.19.0.1:0"},
		"no address":          {"@", []string{"X-Forwarded-For", "203.0.113.9"}, "@"},
	} {
		seen, _ := behind(open(t, front.Config{TrustedProxies: trusted}), request("GET", "/", c.peer, c.header...))
		if seen.RemoteAddr != c.want {
			t.Errorf("%s: %s, want %s", name, seen.RemoteAddr, c.want)
		}
		for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP"} {
			if seen.Header.Get(header) != "" {
				t.Errorf("%s: %s is left", name, header)
			}
		}
	}
	// Without a word in the configuration nobody is believed, not even here.
	seen, _ := behind(open(t, front.Config{}), request("GET", "/", peer, "X-Forwarded-For", "203.0.113.9", "X-Forwarded-Proto", "https", "X-Forwarded-Prefix", "/x"))
	if seen.RemoteAddr != "127.0.0.1:0" || len(seen.Header) != 0 {
		t.Errorf("without trusted proxies: %s, %v", seen.RemoteAddr, seen.Header)
	}
}

func TestStrangersAreNamedOnce(t *testing.T) {
	var logged strings.Builder
	f := open(t, front.Config{TrustedProxies: []string{"10.0.0.1"}, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	_, _ = behind(f, request("GET", "/", "172.18.0.1:1"))
	_, _ = behind(f, request("GET", "/", "10.0.0.1:1", "X-Forwarded-For", "1.1.1.1"))
	if logged.Len() != 0 {
		t.Errorf("said without a reason: %s", logged.String())
	}
	for range 3 {
		_, _ = behind(f, request("GET", "/", "172.18.0.1:1", "X-Forwarded-Proto", "https"))
	}
	if said := logged.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "172.18.0.1") || !strings.Contains(said, "web.trusted_proxies") {
		t.Errorf("said: %s", said)
	}
}

func TestSecure(t *testing.T) {
	const public = "https://bot.example.org"
	for name, c := range map[string]struct {
		public, peer, host string
		header             []string
		want               bool
	}{
		"plain":                          {"", "10.0.0.1:1", "127.0.0.1:18990", nil, false},
		"a trusted proxy says https":     {"", "10.0.0.1:1", "bot.example.org", []string{"X-Forwarded-Proto", "https"}, true},
		"several":                        {"", "10.0.0.1:1", "bot.example.org", []string{"X-Forwarded-Proto", "HTTPS, http"}, true},
		"Forwarded":                      {"", "10.0.0.1:1", "bot.example.org", []string{"Forwarded", `for=1.1.1.1;Proto="https"`}, true},
		"a web socket":                   {"", "10.0.0.1:1", "bot.example.org", []string{"X-Forwarded-Proto", "wss"}, true},
		"a stranger says https":          {"", "198.51.100.1:1", "bot.example.org", []string{"X-Forwarded-Proto", "https", "Forwarded", "proto=https"}, false},
		"a trusted proxy says http":      {public, "10.0.0.1:1", "bot.example.org", []string{"X-Forwarded-Proto", "http"}, false},
		"a trusted proxy says nonsense":  {public, "10.0.0.1:1", "bot.example.org", []string{"X-Forwarded-Proto", "x"}, true},
		"public is https":                {public, "198.51.100.1:1", "bot.example.org", nil, true},
		"public is https, with its port": {public, "198.51.100.1:1", "bot.example.org:443", nil, true},
		"a proxy changes the host":       {public, "198.51.100.1:1", "127.0.0.1:18990", nil, true},
		"a proxy names its upstream":     {public, "198.51.100.1:1", "magpie", []string{"Sec-Fetch-Site", "same-origin"}, true},
		"past the proxy, by address":     {public, "198.51.100.1:1", "192.168.1.5:18990", nil, false},
		"past the proxy, by name":        {public, "198.51.100.1:1", "nas:18990", nil, false},
		"past the proxy, public name":    {public, "198.51.100.1:1", "bot.example.org:18990", nil, false},
		"$host on another port":          {"https://bot.example.org:8443", "198.51.100.1:1", "bot.example.org", nil, true},
		"public is http":                 {"http://bot.example.org", "198.51.100.1:1", "bot.example.org", nil, false},
	} {
		f := open(t, front.Config{PublicURL: c.public, TrustedProxies: []string{"10.0.0.0/8"}})
		r := request("GET", "/", c.peer, c.header...)
		r.Host = c.host
		if seen, _ := behind(f, r); f.Secure(seen) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestOwnPages(t *testing.T) {
	f := open(t, front.Config{
		PublicURL: "https://bot.example.org", TrustedProxies: []string{"10.0.0.1"},
		Hosts: []string{"nas.local", "nas.local:8080", "*.example.net", "*"},
	})
	for name, c := range map[string]struct {
		peer, host, origin, forwarded string
		want                          bool
	}{
		"same":                         {"1.1.1.1:1", "192.168.1.5:18990", "http://192.168.1.5:18990", "", true},
		"another port":                 {"1.1.1.1:1", "192.168.1.5:18990", "http://192.168.1.5:3000", "", false},
		"the scheme's port":            {"1.1.1.1:1", "a.example:443", "https://a.example", "", true},
		"public, Host changed":         {"1.1.1.1:1", "127.0.0.1:18990", "https://bot.example.org", "", true},
		"public, another scheme":       {"1.1.1.1:1", "127.0.0.1:18990", "http://bot.example.org", "", false},
		"public, another port":         {"1.1.1.1:1", "127.0.0.1:18990", "https://bot.example.org:8443", "", false},
		"listed":                       {"1.1.1.1:1", "127.0.0.1:18990", "http://nas.local", "", true},
		"listed with its port":         {"1.1.1.1:1", "127.0.0.1:18990", "http://nas.local:8080", "", true},
		"listed with another port":     {"1.1.1.1:1", "127.0.0.1:18990", "http://nas.local:5000", "", false},
		"a star names no page":         {"1.1.1.1:1", "127.0.0.1:18990", "http://x.example.net", "", false},
		"forwarded by a trusted proxy": {"10.0.0.1:1", "127.0.0.1:18990", "http://192.168.1.5:88", "192.168.1.5:88", true},
		"forwarded by a stranger":      {"1.1.1.1:1", "127.0.0.1:18990", "http://192.168.1.5:88", "192.168.1.5:88", false},
		"null":                         {"1.1.1.1:1", "127.0.0.1:18990", "null", "", false},
		"none":                         {"1.1.1.1:1", "127.0.0.1:18990", "", "", false},
		"a file":                       {"1.1.1.1:1", "127.0.0.1:18990", "file://127.0.0.1:18990", "", false},
		"a foreign page":               {"1.1.1.1:1", "127.0.0.1:18990", "https://bot.example.org.evil.example", "", false},
	} {
		r := request("POST", "/", c.peer, "Origin", c.origin, "X-Forwarded-Host", c.forwarded)
		r.Host = c.host
		if seen, _ := behind(f, r); f.Own(seen) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestBasePath(t *testing.T) {
	for name, c := range map[string]struct {
		public string
		target string
		prefix []string
		base   string
		path   string // that is seen
		link   string // to /login, as a browser resolves it that asked for target below the base
	}{
		"none":                   {"", "/a/b", nil, "", "/a/b", "../login"},
		"none, at the top":       {"", "/", nil, "", "/", "./login"},
		"carried":                {"https://e.org/bot/", "/bot/a", nil, "/bot", "/a", "/bot/login"},
		"carried, top":           {"https://e.org/bot", "/bot/", nil, "/bot", "/", "/bot/login"},
		"taken away":             {"https://e.org/bot/", "/a", nil, "/bot", "/a", "/bot/login"},
		"another that begins so": {"https://e.org/bot/", "/bottle", nil, "/bot", "/bottle", "/bot/login"},
		"two parts":              {"https://e.org/x/bot/", "/x/bot/a/b", nil, "/x/bot", "/a/b", "/x/bot/login"},
		"Chinese":                {"https://e.org/机器人/", "/%E6%9C%BA%E5%99%A8%E4%BA%BA/a%2Fb", nil, "/%E6%9C%BA%E5%99%A8%E4%BA%BA", "/a/b", "/%E6%9C%BA%E5%99%A8%E4%BA%BA/login"},
		"a slash too many":       {"", "//a", nil, "", "/a", "./login"},
		"told by the proxy":      {"", "/a", []string{"/bot"}, "/bot", "/a", "/bot/login"},
		"told with a slash":      {"", "/a", []string{"bot/"}, "/bot", "/a", "/bot/login"},
		"told and carried":       {"", "/bot/a", []string{"/bot"}, "/bot", "/a", "/bot/login"},
		"told by two":            {"", "/a", []string{"/x", "/bot"}, "/x/bot", "/a", "/x/bot/login"},
		"configured and told":    {"https://e.org/x/", "/a", []string{"/bot"}, "/x", "/a", "/x/login"},
		"told nonsense":          {"", "/a", []string{`/"><script>`}, "", "/a", "./login"},
		"told an own path":       {"", "/api/a", []string{"/api"}, "", "/api/a", "../login"},
		"told another host":      {"", "/a", []string{`//evil.example`}, "/evil.example", "/a", "/evil.example/login"},
		"told with dots":         {"", "/a", []string{"/x/../y"}, "", "/a", "./login"},
	} {
		f := open(t, front.Config{PublicURL: c.public, TrustedProxies: []string{"10.0.0.1"}})
		r := request("GET", c.target, "10.0.0.1:1")
		for _, p := range c.prefix {
			r.Header.Add("X-Forwarded-Prefix", p)
		}
		seen, _ := behind(f, r)
		if seen == nil {
			t.Errorf("%s: not let through", name)
			continue
		}
		got := []string{front.Base(seen), seen.URL.Path, front.Link(seen, "/login", nil)}
		if diff := cmp.Diff([]string{c.base, c.path, c.link}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	f := open(t, front.Config{PublicURL: "https://e.org/bot"})
	if seen, to := behind(f, request("GET", "/bot?token=x&y=1", "1.1.1.1:1")); seen != nil || to.Header.Get("Location") != "/bot/?token=x&y=1" {
		t.Errorf("without the slash: seen %v, to %q", seen, to.Header.Get("Location"))
	}
	if seen, _ := behind(f, request("POST", "/bot", "1.1.1.1:1")); seen == nil || seen.URL.Path != "/" {
		t.Errorf("a POST without the slash: %v", seen)
	}
	seen, _ := behind(f, request("GET", "/bot/api/a%2Fb", "1.1.1.1:1"))
	if got := seen.URL.EscapedPath(); got != "/api/a%2Fb" {
		t.Errorf("an escaped slash became %q", got)
	}
	if got := front.Link(seen, "/a b/?", url.Values{"x": {"1"}}); got != "/bot/a%20b/%3F?x=1" {
		t.Errorf("link %q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]front.Config{
		"web.listen":          {Listen: "127.0.0.1"},
		"web.public_url":      {Listen: ":1", PublicURL: "bot.example.org"},
		"web.hosts":           {Listen: ":1", Hosts: []string{"https://x"}},
		"web.trusted_proxies": {Listen: ":1", TrustedProxies: []string{"nginx"}},
	} {
		if _, err := front.New(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want an error about %s, got %v", want, err)
		}
	}
}
