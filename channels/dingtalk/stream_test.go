package dingtalk

import (
	"errors"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"

	fake "magpie/internal/fakes/dingtalk"
)

// A connection that is given up says so, at a stop and at a handover: into one
// that does not the gateway pushes what is lost then.
func TestCloseFrame(t *testing.T) {
	w := newWorld(t, &fake.Options{Ghosts: true, Grace: time.Hour})
	w.pace.linger = 0
	first := w.start(t, nil, nil)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	channeltest.Eventually(t, "the connection has ended", func() bool { return w.Connections() == 0 })
	second := w.start(t, nil, nil)
	w.Say(fake.Said{Chat: ann().Chat(), Text: "after the stop"})
	if w.Lost() != 0 {
		t.Fatal("a message went into the connection that was given up")
	}
	second.Next(t)
	w.Disconnect()
	channeltest.Eventually(t, "the successor takes messages", func() bool { return w.Push(w.Frame(fake.TopicRobot, "probe", `{}`)) })
	channeltest.Eventually(t, "it is alone", func() bool { return w.Connections() == 1 })
	if n := w.Unclosed(); n != 0 {
		t.Errorf("%d connections ended without a close frame", n)
	}
}

// Every call asks for JSON: the gateway answers XML to one that does not.
func TestAsksForJSON(t *testing.T) {
	w := newWorld(t, nil)
	w.cfg = withCards
	r := w.start(t, nil, nil)
	w.Say(fake.Said{Chat: ann().Chat(), Files: []fake.File{{Kind: "picture", Data: []byte("p")}}})
	in := r.Next(t)
	body, err := r.Fetch(channeltest.Bounded(t), in.Attachments[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = body.Close()
	for _, draft := range []bool{false, true} {
		msg := outbound(ann().Chat(), "x")
		msg.Draft = draft
		if _, err := r.Send(channeltest.Bounded(t), msg); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.SendMedia(channeltest.Bounded(t), outbound(ann().Chat(), ""), []channels.Upload{upload(chat.File, "a.pdf", 5)}); err != nil {
		t.Fatal(err)
	}
	if n := w.Unasked(); n != 0 {
		t.Errorf("%d calls did not ask for JSON", n)
	}
}

// What is not acknowledged for a minute may be pushed again: the message on its
// way is one message, and both frames are answered when it is stored.
func TestPushedAgain(t *testing.T) {
	w := newWorld(t, nil)
	open := make(chan struct{})
	r := w.start(t, nil, func(in chat.Inbound) error {
		if in.Addr == at(bob().Chat()) {
			return nil
		}
		select {
		case <-open:
			return nil
		default:
			return errors.New("store is full")
		}
	})
	_, frame := w.Say(fake.Said{Chat: ann().Chat(), Text: "once"})
	again := w.Redeliver()
	if len(again) != 1 {
		t.Fatalf("%q come again", again)
	}
	w.Say(fake.Said{Chat: ann().Chat(), Text: "next"})
	w.Say(fake.Said{Chat: bob().Chat(), Text: "what comes after them is read"})
	if in := r.Next(t); in.Addr != at(bob().Chat()) {
		t.Fatalf("got %+v", in)
	}
	close(open)
	for _, want := range []string{"once", "next"} {
		if in := r.Next(t); in.Text != want {
			t.Fatalf("got %q, want %q", in.Text, want)
		}
	}
	for _, f := range append(again, frame) {
		channeltest.Eventually(t, "each frame is acknowledged", func() bool { a, ok := w.Ack(f); return ok && a.Code == 200 })
	}
}

// A message that could not be stored is not answered at all, so that it may
// come again: to the next process, as the same message.
func TestUnstoredIsUnanswered(t *testing.T) {
	w := newWorld(t, nil)
	tried := make(chan string, 1000)
	first := w.start(t, nil, func(in chat.Inbound) error {
		tried <- in.ID
		return errors.New("store is full")
	})
	_, frame := w.Say(fake.Said{Chat: ann().Chat(), Text: "hello"})
	id := <-tried
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if a, ok := w.Ack(frame); ok {
		t.Fatalf("answered with %+v", a)
	}
	second := w.start(t, nil, nil)
	w.Redeliver()
	if in := second.Next(t); in.ID != id || in.Text != "hello" {
		t.Errorf("got %+v, want %q", in, id)
	}
}
