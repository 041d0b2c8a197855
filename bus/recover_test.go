package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// A crash between the record and what follows from it: the next holder queues
// the outbound, removes the message and does not answer again.
func TestTailIsFinishedByTheNextHolder(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	crashed := errors.New("crashed")
	taken := make(chan chat.Delivery, 10)
	first := true
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		d, ok, err := mb.Take(ctx)
		if err != nil || !ok {
			return err
		}
		taken <- d
		if first {
			first = false
			return errors.Join(mb.AppendOnly(ctx, answer(d)), crashed)
		}
		return mb.Commit(ctx, answer(d))
	}, nil)
	publish(t, b, inbound("c", "1", 1))
	if d := receive(t, taken); d.Text != "1" {
		t.Fatal(d.Text)
	}
	publish(t, b, inbound("c", "1", 2))
	if d := receive(t, taken); d.Text != "2" {
		t.Errorf("second turn is about %q, want 2", d.Text)
	}
	sent := make(chan string, 10)
	dispatch(t, b, "c", func(_ context.Context, out chat.Outbound) error { sent <- out.Text; return nil })
	for _, want := range []string{"1", "2"} {
		if got := receive(t, sent); got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
	until(t, "all queues empty", func() bool {
		in, err1 := b.Waiting(ctx, false)
		out, err2 := b.Waiting(ctx, true)
		return err1 == nil && err2 == nil && in+out == 0
	})
}

func TestOwnerThatPanicsOrFailsDoesNotLoseTheMessage(t *testing.T) {
	b := bustest.New(t)
	tries := 0
	done := make(chan chat.Delivery, 1)
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		d, ok, err := mb.Take(ctx)
		if err != nil || !ok {
			return err
		}
		if tries++; tries == 1 {
			panic("first try")
		}
		if tries == 2 {
			return errors.New("second try")
		}
		done <- d
		return mb.Commit(ctx, answer(d))
	}, nil)
	publish(t, b, inbound("c", "1", 1))
	if d := receive(t, done); d.Text != "1" {
		t.Errorf("got %q", d.Text)
	}
}

func TestStopHandsOverWhatIsNotTaken(t *testing.T) {
	b := bustest.New(t)
	release, started := make(chan struct{}), make(chan struct{}, 10)
	slow := func(ctx context.Context, mb *bus.Mailbox) error {
		for {
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			started <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := mb.Commit(ctx, answer(d)); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Own(ctx, slow, &bus.WorkerOptions{Grace: 200 * time.Millisecond}) }()
	for i := range 3 {
		publish(t, b, inbound("c", "1", i))
	}
	receive(t, started)
	cancel()
	if err := receive(t, ended); err != nil {
		t.Fatal(err)
	}
	close(release)
	own(t, b, slow, nil)
	until(t, "all three answered", func() bool {
		records, err := b.History(testContext(t), chat.Address{Channel: "c", Chat: "1"}.Session(), 0)
		return err == nil && len(records) == 3
	})
}

// What a record says to another chat is put there once, also when the crash
// came between the record and its tail, and wakes that chat.
func TestRecordSpeaksToAnotherChat(t *testing.T) {
	b := bustest.New(t)
	crashed := errors.New("crashed")
	heard := make(chan chat.Delivery, 10)
	first := true
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		for {
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			r := answer(d)
			if d.Addr.Chat == "2" {
				heard <- d
			} else {
				r.Say = []chat.Inbound{inbound("c", "2", 7)}
				r.Say[0].Origin = chat.FromSystem
			}
			if first {
				first = false
				return errors.Join(mb.AppendOnly(ctx, r), crashed)
			}
			if err := mb.Commit(ctx, r); err != nil {
				return err
			}
		}
	}, nil)
	publish(t, b, inbound("c", "1", 1))
	if d := receive(t, heard); d.ID != inbound("c", "2", 7).ID || d.Origin != chat.FromSystem {
		t.Errorf("heard %+v", d)
	}
	publish(t, b, inbound("c", "1", 2)) // says the same thing once more
	until(t, "all mailboxes empty", func() bool { n, err := b.Waiting(testContext(t), false); return err == nil && n == 0 })
	if len(heard) != 0 {
		t.Errorf("heard again: %+v", <-heard)
	}
}

// Tasks have a worker of their own: neither takes what is the other's, by
// wake-up or by sweep.
func TestTasksAreWorkedOnApart(t *testing.T) {
	for _, stored := range []bool{false, true} {
		b := bustest.New(t)
		chats, jobs := make(chan chat.Delivery, 10), make(chan chat.Delivery, 10)
		put := func() {
			task := inbound("system", "t", 1)
			task.Origin = chat.FromTask
			publish(t, b, task)
			publish(t, b, inbound("c", "1", 2))
		}
		if stored {
			put() // found by the sweep
		}
		own(t, b, collect(chats), nil)
		own(t, b, collect(jobs), &bus.WorkerOptions{Tasks: true})
		if !stored {
			put()
		}
		if d := receive(t, chats); d.Addr.Channel != "c" {
			t.Errorf("stored %v: the worker of chats got %+v", stored, d)
		}
		if d := receive(t, jobs); d.Addr.Channel != "system" {
			t.Errorf("stored %v: the worker of tasks got %+v", stored, d)
		}
		until(t, "all mailboxes empty", func() bool { n, err := b.Waiting(testContext(t), false); return err == nil && n == 0 })
		if len(chats)+len(jobs) != 0 {
			t.Error("something was worked on twice")
		}
	}
}
