package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestFinal(t *testing.T) {
	for kind, want := range map[Kind]bool{
		Temporary: false, RateLimited: false, TooLong: false, Rejected: true, Unauthorized: true, Ambiguous: false,
	} {
		if err := fmt.Errorf("wrapped: %w", &Error{Kind: kind}); Final(err) != want {
			t.Errorf("%v: %v", kind, !want)
		}
	}
	if Final(nil) || Final(errors.New("of another type")) {
		t.Error("an error without a kind is final")
	}
}

// Run's own end is no failure; any other is told and returned.
func TestStatusEnd(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	s, broken := NewStatus(nil), errors.New("broken")
	if err := s.End(done, broken); err != nil || s.State().Stopped {
		t.Errorf("after the context: %v, %+v", err, s.State())
	}
	if err := s.End(t.Context(), broken); err != broken || !s.State().Stopped || s.State().LastError != "broken" {
		t.Errorf("before: %v, %+v", err, s.State())
	}
	if err := (*Status)(nil).End(t.Context(), broken); err != broken {
		t.Errorf("without a status: %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	for _, c := range []struct {
		address string
		schemes []string
		want    string
	}{
		{"https://example.org", nil, ""},
		{"http://127.0.0.1:8081/x", nil, ""},
		{"https://example.org", []string{"https"}, ""},
		{"http://example.org", []string{"https"}, `k: scheme "http" is not accepted; use https`},
		{"ftp://u:hunter2@example.org", nil, `k: scheme "ftp" is not accepted; use https`},
		{"https://u:hunter2@example.org/?x", nil, "k: not an address"},
		{"https://example.org/#hunter2", nil, "k: not an address"},
		{"https://u:hunter2 @example.org", nil, "k: not an address"},
		{"https:///hunter2", nil, "k: not an address"},
		{"hunter2", nil, "k: not an address"},
		{"", nil, "k: not an address"},
	} {
		err := CheckURL("k", c.address, c.schemes...)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.address, err, c.want)
		}
		if strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%q is repeated: %v", c.address, err)
		}
	}
}

func TestDownload(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "bytes")
	}))
	defer web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client, closeIdle := HTTPClient(nil)
	defer closeIdle()
	for path, want := range map[string]Kind{
		"/404": Rejected, "/403": Rejected, "/429": Temporary, "/502": Temporary, "/302": Temporary, "/204": Temporary, "/cut": Temporary, "/%zz": Rejected,
	} {
		body, kind, err := Download(ctx, client, web.URL+path)
		if err == nil || body != nil || kind != want {
			t.Errorf("%s: %v, %v, want %v", path, kind, err, want)
		}
	}
	body, _, err := Download(ctx, client, web.URL+"/200")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if data, err := io.ReadAll(body); err != nil || string(data) != "bytes" {
		t.Errorf("%q, %v", data, err)
	}
}

// Nothing is sent as long as nobody can be reached.
func TestSent(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client, closeIdle := HTTPClient(nil)
	defer closeIdle()
	ask := func() bool {
		var wrote atomic.Bool
		body, _, err := Download(Sent(ctx, &wrote), client, web.URL)
		if err == nil {
			_ = body.Close()
			t.Error("a file where there is none")
		}
		return wrote.Load()
	}
	if !ask() {
		t.Error("the server has seen the request")
	}
	closeIdle()
	web.Close()
	if ask() {
		t.Error("nobody has seen the request")
	}
}
