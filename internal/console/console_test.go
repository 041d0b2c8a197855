package console_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/internal/console"
)

const secret = "s3cret-token-of-the-test"

func text(s string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, s) })
}

func reader(rw http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		rw.WriteHeader(http.StatusRequestEntityTooLarge)
	}
}

func newConsole(t *testing.T, change ...func(*console.Config)) *console.Server {
	t.Helper()
	cfg := console.Config{
		Listen: "127.0.0.1:18990", Token: secret, Key: []byte("key"), Metrics: text("metrics"),
		Hooks: map[string]http.Handler{"telegram": text("hooked")},
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := console.New(cfg,
		console.Route{Pattern: "/", Handler: text("page")},
		console.Route{Pattern: "POST /small", Handler: http.HandlerFunc(reader), MaxBody: 10},
		console.Route{Pattern: "POST /usual", Handler: http.HandlerFunc(reader)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type ask struct {
	method, path, host, from, body string
	header                         map[string]string
}

func (a ask) of(s *console.Server) *http.Response {
	if a.method == "" {
		a.method = "GET"
	}
	r := httptest.NewRequest(a.method, a.path, strings.NewReader(a.body))
	r.Host = "127.0.0.1:18990"
	if a.host != "" {
		r.Host = a.host
	}
	r.RemoteAddr = "192.0.2.1:1234"
	if a.from != "" {
		r.RemoteAddr = a.from
	}
	for k, v := range a.header {
		r.Header.Set(k, v)
	}
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, r)
	return rec.Result()
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// loggedIn are the headers of both halves of a login that a browser makes.
func loggedIn(t *testing.T, s *console.Server) map[string]string {
	t.Helper()
	return halves(t, ask{path: "/?token=" + secret, header: map[string]string{"Accept": "text/html"}}.of(s))
}

// halves takes them from what answers a login.
func halves(t *testing.T, res *http.Response) map[string]string {
	t.Helper()
	_, key, ok := strings.Cut(res.Header.Get("Location"), "#in=")
	if len(res.Cookies()) != 1 || !ok || key == "" {
		t.Fatalf("%d to %q, cookies %v", res.StatusCode, res.Header.Get("Location"), res.Cookies())
	}
	c := res.Cookies()[0]
	return map[string]string{"Cookie": c.Name + "=" + c.Value, console.KeyHeader: key}
}

func TestWhoGetsIn(t *testing.T) {
	s := newConsole(t)
	for name, c := range map[string]struct {
		ask  ask
		want int
	}{
		"health is open":           {ask{path: "/healthz"}, 200},
		"readiness is open":        {ask{path: "/readyz"}, 200},
		"metrics are open":         {ask{path: "/metrics"}, 200},
		"hooks are open":           {ask{method: "POST", path: "/hooks/telegram"}, 200},
		"unknown hook":             {ask{method: "POST", path: "/hooks/other"}, 404},
		"a hook under its path":    {ask{path: "/hooks/telegram/x"}, 404},
		"nothing":                  {ask{path: "/"}, 401},
		"an API without token":     {ask{path: "/api/chat/chats"}, 401},
		"the token":                {ask{path: "/", header: bearer(secret)}, 200},
		"another token":            {ask{path: "/", header: bearer("x" + secret)}, 401},
		"the token and more":       {ask{path: "/", header: bearer(secret + "x")}, 401},
		"an empty token":           {ask{path: "/", header: bearer("")}, 401},
		"another scheme":           {ask{path: "/", header: map[string]string{"Authorization": "Basic " + secret}}, 401},
		"a made-up cookie":         {ask{path: "/", header: map[string]string{"Cookie": "magpie_18990=99999999999.AAAA"}}, 401},
		"the token as cookie":      {ask{path: "/", header: map[string]string{"Cookie": "magpie_18990=" + secret}}, 401},
		"a wrong link":             {ask{path: "/?token=wrong"}, 401},
		"a path that climbs":       {ask{path: "/hooks/../api"}, 307}, // to the clean path, which needs the token
		"a token in a POST's link": {ask{method: "POST", path: "/usual?token=" + secret}, 401},
	} {
		if got := c.ask.of(s).StatusCode; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A passphrase in any writing opens the console in every way, over a connection.
func TestPassphrases(t *testing.T) {
	for _, token := range []string{
		"窗前的明月（很亮），“地上霜”——２０２６！", "床前明月光　疑是地上霜", "crème brûlée – c’est «bon»", "🐦 喜鹊&a=b#c;d%41+e?", `quotes " ' and \ and ` + "`", "a  b",
	} {
		s := newConsole(t, func(c *console.Config) { c.Token = chat.Secret(token) })
		srv := httptest.NewServer(s.Handler())
		t.Cleanup(srv.Close)
		client := srv.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		header, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		header.Header.Set("Authorization", "Bearer "+token)
		for way, ask := range map[string]func() (*http.Response, error){
			"header": func() (*http.Response, error) { return client.Do(header) },
			"link":   func() (*http.Response, error) { return client.Get(srv.URL + "/?token=" + url.QueryEscape(token)) },
			"form":   func() (*http.Response, error) { return client.PostForm(srv.URL+"/login", url.Values{"token": {token}}) },
		} {
			res, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if in := way == "header" && res.StatusCode == http.StatusOK || len(res.Cookies()) == 1; !in {
				t.Errorf("%s by %s: %s", token, way, res.Status)
			}
		}
	}
}

func TestCookie(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	clock := func(c *console.Config) { c.Now = func() time.Time { return now } }
	s := newConsole(t, clock)
	res := ask{path: "/some/page?a=1&token=" + secret + "&b=2"}.of(s)
	c := res.Cookies()[0]
	if to := leads(t, "/some/page", res); res.StatusCode != http.StatusSeeOther || to != "/some/page?a=1&b=2" {
		t.Errorf("%d to %q", res.StatusCode, to)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || strings.Contains(c.Value, secret) {
		t.Errorf("cookie %v", c)
	}
	header := map[string]string{"Cookie": c.Name + "=" + c.Value}
	get := func(s *console.Server) int { return ask{path: "/", header: header}.of(s).StatusCode }
	if got := get(s); got != 200 {
		t.Errorf("the cookie gives %d", got)
	}
	if got := get(newConsole(t, clock)); got != 200 {
		t.Errorf("after a restart it gives %d", got)
	}
	if got := get(newConsole(t, clock, func(c *console.Config) { c.Token = "changed" })); got != 401 {
		t.Errorf("after the token was changed it gives %d", got)
	}
	if got := get(newConsole(t, clock, func(c *console.Config) { c.Key = []byte("other") })); got != 401 {
		t.Errorf("with another key it gives %d", got)
	}
	now = now.Add(31 * 24 * time.Hour)
	if got := get(s); got != 401 {
		t.Errorf("after 31 days it gives %d", got)
	}
	if out := (ask{method: "POST", path: "/logout", header: header}.of(s)).Cookies(); len(out) != 1 || out[0].MaxAge >= 0 {
		t.Errorf("logging out sets %v", out)
	}
}

// leads is where a browser goes that asked for path, which must be here.
func leads(t *testing.T, path string, res *http.Response) string {
	t.Helper()
	asked := url.URL{Scheme: "http", Host: "here.example", Path: path}
	to, err := asked.Parse(res.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	if to.Scheme != "http" || to.Host != "here.example" {
		t.Fatalf("from %q a browser is led to %s by %q", path, to, res.Header.Get("Location"))
	}
	return to.RequestURI()
}

func TestRedirectsStayHere(t *testing.T) {
	s := newConsole(t)
	for _, path := range []string{"//evil.example/", "/%5Cevil.example/", "/%2F/evil.example", "/https://evil.example/", "/a/..//evil.example"} {
		for range 3 { // the first may lead to a clean path
			res := ask{path: path + "?token=" + secret}.of(s)
			path, _, _ = strings.Cut(leads(t, path, res), "?")
			if len(res.Cookies()) > 0 {
				break
			}
		}
	}
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for next, want := range map[string]string{
		"/page": "/page", "/a/b": "/a/b", "https://evil.example/": "/https://evil.example/", "//evil.example": "/evil.example", "": "/",
		`/\evil.example`: "/evil.example", "javascript:alert(1)": "/javascript:alert%281%29",
	} {
		res := ask{method: "POST", path: "/login", header: form, body: "token=" + secret + "&next=" + next}.of(s)
		if to := leads(t, "/login", res); res.StatusCode != http.StatusSeeOther || to != want {
			t.Errorf("next=%s: %d to %q, want %q", next, res.StatusCode, to, want)
		}
	}
}

func TestForeignPagesCannotPost(t *testing.T) {
	s := newConsole(t)
	login := loggedIn(t, s)
	for name, c := range map[string]struct {
		header map[string]string
		want   int
	}{
		"own page":              {map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:18990"}, 200},
		"own page, old browser": {map[string]string{"Origin": "http://127.0.0.1:18990"}, 200},
		"foreign page":          {map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403},
		"foreign, old browser":  {map[string]string{"Origin": "https://evil.example"}, 403},
		"another port":          {map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9999"}, 403},
		"null origin":           {map[string]string{"Origin": "null"}, 403},
	} {
		maps.Copy(c.header, login)
		if got := (ask{method: "POST", path: "/usual", header: c.header}).of(s).StatusCode; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := (ask{method: "POST", path: "/hooks/telegram", header: map[string]string{"Origin": "https://evil.example"}}).of(s).StatusCode; got != 200 {
		t.Errorf("a hook is checked for its origin: %d", got)
	}
}

func TestGuessingIsBounded(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var logged strings.Builder
	s := newConsole(t, func(c *console.Config) {
		c.Now = func() time.Time { return now }
		c.Log = slog.New(slog.NewTextHandler(&logged, nil))
	})
	login := loggedIn(t, s)
	for i := range 10 {
		if got := (ask{path: "/", header: bearer("guess")}).of(s).StatusCode; got != 401 {
			t.Fatalf("guess %d: %d", i, got)
		}
	}
	if res := (ask{path: "/", header: bearer("guess")}).of(s); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("a guess after ten guesses: %d", res.StatusCode)
	}
	// The owner may come from where the guesses come from.
	if res := (ask{path: "/", header: bearer(secret)}).of(s); res.StatusCode != 200 {
		t.Errorf("the token after ten guesses: %d", res.StatusCode)
	}
	if res := (ask{path: "/?token=" + secret}).of(s); len(res.Cookies()) != 1 {
		t.Errorf("the link after ten guesses: %d", res.StatusCode)
	}
	if got := (ask{path: "/", header: login}).of(s).StatusCode; got != 200 {
		t.Errorf("who is logged in gets %d", got)
	}
	if got := (ask{path: "/", from: "192.0.2.2:1", header: bearer("guess")}).of(s).StatusCode; got != 401 {
		t.Errorf("another sender's guess gets %d", got)
	}
	now = now.Add(time.Minute)
	if got := (ask{path: "/", header: bearer("guess")}).of(s).StatusCode; got != 401 {
		t.Errorf("a minute later: %d", got)
	}
	for i := range 300 { // many senders
		_ = ask{path: "/", from: fmt.Sprintf("198.51.%d.%d:1", i/250, i%250), header: bearer("guess")}.of(s)
	}
	if got := (ask{path: "/", from: "198.51.9.9:1", header: bearer("guess")}).of(s).StatusCode; got != 429 {
		t.Errorf("a guess after guesses from everywhere: %d", got)
	}
	if got := (ask{path: "/", header: bearer(secret)}).of(s).StatusCode; got != 200 {
		t.Errorf("the token after guesses from everywhere: %d", got)
	}
	if strings.Contains(logged.String(), secret) || strings.Contains(logged.String(), "guess") {
		t.Errorf("a token stands in the log: %s", logged.String())
	}
}

func TestHeadersAndLoginPage(t *testing.T) {
	s := newConsole(t)
	res := ask{path: "/page", header: map[string]string{"Accept": "text/html", "Accept-Language": "zh-CN,zh"}}.of(s)
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != 401 || !strings.Contains(string(body), "令牌") || !strings.Contains(string(body), `value="/page"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	want := map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	}
	for name, value := range want {
		if diff := cmp.Diff(value, res.Header.Get(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	s := newConsole(t)
	for _, c := range []struct {
		path string
		size int
		want int
	}{{"/small", 10, 200}, {"/small", 11, 413}, {"/usual", 1 << 20, 200}, {"/usual", 1<<20 + 1, 413}} {
		got := ask{method: "POST", path: c.path, header: bearer(secret), body: strings.Repeat("x", c.size)}.of(s).StatusCode
		if got != c.want {
			t.Errorf("%s with %d bytes: %d, want %d", c.path, c.size, got, c.want)
		}
	}
}

func TestReadyNamesWhatIsMissing(t *testing.T) {
	s := newConsole(t, func(c *console.Config) {
		c.Ready = func() []console.Problem {
			return []console.Problem{{What: "channel telegram", Why: "not connected yet"}}
		}
	})
	res := ask{path: "/readyz"}.of(s)
	var got struct {
		Ready   bool
		Missing []console.Problem
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 503 || got.Ready || len(got.Missing) != 1 || got.Missing[0].What != "channel telegram" {
		t.Errorf("%d %+v", res.StatusCode, got)
	}
}
