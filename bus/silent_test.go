package bus_test

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"magpie/bus"
	"magpie/bus/bustest"
)

// A machine that dies closes no connection. The bus notices that nothing comes
// any more, and goes on over another connection.
func TestConnectionThatFallsSilent(t *testing.T) {
	t.Parallel()
	line := newLine(t, strings.TrimPrefix(bustest.External(t), "nats://"))
	b := bustest.Open(t, bus.Options{URL: "nats://" + line.addr})
	queue(t, b, outbound("c", "1", 1))
	line.silence()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := b.PublishOutbound(ctx, outbound("c", "1", 2)); err != nil {
		t.Fatalf("nothing is stored any more: %v", err)
	}
}

// A link that breaks while something is written is lost, and nothing that the
// bus refuses.
func TestBrokenLinkIsNoRefusal(t *testing.T) {
	t.Parallel()
	said := newLines("msg=\"bus ")
	line := newLine(t, strings.TrimPrefix(bustest.External(t), "nats://"))
	b := bustest.Open(t, bus.Options{URL: "nats://" + line.addr, Log: said.logger()})
	ctx, end := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer end()
	for chat := range 4 {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_ = b.PublishOutbound(ctx, outbound("c", strconv.Itoa(chat), n))
			}
		})
	}
	for range 8 {
		line.reset()
		for back := false; !back; {
			text := <-said.found
			if strings.Contains(text, "refused") {
				t.Errorf("a link broke, and the log says: %s", text)
			}
			back = strings.Contains(text, "is back")
		}
	}
}

// line passes connections on to a server, until it falls silent for those that
// there are.
type line struct {
	addr string
	mu   sync.Mutex
	cut  chan struct{}
	open []*net.TCPConn // to the clients
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{addr: at.Addr().String(), cut: make(chan struct{})}
	ctx, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		end()
		_ = at.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			in, err := at.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })
			l.mu.Lock()
			l.open = append(l.open, in.(*net.TCPConn))
			l.mu.Unlock()
			cut := l.now()
			wg.Go(func() { pass(ctx, out, in, cut) })
			wg.Go(func() { pass(ctx, in, out, cut) })
		}
	})
	return l
}

func (l *line) now() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// silence keeps all connections open and lets nothing through.
func (l *line) silence() {
	l.hang()
	l.goOn()
}

// reset breaks all connections as a machine does that knows nothing of them.
func (l *line) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_, _ = c.SetLinger(0), c.Close()
	}
	l.open = nil
}

// hang is silence also for connections that are made until goOn.
func (l *line) hang() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.cut)
}

func (l *line) goOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = make(chan struct{})
}

// pass copies until the line is cut, and keeps both ends open then.
func pass(ctx context.Context, to io.WriteCloser, from io.Reader, cut <-chan struct{}) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		select {
		case <-cut:
			<-ctx.Done()
			return
		default:
		}
		if err == nil {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}
