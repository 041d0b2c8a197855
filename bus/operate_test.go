package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// both runs a test on an embedded bus and on one with a server of its own.
func both(t *testing.T, test func(t *testing.T, b *bus.Bus)) {
	t.Run("embedded", func(t *testing.T) { test(t, bustest.New(t)) })
	t.Run("external", func(t *testing.T) { test(t, bustest.Open(t, bus.Options{URL: bustest.External(t)})) })
}

// givesUpOnce is an owner that gives its first message up and answers the
// others.
func givesUpOnce(taken chan<- string) bus.Owner {
	why := "for the test"
	return func(ctx context.Context, mb *bus.Mailbox) error {
		for {
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			r := chat.Record{Turn: d.ID, Inputs: []chat.Input{{Seq: d.Seq, ID: d.ID}}, Dead: why}
			why = ""
			if err := mb.Commit(ctx, r); err != nil {
				return err
			}
			taken <- d.ID
		}
	}
}

// Resubmitting over a crash, or by two people, is the same as once: an inbound
// message is answered once more, an outbound one is sent under its own id.
func TestResubmittedTwiceIsOnce(t *testing.T) {
	both(t, func(t *testing.T, b *bus.Bus) {
		ctx := testContext(t)
		taken := make(chan string, 10)
		own(t, b, givesUpOnce(taken), nil)
		publish(t, b, inbound("c", "1", 1))
		if got := receive(t, taken); got != "c:1:1" {
			t.Fatalf("took %q", got)
		}
		refuse := true
		sent := make(chan string, 10)
		dispatch(t, b, "c", func(_ context.Context, out chat.Outbound) error {
			if refuse {
				refuse = false
				return bus.Drop(errors.New("no"))
			}
			sent <- out.ID
			return nil
		})
		first := outbound("c", "x", 1)
		queue(t, b, first)
		var letters []bus.DeadLetter
		until(t, "two dead letters", func() bool {
			var err error
			letters, err = b.Dead(ctx, 0, 10)
			return err == nil && len(letters) == 2
		})
		for _, l := range letters {
			if err := errors.Join(b.ResubmitHalf(ctx, l.Seq), b.ResubmitHalf(ctx, l.Seq), b.Resubmit(ctx, l.Seq)); err != nil {
				t.Fatal(err)
			}
		}
		end := outbound("c", "x", 2)
		queue(t, b, end)
		publish(t, b, inbound("c", "1", 2))
		if got := []string{receive(t, sent), receive(t, sent)}; !slices.Equal(got, []string{first.ID, end.ID}) {
			t.Errorf("sent %q, want %q once under its own id", got, first.ID)
		}
		in := slices.IndexFunc(letters, func(d bus.DeadLetter) bool { return d.In != nil })
		again := "c:1:1:again" + jsonOf(letters[in].Seq)
		if got := []string{receive(t, taken), receive(t, taken)}; !slices.Equal(got, []string{again, "c:1:2"}) {
			t.Errorf("took %q, want %q once", got, again)
		}
	})
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// What waits, how old it is and what was given up is seen from outside.
func TestState(t *testing.T) {
	both(t, func(t *testing.T, b *bus.Bus) {
		ctx := testContext(t)
		s, err := b.State(ctx)
		if err != nil || !s.Connected || s.In != (bus.Queue{}) || len(s.Out) > 0 || s.Full {
			t.Fatalf("state of an empty bus: %+v, %v", s, err)
		}
		began := time.Now().Add(-time.Second) // the clocks are the same; a server rounds
		publish(t, b, inbound("c", "1", 1))
		publish(t, b, inbound("c", "2", 1))
		for i := range 3 {
			queue(t, b, outbound("tele gram.1", "x", i))
		}
		queue(t, b, outbound("d", "x", 1))
		dispatch(t, b, "d", func(context.Context, chat.Outbound) error { return bus.Drop(errors.New("no")) })
		until(t, "a dead letter", func() bool {
			s, err = b.State(ctx)
			return err == nil && s.Dead["out"] == 1
		})
		if s.In.Messages != 2 || s.Out["tele gram.1"].Messages != 3 || s.Dead["in"] != 0 {
			t.Errorf("state %+v", s)
		}
		for what, q := range map[string]bus.Queue{"in": s.In, "out": s.Out["tele gram.1"]} {
			if q.Oldest.Before(began) || q.Oldest.After(time.Now()) {
				t.Errorf("%s: the oldest is of %v", what, q.Oldest)
			}
		}
	})
}

// A delivery that fails and a message that a dead holder may have begun are
// counted as handed out again.
func TestRedeliveriesAreCounted(t *testing.T) {
	dir := t.TempDir()
	b, err := bus.Open(testContext(t), bus.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, b, inbound("c", "1", 1))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = bustest.Open(t, bus.Options{Dir: dir})
	took := make(chan chat.Delivery, 1)
	own(t, b, collect(took), nil)
	if d := receive(t, took); !d.Again || d.Stored.IsZero() {
		t.Errorf("took %+v, want it again, with the time when it was stored", d)
	}
	fail := true
	dispatch(t, b, "c", func(context.Context, chat.Outbound) error {
		if fail {
			fail = false
			return errors.New("not now")
		}
		return nil
	})
	until(t, "both are counted", func() bool {
		s, err := b.State(testContext(t))
		return err == nil && s.Again == 1 && s.Tried == 1
	})
}

// An id is found wherever it stands, and only as an id.
func TestFind(t *testing.T) {
	both(t, func(t *testing.T, b *bus.Bus) {
		ctx := testContext(t)
		took := make(chan chat.Delivery, 10)
		stop := own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			r := answer(d)
			r.Trace, r.Inputs[0].Trace, r.Out[0].Trace = "t-turn", d.Trace, "t-turn"
			took <- d
			return mb.Commit(ctx, r)
		}, nil)
		in := inbound("c", "1", 1)
		in.Trace, in.Text = "t-in", "t-text"
		publish(t, b, in)
		d := receive(t, took)
		until(t, "the answer is queued", func() bool { n, err := b.Waiting(ctx, true); return err == nil && n == 1 })
		stop()
		waits := inbound("c", "2", 7)
		waits.Trace = "t-waits"
		publish(t, b, waits)
		receipt := chat.Receipt{ID: "out:other", Trace: "t-sent"}
		if err := b.Receipts().Store(ctx, receipt); err != nil {
			t.Fatal(err)
		}
		out := "out:" + string(d.Addr.Session()) + ":" + jsonOf(d.Seq) + ":0"
		for id, want := range map[string]string{
			"t-in":    "record",
			"c:1:1":   "record",
			"t-turn":  "out record", // its answer has not been sent
			out:       "out record",
			"t-waits": "in",
			"c:2:7":   "in",
			"t-sent":  "receipt", "out:other": "receipt",
			"t-text": "", "t-none": "", "c": "", // a text, nothing, a channel
		} {
			found, err := b.Find(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, f := range found {
				switch {
				case f.Stored.IsZero():
					t.Errorf("%q: it is not said when %+v was stored", id, f)
				case f.In != nil:
					kinds = append(kinds, "in")
				case f.Out != nil:
					kinds = append(kinds, "out")
				case f.Record != nil:
					kinds = append(kinds, "record")
				case f.Receipt != nil:
					kinds = append(kinds, "receipt")
				}
			}
			if got := strings.Join(kinds, " "); got != want {
				t.Errorf("%q is found in %q, want %q", id, got, want)
			}
		}
	})
}

