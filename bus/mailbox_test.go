package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// collect is an owner that answers like echo and notes what it took.
func collect(into chan<- chat.Delivery) bus.Owner {
	return func(ctx context.Context, mb *bus.Mailbox) error {
		for {
			select {
			case c := <-mb.Control():
				into <- c
				if err := mb.Done(ctx, c); err != nil {
					return err
				}
				continue
			default:
			}
			d, ok, err := mb.Take(ctx)
			if err != nil {
				return err
			}
			if !ok {
				if len(mb.Control()) > 0 {
					continue
				}
				return nil
			}
			into <- d
			if err := mb.Commit(ctx, answer(d)); err != nil {
				return err
			}
		}
	}
}

func TestOneChatInOrder(t *testing.T) {
	b := bustest.New(t)
	got := make(chan chat.Delivery, 1000)
	own(t, b, collect(got), nil)
	const n = 300
	for i := range n {
		// 90 at a time: the mailbox holds 100.
		if i%90 == 0 {
			until(t, "mailbox empty", func() bool { w, err := b.Waiting(testContext(t), false); return err == nil && w == 0 })
		}
		publish(t, b, inbound("c", "1", i))
	}
	for i := range n {
		if d := receive(t, got); d.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, d.Text)
		}
	}
	until(t, "mailbox empty", func() bool { w, err := b.Waiting(testContext(t), false); return err == nil && w == 0 })
	records, err := b.History(testContext(t), chat.Address{Channel: "c", Chat: "1"}.Session(), 0)
	if err != nil || len(records) != n {
		t.Errorf("%d records, %v; want %d", len(records), err, n)
	}
}

func TestChatsSideBySideEachAlone(t *testing.T) {
	b := bustest.New(t)
	var mu sync.Mutex
	busy, most := map[chat.SessionKey]int{}, 0
	release := make(chan struct{})
	done := make(chan struct{}, 100)
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		for {
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			mu.Lock()
			busy[mb.Session()]++
			if busy[mb.Session()] > 1 {
				t.Errorf("chat %s is worked on twice at once", mb.Session())
			}
			most = max(most, len(busy))
			mu.Unlock()
			<-release
			mu.Lock()
			delete(busy, mb.Session())
			mu.Unlock()
			if err := mb.Commit(ctx, answer(d)); err != nil {
				return err
			}
			done <- struct{}{}
		}
	}, &bus.WorkerOptions{Turns: 4})
	for i := range 40 {
		publish(t, b, inbound("c", fmt.Sprint(i%8), i))
	}
	until(t, "four chats at once", func() bool { mu.Lock(); defer mu.Unlock(); return len(busy) == 4 })
	close(release)
	for range 40 {
		receive(t, done)
	}
	if most != 4 {
		t.Errorf("%d chats at once, want 4", most)
	}
}

func TestFullMailboxRefusesButTakesControl(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	for i := range 100 {
		publish(t, b, inbound("c", "1", i))
	}
	if err := b.PublishInbound(ctx, inbound("c", "1", 100), false); !errors.Is(err, bus.ErrMailboxFull) {
		t.Errorf("message 101: %v, want ErrMailboxFull", err)
	}
	if err := b.Health(ctx); err != nil {
		t.Errorf("one full chat makes the bus unhealthy: %v", err)
	}
	stop := inbound("c", "1", 101)
	stop.Text = "/stop"
	if err := b.PublishInbound(ctx, stop, true); err != nil {
		t.Errorf("/stop: %v", err)
	}
	publish(t, b, inbound("c", "2", 1)) // another chat is not concerned
	got := make(chan chat.Delivery, 200)
	own(t, b, collect(got), nil)
	n, stopped := 0, false
	for n < 101 || !stopped {
		if receive(t, got).Text == "/stop" {
			stopped = true
		} else {
			n++
		}
	}
}

