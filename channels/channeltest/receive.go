package channeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"magpie/channels"
	"magpie/chat"
)

func (r *rig) constant() {
	a, b := r.channel(), r.channel()
	if a.Name() == "" || a.Name() != b.Name() || a.Name() != r.h.Direct[0].Channel {
		r.t.Errorf("names %q and %q, want %q", a.Name(), b.Name(), r.h.Direct[0].Channel)
	}
	l := a.Limits()
	if l.Text <= 0 {
		r.t.Errorf("Limits.Text is %d", l.Text)
	}
	if _, ok := a.(channels.MediaSender); ok && len(l.Media) == 0 {
		r.t.Error("a MediaSender without Limits.Media")
	}
	if _, ok := a.(channels.Typer); ok && l.Typing <= 0 {
		r.t.Error("a Typer without Limits.Typing")
	}
	if _, ok := a.(channels.Editor); !ok && (l.Edit > 0 || l.EditIn != nil) {
		r.t.Error("Limits.Edit or EditIn without an Editor")
	}
	if _, ok := a.(channels.Drafter); ok != (l.DraftIn != nil) || ok != (l.DraftLife > 0) {
		r.t.Errorf("Limits.DraftIn set %v, DraftLife %v; a Drafter %v", l.DraftIn != nil, l.DraftLife, ok)
	}
}

func (r *rig) cancel() {
	before := goleak.IgnoreCurrent()
	run := r.start()
	r.h.Say(r.t, Said{At: r.h.Direct[0], Text: "before the end"})
	run.await(1)
	if r.h.Ways.Settled != nil {
		r.h.Ways.Settled()
	}
	if err := run.stop(); err != nil {
		r.t.Errorf("Run returned %v, want nil", err)
	}
	if err := goleak.Find(before); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) order() {
	const each = 12
	run := r.start()
	for i := range each {
		for _, a := range r.h.Direct {
			r.h.Say(r.t, Said{At: a, Text: fmt.Sprintf("message %d", i)})
		}
	}
	next := map[chat.Address]int{}
	ids := map[string]bool{}
	for _, in := range run.await(each * len(r.h.Direct)) {
		if want := fmt.Sprintf("message %d", next[in.Addr]); in.Text != want {
			r.t.Errorf("%v: got %q, want %q", in.Addr, in.Text, want)
		}
		next[in.Addr]++
		if ids[in.ID] {
			r.t.Errorf("id %q was used twice", in.ID)
		}
		ids[in.ID] = true
	}
}

func (r *rig) fields() {
	run := r.start()
	text := "你好 👩‍👩‍👧 & <b>ü</b>"
	id := r.h.Say(r.t, Said{At: r.h.Direct[0], Text: text})
	in := run.await(1)[0]
	switch {
	case in.Addr != r.h.Direct[0]:
		r.t.Errorf("address %v, want %v", in.Addr, r.h.Direct[0])
	case in.ID == "" || !utf8.ValidString(in.ID):
		r.t.Errorf("id %q", in.ID)
	case in.MessageID != id:
		r.t.Errorf("message id %q, want %q", in.MessageID, id)
	case in.Origin != chat.FromPerson || in.From.ID == "":
		r.t.Errorf("origin %q, sender %+v", in.Origin, in.From)
	case in.Text != text:
		r.t.Errorf("text %q, want %q", in.Text, text)
	case !in.Direct || in.At.IsZero() || in.V != chat.Version:
		r.t.Errorf("direct %v, at %v, v %d", in.Direct, in.At, in.V)
	}
}

func (r *rig) refused() {
	r.need(!r.h.Ways.Lossy, "redelivery")
	var mu sync.Mutex
	failures := 2
	run := r.startWith(func(in chat.Inbound) error {
		mu.Lock()
		defer mu.Unlock()
		if in.Addr == r.h.Direct[0] && failures > 0 {
			failures--
			return errors.New("store is full")
		}
		return nil
	})
	for i := range 3 {
		r.h.Say(r.t, Said{At: r.h.Direct[0], Text: fmt.Sprintf("refused %d", i)})
	}
	r.h.Say(r.t, Said{At: r.h.Direct[1], Text: "other chat"})
	n := 0
	for _, in := range run.await(4) {
		if in.Addr != r.h.Direct[0] {
			continue
		}
		if want := fmt.Sprintf("refused %d", n); in.Text != want {
			r.t.Errorf("got %q, want %q", in.Text, want)
		}
		n++
	}
	run.sameIDs()
}

// sameIDs: one text of a chat always came with one id.
func (run *runner) sameIDs() {
	run.r.t.Helper()
	run.inbox.mu.Lock()
	defer run.inbox.mu.Unlock()
	ids := map[string]string{}
	for _, in := range run.inbox.tried {
		key := in.Addr.String() + " " + in.Text
		if old, ok := ids[key]; ok && old != in.ID {
			run.r.t.Errorf("%q came as %q and as %q", in.Text, old, in.ID)
		}
		ids[key] = in.ID
	}
}

