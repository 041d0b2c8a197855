package dingtalk

import (
	"context"
	"fmt"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// A press finds its chat after a restart, in a group too, and the same push is
// the same press.
func TestPressAfterRestart(t *testing.T) {
	w := newWorld(t, nil)
	w.cfg = withCards
	var table kv.Memory
	first := w.start(t, &table, nil)
	msg := outbound(crowd().Chat(), "Shall I?")
	msg.Buttons = [][]chat.Button{{{Label: "好", Data: "approve:1"}}, {{Label: "No", Data: "deny:1"}}}
	ref, err := first.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := w.start(t, &table, nil)
	second.cards.restore(channeltest.Bounded(t)) // as the sweeper does some time
	second.cards.mu.Lock()
	if len(second.cards.open) != 0 {
		t.Error("a complete card was taken for one that a crash left")
	}
	second.cards.mu.Unlock()
	frame, err := w.Press(bob().Chat(), ref.ID, "deny:1")
	if err != nil {
		t.Fatal(err)
	}
	in := second.Next(t)
	want := chat.Press{ID: frame, Data: "deny:1", Message: ref.ID}
	if in.Press == nil || *in.Press != want || in.Addr != at(crowd().Chat()) || in.Direct || !in.Mentioned || in.From.ID != bob().StaffID {
		t.Errorf("got %+v, press %+v", in, in.Press)
	}
	channeltest.Eventually(t, "the press is acknowledged", func() bool { a, ok := w.Ack(frame); return ok && a.Code == 200 })
	b := second.Channel.(channels.Buttoner)
	if err := b.AnswerPress(channeltest.Bounded(t), in.Addr, chat.Answer{Press: frame, Message: ref.ID, Notice: "done"}); err != nil {
		t.Fatal(err)
	}
	if m := w.Messages(crowd().Chat()); len(m) != 1 || len(m[0].Buttons) != 0 || m[0].Text != "Shall I?" {
		t.Errorf("the group shows %+v", m)
	}
	if left, err := kv.List(context.Background(), &table, "card"); err != nil || len(left) != 0 {
		t.Errorf("the table holds %v, %v", left, err)
	}
}

// A template whose buttons send only their id works too; presses on cards that
// nobody knows are passed over.
func TestPressForms(t *testing.T) {
	w := newWorld(t, nil)
	w.cfg = withCards
	r := w.start(t, nil, nil)
	r.cards.mu.Lock()
	r.cards.open["magpie-x"] = &openCard{chat: ann().Chat(), touched: time.Now()}
	r.cards.mu.Unlock()
	press := func(track, content string) {
		w.Push(w.Frame(fake.TopicCard, "p-"+track, fmt.Sprintf(`{"outTrackId":%q,"userId":"0001","content":%q}`, track, content)))
	}
	press("magpie-unknown", `{"cardPrivateData":{"actionIds":["a"]}}`)
	press("magpie-x", `{`)
	press("magpie-x", `{"cardPrivateData":{}}`)
	press("magpie-x", `{"cardPrivateData":{"actionIds":["approve:9"],"params":{"data":3}}}`)
	if in := r.Next(t); in.Press == nil || in.Press.Data != "approve:9" || in.Addr.Chat != ann().Chat() {
		t.Errorf("got %+v", in)
	}
	if r.Skipped() != 2 {
		t.Errorf("%d skipped, want 2", r.Skipped())
	}
}
