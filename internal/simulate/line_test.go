package simulate

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const testPatience = time.Minute

// A cut closes what is open, keeps out who comes while the line is down, and
// lets in who comes afterwards.
func TestLine(t *testing.T) {
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLine(plain)
	taken := make(chan net.Conn, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			taken <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := net.DialTimeout("tcp", l.Addr().String(), testPatience)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(testPatience))
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	ended := func(conn net.Conn) {
		t.Helper()
		if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("want the connection closed, got %v", err)
		}
	}
	first := dial()
	<-taken
	l.down(true)
	ended(first)
	ended(dial())
	l.down(false)
	second := dial()
	conn := <-taken
	if _, err := io.WriteString(second, "x"); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("after the cut: %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if len(l.open) != 0 {
		t.Errorf("closed connections are kept: %d", len(l.open))
	}
	_ = l.Close()
	<-done
}
