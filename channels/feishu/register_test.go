package feishu

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	fake "magpie/internal/fakes/feishu"
)

// An app is made by whoever scans the code and confirms, on Feishu and on Lark;
// without them there is none, and the platform is not asked too often.
func TestRegistration(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  time.Duration
		do     func(*fake.Server)
		want   App
		err    error
		broken int32 // answers that are a proxy's page
	}{
		{name: "feishu", after: 12 * time.Second, do: func(s *fake.Server) { s.Confirm("feishu") }, want: App{Base: publicAPI}, broken: 1},
		{name: "lark", after: 12 * time.Second, do: func(s *fake.Server) { s.Confirm("lark") }, want: App{Base: larkAPI}},
		{name: "declined", after: time.Minute, do: (*fake.Server).Decline, err: ErrDeclined},
		{name: "nobody", after: time.Hour, do: func(*fake.Server) {}, err: ErrExpired},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := fake.New(nil)
			defer s.Close()
			server := &counting{next: direct{s.Handler()}, broken: c.broken}
			var link string
			r := Registration{HTTP: &http.Client{Transport: server}, Accounts: "http://accounts.test/", Lark: "http://accounts.lark.test", Show: func(at string, good time.Duration) {
				link = at
				if good != 10*time.Minute {
					t.Errorf("good for %v", good)
				}
			}}
			go func() {
				<-time.After(c.after)
				c.do(s)
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			app, err := r.Run(ctx)
			want := c.want
			if c.err == nil {
				want.ID, want.Secret, want.Owner = s.AppID(), app.Secret, "ou_owner"
			}
			if !errors.Is(err, c.err) || app != want || string(app.Secret) != s.Secret() && c.err == nil {
				t.Errorf("%s: %+v, %v", c.name, app, err)
			}
			checkLink(t, link)
			if server.slowed.Load() != 0 {
				t.Errorf("%s: asked too often", c.name)
			}
			<-time.After(c.after) // the one who scans has done so
		})
	}
	if _, err := (&Registration{HTTP: &http.Client{Transport: failing{}}}).Run(t.Context()); err == nil || strings.Contains(err.Error(), "device_code") {
		t.Errorf("nobody answers: %v", err)
	}
}

// counting looks at the answers of a server, and spoils some after the first.
type counting struct {
	next   http.RoundTripper
	calls  atomic.Int32
	broken int32
	slowed atomic.Int32
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := c.calls.Add(1); n > 1 && n <= 1+c.broken {
		return nil, errors.New("no route to host")
	}
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	if strings.Contains(b.String(), "slow_down") {
		c.slowed.Add(1)
	}
	resp.Body = readCloser{&b}
	return resp, nil
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

// checkLink looks whether the page that is confirmed would list what is needed.
func checkLink(t *testing.T, link string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Query().Get("user_code") == "" || u.Query().Get("tp") != "sdk" {
		t.Fatalf("link %q: %v", link, err)
	}
	packed, err := base64.RawURLEncoding.DecodeString(u.Query().Get("addons"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var addons struct {
		Scopes    struct{ Tenant []string }
		Events    struct{ Items struct{ Tenant []string } }
		Callbacks struct{ Items []string }
	}
	if err := json.NewDecoder(z).Decode(&addons); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(addons.Scopes.Tenant, lackGroup.any[0]) || !slices.Contains(addons.Events.Items.Tenant, eventMessage) || !slices.Equal(addons.Callbacks.Items, []string{eventPress}) {
		t.Errorf("addons %+v", addons)
	}
}
