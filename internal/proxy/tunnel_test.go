package proxy_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"magpie/internal/proxy"
)

// A tunnel says to the proxy what its protocol wants, and leaves to the server
// what is behind the answer.
func TestTunnel(t *testing.T) {
	type step struct{ hear, say string }
	const request = "\x05\x01\x00\x03\x0bfar.example\x01\xbb"
	for name, c := range map[string]struct {
		scheme string
		steps  []step
		want   string // of the error
	}{
		"connect":            {"http://u:p@", []step{{"CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nhello"}}, ""},
		"connect, refused":   {"http://", []step{{"CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n\r\n", "HTTP/1.1 407 x\r\n\r\n"}}, "status 407"},
		"socks":              {"socks5://", []step{{"\x05\x02\x00\x02", "\x05\x00"}, {request, "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x09hello"}}, ""},
		"socks, a name":      {"socks5h://", []step{{"\x05\x02\x00\x02", "\x05\x00"}, {request, "\x05\x00\x00\x03\x02ab\x00\x09hello"}}, ""},
		"socks, a password":  {"socks5://u:pw@", []step{{"\x05\x02\x00\x02", "\x05\x02"}, {"\x01\x01u\x02pw", "\x01\x00"}, {request, "\x05\x00\x00\x04" + strings.Repeat("\x00", 18) + "hello"}}, ""},
		"socks, a wrong one": {"socks5://u:pw@", []step{{"\x05\x02\x00\x02", "\x05\x02"}, {"\x01\x01u\x02pw", "\x01\x01"}}, "user and password"},
		"socks, refused":     {"socks5://", []step{{"\x05\x02\x00\x02", "\x05\x00"}, {request, "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"}}, "reply 2"},
		"an end":             {"socks5://", []step{{"\x05\x02\x00\x02", "\x05"}}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var server sync.WaitGroup
			defer server.Wait()
			defer l.Close()
			server.Go(func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				for _, s := range c.steps {
					got := make([]byte, len(s.hear))
					if _, err := io.ReadFull(conn, got); err != nil || string(got) != s.hear {
						t.Errorf("the proxy heard %q, %v; want %q", got, err, s.hear)
						return
					}
					_, _ = io.WriteString(conn, s.say) // refused: nobody reads on
				}
			})
			by, err := url.Parse(c.scheme + l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := proxy.Tunnel(t.Context(), by, "far.example:443")
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got, err := io.ReadAll(conn); string(got) != "hello" || err != nil {
				t.Errorf("the server said %q, %v", got, err)
			}
		})
	}
}
