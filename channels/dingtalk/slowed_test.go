package dingtalk

import (
	"fmt"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// A webhook that had a message too many takes nothing for ten minutes: the
// message and those after it go by the robot API at once, also after a restart,
// and then by the webhook again. Somebody whom the API does not reach waits.
func TestSlowedWebhook(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	clock := func() time.Time { return now }
	w := newWorld(t, &fake.Options{Now: clock, Rates: true})
	var table kv.Memory
	ch := w.channel(t, channels.Deps{Table: &table, Now: clock})
	base(ch).sessions.hold(crowd().Chat(), w.session(crowd().Chat()))
	send := func(text string) {
		t.Helper()
		if _, err := ch.Send(channeltest.Bounded(t), outbound(crowd().Chat(), text)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 22 {
		send(fmt.Sprint(i))
	}
	if n := w.Calls(fake.OpWebhook); n != 21 {
		t.Errorf("%d calls of the webhook, want 21", n)
	}
	ch = w.channel(t, channels.Deps{Table: &table, Now: clock})       // a restart
	base(ch).sessions.hold(crowd().Chat(), w.session(crowd().Chat())) // somebody writes before anything is sent
	if err := base(ch).sessions.store(t.Context(), crowd().Chat()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(slowedFor - time.Second)
	send("still by the API")
	now = now.Add(2 * time.Second)
	base(ch).sessions.hold(crowd().Chat(), w.session(crowd().Chat()))
	send("by the webhook")
	m := vias(w.Messages(crowd().Chat()))
	for i, via := range m {
		want := fake.OpWebhook
		if i >= 20 && i < 23 {
			want = fake.OpGroup
		}
		if via != want {
			t.Errorf("message %d went by %s, want %s", i, via, want)
		}
	}
	base(ch).sessions.hold(out().Chat(), w.session(out().Chat()))
	w.Fail(fake.Fault{Op: fake.OpWebhook, Errcode: 130101, Message: "send too fast, exceed 20 times per minute"})
	for range 2 {
		_, err := ch.Send(channeltest.Bounded(t), outbound(out().Chat(), "x"))
		if after, _ := channels.Limit(err); channels.KindOf(err) != channels.RateLimited || after != slowedFor {
			t.Errorf("%v after %v", err, after)
		}
	}
	if n := w.Calls(fake.OpWebhook); n != 23 {
		t.Errorf("%d calls of the webhook, want 23", n)
	}
}

// Whatever code says that a webhook had too much, the message goes by the robot
// API at once.
func TestSlowedInOtherWords(t *testing.T) {
	for _, code := range []int{410100, 130101, 660026} {
		w := newWorld(t, nil)
		ch := w.channel(t, channels.Deps{})
		base(ch).sessions.hold(crowd().Chat(), w.session(crowd().Chat()))
		w.Fail(fake.Fault{Op: fake.OpWebhook, Errcode: code, Message: "sending too many messages per minute"})
		_, err := ch.Send(channeltest.Bounded(t), outbound(crowd().Chat(), "x"))
		if m := w.Messages(crowd().Chat()); err != nil || len(m) != 1 || m[0].Via != fake.OpGroup {
			t.Errorf("%d: %v, %+v", code, err, m)
		}
		if s, ok, _ := base(ch).sessions.get(t.Context(), crowd().Chat()); !ok || s.Slowed.IsZero() {
			t.Errorf("%d: the webhook is not kept for later", code)
		}
	}
}
