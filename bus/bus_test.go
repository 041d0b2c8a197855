package bus_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/internal/kv/kvtest"
)

// deadline bounds every wait of these tests; none comes near it.
const deadline = 4 * time.Minute

func TestMain(m *testing.M) {
	if role := os.Getenv("MAGPIE_BUS_CHILD"); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m,
		// The embedded server keeps one goroutine for its lifetime timers.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*dirStore).expiryLoop"),
		// nats.go v1.55: a connection that is closed at once takes the channel away
		// before the goroutine made for it has read which one it is.
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// own runs a worker until the test ends or stop is called.
func own(t testing.TB, b *bus.Bus, owner bus.Owner, o *bus.WorkerOptions) (stop func()) {
	t.Helper()
	return background(t, func(ctx context.Context) error { return b.Own(ctx, owner, o) })
}

func dispatch(t testing.TB, b *bus.Bus, channel string, h bus.Handler[chat.Outbound]) (stop func()) {
	t.Helper()
	return background(t, func(ctx context.Context) error { return b.Dispatch(ctx, channel, h, nil) })
}

func background(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(deadline):
			t.Error("does not end")
		}
	}
	t.Cleanup(stop)
	return stop
}

func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(deadline):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func publish(t testing.TB, b *bus.Bus, in chat.Inbound) {
	t.Helper()
	if err := b.PublishInbound(testContext(t), in, false); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition that the store brings about by itself.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	ctx := testContext(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

func TestTables(t *testing.T) {
	b := bustest.New(t)
	n := 0
	kvtest.Run(t, func(*testing.T) kv.Table {
		n++
		return b.Table(strings.Repeat("测", n))
	})
	t.Run("own bucket", func(t *testing.T) {
		kvtest.Run(t, func(t *testing.T) kv.Table { return bustest.New(t).Table("sess") })
	})
}

func TestSecondOpenerIsTold(t *testing.T) {
	dir := t.TempDir()
	bustest.Open(t, bus.Options{Dir: dir})
	_, err := bus.Open(testContext(t), bus.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("got %v, want an error that says the store is in use", err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	ctx := testContext(t)
	for _, c := range []struct{ version, want string }{{"2", "newer"}, {"x", "damaged"}} {
		b, err := bus.Open(ctx, bus.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.SetSchema(ctx, c.version), b.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := bus.Open(ctx, bus.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("version %s: got %v, want an error with %q", c.version, err, c.want)
		}
		reset(t, dir)
	}
}

// reset empties a store folder.
func reset(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

func TestUnusableFolder(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Open(testContext(t), bus.Options{Dir: file}); err == nil {
		t.Error("a file was taken for a folder")
	}
	if _, err := bus.Open(testContext(t), bus.Options{URL: "nats://127.0.0.1:1"}); err == nil {
		t.Error("a server that is not there was taken for one")
	}
}

func TestTooLargeIsRefused(t *testing.T) {
	b := bustest.New(t)
	in := inbound("c", "1", 1)
	in.Text = strings.Repeat("大", b.MaxMessage()/3+1)
	if err := b.PublishInbound(testContext(t), in, false); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	in.Text = strings.Repeat("x", b.MaxMessage()-1000)
	publish(t, b, in)
}

func TestMedia(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	m := b.Media(time.Hour)
	if _, err := m.Open(ctx, "nothing"); !errors.Is(err, bus.ErrNoMedia) {
		t.Errorf("Open of nothing: %v, want ErrNoMedia", err)
	}
	for _, size := range []int{0, 1, 300_000} {
		data := bytes.Repeat([]byte{7}, size)
		ref, n, err := m.Put(ctx, "图.png", "image/png", bytes.NewReader(data))
		if err != nil || n != int64(size) {
			t.Fatalf("Put: %d bytes, %v", n, err)
		}
		r, err := m.Open(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("read back %d bytes of %d, %v", len(got), size, err)
		}
		_ = r.Close()
	}
	broken := errors.New("broken")
	if _, _, err := m.Put(ctx, "x", "", io.MultiReader(strings.NewReader("abc"), errReader{broken})); !errors.Is(err, broken) {
		t.Errorf("Put of a broken file: %v", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestEvents(t *testing.T) {
	b := bustest.New(t)
	got := make(chan chat.Event, 1)
	stop, err := b.Events(func(ev chat.Event) { got <- ev })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	b.Publish(chat.Event{Kind: chat.TurnDelta, Addr: chat.Address{Channel: "c", Chat: "1"}, Text: "你好"})
	if ev := receive(t, got); ev.Text != "你好" || ev.Kind != chat.TurnDelta || ev.Addr.Chat != "1" {
		t.Errorf("got %+v", ev)
	}
}
