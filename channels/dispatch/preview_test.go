package dispatch

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
)

// drafter shows drafts that are no messages, as long as the script takes them.
type drafter struct{ full }

var _ channels.Drafter = drafter{}

func (c drafter) Draft(ctx context.Context, _ chat.Address, id, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begin("draft", id+": "+text); err != nil {
		return err
	}
	if err := c.strict(chat.Outbound{Meta: chat.Meta{ID: id}, Text: text}); err != nil {
		return err
	}
	return ctx.Err()
}

func newDrafter() drafter {
	lim := streaming
	lim.EditIn = func(chat.Address) time.Duration { return 2 * time.Second }
	lim.DraftIn = func(chat.Address) time.Duration { return time.Second }
	lim.DraftLife = 30 * time.Second
	return drafter{newFull(lim)}
}

// A reply is shown as a draft at the pace of drafts, renewed before it goes, and
// the answer is a message like any other.
func TestDrafted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newDrafter()
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		text := ""
		for range 50 {
			text += "go "
			d.Event(event(chat.TurnDelta, text))
			pass(100 * time.Millisecond)
		}
		pass(time.Second)
		drafts := ch.log("draft t1: ")
		if drafts < 4 || drafts > 7 {
			t.Errorf("%d drafts in 6 s at one a second", drafts)
		}
		pass(45 * time.Second)
		if more := ch.log("draft") - drafts; more != 2 {
			t.Errorf("renewed %d times in 45 s of 30 s each, want 2", more)
		}
		d.Event(event(chat.TurnWaits, ""))
		drafts = ch.log("draft")
		pass(time.Minute)
		if more := ch.log("draft") - drafts; more != 0 {
			t.Errorf("renewed %d times while a person is asked", more)
		}
		if err := d.Deliver(t.Context(), final("a", text)); err != nil {
			t.Fatal(err)
		}
		drafts = ch.log("draft")
		pass(time.Hour)
		if ch.log("draft") != drafts || ch.log("send") != 1 || ch.log("edit")+ch.log("delete") != 0 {
			t.Errorf("calls: %q", ch.calls)
		}
		if diff := cmp.Diff([]string{text}, texts(ch.visible())); diff != "" {
			t.Error(diff)
		}
	})
}

// A chat that shows no drafts is streamed by edits, in the turn at hand and for
// an hour; others keep their drafts. What passes changes nothing.
func TestDraftsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newDrafter()
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		ch.fail("draft", failure(channels.Temporary), failure(channels.Ambiguous), failure(channels.TooLong))
		d.Event(event(chat.TurnDelta, sentence))
		pass(5 * time.Second)
		d.Event(event(chat.TurnDelta, sentence+"And"))
		pass(5 * time.Second)
		if n := ch.log("send") + ch.log("edit"); n != 0 || ch.log("draft") < 4 {
			t.Errorf("after what passes: %q", ch.calls)
		}
		ch.fail("draft", failure(channels.Rejected))
		d.Event(event(chat.TurnDelta, strings.Repeat(sentence, 2)))
		pass(5 * time.Second)
		d.Event(event(chat.TurnDelta, strings.Repeat(sentence, 3)))
		pass(5 * time.Second)
		drafts := ch.log("draft")
		if ch.log("send") != 1 || ch.log("edit") == 0 {
			t.Errorf("after the refusal: %q", ch.calls)
		}
		if err := d.Deliver(t.Context(), final("a", "the end")); err != nil {
			t.Fatal(err)
		}
		next := event(chat.TurnDelta, sentence)
		next.Turn = "t2"
		d.Event(next)
		pass(5 * time.Second)
		if ch.log("send") != 2 || ch.log("draft") != drafts {
			t.Errorf("the next reply: %q", ch.calls)
		}
		next.Turn, next.Addr.Chat = "t3", "other"
		d.Event(next)
		pass(5 * time.Second)
		if ch.log("draft t3") == 0 {
			t.Errorf("the other chat: %q", ch.calls)
		}
		pass(draftless)
		next.Turn, next.Addr = "t4", event("", "").Addr
		d.Event(next)
		pass(5 * time.Second)
		if ch.log("draft t4") == 0 {
			t.Errorf("an hour later: %q", ch.calls)
		}
	})
}

// A chat whose pace of edits is 0 is not streamed by edits.
func TestPaceByChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := streaming
		lim.EditIn = func(a chat.Address) time.Duration {
			if a.Chat == "slow" {
				return 10 * time.Second
			}
			return 0
		}
		ch := newFull(lim)
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		text := ""
		for range 30 {
			text += sentence
			for _, c := range []string{"slow", "none"} {
				ev := event(chat.TurnDelta, text[:min(len(text), 190)])
				ev.Addr.Chat, ev.Turn = c, c
				d.Event(ev)
			}
			pass(time.Second)
		}
		if ch.log("send") != 1 || ch.log("edit") > 3 {
			t.Errorf("calls: %q", ch.calls)
		}
	})
}

// onlyDrafts is a platform that edits nothing, and shows no more drafts from a
// moment on.
type onlyDrafts struct {
	*minimal
	until time.Time
}

func (c onlyDrafts) Limits() channels.Limits {
	lim := c.limits
	lim.DraftIn = func(chat.Address) time.Duration {
		if time.Now().Before(c.until) {
			return time.Second
		}
		return 0
	}
	lim.DraftLife = 30 * time.Second
	return lim
}

func (c onlyDrafts) Draft(_ context.Context, _ chat.Address, _, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin("draft", text)
}

// Where nothing can be edited, drafts are all there is: when they end, the answer
// comes whole, and no half of it before.
func TestDraftsWithoutEdits(t *testing.T) {
	for _, last := range []time.Duration{0, 500 * time.Millisecond, 2500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ch := onlyDrafts{newMinimal(channels.Limits{Text: 200}), time.Now().Add(last)}
			if last == 0 {
				ch.until = time.Now().Add(time.Hour)
				ch.fail("draft", failure(channels.Rejected))
			}
			d := New(ch, &Options{Stream: true})
			defer start(t, d)()
			for n := range 6 {
				d.Event(event(chat.TurnDelta, sentence+strings.Repeat("x", n)))
				pass(time.Second)
			}
			if n := ch.log("send"); n != 0 {
				t.Errorf("%d messages before the answer", n)
			}
			promptly(t, d, final("a", "the end"))
			if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
				t.Error(diff)
			}
		})
	}
}