// A chat is cleared while nobody works on it, also when this process knows by
// heart where it stood, and goes on after that.
func TestAlone(t *testing.T) {
	both(t, func(t *testing.T, b *bus.Bus) {
		ctx := testContext(t)
		sid := chat.Address{Channel: "c", Chat: "1"}.Session()
		took := make(chan chat.Delivery, 10)
		own(t, b, collect(took), nil)
		for i := range 3 {
			publish(t, b, inbound("c", "1", i))
			receive(t, took)
		}
		publish(t, b, inbound("c", "2", 1))
		receive(t, took)
		mark := chat.Record{Turn: "cleared", Addr: chat.Address{Channel: "c", Chat: "1"}, At: time.Now()}
		err := b.Alone(ctx, sid, deadline, func(ctx context.Context, mb *bus.Mailbox) error {
			publish(t, b, inbound("c", "1", 7)) // comes meanwhile
			return errors.Join(mb.Commit(ctx, mark), mb.Forget(ctx))
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := receive(t, took); d.Text != "7" {
			t.Errorf("took %q", d.Text)
		}
		var turns []string
		until(t, "the next turn is committed", func() bool {
			turns = nil
			records, err := b.History(ctx, sid, 0)
			for _, r := range records {
				turns = append(turns, r.Turn)
			}
			return err == nil && len(turns) == 2
		})
		if turns[0] != "cleared" || len(took) > 0 {
			t.Errorf("the history is %q, and %d messages were taken twice", turns, len(took))
		}
		if first, ok, err := b.First(ctx, sid); first.Turn != "cleared" || !ok || err != nil {
			t.Errorf("the first record is %+v, %v, %v", first, ok, err)
		}
		if first, ok, err := b.First(ctx, "nobody"); ok || err != nil {
			t.Errorf("of nobody there is %+v, %v", first, err)
		}
		until(t, "all turns are committed", func() bool { n, err := b.Waiting(ctx, false); return err == nil && n == 0 })
		sessions, err := b.Sessions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, s := range sessions {
			got[s.Addr.String()] = s.Records
			if s.Last.IsZero() || s.Key != s.Addr.Session() {
				t.Errorf("session %+v", s)
			}
		}
		if diff := cmp.Diff(map[string]int{"c/1": 2, "c/2": 1}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A chat that is being worked on is left alone.
func TestAloneWaitsForTheHolder(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	sid := chat.Address{Channel: "c", Chat: "1"}.Session()
	holds, let := make(chan bool, 1), make(chan struct{})
	own(t, b, func(ctx context.Context, mb *bus.Mailbox) error {
		d, ok, err := mb.Take(ctx)
		if err != nil || !ok {
			return err
		}
		holds <- true
		<-let
		return mb.Commit(ctx, answer(d))
	}, nil)
	publish(t, b, inbound("c", "1", 1))
	receive(t, holds)
	never := func(context.Context, *bus.Mailbox) error { t.Error("the chat was held twice"); return nil }
	if err := b.Alone(ctx, sid, 10*time.Millisecond, never); !errors.Is(err, bus.ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
	close(let)
	if err := b.Alone(ctx, sid, deadline, func(context.Context, *bus.Mailbox) error { return nil }); err != nil {
		t.Error(err)
	}
}
