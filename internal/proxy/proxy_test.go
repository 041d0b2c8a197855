package proxy

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	fake "magpie/internal/fakes/proxy"
)

func unset(t *testing.T) {
	for _, name := range append(Variables(), "NO_PROXY", "no_proxy", "REQUEST_METHOD") {
		t.Setenv(name, "")
	}
}

// asked is the proxy of a request as text.
func asked(t *testing.T, by Func, at string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		return ""
	}
	u, err := by(req)
	switch {
	case err != nil:
		return "error"
	case u == nil:
		return ""
	}
	return u.String()
}

func TestEnvironment(t *testing.T) {
	const plain, secure = "http://example.org/", "https://example.org/"
	for _, c := range []struct {
		set  string // with blanks between them
		at   string
		want string
	}{
		{"", secure, ""},
		{"HTTPS_PROXY=http://a:1", secure, "http://a:1"},
		{"HTTPS_PROXY=a:1", secure, "http://a:1"},
		{"https_proxy=http://a:1", secure, "http://a:1"},
		{"HTTPS_PROXY=http://a:1", plain, ""},
		{"HTTP_PROXY=http://a:1", plain, "http://a:1"},
		{"HTTP_PROXY=http://a:1", secure, ""},
		{"ALL_PROXY=socks5://a:1", plain, "socks5://a:1"},
		{"ALL_PROXY=socks5://a:1", secure, "socks5://a:1"},
		{"all_proxy=socks5://a:1", secure, "socks5://a:1"},
		{"ALL_PROXY=http://a:1 HTTPS_PROXY=http://b:2", secure, "http://b:2"},
		{"ALL_PROXY=http://a:1 HTTPS_PROXY=http://b:2", plain, "http://a:1"},
		{"ALL_PROXY=http://a:1 NO_PROXY=example.org", secure, ""},
		{"ALL_PROXY=http://a:1 no_proxy=.example.org", "https://sub.example.org", ""},
		{"ALL_PROXY=http://a:1 NO_PROXY=other.org,10.0.0.0/8", "https://10.1.2.3/", ""},
		{"ALL_PROXY=http://a:1 NO_PROXY=other.org,10.0.0.0/8", secure, "http://a:1"},
		{"ALL_PROXY=http://a:1 NO_PROXY=*", secure, ""},
		{"ALL_PROXY=http://a:1", "http://127.0.0.1:5/", ""},
		{"ALL_PROXY=http://a:1", "http://localhost:5/", ""},
		{"HTTP_PROXY=http://a:1 REQUEST_METHOD=GET", plain, "http://a:1"},
	} {
		unset(t)
		for _, one := range strings.Fields(c.set) {
			name, value, _ := strings.Cut(one, "=")
			t.Setenv(name, value)
		}
		if got := asked(t, Environment, c.at); got != c.want {
			t.Errorf("%s: %s goes by %q, want %q", c.set, c.at, got, c.want)
		}
		if got := asked(t, Of(""), c.at); got != c.want {
			t.Errorf("%s: without a key %s goes by %q, want %q", c.set, c.at, got, c.want)
		}
		for key, want := range map[string]string{"none": "", "direct": "", "http://k:1": "http://k:1", "k:1": "http://k:1", "socks5://k:1": "socks5://k:1"} {
			if got := asked(t, Of(key), c.at); got != want {
				t.Errorf("%s, key %s: %s goes by %q, want %q", c.set, key, c.at, got, want)
			}
		}
	}
}

func TestKeyFlaw(t *testing.T) {
	for _, good := range []string{"", "none", "direct", "http://10.0.0.1:3128", "https://proxy.lan", "socks5://u:p%40@[::1]:1080", "socks5h://proxy:1080", "proxy:3128"} {
		if said := KeyFlaw("proxy", good); said != "" {
			t.Errorf("%s: %s", good, said)
		}
	}
	for bad, want := range map[string]string{
		"off": "none is without a proxy", "false": "none is without", "None": "none is without", "system": "none is without", "socks4://10.0.0.1:1080": "socks5://", "socks://10.0.0.1": "socks5://",
		"ftp://u:hunter2@10.0.0.1": "http://", "http://a,b:1": "http://", "10.0.0.1;x": "http://", "http://代理:1": "http://", "http://": "http://", "http://u:hunter2@10.0.0.1:0": "want a port", "http://u:hunter2/x@10.0.0.1:1": "/ as %2F",
		"http://10.0.0.1：3128": "full-width ：", "http://u:hun%ter2@10.0.0.1:1": "% as %25",
	} {
		if said := KeyFlaw("proxy", bad); !strings.Contains(said, want) || strings.Contains(said, "hunter2") || strings.Contains(said, "hun%ter2") {
			t.Errorf("%s: %q, want %q", bad, said, want)
		}
	}
}

