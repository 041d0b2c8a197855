package bus_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// saying is a receipt of parts that were sent in a chat.
func saying(id string, a chat.Address, texts ...string) chat.Receipt {
	r := chat.Receipt{ID: id, Addr: a, At: time.Now()}
	for _, text := range texts {
		r.Refs = append(r.Refs, chat.MessageRef{Channel: a.Channel, Chat: a.Chat, ID: fmt.Sprint("m-", text), Index: fmt.Sprint("i-", text)})
		r.Parts = append(r.Parts, chat.Part{Text: text})
	}
	return r
}

func words(t *testing.T, ctx context.Context, b *bus.Bus, a chat.Address, id string) string {
	t.Helper()
	part, found, err := b.Receipts().Words(ctx, a, id)
	if err != nil || found != (part.Text != "") {
		t.Errorf("words of %q: %+v, %v, %v", id, part, found, err)
	}
	return part.Text
}

// What a message said is found by the platform's id of it, or by what quotes
// call it, in its own chat only, by every process.
func TestWords(t *testing.T) {
	url := bustest.External(t)
	one, other := bustest.Open(t, bus.Options{URL: url}), bustest.Open(t, bus.Options{URL: url})
	ctx := testContext(t)
	group := chat.Address{Channel: "c", Chat: "1"}
	thread := chat.Address{Channel: "c", Chat: "1", Thread: "t"}
	second := chat.Address{Channel: "c", Chat: "2"}
	answer := func(a chat.Address, n int) string { return fmt.Sprintf("out:%s:%d:0", a.Session(), n) }

	if got := words(t, ctx, one, group, "m-a1"); got != "" {
		t.Errorf("known before it was sent: %q", got)
	}
	store(t, ctx, other, saying(answer(group, 1), group, "a1", "a2"))
	store(t, ctx, other, saying(answer(thread, 1), thread, "t1"))
	store(t, ctx, other, saying("cron:job:1", group, "reminder"))                     // by a job
	store(t, ctx, other, saying(answer(group, 2)+":call", second, "sent to another")) // by a tool
	store(t, ctx, other, chat.Receipt{ID: answer(group, 3), Refs: []chat.MessageRef{{Channel: "c", Chat: "1", ID: "m-old"}}})

	third := bustest.Open(t, bus.Options{URL: url})
	for name, b := range map[string]*bus.Bus{"one that has asked": one, "the one that stored": other, "a new one": third} {
		for _, c := range []struct {
			in       chat.Address
			id, want string
		}{
			{group, "m-a1", "a1"},
			{group, "m-a2", "a2"},
			{group, "i-a2", "a2"},
			{group, "m-reminder", "reminder"},
			{second, "m-sent to another", "sent to another"},
			{group, "m-sent to another", ""},
			{thread, "m-t1", "t1"},
			{thread, "m-a1", "a1"},
			{second, "m-a1", ""},
			{group, "m-old", ""},
			{group, "m-none", ""},
		} {
			if got := words(t, ctx, b, c.in, c.id); got != c.want {
				t.Errorf("%s: %s in %v is %q, want %q", name, c.id, c.in, got, c.want)
			}
		}
		check(t, ctx, b, "cron:job:1", &chat.Receipt{ID: "cron:job:1"})
	}
	store(t, ctx, one, saying(answer(group, 9), group, "a1 again"))
	again := saying(answer(group, 1), group, "a1")
	again.Parts[0].Text = "a1, sent once more"
	store(t, ctx, one, again)
	if got := words(t, ctx, third, group, "m-a1"); got != "a1, sent once more" {
		t.Errorf("the last receipt counts, got %q", got)
	}
}

// A chat of thousands of messages is read once, and then only what is new.
func BenchmarkWords(b *testing.B) {
	const messages = 5000
	url := bustest.External(b)
	one := bustest.Open(b, bus.Options{URL: url})
	a := chat.Address{Channel: "c", Chat: "1"}
	for i := range messages {
		r := saying(fmt.Sprintf("out:%s:%d:0", a.Session(), i), a, fmt.Sprint(i))
		r.Parts[0].Text = strings.Repeat("字", 1000)
		if err := one.Receipts().Store(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	other := bustest.Open(b, bus.Options{URL: url})
	began := time.Now()
	if _, _, err := other.Receipts().Receipt(b.Context(), fmt.Sprintf("out:%s:%d:0", a.Session(), 7)); err != nil {
		b.Fatal(err)
	}
	receipt := time.Since(began)
	began = time.Now()
	if _, found, err := other.Receipts().Words(b.Context(), a, "m-7"); err != nil || !found {
		b.Fatal(found, err)
	}
	first := time.Since(began)
	for b.Loop() {
		if _, _, err := other.Receipts().Words(b.Context(), a, "m-7"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(receipt.Milliseconds()), "first-receipt-ms")
	b.ReportMetric(float64(first.Milliseconds()), "first-words-ms")
}