func (r *rig) restart() {
	r.need(!r.h.Ways.Lossy, "redelivery")
	tried := make(chan chat.Inbound, 100)
	first := r.startWith(func(in chat.Inbound) error {
		select {
		case tried <- in:
		default:
		}
		return errors.New("store is gone")
	})
	r.h.Say(r.t, Said{At: r.h.Direct[0], Text: "over a restart"})
	var before chat.Inbound
	select {
	case before = <-tried:
	case <-time.After(patience):
		r.t.Fatal("the message never arrived")
	}
	if err := first.stop(); err != nil {
		r.t.Errorf("Run returned %v, want nil", err)
	}
	after := r.start().await(1)[0]
	if after.ID != before.ID || after.Text != before.Text {
		r.t.Errorf("before the restart %q %q, after %q %q", before.ID, before.Text, after.ID, after.Text)
	}
}

func (r *rig) reconnect() {
	r.need(r.h.Cut != nil, "Cut")
	run := r.start()
	r.h.Cut(r.t)
	r.eventually("the status tells of the break", func() bool { return r.status.State().LastError != "" })
	r.eventually("the status tells of the new connection", func() bool {
		st := r.status.State()
		return st.Connected && st.Reconnects > 0
	})
	r.h.Say(r.t, Said{At: r.h.Direct[0], Text: "after the break"})
	if in := run.await(1)[0]; in.Text != "after the break" {
		r.t.Errorf("got %q", in.Text)
	}
	// The message may be here a moment before the adapter has noted it.
	r.eventually("the status knows of the event", func() bool { return !r.status.State().LastEvent.IsZero() })
}

func (r *rig) revoked() {
	r.need(r.h.Revoke != nil, "Revoke")
	run := r.start()
	r.h.Revoke(r.t)
	err := run.wait()
	run.once.Do(func() { run.err = err })
	var ce *channels.Error
	if !errors.As(err, &ce) || ce.Kind != channels.Unauthorized {
		r.t.Errorf("Run returned %v, want an Unauthorized error", err)
	}
	_, err = run.trySend(outbound(r.h.Direct[0], "hello"))
	if channels.KindOf(err) != channels.Unauthorized {
		r.t.Errorf("Send returned %v, want an Unauthorized error", err)
	}
	if r.status.State().Connected {
		r.t.Error("the status says connected")
	}
}

func (r *rig) mention() {
	r.need(r.h.Group != chat.Address{}, "groups")
	run := r.start()
	r.h.Say(r.t, Said{At: r.h.Group, Text: "what is the time?", Mention: true})
	in := run.await(1)[0]
	if in.Text != "what is the time?" || !in.Mentioned || in.Direct {
		r.t.Errorf("text %q, mentioned %v, direct %v", in.Text, in.Mentioned, in.Direct)
	}
	if in.Addr.Chat != r.h.Group.Chat {
		r.t.Errorf("address %v, want %v", in.Addr, r.h.Group)
	}
}

func (r *rig) press() {
	run := r.start()
	b, ok := run.Channel.(channels.Buttoner)
	r.need(ok && r.h.Press != nil, "buttons")
	data := strings.Repeat("d", 64)
	msg := outbound(r.h.Direct[0], "Shall I?")
	msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "approve:1"}, {Label: "No 不", Data: data}}}
	ref, err := run.trySend(msg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.h.Press(r.t, r.h.Direct[0], ref.ID, data)
	in := run.await(1)[0]
	if in.Press == nil || in.Press.Data != data || in.Press.Message != ref.ID || in.Text != "" {
		r.t.Fatalf("got %+v (press %+v)", in, in.Press)
	}
	if in.From.ID == "" || in.Addr != r.h.Direct[0] {
		r.t.Errorf("sender %+v at %v", in.From, in.Addr)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ans := chat.Answer{Press: in.Press.ID, Notice: "Done 好", Message: in.Press.Message}
	for i := range 2 { // the second time it is late, which is no error
		if err := b.AnswerPress(ctx, in.Addr, ans); err != nil {
			r.t.Errorf("answer %d: %v", i, err)
		}
	}
	if shown := r.h.Shown(r.t, in.Addr); len(shown) != 1 || len(shown[0].Buttons) != 0 {
		r.t.Errorf("the chat shows %+v", shown)
	}
}

func (r *rig) check() {
	c, ok := r.channel().(channels.Checker)
	r.need(ok, "Check")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Check(ctx); err != nil {
		r.t.Errorf("check: %v", err)
	}
	if r.h.Revoke == nil {
		return
	}
	r.h.Revoke(r.t)
	err := c.Check(ctx)
	r.note(err)
	if channels.KindOf(err) != channels.Unauthorized {
		r.t.Errorf("check with revoked credentials: %v", err)
	}
}
