package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

func TestTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(streaming)
		d := New(ch, nil)
		defer start(t, d)()
		d.Event(event(chat.TurnStarted, ""))
		pass(21 * time.Second)
		if n := ch.log("typing"); n != 6 {
			t.Errorf("%d times in 21 s, want 6 (each 4 s)", n)
		}
		d.Event(event(chat.TurnWaits, ""))
		pass(time.Minute)
		if n := ch.log("typing"); n != 6 {
			t.Errorf("typing while a person is asked: %d", n)
		}
		d.Event(event(chat.TurnGoesOn, ""))
		pass(4 * time.Second)
		if n := ch.log("typing"); n != 7 {
			t.Errorf("no typing after the answer: %d", n)
		}
		d.Event(event(chat.TurnEnded, ""))
		pass(time.Minute)
		if n := ch.log("typing"); n != 7 {
			t.Errorf("typing after the end: %d", n)
		}
		ev := event(chat.TurnStarted, "") // a turn whose end is lost
		ev.Turn = "t2"
		d.Event(ev)
		pass(time.Hour)
		n := ch.log("typing")
		pass(time.Hour)
		if more := ch.log("typing") - n; more != 0 {
			t.Errorf("typing for ever: %d more", more)
		}
		ev.Addr.Channel = "another"
		ev.Turn = "t3"
		d.Event(ev)
		pass(time.Minute)
		if more := ch.log("typing") - n; more != 0 {
			t.Error("typing for another channel")
		}
	})
}

func TestEventsNeverBlock(t *testing.T) {
	d := New(newFull(streaming), &Options{Stream: true})
	for range eventBuffer * 2 { // Run is not running
		d.Event(event(chat.TurnDelta, sentence))
	}
}

// Many turns in many chats, all at once.
func TestManyStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := streaming
		lim.Rate = channels.Rate{PerSecond: 20, Burst: 10, PerChat: time.Second, ChatBurst: 3}
		ch, drafts := newFull(lim), &kv.Memory{}
		d := New(ch, &Options{Stream: true, Drafts: drafts})
		defer start(t, d)()
		var wg sync.WaitGroup
		for c := range 20 {
			wg.Go(func() {
				addr, turn := chat.Address{Channel: "fake", Chat: fmt.Sprint(c)}, fmt.Sprint("turn", c)
				for i := range 10 {
					d.Event(chat.Event{Kind: chat.TurnDelta, Addr: addr, Turn: turn, Text: strings.Repeat(sentence, 1+i%4)})
					<-time.After(400 * time.Millisecond)
				}
				out := final(fmt.Sprint("out", c), fmt.Sprint("answer ", c))
				out.Addr, out.Turn = addr, turn
				if err := d.Deliver(t.Context(), out); err != nil {
					t.Error(err)
				}
				d.Event(chat.Event{Kind: chat.TurnEnded, Addr: addr, Turn: turn})
			})
		}
		wg.Wait()
		pass(time.Hour)
		got := texts(ch.visible())
		slices.Sort(got)
		var want []string
		for c := range 20 {
			want = append(want, fmt.Sprint("answer ", c))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if left, err := kv.List(t.Context(), drafts, ""); err != nil || len(left) != 0 {
			t.Errorf("drafts left: %v, %v", left, err)
		}
	})
}
