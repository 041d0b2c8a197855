package dispatch

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/media"
)

// counting counts the receipts that are stored, and fails when told to.
type counting struct {
	Remembered
	mu     sync.Mutex
	writes int
	errs   []error
}

func (c *counting) Store(ctx context.Context, r chat.Receipt) error {
	c.mu.Lock()
	c.writes++
	var err error
	if len(c.errs) > 0 {
		err, c.errs = c.errs[0], c.errs[1:]
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.Remembered.Store(ctx, r)
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
	if r, found, err := table.Receipt(t.Context(), "a"); err != nil || !found || len(r.Refs) != 1 || r.Refs[0].ID != "0" {
		t.Errorf("receipt %+v, found %v, err %v", r, found, err)
	}
	if len(events) != 1 || events[0].Kind != chat.MessageSent || events[0].Text != "a" {
		t.Errorf("events %+v", events)
	}
}

func TestDeliverErrors(t *testing.T) {
	unsure := failure(channels.Ambiguous)
	blind, known := channels.Limits{Resend: true}, channels.Limits{Resend: true, RepeatKnown: time.Hour}
	cases := []struct {
		name  string
		lim   channels.Limits
		errs  []error
		want  []string // visible
		dead  bool
		later bool
		again int // times that it was sent after an ambiguous failure
	}{
		{"temporary", blind, []error{failure(channels.Temporary), errors.New("unclassified")}, []string{"text"}, false, false, 0},
		{"rate limited", blind, []error{limited(5 * time.Second), limited(0)}, []string{"text"}, false, false, 0},
		{"rate limited for hours", blind, []error{limited(3 * time.Hour)}, nil, false, true, 0},
		{"rejected", blind, []error{failure(channels.Rejected)}, nil, true, false, 0},
		{"unauthorized", blind, []error{failure(channels.Unauthorized)}, nil, false, true, 0},
		{"ambiguous, resent", blind, []error{unsure}, []string{"text"}, false, false, 1},
		// A second double would be too much; a repeat that is recognised is none.
		{"ambiguous twice, not recognised", blind, []error{unsure, unsure}, nil, true, false, 1},
		{"ambiguous often, recognised", known, []error{unsure, unsure, unsure, unsure}, []string{"text"}, false, false, 4},
		{"ambiguous, not resent", channels.Limits{}, []error{unsure}, nil, true, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := newFull(c.lim)
				ch.fail("send", c.errs...)
				counts := map[string]int{}
				table, drafts := &counting{}, &kv.Memory{}
				d := New(ch, &Options{Receipts: table, Drafts: drafts, Count: func(s string) { counts[s]++ }})
				err := d.Deliver(t.Context(), message("a", "text"))
				var dead *Undeliverable
				if errors.As(err, &dead) != c.dead || (err != nil && !c.dead) != c.later {
					t.Errorf("err = %v", err)
				}
				if diff := cmp.Diff(c.want, texts(ch.visible())); diff != "" {
					t.Error(diff)
				}
				if r, _, err := table.Receipt(t.Context(), "a"); err != nil || (r.Err != "") != c.dead {
					t.Errorf("receipt %+v, err %v", r, err)
				}
				if c.again != counts["resend"] || c.dead != (counts["undeliverable"] == 1) {
					t.Errorf("counts %v", counts)
				}
				if left, err := kv.List(t.Context(), drafts, ""); err != nil || len(left) != 0 {
					t.Errorf("left over: %v, %v", left, err)
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
	ch, table, drafts := newFull(channels.Limits{Text: 10}), &Remembered{}, &kv.Memory{}
	ch.fail("send", nil, failure(channels.Rejected))
	out := message("a", "one two\n\nthree four")
	d := New(ch, &Options{Receipts: table, Drafts: drafts})
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
		ch, kept := newFull(lim), &store{}
		ctx, cancel := context.WithCancel(t.Context())
		dying := kept.dying(crash, cancel)
		if err := New(ch, &Options{Receipts: dying, Drafts: dying, Media: files}).Deliver(ctx, out); err == nil {
			t.Fatalf("crash %d: delivered", crash)
		}
		cancel()
		if err := New(ch, &Options{Receipts: &kept.receipts, Drafts: &kept.drafts, Media: files}).Deliver(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		got := ch.visible()
		// The crash comes after a send and before its note: that one part may
		// come twice, nothing else may.
		if crash < len(got) && len(got) == len(want)+1 {
			got = append(got[:crash:crash], got[crash+1:]...)
		}
		if left, err := kv.List(t.Context(), &kept.drafts, ""); err != nil || len(left) != 0 {
			t.Errorf("crash %d: left over: %v, %v", crash, left, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("crash %d (-want +got):\n%s", crash, diff)
		}
	}
}

// store is what outlives a process.
type store struct {
	receipts Remembered
	drafts   kv.Memory
}

// dying takes a number of notes about what was sent and then ends the process.
type dying struct {
	kv.Table
	Receipts
	after  int
	cancel func()
}

func (s *store) dying(after int, cancel func()) *dying {
	return &dying{Table: &s.drafts, Receipts: &s.receipts, after: after, cancel: cancel}
}

func (d *dying) last() error {
	if d.after--; d.after < 0 {
		d.cancel()
		return errors.New("gone")
	}
	return nil
}

func (d *dying) Update(ctx context.Context, key string, v []byte, rev uint64, ttl time.Duration) (uint64, error) {
	if strings.HasSuffix(key, ".parts") {
		if err := d.last(); err != nil {
			return 0, err
		}
	}
	return d.Table.Update(ctx, key, v, rev, ttl)
}

func (d *dying) Store(ctx context.Context, r chat.Receipt) error {
	if err := d.last(); err != nil {
		return err
	}
	return d.Receipts.Store(ctx, r)
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

// A text of which nothing would be seen is shown as it was written: an answer
// is never silence.
func TestNothingToSee(t *testing.T) {
	for _, text := range []string{"[x]: https://a.example \"t\"\n", "[a]: b\n\n[c]: ```d"} {
		lim := channels.Limits{Size: func(md string) int { return len(render.Plain(md)) }}
		ch := newMinimal(lim)
		if err := New(ch, nil).Deliver(t.Context(), message("a", text)); err != nil {
			t.Fatal(err)
		}
		all := ch.visible()
		if len(all) != 1 || !strings.Contains(render.Plain(all[0].Text), strings.TrimSpace(text)) {
			t.Errorf("%q is shown as %+v", text, all)
		}
	}
	ch := newMinimal(channels.Limits{})
	if err := New(ch, nil).Deliver(t.Context(), message("b", " \n")); err != nil || len(ch.visible()) != 0 {
		t.Errorf("an empty message: %v, %+v", err, ch.visible())
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
