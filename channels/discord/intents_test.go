package discord

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/discord"
	"magpie/internal/kv"
)

// Without the Message Content Intent the bot runs on what it gets all the same,
// says once what is lost, and takes the intent when it is granted.
func TestRunsWithoutContentIntent(t *testing.T) {
	w := newWorld(t, &fake.Options{NoContent: true})
	var log bytes.Buffer
	deps := channels.Deps{Table: &kv.Memory{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	r := start(t, w.channel(t, deps), nil)
	connected(t, w, 1)
	if w.Intents() != baseIntents || w.Presence() != "online" {
		t.Errorf("intents %b, presence %q", w.Intents(), w.Presence())
	}
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "not for the bot"})
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "<@" + fake.BotID + "> hello"})
	if in := r.Next(t); in.Text != "hello" || !in.Mentioned {
		t.Errorf("got %+v", in)
	}
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "in private"})
	if in := r.Next(t); in.Text != "in private" {
		t.Errorf("got %+v", in)
	}
	if err := r.Check(channeltest.Bounded(t)); err != nil {
		t.Errorf("check: %v", err)
	}
	channeltest.Eventually(t, "the survey", func() bool { return w.Calls("get member") > 0 })
	_ = r.Stop()
	if n := strings.Count(log.String(), "Message Content Intent"); n != 1 {
		t.Errorf("said %d times what is lost:\n%s", n, log.String())
	}
	w.Grant(true)
	r = start(t, w.channel(t, deps), nil)
	connected(t, w, 2)
	if w.Intents() != baseIntents|contentIntent {
		t.Errorf("granted: intents %b", w.Intents())
	}
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "to all"})
	if in := r.Next(t); in.Text != "to all" || in.Mentioned {
		t.Errorf("got %+v", in)
	}
}

// What the Developer Portal shows as granted and the gateway refuses is given
// up, members first, also over a restart, until the portal shows something else.
func TestRefusedIntents(t *testing.T) {
	w := newWorld(t, &fake.Options{Members: true})
	w.Fail(fake.Fault{Route: "get application", Status: 502, Page: true})
	table := &kv.Memory{}
	d := w.channel(t, channels.Deps{Table: table})
	r := &receiver{d: d}
	ctx := channeltest.Bounded(t)
	asked := func(want int) {
		t.Helper()
		if r.session.Intents = r.intents(ctx); r.session.Intents != want {
			t.Errorf("asks for %b, want %b", r.session.Intents, want)
		}
	}
	asked(baseIntents | contentIntent) // nobody knows
	asked(baseIntents | contentIntent | membersIntent)
	for _, want := range []int{baseIntents | contentIntent, baseIntents} {
		if err := r.explain(ctx, &closed{4014}); channels.Final(err) {
			t.Fatalf("final: %v", err)
		}
		asked(want)
	}
	if err := r.explain(ctx, &closed{4014}); channels.KindOf(err) != channels.Rejected {
		t.Errorf("nothing left to give up: %v", err)
	}
	r = &receiver{d: d}
	if err := r.recall(ctx); err != nil {
		t.Fatal(err)
	}
	asked(baseIntents)
	w.Grant(false)
	asked(baseIntents | membersIntent)
}

// A bot whose grant the API cannot tell asks for the content, is refused, and
// runs without it.
func TestFallsBackAfter4014(t *testing.T) {
	w := newWorld(t, &fake.Options{NoContent: true})
	w.Fail(fake.Fault{Route: "get application", Status: 403, Code: 50001, Text: "Missing Access"})
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "fine"})
	if in := r.Next(t); in.Text != "fine" || w.Intents() != baseIntents {
		t.Errorf("got %q with intents %b", in.Text, w.Intents())
	}
}
