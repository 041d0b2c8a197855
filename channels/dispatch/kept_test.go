package dispatch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

// waiting is the refusal of a channel that keeps the message for later.
type waiting struct{ error }

func (waiting) Kept() bool { return true }

func keptForLater() error {
	return &channels.Error{Channel: "fake", Op: "send", Kind: channels.Rejected, Err: waiting{errors.New("no place")}}
}

func (c *minimal) called() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// A channel that keeps what it cannot send now is given the whole message, to
// its last part and file; the dead letter says why once. Given out again, only
// what is missing goes.
func TestKeptMessageIsHandedOverWhole(t *testing.T) {
	store := &media.Memory{}
	ref, _, err := store.Put(t.Context(), "x", "", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	ch := newFull(channels.Limits{Text: 8, Media: map[chat.Kind]int64{chat.File: 50}})
	out := message("a", "part one\n\npart two\n\npart six")
	out.Attachments = []chat.Attachment{{Kind: chat.File, Name: "f", Ref: ref}}
	ch.fail("send", nil, keptForLater(), keptForLater(), keptForLater()) // the last is the note about the file
	ch.fail("media", keptForLater(), keptForLater())
	d := New(ch, &Options{Media: store})
	var dead *Undeliverable
	if err := d.Deliver(t.Context(), out); !errors.As(err, &dead) || strings.Count(err.Error(), "no place") != 1 {
		t.Errorf("err = %v; want the reason once", err)
	}
	var tried []string
	for _, call := range ch.called() {
		if !strings.Contains(call, "refused the file") {
			tried = append(tried, call)
		}
	}
	want := []string{"send part one", "send part two", "send part six", "media  file:f", "media  file:f"}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Errorf("given to the channel (-want +got):\n%s", diff)
	}
	if err := d.Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	all := []shown{{Text: "part one"}, {Text: "part two"}, {Text: "part six"}, {Files: []string{"file:f"}}}
	if diff := cmp.Diff(all, ch.visible()); diff != "" {
		t.Errorf("given out again: (-want +got):\n%s", diff)
	}
}

// An ordinary refusal still ends a message: nobody gets the end without the
// middle.
func TestRefusedPartEndsTheMessage(t *testing.T) {
	ch := newFull(channels.Limits{Text: 8})
	ch.fail("send", nil, failure(channels.Rejected))
	var dead *Undeliverable
	if err := New(ch, nil).Deliver(t.Context(), message("a", "part one\n\npart two\n\npart six")); !errors.As(err, &dead) {
		t.Errorf("err = %v", err)
	}
	if diff := cmp.Diff([]string{"part one"}, texts(ch.visible())); diff != "" {
		t.Error(diff)
	}
}

// The pieces of a text that was too long are kept one by one, too.
func TestKeptPieces(t *testing.T) {
	ch := newFull(channels.Limits{Text: 40})
	ch.fail("send", failure(channels.TooLong), keptForLater(), keptForLater())
	var dead *Undeliverable
	if err := New(ch, nil).Deliver(t.Context(), message("a", "the first half\n\nthe second half")); !errors.As(err, &dead) {
		t.Errorf("err = %v", err)
	}
	if calls := ch.called(); len(calls) != 3 || calls[2] != "send the second half" {
		t.Errorf("given to the channel: %q", calls)
	}
}

// The part of an answer that goes as a file has its text with it, for a channel
// that has to tell it otherwise.
func TestTextFileHasItsText(t *testing.T) {
	f := textFile("the rest")
	if f.Text != "the rest" || f.Name != "message.md" {
		t.Errorf("%+v", f.Attachment)
	}
}

// A stop among several lost steps loses none of them.
func TestLostStepsSurviveAStop(t *testing.T) {
	ch := newFull(channels.Limits{Text: 8})
	out := message("a", "part one\n\npart two\n\npart six")
	d := New(ch, nil)
	ch.fail("send", nil, keptForLater(), keptForLater())
	var dead *Undeliverable
	if err := d.Deliver(t.Context(), out); !errors.As(err, &dead) {
		t.Fatalf("err = %v", err)
	}
	ch.fail("send", nil, failure(channels.Unauthorized))
	if err := d.Deliver(t.Context(), out); err == nil || errors.As(err, &dead) {
		t.Fatalf("err = %v; want it later", err)
	}
	if err := d.Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"part one", "part two", "part six"}, texts(ch.visible())); diff != "" {
		t.Error(diff)
	}
}
