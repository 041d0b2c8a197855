package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

func TestTooLongForEverGoesAsFile(t *testing.T) {
	for _, media := range []map[chat.Kind]int64{{chat.File: 1 << 20}, nil} {
		ch := newFull(channels.Limits{Media: media})
		for range 50 {
			ch.fail("send", failure(channels.TooLong))
		}
		err := New(ch, nil).Deliver(t.Context(), message("a", "some words"))
		var dead *Undeliverable
		if media == nil {
			if !errors.As(err, &dead) {
				t.Errorf("err = %v", err)
			}
			continue
		}
		if diff := cmp.Diff([]shown{{Files: []string{"file:message.md"}}}, ch.visible()); err != nil || diff != "" {
			t.Errorf("err %v\n%s", err, diff)
		}
	}
}

func TestAttachments(t *testing.T) {
	store := &media.Memory{}
	put := func(n int) string {
		ref, _, err := store.Put(t.Context(), "x", "", strings.NewReader(strings.Repeat("x", n)))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	small, medium, big := put(10), put(60), put(200)
	img := func(ref, name string) chat.Attachment { return chat.Attachment{Kind: chat.Image, Name: name, Ref: ref} }
	lim := channels.Limits{Text: 200, Caption: 20, Album: 2, Media: map[chat.Kind]int64{chat.Image: 50, chat.File: 100}}
	cases := []struct {
		name    string
		text    string
		files   []chat.Attachment
		buttons bool
		want    []shown
	}{
		{"caption", "short", []chat.Attachment{img(small, "a")}, false, []shown{{Text: "short", Files: []string{"image:a"}}}},
		{"caption too long", strings.Repeat("long ", 10), []chat.Attachment{img(small, "a")}, false,
			[]shown{{Text: strings.Repeat("long ", 10)}, {Files: []string{"image:a"}}}},
		{"album and rest", "", []chat.Attachment{img(small, "a"), img(small, "b"), img(small, "c"), {Kind: chat.File, Name: "d", Ref: small}}, false,
			[]shown{{Files: []string{"image:a", "image:b"}}, {Files: []string{"image:c"}}, {Files: []string{"file:d"}}}},
		{"picture as document", "", []chat.Attachment{img(medium, "a")}, false, []shown{{Files: []string{"file:a"}}}},
		{"unknown kind as document", "", []chat.Attachment{{Kind: chat.Video, Name: "v", Ref: small}}, false, []shown{{Files: []string{"file:v"}}}},
		{"too large", "hi", []chat.Attachment{img(big, "big.png"), img(small, "a")}, false,
			[]shown{{Text: "hi\n\n📎 `big.png`: 0.1 KiB is more than the 0.1 KiB this channel takes"}, {Files: []string{"image:a"}}}},
		{"gone", "你好", []chat.Attachment{img("999", "../x`y")}, false, []shown{{Text: "你好\n\n📎 `x'y`: 文件已不存在"}}},
		{"buttons stay with the text", "ok?", []chat.Attachment{img(small, "a")}, true, []shown{{Text: "ok?", Buttons: 1}, {Files: []string{"image:a"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ch := newFull(lim)
			out := message("a", c.text)
			out.Attachments = c.files
			if c.buttons {
				out.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
			}
			if err := New(ch, &Options{Media: store}).Deliver(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ch.visible()); diff != "" && c.name != "caption too long" {
				t.Errorf("(-want +got):\n%s", diff)
			} else if len(ch.visible()) != len(c.want) {
				t.Errorf("got %+v", ch.visible())
			}
		})
	}
}

// A file that the platform refuses costs neither the text nor the others.
func TestRefusedFileIsNamed(t *testing.T) {
	store := &media.Memory{}
	ref, _, err := store.Put(t.Context(), "x", "", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	ch := newFull(channels.Limits{Caption: 50, Album: 5, Media: map[chat.Kind]int64{chat.Image: 50, chat.File: 50}})
	ch.fail("media", failure(channels.Rejected), failure(channels.Rejected), nil)
	out := message("a", "look")
	for _, name := range []string{"bad.png", "good.png"} {
		out.Attachments = append(out.Attachments, chat.Attachment{Kind: chat.Image, Name: name, Ref: ref})
	}
	if err := New(ch, &Options{Media: store}).Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	want := []shown{{Files: []string{"file:good.png"}}, {Text: "look\n\n📎 `bad.png`: the platform refused the file"}}
	if diff := cmp.Diff(want, ch.visible()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// Many chats at once, each in order, none over the rate.
func TestRateAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(channels.Limits{Rate: channels.Rate{PerSecond: 10, Burst: 5, PerChat: time.Second, ChatBurst: 2}})
		d := New(ch, nil)
		var wg sync.WaitGroup
		start := time.Now()
		for c := range 8 {
			wg.Go(func() {
				for i := range 5 {
					out := message(fmt.Sprintf("%d-%d", c, i), fmt.Sprintf("%d %d", c, i))
					out.Addr.Chat = fmt.Sprint(c)
					if err := d.Deliver(t.Context(), out); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		next := map[string]string{}
		for _, s := range ch.visible() {
			c, n, _ := strings.Cut(s.Text, " ")
			if want := next[c]; want != "" && n != want || want == "" && n != "0" {
				t.Errorf("chat %s: %s, want %s", c, n, want)
			}
			next[c] = fmt.Sprint(int(n[0]-'0') + 1)
		}
		if took := time.Since(start); took < 3*time.Second || took > 6*time.Second {
			t.Errorf("took %v of the platform's time", took)
		}
		for i := 5 + 10; i < len(ch.at); i++ { // any second holds at most burst + rate
			if ch.at[i].Sub(ch.at[i-15]) < 900*time.Millisecond {
				t.Errorf("16 calls within %v", ch.at[i].Sub(ch.at[i-15]))
			}
		}
	})
}

func TestRateSettings(t *testing.T) {
	for s, ok := range map[string]bool{"": true, "auto": true, "off": true, "20/s": true, "0.5/s": true, "20": false, "x/s": false, "-1/s": false, "20/m": false, "NaN/s": false} {
		if err := CheckRate(s); (err == nil) != ok {
			t.Errorf("CheckRate(%q) = %v", s, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for setting, want := range map[string]time.Duration{"off": 0, "2/s": 4 * time.Second, "auto": 9 * time.Second} {
			d := New(newFull(channels.Limits{Rate: channels.Rate{PerChat: time.Second}}), &Options{Rate: setting})
			start := time.Now()
			for i := range 10 {
				if err := d.Deliver(t.Context(), message(fmt.Sprint(i), "x")); err != nil {
					t.Fatal(err)
				}
			}
			if got := time.Since(start).Round(time.Second); got != want {
				t.Errorf("%s: %v, want %v", setting, got, want)
			}
		}
	})
}

// A 429 silences its chat for as long as it says and slows the others down.
func TestLearnsFrom429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(channels.Limits{Rate: channels.Rate{PerSecond: 10, Burst: 1}})
		d := New(ch, nil)
		ch.fail("send", limited(7*time.Second))
		start := time.Now()
		if err := d.Deliver(t.Context(), message("a", "x")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 7*time.Second || took > 8*time.Second {
			t.Errorf("waited %v", took)
		}
		if got := d.gov.all.Limit(); got != 5 {
			t.Errorf("rate %v, want half", got)
		}
		for i := range 600 {
			if err := d.Deliver(t.Context(), message(fmt.Sprint(i), "x")); err != nil {
				t.Fatal(err)
			}
		}
		if got := d.gov.all.Limit(); got != 10 {
			t.Errorf("rate %v, want recovered", got)
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
