package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

func outbound(channel, chatID string, n int) chat.Outbound {
	a := chat.Address{Channel: channel, Chat: chatID}
	return chat.Outbound{Meta: chat.Meta{ID: fmt.Sprintf("out:%s:%d", a.Session(), n), Addr: a, At: time.Now()}, Text: fmt.Sprint(n)}
}

func queue(t testing.TB, b *bus.Bus, out chat.Outbound) {
	t.Helper()
	if err := b.PublishOutbound(testContext(t), out); err != nil {
		t.Fatal(err)
	}
}

func TestOutboundOrderWithFailuresAndOneSlowChat(t *testing.T) {
	b := bustest.New(t)
	for i := range 20 {
		for _, c := range []string{"a", "b", "慢"} {
			queue(t, b, outbound("tele gram.1", c, i))
		}
	}
	queue(t, b, outbound("other", "a", 99)) // another instance's queue is not touched
	var mu sync.Mutex
	got := map[string][]string{}
	failed := false
	slow := make(chan struct{})
	all := make(chan struct{}, 100)
	dispatch(t, b, "tele gram.1", func(ctx context.Context, out chat.Outbound) error {
		if out.Addr.Chat == "慢" {
			select {
			case <-slow:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if out.Addr.Chat == "a" && out.Text == "3" && !failed {
			failed = true
			return errors.New("not now")
		}
		got[out.Addr.Chat] = append(got[out.Addr.Chat], out.Text)
		all <- struct{}{}
		return nil
	})
	for range 40 {
		receive(t, all)
	}
	close(slow)
	for range 20 {
		receive(t, all)
	}
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
	}
	mu.Lock()
	defer mu.Unlock()
	if d := cmp.Diff(map[string][]string{"a": want, "b": want, "慢": want}, got); d != "" {
		t.Error(d)
	}
	until(t, "the other instance's message is all that is left", func() bool {
		n, err := b.Waiting(testContext(t), true)
		return err == nil && n == 1
	})
}

func TestDroppedOutboundBecomesDeadLetterAndCanBeResubmitted(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	sent := make(chan string, 10)
	refuse := true
	dispatch(t, b, "c", func(_ context.Context, out chat.Outbound) error {
		if out.Text == "1" && refuse {
			refuse = false
			return bus.Drop(errors.New("chat is closed to the bot"))
		}
		if out.Text == "2" {
			panic("broken adapter")
		}
		sent <- out.Text
		return nil
	})
	for i := range 4 {
		queue(t, b, outbound("c", "x", i))
	}
	for _, want := range []string{"0", "3"} {
		if got := receive(t, sent); got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
	dead, err := b.Dead(ctx, 0, 10)
	if err != nil || len(dead) != 2 || dead[0].Reason != "chat is closed to the bot" || dead[0].Out.Text != "1" {
		t.Fatalf("dead letters %+v, %v", dead, err)
	}
	if err := b.Resubmit(ctx, dead[0].Seq); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, sent); got != "1" {
		t.Errorf("sent %q, want 1", got)
	}
}

// The server forgets outbound ids when messages are gone; the receipt does not.
func TestOutboundIDAgainAfterRestartIsKnownByItsReceipt(t *testing.T) {
	dir := t.TempDir()
	ctx := testContext(t)
	sends := 0
	for round := range 3 {
		b, err := bus.Open(ctx, bus.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		receipts := b.Receipts()
		stop := dispatch(t, b, "c", func(ctx context.Context, out chat.Outbound) error {
			if _, found, err := receipts.Receipt(ctx, out.ID); found || err != nil {
				return err
			}
			sends++
			return receipts.Store(ctx, chat.Receipt{ID: out.ID})
		})
		queue(t, b, outbound("c", "x", 1))
		until(t, "queue empty", func() bool { n, err := b.Waiting(ctx, true); return err == nil && n == 0 })
		stop()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if sends != 1 {
			t.Fatalf("round %d: sent %d times", round, sends)
		}
	}
}

// When the dispatcher of a channel goes, the next gets exactly what was not
// acknowledged, in order and at once.
func TestTakeoverOfAChannel(t *testing.T) {
	b := bustest.New(t)
	for i := range 10 {
		queue(t, b, outbound("c", "x", i))
	}
	var mu sync.Mutex
	var got []string
	half := make(chan struct{})
	stop := dispatch(t, b, "c", func(ctx context.Context, out chat.Outbound) error {
		if out.Text == "5" {
			close(half)
			<-ctx.Done() // hangs until the stop's grace is over
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, out.Text)
		return nil
	})
	receive(t, half)
	stop()
	all := make(chan struct{})
	dispatch(t, b, "c", func(_ context.Context, out chat.Outbound) error {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, out.Text); len(got) == 10 {
			close(all)
		}
		return nil
	})
	receive(t, all)
	want := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A store without room refuses new messages, says so, finishes what is under
// way, and takes messages again when there is room.
func TestStoreFull(t *testing.T) {
	b := bustest.Open(t, bus.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Dir: t.TempDir(), SyncInterval: time.Minute, MaxStore: 24 << 20})
	ctx := testContext(t)
	in := inbound("c", "", 0)
	in.Text = strings.Repeat("x", 200_000)
	stored := 0
	var err error
	for ; stored < 1000; stored++ {
		in.Addr.Chat = fmt.Sprint(stored)
		in.ID = in.Addr.Chat
		if err = b.PublishInbound(ctx, in, false); err != nil {
			break
		}
	}
	if !errors.Is(err, bus.ErrStoreFull) {
		t.Fatalf("after %d messages: %v, want ErrStoreFull", stored, err)
	}
	until(t, "unhealthy", func() bool { return errors.Is(b.Health(ctx), bus.ErrStoreFull) })
	if _, _, err := b.Media(time.Hour).Put(ctx, "x", "", nil); !errors.Is(err, bus.ErrStoreFull) {
		t.Errorf("media: %v, want ErrStoreFull", err)
	}
	// What is stored is answered: records and answers still have room.
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		d, ok, err := mb.Take(ctx)
		if err != nil || !ok {
			return err
		}
		d.Text = "ok"
		return mb.Commit(ctx, answer(d))
	}, nil)
	sent := make(chan struct{}, 1000)
	dispatch(t, b, "c", func(context.Context, chat.Outbound) error { sent <- struct{}{}; return nil })
	for range stored {
		receive(t, sent)
	}
	until(t, "healthy again", func() bool { return b.Health(ctx) == nil })
	in.ID, in.Text = "new", "new"
	publish(t, b, in)
}
