package dingtalk

import (
	"context"
	"errors"
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
	if in.Press == nil || in.Press.ID == "" || in.Press.Data != "deny:1" || in.Press.Message != ref.ID || in.Addr != at(crowd().Chat()) || in.Direct || !in.Mentioned || in.From.ID != bob().StaffID {
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

// press lets somebody press the button of a card.
func (s *workshop) press(card string) (frame string) {
	s.t.Helper()
	frame, err := s.Press(ann().Chat(), card, "yes")
	if err != nil {
		s.t.Fatal(err)
	}
	return frame
}

// A press that is pushed again, to this process or the next, is the same press;
// one that is made again later, or on other buttons, is another.
func TestPressAgain(t *testing.T) {
	var table kv.Memory
	tried := make(chan string, 1000)
	s := &workshop{world: newWorld(t, nil), t: t, now: time.Unix(1_790_000_000, 0), judge: func(in chat.Inbound) error {
		tried <- in.ID
		return errors.New("not stored")
	}}
	s.cfg = withCards
	s.again(&table)
	msg := outbound(ann().Chat(), "Shall I?")
	msg.Buttons = [][]chat.Button{{{Label: "好", Data: "yes"}}}
	ref, err := s.receiving.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	refused := s.press(ref.ID)
	id := <-tried
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if a, ok := s.Ack(refused); ok {
		t.Fatalf("a press that was not stored was answered with %+v: it will not come again", a)
	}
	s.judge = nil
	s.again(&table)
	again := s.Redeliver()
	if in := s.Next(t); len(again) != 1 || in.ID != id {
		t.Fatalf("%q come again; it is %q, before %q", again, in.ID, id)
	}
	channeltest.Eventually(t, "it is acknowledged", func() bool { _, ok := s.Ack(again[0]); return ok })
	soon := s.press(ref.ID)
	if in := s.Next(t); in.ID != id {
		t.Errorf("a repeat soon after is %q, before %q", in.ID, id)
	}
	channeltest.Eventually(t, "it is noted when it was stored", func() bool { _, ok := s.Ack(soon); return ok })
	s.pass(pressAgain + time.Second)
	s.press(ref.ID)
	later := s.Next(t)
	if later.ID == id {
		t.Error("a press that is made again is taken for a repeat")
	}
	if err := s.Channel.(channels.Editor).Edit(channeltest.Bounded(t), ref, msg); err != nil {
		t.Fatal(err)
	}
	s.press(ref.ID)
	if in := s.Next(t); in.ID == id || in.ID == later.ID {
		t.Errorf("a press on other buttons is %q", in.ID)
	}
}
