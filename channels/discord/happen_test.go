package discord

import (
	"context"
	"errors"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
	"magpie/internal/kv"
)

// fresh is a guild that the bot was never in.
func fresh(id string) fake.Guild {
	return fake.Guild{ID: id, Name: "New", BotRole: id + "9", System: id + "2", Channels: []fake.Channel{
		{ID: id + "1", Name: "general"}, {ID: id + "2", Name: "welcome"}, {ID: id + "3", Name: "third"},
	}}
}

// A guild that adds the bot is told once: not at each connection, not after an
// outage, and also when it happened while the bot was away. The guilds of the
// very first connection are no news.
func TestAddedToGuild(t *testing.T) {
	w := newWorld(t, nil)
	deps := channels.Deps{Table: &kv.Memory{}}
	r := start(t, w.channel(t, deps), nil)
	connected(t, w, 1)
	w.AddGuild(fresh("40"))
	in := r.Next(t)
	if in.Happening != chat.Added || in.Addr != at("402") || in.Direct || in.Text != "" || in.ID == "" {
		t.Errorf("got %+v", in)
	}
	w.Outage("40")
	w.Expire() // a new session lists all guilds again
	connected(t, w, 2)
	w.Forbid("502", fake.SendMessages)
	w.AddGuild(fresh("50"))
	if in := r.Next(t); in.Happening != chat.Added || in.Addr != at("501") {
		t.Errorf("where Discord's own channel is closed: %+v", in)
	}
	_ = r.Stop()
	w.Expire()
	w.RemoveGuild("40")
	w.AddGuild(fresh("60"))
	r = start(t, w.channel(t, deps), nil)
	connected(t, w, 3)
	if in := r.Next(t); in.Happening != chat.Added || in.Addr != at("602") {
		t.Errorf("added while away: %+v", in)
	}
	w.RemoveGuild("50")
	w.AddGuild(fresh("50"))
	if in := r.Next(t); in.Happening != chat.Added || in.Addr != at("501") {
		t.Errorf("added once more: %+v", in)
	}
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "end"})
	if in := r.Next(t); in.Text != "end" {
		t.Errorf("more news: %+v", in)
	}
}

// What was told while the program was ending is not told again by the next.
func TestAddedAtTheEnd(t *testing.T) {
	w := newWorld(t, nil)
	deps := channels.Deps{Table: &kv.Memory{}}
	d := w.channel(t, deps)
	ctx, end := context.WithCancel(t.Context())
	told := 0
	ended := make(chan error, 1)
	go func() {
		ended <- d.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			if in.Happening == chat.Added {
				told++
				end() // it is stored, and only what comes after it is cut off
			}
			return nil
		})
	}()
	connected(t, w, 1)
	w.AddGuild(fresh("40"))
	if err := <-ended; err != nil || told != 1 {
		t.Fatalf("told %d times, %v", told, err)
	}
	w.Expire() // a new session lists all guilds again
	r := start(t, w.channel(t, deps), nil)
	connected(t, w, 2)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "end"})
	if in := r.Next(t); in.Text != "end" {
		t.Errorf("told again: %+v", in)
	}
}

// What a bot was in when it first connected is no news either when it is killed
// before it has heard of each and goes on with that session.
func TestOldGuildsAfterAKill(t *testing.T) {
	w := newWorld(t, nil)
	w.AddGuild(fresh("40"))
	w.AddGuild(fresh("50"))
	killed := &mortal{Table: &kv.Memory{}, after: sessionKey}
	r := start(t, w.channel(t, channels.Deps{Table: killed}), nil)
	channeltest.Eventually(t, "a session", killed.dead.Load)
	_ = r.Stop()
	r = start(t, w.channel(t, channels.Deps{Table: killed.Table}), nil)
	channeltest.Eventually(t, "going on", func() bool { return w.Opened("resume") > 0 })
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "end"})
	if in := r.Next(t); in.Text != "end" {
		t.Errorf("an old server is news: %+v", in)
	}
}