func TestSecretsOfProxies(t *testing.T) {
	got := fmt.Sprint(Secrets("", "none", "http://10.0.0.1:1", "http://me:p%40ss@10.0.0.1:1", "socks5://me:word@x:1", "me:third@x:1", "http://me:word@y", "http://me@x:1", "http://%zz"))
	if got != "[p@ss p%40ss word third]" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(Secrets("http://me:caf%c3%a9%21@x:1")); got != "[café! caf%C3%A9%21 caf%c3%a9%21]" {
		t.Errorf("escaped otherwise: %s", got)
	}
	for value, want := range map[string]string{"http://me:word@10.0.0.1:1/x": "10.0.0.1:1", "x:1": "x:1", "http://%zz": ""} {
		if got := Host(value); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}

// way is a proxy, and two servers that only it can reach.
type way struct {
	*fake.Server
	plain, secure *httptest.Server
}

const plainHost, secureHost = "plain.invalid:80", "example.com:443" // the certificate's

func newWay(t *testing.T) *way {
	t.Helper()
	unset(t)
	p, err := fake.New(fake.Options{User: "me", Password: "pass/word"})
	if err != nil {
		t.Fatal(err)
	}
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the server is told the proxy's password")
		}
		_, _ = io.WriteString(w, "there")
	})
	y := &way{Server: p, plain: httptest.NewServer(ok), secure: httptest.NewTLSServer(ok)}
	p.Know(plainHost, y.plain.Listener.Addr().String())
	p.Know(secureHost, y.secure.Listener.Addr().String())
	t.Cleanup(func() {
		p.Close()
		y.plain.Close()
		y.secure.Close()
	})
	return y
}

// get asks a server by a proxy.
func (y *way) get(t *testing.T, key, at string) (string, error) {
	t.Helper()
	tr := Transport(key)
	defer tr.CloseIdleConnections()
	tr.TLSClientConfig.RootCAs = x509.NewCertPool()
	tr.TLSClientConfig.RootCAs.AddCert(y.Certificate())
	tr.TLSClientConfig.RootCAs.AddCert(y.secure.Certificate())
	resp, err := (&http.Client{Transport: tr}).Get(at)
	if err != nil {
		return "", errors.Unwrap(err) // without the address
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	return string(body), err
}

// Every scheme leads through the proxy, whose password no error shows.
func TestTransport(t *testing.T) {
	y := newWay(t)
	for i, scheme := range []string{"http", "https", "socks5", "socks5h"} {
		key := y.Address(scheme)
		for _, c := range []struct{ at, host string }{{"http://plain.invalid/x", plainHost}, {"https://example.com/x", secureHost}} {
			if got, err := y.get(t, key, c.at); err != nil || got != "there" || y.Count(c.host) != i+1 {
				t.Errorf("%s by %s: %q, %v, %d times", c.at, scheme, got, err, y.Count(c.host))
			}
			wrong := strings.Replace(key, "word@", "wrong@", 1)
			for name, fail := range map[string]func() (string, error){
				"wrong password": func() (string, error) { return y.get(t, wrong, c.at) },
				"no password":    func() (string, error) { return y.get(t, strings.Replace(key, "me:pass%2Fword@", "", 1), c.at) },
				"refused": func() (string, error) {
					y.Refuse(http.StatusServiceUnavailable)
					defer y.Refuse(0)
					return y.get(t, key, c.at)
				},
			} {
				got, err := fail()
				said := fmt.Sprint(err)
				if err == nil || strings.Contains(said, "pass") && !strings.Contains(said, "password") || strings.Contains(said, "wrong@") || y.Count(c.host) != i+1 {
					t.Errorf("%s by %s, %s: %q, %v", c.at, scheme, name, got, err)
				}
				if at := Host(key); strings.HasPrefix(c.at, "https:") && strings.HasPrefix(scheme, "http") && !strings.Contains(said, "the proxy "+at) {
					t.Errorf("%s by %s, %s: %v does not name the proxy", c.at, scheme, name, err)
				}
			}
		}
	}
	if _, err := y.get(t, "none", "http://plain.invalid/"); err == nil {
		t.Error("it can be reached without the proxy")
	}
}
