package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/internal/kv"
)

// sealing notes which of its messages were drafts.
type sealing struct {
	full
	seen *[]string
}

func (s sealing) note(op string, msg chat.Outbound) {
	if msg.Draft {
		op += " draft"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.seen = append(*s.seen, op)
}

func (s sealing) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	s.note("send", msg)
	return s.full.Send(ctx, msg)
}

func (s sealing) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	s.note("edit", msg)
	return s.full.Edit(ctx, ref, msg)
}

// What is still being written is marked as a draft; the last edit is none, and
// a channel that has to be told of the end gets one although the text is the
// same. So does one whose answer was never streamed: it gets a plain message.
func TestSealedReply(t *testing.T) {
	for _, tt := range []struct {
		seal  bool
		shown string // by the last delta
		want  []string
	}{
		{true, sentence, []string{"send draft", "edit"}},
		{false, sentence, []string{"send draft"}},
		{true, sentence + sentence, []string{"send draft", "edit draft", "edit"}},
		{true, "", []string{"send"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			lim := streaming
			lim.Seal = tt.seal
			ch := sealing{newFull(lim), &[]string{}}
			d := New(ch, &Options{Drafts: &kv.Memory{}, Stream: true})
			defer start(t, d)()
			d.Event(event(chat.TurnStarted, ""))
			for n := len(sentence); n <= len(tt.shown); n += len(sentence) {
				d.Event(event(chat.TurnDelta, tt.shown[:n]))
				pass(3 * time.Second)
			}
			text := tt.shown
			if text == "" {
				text = "short"
			}
			if err := d.Deliver(t.Context(), final("a", text)); err != nil {
				t.Fatal(err)
			}
			d.Event(event(chat.TurnEnded, ""))
			pass(5 * time.Minute)
			if diff := cmp.Diff(tt.want, *ch.seen); diff != "" {
				t.Errorf("seal %t, shown %q (-want +got):\n%s", tt.seal, tt.shown, diff)
			}
		})
	}
}
