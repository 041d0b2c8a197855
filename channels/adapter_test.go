package channels

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
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
