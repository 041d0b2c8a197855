package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/media"
)

// counting counts the writes of a table, and fails when told to.
type counting struct {
	kv.Memory
	mu     sync.Mutex
	writes int
	errs   []error
}

func (t *counting) Update(ctx context.Context, key string, v []byte, rev uint64, ttl time.Duration) (uint64, error) {
	t.mu.Lock()
	t.writes++
	var err error
	if len(t.errs) > 0 {
		err, t.errs = t.errs[0], t.errs[1:]
	}
	t.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return t.Memory.Update(ctx, key, v, rev, ttl)
}

func texts(all []shown) (out []string) {
	for _, s := range all {
		out = append(out, s.Text)
	}
	return out
}

func TestDeliverOnce(t *testing.T) {
	ch, table := newFull(channels.Limits{}), &counting{}
	var events []chat.Event
	d := New(ch, &Options{Receipts: table, Notify: func(e chat.Event) { events = append(events, e) }})
	out := message("a", "hello")
	out.ReplyTo = "7"
	for range 2 { // the second is a redelivery
		if err := d.Deliver(t.Context(), out); err != nil {
			t.Fatal(err)
		}
	}
	if err := New(ch, &Options{Receipts: table}).Deliver(t.Context(), out); err != nil { // after a restart
		t.Fatal(err)
	}
	if diff := cmp.Diff([]shown{{Text: "hello", ReplyTo: "7"}}, ch.visible()); diff != "" {
		t.Error(diff)
	}
	if table.writes != 1 {
		t.Errorf("%d durable writes, want 1", table.writes)
	}
	var r chat.Receipt
	if found, err := load(t.Context(), table, "a", &r); err != nil || !found || len(r.Refs) != 1 || r.Refs[0].ID != "0" {
		t.Errorf("receipt %+v, found %v, err %v", r, found, err)
	}
	if len(events) != 1 || events[0].Kind != chat.MessageSent || events[0].Text != "a" {
		t.Errorf("events %+v", events)
	}
}

func TestDeliverErrors(t *testing.T) {
	cases := []struct {
		name   string
		resend bool
		errs   []error
		want   []string // visible
		dead   bool
		later  bool
	}{
		{"temporary", false, []error{failure(channels.Temporary), errors.New("unclassified")}, []string{"text"}, false, false},
		{"rate limited", false, []error{limited(5 * time.Second), limited(0)}, []string{"text"}, false, false},
		{"rate limited for hours", false, []error{limited(3 * time.Hour)}, nil, false, true},
		{"rejected", false, []error{failure(channels.Rejected)}, nil, true, false},
		{"unauthorized", false, []error{failure(channels.Unauthorized)}, nil, false, true},
		{"ambiguous, resent", true, []error{failure(channels.Ambiguous)}, []string{"text"}, false, false},
		{"ambiguous twice", true, []error{failure(channels.Ambiguous), failure(channels.Ambiguous)}, nil, true, false},
		{"ambiguous, not resent", false, []error{failure(channels.Ambiguous)}, nil, true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := newFull(channels.Limits{Resend: c.resend})
				ch.fail("send", c.errs...)
				counts := map[string]int{}
				table := &counting{}
				d := New(ch, &Options{Receipts: table, Count: func(s string) { counts[s]++ }})
				err := d.Deliver(t.Context(), message("a", "text"))
				var dead *Undeliverable
				if errors.As(err, &dead) != c.dead || (err != nil && !c.dead) != c.later {
					t.Errorf("err = %v", err)
				}
				if diff := cmp.Diff(c.want, texts(ch.visible())); diff != "" {
					t.Error(diff)
				}
				var r chat.Receipt
				if _, err := load(t.Context(), table, "a", &r); err != nil || (r.Err != "") != c.dead {
					t.Errorf("receipt %+v, err %v", r, err)
				}
				if c.resend != (counts["resend"] == 1) || c.dead != (counts["undeliverable"] == 1) {
					t.Errorf("counts %v", counts)
				}
			})
		})
	}
}

func TestDeliverGivesUpInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(channels.Limits{})
		for range 1000 {
			ch.fail("send", failure(channels.Temporary))
		}
		start := time.Now()
		err := New(ch, nil).Deliver(t.Context(), message("a", "text"))
		var dead *Undeliverable
		if !errors.As(err, &dead) {
			t.Fatalf("err = %v", err)
		}
		if took := time.Since(start); took < 9*time.Minute || took > 10*time.Minute {
			t.Errorf("gave up after %v", took)
		}
		if n := ch.log("send"); n < 10 || n > 40 {
			t.Errorf("%d tries", n)
		}
	})
}

// A dead letter that is put back goes on where it stopped.
func TestResubmitted(t *testing.T) {
	ch, table := newFull(channels.Limits{Text: 10}), &kv.Memory{}
	ch.fail("send", nil, failure(channels.Rejected))
	out := message("a", "one two\n\nthree four")
	d := New(ch, &Options{Receipts: table})
	var dead *Undeliverable
	if err := d.Deliver(t.Context(), out); !errors.As(err, &dead) {
		t.Fatalf("err = %v", err)
	}
	if err := d.Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one two", "three four"}, texts(ch.visible())); diff != "" {
		t.Error(diff)
	}
}

