package discord

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
	"magpie/internal/kv"
)

// What was written while the program was down comes by REST, in order, with
// the ids that the gateway would have given, also when the session is gone.
func TestCatchUpAfterKill(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
	connected(t, w, 1)
	first := w.Say(fake.Said{From: ann, Channel: annDM, Text: "before"})
	w.Say(fake.Said{From: bob, Channel: topic, Text: "thread before"})
	texts(t, r, 2)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := table.Delete(channeltest.Bounded(t), sessionKey); err != nil {
		t.Fatal(err)
	}
	w.Expire()
	const many = 130 // more than a page
	for i := range many {
		w.Say(fake.Said{From: ann, Channel: annDM, Text: fmt.Sprint("missed ", i)})
	}
	id := w.Say(fake.Said{From: bob, Channel: topic, Text: "thread missed"})
	w.Say(fake.Said{From: "666", Channel: annDM, Text: "a bot's"})
	r = start(t, w.channel(t, channels.Deps{Table: table}), nil)
	next := 0
	for range many + 1 {
		in := r.Next(t)
		if in.Text == "thread missed" {
			want := chat.Address{Channel: instance, Chat: crowd, Thread: topic}
			if in.Addr != want || in.Direct || in.ID != "discord:discord:"+topic+":"+id {
				t.Errorf("got %+v", in)
			}
			continue
		}
		if want := fmt.Sprint("missed ", next); in.Text != want || !in.Direct || in.Addr != at(annDM) {
			t.Fatalf("got %q at %v, want %q", in.Text, in.Addr, want)
		}
		next++
	}
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "live"})
	if in := r.Next(t); in.Text != "live" {
		t.Errorf("got %q after what was missed", in.Text)
	}
	r.quiet(t)
	if first == "" || w.Opened("identify") != 2 {
		t.Errorf("%d identifications", w.Opened("identify"))
	}
}

// mortal is the table of a program that is killed, maybe when it has written a
// key: it takes nothing more.
type mortal struct {
	kv.Table
	after string
	dead  atomic.Bool
}

func (m *mortal) Update(ctx context.Context, key string, v []byte, rev uint64, ttl time.Duration) (uint64, error) {
	if m.dead.Load() {
		return 0, errors.New("killed")
	}
	if key == m.after {
		defer m.dead.Store(true)
	}
	return m.Table.Update(ctx, key, v, rev, ttl)
}

// A killed program leaves its session to the next: so also what REST cannot
// give comes, here what somebody wrote meanwhile who had never written before.
// One that was killed while it fetched what it had missed leaves that too.
func TestSessionOutlivesAKill(t *testing.T) {
	for _, behind := range []bool{false, true} {
		t.Run(fmt.Sprint("behind ", behind), func(t *testing.T) {
			w := newWorld(t, nil)
			table := &kv.Memory{}
			r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
			connected(t, w, 1)
			w.Say(fake.Said{From: ann, Channel: crowd, Text: "0"})
			texts(t, r, 1)
			_ = r.Stop()
			want := []string{"first of all", "second"}
			refused := make(chan struct{}, 1)
			var judge func(chat.Inbound) error
			if behind {
				w.Expire()
				w.Say(fake.Said{From: ann, Channel: crowd, Text: "1"})
				want = append([]string{"1"}, want...)
				judge = refusing(refused)
			}
			killed := &mortal{Table: table}
			r = start(t, w.channel(t, channels.Deps{Table: killed}), judge)
			connected(t, w, 2)
			if behind {
				channeltest.Eventually(t, "a refusal", func() bool { return len(refused) > 0 })
			} else {
				channeltest.Eventually(t, "the session", func() bool { return r.me.Load() != nil && w.Opened("resume") == 1 })
			}
			killed.dead.Store(true)
			_ = r.Stop()
			for _, text := range want[len(want)-2:] {
				w.Say(fake.Said{From: ann, Channel: annDM, Text: text})
			}
			r = start(t, w.channel(t, channels.Deps{Table: table}), nil)
			if diff := cmp.Diff(want, texts(t, r, len(want))); diff != "" {
				t.Error(diff)
			}
			r.quiet(t)
		})
	}
}

// refusing is a sink that takes nothing, and tells of it without waiting.
func refusing(told chan<- struct{}) func(chat.Inbound) error {
	return func(chat.Inbound) error {
		select {
		case told <- struct{}{}:
		default:
		}
		return errors.New("full")
	}
}

