package feishu

import (
	"sync/atomic"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

// A press finds its thread and kind of chat, also after a restart, and its
// message keeps text and notice when the buttons go.
func TestPress(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	root := w.Say(fake.Said{From: ann, Chat: crowd, Text: "question"})
	r.Next(t)
	w.Say(fake.Said{From: ann, Text: "private"})
	r.Next(t)
	thread := at(crowd)
	thread.Thread = root
	msg := outbound(thread, "1", "Shall I **delete** `a|b`?")
	msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}, {Label: "No", Data: "n"}}, {{Label: "Later", Data: "l"}}}
	ref, err := r.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	msg.Addr, msg.ID = at(ann), "2"
	private, err := r.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, w.channel(t, channels.Deps{Table: table}))
	for ref, want := range map[string]chat.Inbound{
		ref.ID: {Meta: chat.Meta{Addr: thread}}, private.ID: {Meta: chat.Meta{Addr: at(ann)}, Direct: true},
	} {
		if _, err := w.Press(ann, ref, "l"); err != nil {
			t.Fatal(err)
		}
		in := r.Next(t)
		for in.Press == nil { // what the first run had no time to acknowledge
			in = r.Next(t)
		}
		if in.Addr != want.Addr || in.Direct != want.Direct || in.Press.Data != "l" || !in.Mentioned {
			t.Errorf("got %+v, press %+v", in, in.Press)
		}
		if err := r.AnswerPress(channeltest.Bounded(t), in.Addr, chat.Answer{Press: in.Press.ID, Notice: "推迟 <at id=all></at>", Message: ref}); err != nil {
			t.Fatal(err)
		}
	}
	m := w.Messages(crowd)[0]
	if m.Buttons != nil || m.Text != "Shall I delete `a|b`?\n推迟 <at id=all></at>" || m.Mentions != nil || m.Thread != root {
		t.Errorf("the chat shows %+v", m)
	}
	if err := r.AnswerPress(channeltest.Bounded(t), at(ann), chat.Answer{Press: "p", Notice: "only a notice"}); err != nil {
		t.Error(err)
	}
}

// A press that the sink has not taken in time is told to take a moment, not to
// have failed: it is carried out, and once.
func TestSlowPress(t *testing.T) {
	for _, hook := range []bool{false, true} {
		w, f, url := hooked(t, fake.Options{VerificationToken: verifyToken})
		if !hook {
			f = w.channel(t, channels.Deps{})
		}
		f.pace.answer = 20 * time.Millisecond
		open := make(chan struct{})
		var presses atomic.Int32
		r := &receiving{f, channeltest.Receive(t, f, func(in chat.Inbound) error {
			if in.Press == nil {
				return nil
			}
			<-open
			presses.Add(1)
			return nil
		})}
		if hook {
			opened(t, f)
			w.SetHook(url)
		}
		msg := outbound(at(ann), "1", "Shall I?")
		msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
		ref := mustSend(t, f, msg)
		event, err := w.Press(ann, ref.ID, "y")
		if err != nil {
			t.Fatal(err)
		}
		channeltest.Eventually(t, "the press is answered", func() bool { return w.Pressed(event).Done })
		if p := w.Pressed(event); p.Error || p.Toast != "请稍候，正在处理…" {
			t.Errorf("hook %v: who pressed sees %+v", hook, p)
		}
		if n := presses.Load(); n != 0 {
			t.Errorf("hook %v: carried out %d times before", hook, n)
		}
		close(open)
		if in := r.Next(t); in.Press == nil || in.Press.Data != "y" {
			t.Errorf("hook %v: got %+v", hook, in)
		}
		quickly, err := w.Press(ann, ref.ID, "y")
		if err != nil {
			t.Fatal(err)
		}
		r.Next(t)
		channeltest.Eventually(t, "the second press is answered", func() bool { return w.Pressed(quickly).Done })
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		if n := presses.Load(); n != 2 || len(r.In) != 0 {
			t.Errorf("hook %v: two presses were carried out %d times, %d more came", hook, n, len(r.In))
		}
	}
}

// A press that nobody takes has failed, and says so.
func TestPressWithoutBot(t *testing.T) {
	w, f, url := hooked(t, fake.Options{VerificationToken: verifyToken, AckWait: 50 * time.Millisecond})
	msg := outbound(at(ann), "1", "Shall I?")
	msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	ref := mustSend(t, f, msg) // nobody is at the hook
	w.SetHook(url)
	event, err := w.Press(ann, ref.ID, "y")
	if err != nil {
		t.Fatal(err)
	}
	channeltest.Eventually(t, "the press has failed", func() bool { return w.Pressed(event).Error })
}