// A bot that is started right after it was added says so, and once: people add
// it before they start it. The fake's guilds are all from March 2017.
func TestAddedJustBeforeTheStart(t *testing.T) {
	w := newWorld(t, nil)
	deps := channels.Deps{Table: &kv.Memory{}, Now: func() time.Time { return time.Date(2017, 3, 13, 19, 25, 0, 0, time.UTC) }}
	r := start(t, w.channel(t, deps), nil)
	if in := r.Next(t); in.Happening != chat.Added || in.Addr != at(crowd) {
		t.Errorf("got %+v", in)
	}
	for n := range 2 {
		w.Expire() // a new session lists all guilds again
		if n == 1 {
			_ = r.Stop()
			r = start(t, w.channel(t, deps), nil)
		}
		connected(t, w, n+2)
		w.Say(fake.Said{From: ann, Channel: annDM, Text: "end"})
		if in := r.Next(t); in.Text != "end" {
			t.Errorf("told again: %+v", in)
		}
	}
}

// What is taken back and changed is told, whether or not it was for the bot.
func TestRecalledAndEdited(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	var ids []string
	for range 3 {
		ids = append(ids, w.Say(fake.Said{From: ann, Channel: topic, Text: "talk"}))
		if in := r.Next(t); in.Mentioned || in.Text != "talk" {
			t.Errorf("got %+v", in)
		}
	}
	w.Edit(topic, ids[0], "other talk")
	if in := r.Next(t); !in.Edited || in.Mentioned || in.MessageID != ids[0] || in.Text != "other talk" {
		t.Errorf("got %+v", in)
	}
	w.Delete(topic, ids[0])
	w.Delete(topic, ids[1:]...)
	for _, id := range ids {
		in := r.Next(t)
		if in.Happening != chat.Recalled || in.MessageID != id || in.Addr != (chat.Address{Channel: instance, Chat: crowd, Thread: topic}) || in.Text != "" {
			t.Errorf("got %+v", in)
		}
	}
	w.Delete(other, w.Say(fake.Said{From: "666", Channel: other, Text: "of a bot"})) // nobody heard anything there
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "end"})
	if in := r.Next(t); in.Text != "end" {
		t.Errorf("got %+v", in)
	}
}

// Who comes and goes is told in the channels that were heard, if the Server
// Members Intent is on; else who comes, where Discord itself tells it.
func TestWhoComesAndGoes(t *testing.T) {
	for _, granted := range []bool{true, false} {
		w := newWorld(t, &fake.Options{Members: granted})
		w.AddGuild(fake.Guild{ID: "70", Name: "System", System: "701", Channels: []fake.Channel{{ID: "701", Name: "welcome"}, {ID: "702", Name: "talk"}}})
		r := start(t, w.channel(t, channels.Deps{}), nil)
		connected(t, w, 1)
		w.Say(fake.Said{From: ann, Channel: "702", Text: "talk"})
		r.Next(t)
		w.Join(bob, "70")
		where := map[bool]string{true: "702", false: "701"}[granted]
		if in := r.Next(t); in.Happening != chat.Joined || in.From.ID != bob || in.From.Name != "Bob" || in.Addr != at(where) || in.Text != "" {
			t.Errorf("granted %v: %+v", granted, in)
		}
		w.Leave(bob, "70")
		if granted {
			if in := r.Next(t); in.Happening != chat.Left || in.From.ID != bob || in.Addr != at("702") {
				t.Errorf("got %+v", in)
			}
		}
		w.Say(fake.Said{From: ann, Channel: annDM, Text: "end"})
		if in := r.Next(t); in.Text != "end" {
			t.Errorf("granted %v: more news: %+v", granted, in)
		}
	}
}

// What is not stored comes again, and is told once.
func TestNewsIsStoredFirst(t *testing.T) {
	w := newWorld(t, nil)
	tries := 0
	r := start(t, w.channel(t, channels.Deps{}), func(in chat.Inbound) error {
		if in.Happening == chat.Added {
			if tries++; tries < 3 {
				return errors.New("full")
			}
		}
		return nil
	})
	connected(t, w, 1)
	w.AddGuild(fresh("40"))
	if in := r.Next(t); in.Happening != chat.Added || tries != 3 {
		t.Errorf("got %+v after %d tries", in, tries)
	}
}
