package dingtalk

import (
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
