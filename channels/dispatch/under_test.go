package dispatch

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
)

func under(id, text string) chat.Outbound {
	out := message(id, text)
	out.Answer = &chat.Answer{Under: "q"}
	return out
}

func asking() chat.Outbound {
	q := message("q", "May I?")
	q.Buttons = [][]chat.Button{{{Label: "yes", Data: "y"}}}
	return q
}

// How a question ended stands under it, and its buttons are gone; where that
// cannot be, it is a message of its own.
func TestUnder(t *testing.T) {
	for name, k := range map[string]struct {
		ch     func() (channels.Channel, *minimal)
		q      chat.Outbound
		fails  channels.Kind
		text   string
		want   []shown
		strips int
	}{
		"edited": {
			ch: func() (channels.Channel, *minimal) { c := newFull(channels.Limits{Text: 60}); return c, c.minimal },
			q:  asking(), text: "Allowed", want: []shown{{Text: "May I?\n\nAllowed"}},
		},
		"no edits": {
			ch: func() (channels.Channel, *minimal) { c := newMinimal(channels.Limits{Text: 60}); return c, c },
			q:  asking(), text: "Allowed", want: []shown{{Text: "May I?\n\n- yes"}, {Text: "Allowed"}},
		},
		"refused": {
			ch: func() (channels.Channel, *minimal) { c := newFull(channels.Limits{Text: 60}); return c, c.minimal },
			q:  asking(), text: "Allowed", fails: channels.Rejected, want: []shown{{Text: "May I?", Buttons: 1}, {Text: "Allowed"}}, strips: 1,
		},
		"too long": {
			ch: func() (channels.Channel, *minimal) { c := newFull(channels.Limits{Text: 10}); return c, c.minimal },
			q:  asking(), text: "Allowed", want: []shown{{Text: "May I?", Buttons: 1}, {Text: "Allowed"}}, strips: 1,
		},
		"never asked": {
			ch: func() (channels.Channel, *minimal) { c := newFull(channels.Limits{Text: 60}); return c, c.minimal },
			q:  message("other", "Hello"), text: "Allowed", want: []shown{{Text: "Hello"}, {Text: "Allowed"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ch, log := k.ch()
			d := New(ch, nil)
			if err := d.Deliver(t.Context(), k.q); err != nil {
				t.Fatal(err)
			}
			if k.fails != 0 {
				log.fail("edit", failure(k.fails))
			}
			for range 2 { // a redelivery changes nothing
				if err := d.Deliver(t.Context(), under("u", k.text)); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(k.want, log.visible()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if n := log.log("answer"); n != k.strips {
				t.Errorf("buttons were taken away %d times, want %d", n, k.strips)
			}
		})
	}
}

func tool(kind chat.EventKind, id, name string) chat.Event {
	ev := event(kind, "")
	ev.Tool = &chat.ToolEvent{CallID: id, Name: name}
	return ev
}

// A tool that takes long is told of in the chat, at a bounded rate, with what it
// has said last; nothing of it is left in the answer.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(streaming)
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnStarted, ""))
		d.Event(tool(chat.ToolRequested, "1", "exec"))
		pass(3 * time.Second)
		if all := ch.visible(); len(all) > 0 {
			t.Fatalf("a tool that is quick is told of: %+v", all)
		}
		pass(4 * time.Second)
		if all := ch.visible(); len(all) != 1 || !strings.HasPrefix(all[0].Text, "⏳ `exec · ") {
			t.Fatalf("after some seconds: %+v", all)
		}
		d.Event(event(chat.TurnProgress, "exec: running for 10s: `[x](http://h)`\u202e part 7"))
		pass(5 * time.Second)
		if all := ch.visible(); len(all) != 1 || all[0].Text != "⏳ `exec: running for 10s: [x](http://h) part 7`" {
			t.Errorf("with its last line: %+v", all)
		}
		pass(time.Minute)
		if n := ch.log("send") + ch.log("edit"); n > 16 {
			t.Errorf("%d calls in a minute", n)
		}
		d.Event(tool(chat.ToolCompleted, "1", "exec"))
		d.Event(event(chat.TurnDelta, sentence))
		pass(3 * time.Second)
		if all := ch.visible(); len(all) != 1 || strings.TrimSpace(all[0].Text) != strings.TrimSpace(sentence) {
			t.Errorf("after the tool: %+v", all)
		}
		if err := d.Deliver(t.Context(), final("a", "The end.")); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]shown{{Text: "The end."}}, ch.visible()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// Where a person is waited for nothing runs; where drafts can only grow, where
// nothing is streamed, and of other turns nothing is shown.
func TestNoProgress(t *testing.T) {
	for name, k := range map[string]struct {
		limits channels.Limits
		stream bool
		waits  bool
	}{
		"waits":      {streaming, true, true},
		"grows":      {channels.Limits{Text: 200, Edit: time.Second, Grows: true}, true, false},
		"no streams": {streaming, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := newFull(k.limits)
				d := New(ch, &Options{Stream: k.stream})
				defer start(t, d)()
				d.Event(event(chat.TurnStarted, ""))
				d.Event(tool(chat.ToolRequested, "1", "exec"))
				if k.waits {
					d.Event(event(chat.TurnWaits, ""))
				}
				pass(time.Minute)
				if all := ch.visible(); len(all) > 0 {
					t.Errorf("%+v", all)
				}
			})
		})
	}
}
