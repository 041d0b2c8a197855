package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
)

// A file of the platform: what its server says about it, and where it is sought.
func TestOpen(t *testing.T) {
	var base string
	api, base := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		switch r.URL.Path {
		case "/hop":
			http.Redirect(w, r, "/200", http.StatusFound)
		case "/hops":
			http.Redirect(w, r, "/hops", http.StatusFound)
		case "/out":
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		case "/cut":
			panic(http.ErrAbortHandler)
		default:
			var status int
			_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "no")
		}
	})
	follow := func(next *http.Request) error {
		if !strings.HasPrefix(next.URL.String(), base) {
			return errors.New("not there")
		}
		return nil
	}
	never := func(*http.Response) bool { return false }
	for _, c := range []struct {
		d    Download
		want *want
	}{
		{Download{URL: "/200"}, nil},
		{Download{URL: "/hop", Follow: follow}, nil},
		{Download{URL: "/hop"}, &want{channels.Temporary, 0, "302"}},
		{Download{URL: "/hops", Follow: follow}, &want{channels.Temporary, 0, "too many redirects"}},
		{Download{URL: "/out", Follow: follow}, &want{channels.Temporary, 0, "not there"}},
		{Download{URL: "/404"}, &want{channels.Rejected, 0, "404"}},
		{Download{URL: "/401"}, &want{channels.Rejected, 0, "401"}},
		{Download{URL: "/413"}, &want{channels.Rejected, 0, "413"}},
		{Download{URL: "/429"}, &want{channels.RateLimited, 7 * time.Second, "429"}},
		{Download{URL: "/500"}, &want{channels.Temporary, 0, "500"}},
		{Download{URL: "/504"}, &want{channels.Temporary, 0, "504"}},
		{Download{URL: "/204"}, &want{channels.Temporary, 0, "204"}},
		{Download{URL: "/cut"}, &want{channels.Temporary, 0, "EOF"}},
		{Download{URL: "/%zz"}, &want{channels.Rejected, 0, "not a valid address"}},
		{Download{URL: "/200", IsFile: never}, &want{channels.Rejected, 0, "refused by code"}},
		{Download{URL: "/404", IsFile: never}, &want{channels.Rejected, 0, "refused by code"}},
	} {
		c.d.Op, c.d.URL = "op", base+c.d.URL
		body, err := api.Open(channeltest.Bounded(t), c.d)
		if c.want != nil {
			c.want.check(t, c.d.URL, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.d.URL, err)
			continue
		}
		if data, err := io.ReadAll(body); err != nil || string(data) != "no" {
			t.Errorf("%s: %q, %v", c.d.URL, data, err)
		}
		_ = body.Close()
	}
}
