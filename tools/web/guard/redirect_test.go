package guard_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/tools"
)

func TestRedirects(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var left int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &left)
		switch {
		case left > 0:
			http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
		case r.URL.Query().Get("to") != "":
			w.Header().Set("Location", r.URL.Query().Get("to"))
			w.WriteHeader(http.StatusFound)
		}
	}))
	defer srv.Close()
	g := open(t, "127.0.0.0/8")
	if resp, err := get(t, g, srv.URL+"/5"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("five redirects: %v", err)
	}
	if _, err := get(t, g, srv.URL+"/6"); kindOf(err) != tools.Failed || !strings.Contains(err.Error(), "more than 5 redirects") {
		t.Errorf("six redirects: %v", err)
	}
	for _, to := range []string{"file:///etc/passwd", "http://169.254.169.254/latest/meta-data/", "http://[::1]:22/", "http://2130706433/", "gopher://x.example/", "//0.0.0.0:1/"} {
		if _, err := get(t, g, srv.URL+"/?to="+to); kindOf(err) != tools.Security {
			t.Errorf("redirect to %s: want a refusal, got %v", to, err)
		}
	}
}

// What belongs to the first host stays there: headers, also on the way back,
// and bodies.
func TestNothingIsCarriedToAnotherHost(t *testing.T) {
	seen := map[string]http.Header{}
	var first, second *httptest.Server
	note := func(w http.ResponseWriter, r *http.Request) {
		seen[r.URL.Path] = r.Header.Clone()
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/away", http.StatusFound)
		case "/away":
			http.Redirect(w, r, second.URL+"/other", http.StatusFound)
		case "/other":
			http.Redirect(w, r, first.URL+"/back", http.StatusFound)
		}
	}
	first, second = httptest.NewServer(http.HandlerFunc(note)), httptest.NewServer(http.HandlerFunc(note))
	defer first.Close()
	defer second.Close()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, first.URL+"/same", nil)
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Accept"} {
		req.Header.Set(name, "mine")
	}
	resp, err := open(t, "127.0.0.0/8").Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	got := map[string]string{}
	for path, h := range seen {
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Accept", "Referer"} {
			if h.Get(name) != "" {
				got[path] += name + " "
			}
		}
	}
	want := map[string]string{
		"/same": "Authorization Cookie X-Api-Key Accept ", "/away": "Authorization Cookie X-Api-Key Accept Referer ",
		"/other": "Accept ", "/back": "Accept ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("headers by request (-want +got):\n%s", d)
	}
}

func TestABodyIsNotCarriedToAnotherHost(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %v", r.Method, body, err)
			return
		}
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	client := open(t, "127.0.0.0/8").Client()
	resp, err := client.Post(srv.URL+"/?to="+other.URL, "text/plain", strings.NewReader("secret"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("want the redirect itself, got %s", resp.Status)
	}
	resp, err = client.Post(srv.URL+"/?to=/here", "text/plain", strings.NewReader("mine"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "POST mine <nil>" || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("on the same host: %q, %v", body, err)
	}
}
