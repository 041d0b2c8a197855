package guard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/tools"
	"magpie/tools/web/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, allow ...string) *guard.Guard {
	t.Helper()
	g, err := guard.New(&guard.Options{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// kindOf is the kind of a tool's error, "" for none or another error.
func kindOf(err error) tools.ErrorKind {
	var said *tools.Error
	if errors.As(err, &said) {
		return said.Kind
	}
	return ""
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	g := open(t)
	for _, addr := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.170", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.9",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.88.99.1",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "3fff::1", "100::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", // mapped
		"::127.0.0.1", "::7f00:1", // compatible
		"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", // NAT64
		"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1", // 6to4
		"2001:0:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", // Teredo
		"2001:10::1", "2001:20::1", "fec0::1", "5f00::1",
	} {
		err := g.Check(netip.MustParseAddr(addr))
		if kindOf(err) != tools.Security {
			t.Errorf("%s: want a refusal of kind security, got %v", addr, err)
		} else if !strings.Contains(err.Error(), "tools.web.allow_private") {
			t.Errorf("%s: %q does not say what to do", addr, err)
		}
	}
	for _, addr := range []string{"1.1.1.1", "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2400:3200::1", "::ffff:8.8.8.8", "64:ff9b::808:808"} {
		if err := g.Check(netip.MustParseAddr(addr)); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestAllowedNetworks(t *testing.T) {
	g := open(t, "127.0.0.0/8", "10.1.2.3", "fd00::/8", "::ffff:192.168.7.0/120")
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "::ffff:127.9.9.9": true, "64:ff9b::7f00:1": true, "10.1.2.3": true, "10.1.2.4": false, "fd12::1": true,
		"fc00::1": false, "192.168.7.9": true, "192.168.8.1": false, "::1": false, "169.254.169.254": false,
	} {
		if got := g.Check(netip.MustParseAddr(addr)) == nil; got != want {
			t.Errorf("%s: allowed %v, want %v", addr, got, want)
		}
	}
	for _, bad := range []string{"", "localhost", "10.0.0.0/33", "10.0.0"} {
		if _, err := guard.New(&guard.Options{Allow: []string{bad}}); err == nil || !strings.Contains(err.Error(), "want a network") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/a?b=c":  "https://example.org/a?b=c",
		"  HTTP://Example.ORG:8080/": "http://example.org:8080/",
		"example.org/a":              "https://example.org/a",
		"example.org:8080/a":         "https://example.org:8080/a",
		"http://127.0.0.1:1/":        "http://127.0.0.1:1/", // the dialler judges it
		"http://[::1]:1/":            "http://[::1]:1/",
		"https://例え.jp/路":            "https://xn--r8jz45g.jp/%E8%B7%AF",
		"http://ＥＸＡＭＰＬＥ.com/":        "http://example.com/",
		"http://a_b.example.org/":    "http://a_b.example.org/",
		// What browsers encode, and what stays.
		"https://x.org/a b":                 "https://x.org/a%20b",
		"https://x.org/s?t=a 北京":            "https://x.org/s?t=a%20%E5%8C%97%E4%BA%AC",
		"x.org?q=天气 明天":                     "https://x.org?q=%E5%A4%A9%E6%B0%94%20%E6%98%8E%E5%A4%A9",
		"https://x.org/a%20b?c=d%2Be+f":     "https://x.org/a%20b?c=d%2Be+f",
		"https://x.org/100%?p=50%&q=%zz%":   "https://x.org/100%25?p=50%25&q=%25zz%25",
		"https://x.org/?q=\"a\"|{b}<c>\\^`": "https://x.org/?q=%22a%22%7C%7Bb%7D%3Cc%3E%5C%5E%60",
		"https://x.org/a\tb?c=\xe9\n":       "https://x.org/a%09b?c=%E9",
		"https://x.org/a#top 北 100%":        "https://x.org/a#top%20%E5%8C%97%20100%25",
		"https://x.org/a?b=c&d=[1]&e='":     "https://x.org/a?b=c&d=[1]&e='",
		"https://x.org/?u=http://y.org/ z":  "https://x.org/?u=http://y.org/%20z",
		"x.org/?u=http://y.org/":            "https://x.org/?u=http://y.org/",
		"https://bücher.example/ü?ü#ü":      "https://xn--bcher-kva.example/%C3%BC?%C3%BC#%C3%BC",
		"https://x.org/a%2Fb":               "https://x.org/a%2Fb",
	} {
		u, err := guard.URL(text)
		if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, u, err, want)
		}
	}
	for text, want := range map[string]tools.ErrorKind{
		"": tools.Security, "file:///etc/passwd": tools.Security, "ftp://example.org/": tools.Security, "javascript:alert(1)": tools.Security,
		"data:text/plain,a.b": tools.Security, "gopher://example.org:70/": tools.Security, "unix:/run/docker.sock": tools.Security,
		"http://": tools.InvalidArgs, "http://exa mple.org/": tools.InvalidArgs, "http://[::1": tools.InvalidArgs, "http://a\x00b/": tools.InvalidArgs,
		"http://2130706433/": tools.Security, "http://0x7f000001/": tools.Security, "http://0177.0.0.1/": tools.Security, "http://127.1/": tools.Security,
		"http://0x7f.1/": tools.Security, "http://017700000001": tools.Security, "http://１２７.１/": tools.Security, "http://0x/": tools.Security,
		"http://example.org/" + strings.Repeat("a", 9000): tools.InvalidArgs,
	} {
		if u, err := guard.URL(text); kindOf(err) != want {
			t.Errorf("%.40q: want %s, got %v, %v", text, want, u, err)
		}
	}
}

// A policy's pattern must see one spelling.
func TestNormal(t *testing.T) {
	for text, want := range map[string]string{
		"HTTPS://user:secret@EXAMPLE.org.:443#top": "https://example.org/",
		"http://example.org:80/A?b#c":              "http://example.org/A?b",
		"http://example.org:81/":                   "http://example.org:81/",
		"example.org":                              "https://example.org/",
		"http://ｅxample.org/":                      "http://example.org/",
		"http://[::1]:80/":                         "http://[::1]/",
		"not a url":                                "not a url",
	} {
		if got := guard.Normal(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func get(t *testing.T, g *guard.Guard, url string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Client().Do(req)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

func TestLoopbackIsRefusedWhenDialled(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		_, err := get(t, open(t), "http://"+host+":"+port+"/")
		if kindOf(err) != tools.Security {
			t.Errorf("%s: want a refusal, got %v", host, err)
		}
	}
}

func TestTheProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was used") }))
	defer srv.Close()
	if open(t).Client().Transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy would dial in the guard's place")
	}
}
