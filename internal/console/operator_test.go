package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/internal/console"
)

// operated is a console with a route of the operator, which says what it got.
func operated(t *testing.T, now func() time.Time) *console.Server {
	t.Helper()
	s, err := console.New(console.Config{Listen: "127.0.0.1:18990", Token: secret, Key: []byte("key"), Now: now},
		console.Route{Pattern: "/", Handler: text("page")},
		console.Route{Pattern: "POST /api/op/", Operator: true, MaxBody: 100, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = rw.Write(append([]byte("did "), body...))
		})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signed is what a command sends.
func signed(path, body string, token chat.Secret) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:18990"+path, strings.NewReader(body))
	console.SignOperator(r, token, []byte(body))
	return r
}

func do(s *console.Server, r *http.Request) (int, string) {
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}

// Neither half of a login, nor both, nor the token as programs send it does
// what an operator may.
func TestOperatorsRoutesAreNotForLogins(t *testing.T) {
	s := operated(t, nil)
	both := loggedIn(t, s)
	for name, header := range map[string]map[string]string{
		"nothing":        {},
		"the cookie":     {"Cookie": both["Cookie"]},
		"a login":        both,
		"the token":      bearer(secret),
		"an empty MAC":   {"Authorization": "Magpie-Operator "},
		"dots":           {"Authorization": "Magpie-Operator ..."},
		"the token here": {"Authorization": "Magpie-Operator " + secret},
		"the key here":   {"Authorization": "Magpie-Operator 1." + both[console.KeyHeader]},
	} {
		for _, path := range []string{"/api/op/pair.list", "/api/op/pair.list?token=" + secret} {
			res := ask{method: "POST", path: path, header: header, body: "{}"}.of(s)
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != 401 || !strings.Contains(string(body), "error") {
				t.Errorf("%s, %s: %d %s", name, path, res.StatusCode, body)
			}
		}
	}
	if status, body := do(s, signed("/api/op/pair.list", "{}", secret)); status != 200 || body != "did {}" {
		t.Errorf("a command: %d %s", status, body)
	}
}

// What a command sends is good for what it says, once and soon.
func TestOperatorsRequestIsForOneThing(t *testing.T) {
	s := operated(t, nil)
	const path, body = "/api/op/pair.approve", `{"code":"A"}`
	with := func(change func(*http.Request)) *http.Request {
		r := signed(path, body, secret)
		change(r)
		return r
	}
	for name, r := range map[string]*http.Request{
		"another operation": with(func(r *http.Request) { r.URL.Path = "/api/op/pair.revoke" }),
		"another body":      with(func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"code":"B"}`)) }),
		"no body":           with(func(r *http.Request) { r.Body = http.NoBody }),
		"another token":     signed(path, body, "another"),
		"another time": with(func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "Operator 1", "Operator 2", 1))
		}),
	} {
		if status, said := do(s, r); status != 401 {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	if status, said := do(s, signed("/api/op/x", strings.Repeat("x", 101), secret)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %s", status, said)
	}
	r := signed(path, body, secret)
	if status, said := do(s, r); status != 200 {
		t.Fatalf("%d %s", status, said)
	}
	r.Body = io.NopCloser(strings.NewReader(body))
	if status, said := do(s, r); status != 403 || !strings.Contains(said, "already") {
		t.Errorf("the same again: %d %s", status, said)
	}
	r.Body = io.NopCloser(strings.NewReader(body))
	later := func() time.Time { return time.Now().Add(time.Second) }
	if status, said := do(operated(t, later), r); status != 403 || !strings.Contains(said, "clocks") {
		t.Errorf("the same after a restart: %d %s", status, said)
	}
	for name, off := range map[string]time.Duration{"late": 3 * time.Minute, "early": -3 * time.Minute} {
		began := time.Now().Add(-time.Hour)
		now := began
		s := operated(t, func() time.Time { return now })
		now = time.Now().Add(off)
		if status, said := do(s, signed(path, body, secret)); status != 403 || !strings.Contains(said, "clocks") {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
}

// However many wrong ones came, a command with the right token is heard.
func TestOperatorIsNotShutOut(t *testing.T) {
	s := operated(t, nil)
	last := 0
	for range 30 {
		last, _ = do(s, signed("/api/op/x", "", "wrong"))
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the thirtieth guess: %d", last)
	}
	if status, said := do(s, signed("/api/op/x", "", secret)); status != 200 {
		t.Errorf("after them: %d %s", status, said)
	}
}