// The process dies after any step; the next one sends exactly the rest.
func TestCrashBetweenParts(t *testing.T) {
	out := message("a", strings.Repeat("Some words here. ", 20))
	out.Attachments = []chat.Attachment{{Kind: chat.File, Name: "f.txt", Ref: "1"}}
	lim := channels.Limits{Text: 60, Media: map[chat.Kind]int64{chat.File: 100}}
	files := &media.Memory{}
	if _, _, err := files.Put(t.Context(), "f.txt", "text/plain", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	whole := newFull(lim)
	if err := New(whole, &Options{Media: files}).Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	want := whole.visible()
	if len(want) < 5 {
		t.Fatalf("only %d parts", len(want))
	}
	for crash := range want {
		ch, table := newFull(lim), &kv.Memory{}
		ctx, cancel := context.WithCancel(t.Context())
		dying := &dyingTable{Table: table, after: crash, cancel: cancel}
		if err := New(ch, &Options{Receipts: dying, Media: files}).Deliver(ctx, out); err == nil {
			t.Fatalf("crash %d: delivered", crash)
		}
		cancel()
		if err := New(ch, &Options{Receipts: table, Media: files}).Deliver(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		got := ch.visible()
		// The crash comes after a send and before its note: that one part may
		// come twice, nothing else may.
		if crash < len(got) && len(got) == len(want)+1 {
			got = append(got[:crash:crash], got[crash+1:]...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("crash %d (-want +got):\n%s", crash, diff)
		}
	}
}

// dyingTable takes a number of writes and then ends the process.
type dyingTable struct {
	kv.Table
	after  int
	cancel func()
}

func (t *dyingTable) Update(ctx context.Context, key string, v []byte, rev uint64, ttl time.Duration) (uint64, error) {
	if t.after--; t.after < 0 {
		t.cancel()
		return 0, errors.New("gone")
	}
	return t.Table.Update(ctx, key, v, rev, ttl)
}

// A message whose receipt could not be stored is not sent again.
func TestReceiptStoreInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, table := newFull(channels.Limits{}), &counting{}
		down := errors.New("store is down")
		table.errs = []error{down, down, down, down, down, nil}
		d := New(ch, &Options{Receipts: table})
		if err := d.Deliver(t.Context(), message("a", "x")); !errors.Is(err, down) {
			t.Fatalf("err = %v", err)
		}
		if err := d.Deliver(t.Context(), message("a", "x")); err != nil {
			t.Fatal(err)
		}
		if n := len(ch.visible()); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

func TestTooLongIsCutSmaller(t *testing.T) {
	ch := newFull(channels.Limits{Text: 100, Media: map[chat.Kind]int64{chat.File: 1 << 20}})
	ch.fail("send", failure(channels.TooLong), failure(channels.TooLong))
	text := strings.TrimSpace(strings.Repeat("some words ", 8))
	out := message("a", text)
	out.Buttons = [][]chat.Button{{{Label: "ok", Data: "1"}}}
	if err := New(ch, nil).Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	all := ch.visible()
	if got := strings.Join(strings.Fields(strings.Join(texts(all), " ")), " "); got != text {
		t.Errorf("got %q", got)
	}
	for i, s := range all {
		if (s.Buttons == 1) != (i == len(all)-1) {
			t.Errorf("message %d has %d rows of buttons", i, s.Buttons)
		}
	}
}

func TestMinimalChannel(t *testing.T) {
	ch := newMinimal(channels.Limits{Text: 200})
	out := message("a", "Go on?")
	out.Buttons = [][]chat.Button{{{Label: "Yes"}, {Label: "No"}}}
	out.Attachments = []chat.Attachment{{Kind: chat.File, Name: "a.txt", Ref: "1"}}
	out.Answer = &chat.Answer{Press: "p"}
	if err := New(ch, &Options{Media: &media.Memory{}}).Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	want := []shown{{Text: "Go on?\n\n📎 `a.txt`: this channel cannot send files\n\n- Yes\n- No"}}
	if diff := cmp.Diff(want, ch.visible()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnswerPress(t *testing.T) {
	for _, err := range []error{nil, failure(channels.Rejected)} {
		ch := newFull(channels.Limits{})
		ch.fail("answer", err)
		out := message("a", "")
		out.Answer = &chat.Answer{Press: "p", Notice: "done"}
		if err := New(ch, nil).Deliver(t.Context(), out); err != nil {
			t.Errorf("err = %v", err)
		}
		if diff := cmp.Diff([]string{"answer done"}, ch.calls); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDeliverStopsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(channels.Limits{})
		for range 100 {
			ch.fail("send", failure(channels.Temporary))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := New(ch, nil).Deliver(ctx, message("a", "x"))
		var dead *Undeliverable
		if err == nil || errors.As(err, &dead) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestReceiptIsReadable(t *testing.T) {
	table := &kv.Memory{}
	if err := New(newFull(channels.Limits{Text: 10}), &Options{Receipts: table}).Deliver(t.Context(), message("a:中 文", "one two\n\nthree four")); err != nil {
		t.Fatal(err)
	}
	e, err := table.Get(t.Context(), "a:中 文")
	var r chat.Receipt
	if err != nil || json.Unmarshal(e.Value, &r) != nil || len(r.Refs) != 2 || r.ID != "a:中 文" {
		t.Errorf("receipt %s, err %v", e.Value, err)
	}
}
