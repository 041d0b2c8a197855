package bus_test

import (
	"context"
	"fmt"
	"testing"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// An id that was answered long ago is known, however many came after it, also
// in the next process, and in no other chat.
func TestAnsweredLongAgoIsKnown(t *testing.T) {
	const messages = 60 // more than are read one by one
	both(t, func(t *testing.T, b *bus.Bus) {
		ctx := testContext(t)
		taken := make(chan chat.Delivery, 10*messages)
		stop := own(t, b, collect(taken), nil)
		for i := range messages {
			publish(t, b, inbound("c", "1", i))
			publish(t, b, inbound("c", "2", i))
		}
		for range 2 * messages {
			receive(t, taken)
		}
		again := inbound("c", "1", 0)
		for _, id := range []string{again.ID, inbound("c", "1", messages-1).ID, inbound("c", "2", 0).ID} {
			again.ID = id
			// Without its id in the header: the server forgets those in minutes.
			if err := b.PublishRaw(ctx, again.Addr.Session(), []byte(jsonOf(again))); err != nil {
				t.Fatal(err)
			}
		}
		if got := receive(t, taken); got.ID != inbound("c", "2", 0).ID {
			t.Errorf("took %q; an id of another chat is new in this one, the others are not", got.ID)
		}
		until(t, "mailbox empty", func() bool { n, err := b.Waiting(ctx, false); return err == nil && n == 0 })
		stop()
		if len(taken) > 0 {
			t.Errorf("took %q again", (<-taken).ID)
		}
	})
}

// What another process notes is known to one that has asked before.
func TestReceiptsOfOthers(t *testing.T) {
	url := bustest.External(t)
	one, other := bustest.Open(t, bus.Options{URL: url}), bustest.Open(t, bus.Options{URL: url})
	ctx := testContext(t)
	for i := range 50 {
		for _, id := range []string{fmt.Sprintf("out:aaaaaaaaaaaaaaaaaaaa:%d:0", i), fmt.Sprintf("cron:job:%d", i), fmt.Sprint(i)} {
			check(t, ctx, one, id, nil)
			store(t, ctx, other, chat.Receipt{ID: id, Err: "no"})
			check(t, ctx, one, id, &chat.Receipt{ID: id, Err: "no"})
			store(t, ctx, one, chat.Receipt{ID: id})
			check(t, ctx, other, id, &chat.Receipt{ID: id}) // the last one counts
		}
	}
	third := bustest.Open(t, bus.Options{URL: url})
	for _, id := range []string{"out:aaaaaaaaaaaaaaaaaaaa:0:0", "out:aaaaaaaaaaaaaaaaaaaa:49:0", "cron:job:0", "49"} {
		check(t, ctx, third, id, &chat.Receipt{ID: id})
	}
	check(t, ctx, third, "out:aaaaaaaaaaaaaaaaaaaa:50:0", nil)
}

func store(t *testing.T, ctx context.Context, b *bus.Bus, r chat.Receipt) {
	t.Helper()
	if err := b.Receipts().Store(ctx, r); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, ctx context.Context, b *bus.Bus, id string, want *chat.Receipt) {
	t.Helper()
	got, found, err := b.Receipts().Receipt(ctx, id)
	if err != nil || found != (want != nil) || found && (got.ID != want.ID || got.Err != want.Err) {
		t.Errorf("receipt of %q: %+v, %v, %v; want %+v", id, got, found, err, want)
	}
}

// An entry that cannot be read is left out, those around it count.
func TestDamagedIDs(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	store(t, ctx, b, chat.Receipt{ID: "x:y:1"})
	if err := b.SpoilReceipts(ctx, "x:y:1"); err != nil {
		t.Fatal(err)
	}
	store(t, ctx, b, chat.Receipt{ID: "x:y:2"})
	check(t, ctx, b, "x:y:1", &chat.Receipt{ID: "x:y:1"})
	check(t, ctx, b, "x:y:2", &chat.Receipt{ID: "x:y:2"})
	check(t, ctx, b, "x:y:3", nil)
}
