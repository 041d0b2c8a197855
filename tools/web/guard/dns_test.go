package guard_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"magpie/tools"
	"magpie/tools/web/guard"
)

// nameServer answers every question for an address with one of a list, the
// first until the test has it go on to the next: who asks may ask twice.
type nameServer struct {
	conn  net.PacketConn
	asked atomic.Int32
	at    atomic.Int32
	addrs [][4]byte
	done  sync.WaitGroup
}

func newNameServer(t *testing.T, addrs ...[4]byte) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, addrs: addrs}
	s.done.Go(s.serve)
	t.Cleanup(func() { conn.Close(); s.done.Wait() })
	return s
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var msg dnsmessage.Message
		if msg.Unpack(buf[:n]) != nil || len(msg.Questions) != 1 {
			continue
		}
		msg.Response, msg.Authoritative, msg.Additionals = true, true, nil
		if q := msg.Questions[0]; q.Type == dnsmessage.TypeA {
			s.asked.Add(1)
			msg.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: s.addrs[s.at.Load()]},
			}}
		}
		if out, err := msg.Pack(); err == nil {
			_, _ = s.conn.WriteTo(out, from) // who asked asks again
		}
	}
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// A name that leads to a harmless address at first and to the machine itself
// the next time: what counts is the address that is dialled.
func TestRebinding(t *testing.T) {
	// 127.0.0.1 plays the harmless address, 127.0.0.2 the inner one.
	dns := newNameServer(t, [4]byte{127, 0, 0, 1}, [4]byte{127, 0, 0, 2})
	var reached atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		dns.at.Store(1)
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	g, err := guard.New(&guard.Options{Allow: []string{"127.0.0.1"}, Resolver: dns.resolver()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = get(t, g, "http://rebind.example:"+port+"/")
	if kindOf(err) != tools.Security {
		t.Errorf("the second connection went through: %v", err)
	}
	if got := reached.Load(); got != 1 {
		t.Errorf("the server was reached %d times, want once", got)
	}
	if dns.asked.Load() < 2 {
		t.Error("the name was looked up once only: the test shows nothing")
	}
}

func TestAnInnerNameIsRefused(t *testing.T) {
	dns := newNameServer(t, [4]byte{169, 254, 169, 254})
	g, err := guard.New(&guard.Options{Resolver: dns.resolver()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, g, "http://metadata.example/latest/"); kindOf(err) != tools.Security {
		t.Errorf("want a refusal, got %v", err)
	}
}