// Also the very first message of a chat is not lost when the sink refuses it
// and the program is killed then.
func TestFirstMessageSurvivesKill(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	refused := make(chan struct{}, 1)
	r := start(t, w.channel(t, channels.Deps{Table: table}), refusing(refused))
	connected(t, w, 1)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "first of all"})
	select {
	case <-refused:
	case <-time.After(time.Minute):
		t.Fatal("the message never came")
	}
	_ = r.Stop()
	if err := table.Delete(channeltest.Bounded(t), sessionKey); err != nil {
		t.Fatal(err)
	}
	w.Expire()
	r = start(t, w.channel(t, channels.Deps{Table: table}), nil)
	if in := r.Next(t); in.Text != "first of all" || !in.Direct {
		t.Errorf("got %+v", in)
	}
}

// A program that is stopped and started goes on with the same session: then
// also what REST cannot give is not lost.
func TestResumeAfterStop(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
	connected(t, w, 1)
	channeltest.Eventually(t, "ready", func() bool { return r.me.Load() != nil })
	ref, err := r.Send(channeltest.Bounded(t), chat.Outbound{
		Meta: chat.Meta{ID: "q", Addr: at(annDM)}, Text: "?", Buttons: [][]chat.Button{{{Label: "Yes", Data: "yes"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Press(ann, annDM, ref.ID, "yes"); err != nil {
		t.Fatal(err)
	}
	r = start(t, w.channel(t, channels.Deps{Table: table}), nil)
	if in := r.Next(t); in.Press == nil || in.Press.Data != "yes" {
		t.Errorf("got %+v", in)
	}
	if w.Opened("identify") != 1 || w.Opened("resume") != 1 {
		t.Errorf("%d identifications, %d resumes", w.Opened("identify"), w.Opened("resume"))
	}
}

// While the sink refuses what REST has fetched, nothing newer gets past it.
func TestCatchUpBeforeLive(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
	connected(t, w, 1)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "0"})
	texts(t, r, 1)
	_ = r.Stop()
	w.Expire()
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "1"})
	var tries atomic.Int32
	r = start(t, w.channel(t, channels.Deps{Table: table}), func(in chat.Inbound) error {
		switch n := tries.Add(1); {
		case n == 1:
			w.Say(fake.Said{From: ann, Channel: annDM, Text: "2"}) // live, while 1 is refused
			return errors.New("full")
		case n <= 3:
			return errors.New("full")
		}
		return nil
	})
	got := texts(t, r, 2)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "3"}) // after whatever comes twice
	if diff := cmp.Diff([]string{"1", "2", "3"}, append(got, texts(t, r, 1)...)); diff != "" {
		t.Error(diff)
	}
}

// left is a world whose bot has heard a private chat and a channel, and has gone
// for so long that its session has ended.
func left(t *testing.T) (*world, kv.Table) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
	connected(t, w, 1)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "0"})
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "0"})
	texts(t, r, 2)
	_ = r.Stop()
	w.Expire()
	return w, table
}

// A channel that Discord cannot give does not hold up the others for ever; what
// was missed there comes as soon as it can be read, in order.
func TestChannelThatCannotBeRead(t *testing.T) {
	w, table := left(t)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "1"})
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "missed 1"})
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "missed 2"})
	// three rounds of five tries, and the message below
	w.Fail(fake.Fault{Route: "get messages", Channel: crowd, Status: 500, Times: stuckAfter*catchUpTries + 1})
	r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
	if in := r.Next(t); in.Text != "1" {
		t.Errorf("got %q", in.Text)
	}
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "heard"})
	if in := r.Next(t); in.Text != "heard" {
		t.Errorf("got %q", in.Text)
	}
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "at last"})
	got := texts(t, r, 4) // what was heard comes again with the id that it has
	if diff := cmp.Diff([]string{"missed 1", "missed 2", "heard", "at last"}, got); diff != "" {
		t.Error(diff)
	}
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "end"})
	if diff := cmp.Diff([]string{"end"}, texts(t, r, 1)); diff != "" {
		t.Error(diff)
	}
}

// A channel that is gone or closed does not hold up the others; trouble of the
// server does, until it is over.
func TestCatchUpTrouble(t *testing.T) {
	w, table := left(t)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "1"})
	w.Shut(crowd, 50001)
	w.Fail(fake.Fault{Route: "get messages", Status: 503, Page: true, Times: 3})
	w.Fail(fake.Fault{Route: "get messages", Status: 429, RetryAfter: 0.01})
	r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
	if in := r.Next(t); in.Text != "1" {
		t.Errorf("got %q", in.Text)
	}
	if _, ok := r.places.get(crowd); ok {
		t.Error("the closed channel is still known")
	}
}