// A command is seen while a turn runs, and answered although all turn slots
// are taken.
func TestControlDuringTurnAndWithoutSlot(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	started, stopped := make(chan string, 4), make(chan string, 4)
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		for {
			select {
			case c := <-mb.Control():
				stopped <- c.Addr.Chat
				if err := mb.Done(ctx, c); err != nil {
					return err
				}
			default:
			}
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			started <- d.Addr.Chat
			var c chat.Delivery
			select {
			case c = <-mb.Control():
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			stopped <- c.Addr.Chat
			if err := errors.Join(mb.Done(ctx, c), mb.Commit(ctx, answer(d))); err != nil {
				return err
			}
		}
	}, &bus.WorkerOptions{Turns: 1})
	publish(t, b, inbound("c", "1", 1))
	if c := receive(t, started); c != "1" {
		t.Fatalf("started %s", c)
	}
	for _, c := range []string{"2", "1"} { // chat 2 first: its command waits for no slot
		in := inbound("c", c, 2)
		if err := b.PublishInbound(ctx, in, true); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, stopped); got != c {
			t.Errorf("command in chat %s, want %s", got, c)
		}
	}
}

func TestManyCommandsWaiting(t *testing.T) {
	b := bustest.New(t)
	for i := range 50 {
		if err := b.PublishInbound(testContext(t), inbound("c", "1", i), true); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan chat.Delivery, 100)
	own(t, b, collect(got), nil)
	for i := range 50 {
		if d := receive(t, got); d.Text != fmt.Sprint(i) {
			t.Fatalf("command %d is %q", i, d.Text)
		}
	}
}

func TestRepeatedInboundIDAfterRestartIsSkipped(t *testing.T) {
	dir := t.TempDir()
	ctx := testContext(t)
	for round := range 3 {
		b, err := bus.Open(ctx, bus.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan chat.Delivery, 10)
		stop := own(t, b, collect(got), nil)
		// The ids of round 0 come again and again; a fresh one ends each round.
		for i := range 3 {
			publish(t, b, inbound("c", "1", i))
		}
		command := inbound("c", "1", 50)
		for range 2 { // a command that comes again is not obeyed again either
			if err := b.PublishInbound(ctx, command, true); err != nil {
				t.Fatal(err)
			}
		}
		publish(t, b, inbound("c", "1", 100+round))
		want := []string{fmt.Sprint(100 + round)}
		if round == 0 {
			want = []string{"0", "1", "100", "2", "50"}
		}
		var texts []string
		for range want {
			texts = append(texts, receive(t, got).Text)
		}
		slices.Sort(texts) // commands and messages are two lanes
		if d := cmp.Diff(want, texts); d != "" {
			t.Errorf("round %d: %s", round, d)
		}
		until(t, "mailbox empty", func() bool { w, err := b.Waiting(ctx, false); return err == nil && w == 0 })
		stop()
		if len(got) > 0 {
			t.Errorf("round %d: %q was handed out again", round, receive(t, got).Text)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPoisonGoesToDeadLettersAndTheRestGoesOn(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	sid := chat.Address{Channel: "c", Chat: "1"}.Session()
	if err := b.PublishRaw(ctx, sid, []byte("{not json\xff")); err != nil {
		t.Fatal(err)
	}
	publish(t, b, inbound("c", "1", 1))
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		d, ok, err := mb.Take(ctx)
		if err != nil || !ok {
			return err
		}
		r := answer(d)
		if d.Text == "1" {
			r.Dead = "three attempts failed"
		}
		return mb.Commit(ctx, r)
	}, nil)
	var dead []bus.DeadLetter
	until(t, "two dead letters", func() (ok bool) {
		var err error
		dead, err = b.Dead(ctx, 0, 10)
		return err == nil && len(dead) == 2
	})
	if dead[0].Raw == nil || !strings.Contains(dead[0].Reason, "JSON") {
		t.Errorf("first is %+v", dead[0])
	}
	if dead[1].In == nil || dead[1].In.Text != "1" || dead[1].Reason != "three attempts failed" {
		t.Errorf("second is %+v", dead[1])
	}
	if err := b.Resubmit(ctx, dead[0].Seq); err == nil {
		t.Error("a damaged letter was resubmitted")
	}
	if err := b.DropDead(ctx, dead[0].Seq); err != nil {
		t.Error(err)
	}
	if err := b.Resubmit(ctx, dead[1].Seq); err != nil {
		t.Error(err)
	}
	if err := b.Resubmit(ctx, dead[1].Seq); !errors.Is(err, bus.ErrNoLetter) {
		t.Errorf("second Resubmit: %v, want ErrNoLetter", err)
	}
	until(t, "resubmitted and dead again", func() bool {
		left, err := b.Dead(ctx, 0, 10)
		return err == nil && len(left) == 1 && left[0].In != nil && strings.Contains(left[0].In.ID, "again")
	})
}
