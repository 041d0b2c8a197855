package feishu

import (
	"testing"

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
