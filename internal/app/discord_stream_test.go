package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/all"
	"magpie/channels/channeltest"
	"magpie/channels/dispatch"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
)

const (
	dcPerson, dcPrivate, dcOther, dcServer, dcGroup = "101", "201", "202", "300", "301"
)

// discordRated is a Discord with its real buckets, and a channel that runs on it.
func discordRated(t *testing.T) (*fake.Server, channels.Channel, <-chan chat.Inbound) {
	t.Helper()
	s := fake.New(&fake.Options{Rates: true, ReplyWithin: time.Minute})
	web := httptest.NewServer(s.Handler())
	s.AddPerson(fake.Person{ID: dcPerson, Name: "Ann", DM: dcPrivate})
	s.AddPerson(fake.Person{ID: "102", Name: "Bob", DM: dcOther})
	s.AddGuild(fake.Guild{ID: dcServer, Name: "Guild", Channels: []fake.Channel{{ID: dcGroup, Name: "group"}}})
	section := fmt.Sprintf(`{"Token":%q,"APIBase":%q}`, s.Token(), web.URL)
	ch, err := all.Registry()["discord"]("discord", func(into any) error { return json.Unmarshal([]byte(section), into) }, channels.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan chat.Inbound, 16)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = ch.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			heard <- in
			return nil
		})
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		s.Close()
		web.Close()
	})
	return s, ch, heard
}

// patiently is a context that ends before the test is given up.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// threeThousand is an answer of 3000 characters.
var threeThousand = strings.Repeat("三千个字的回答。", 375)

// growing lets an answer grow, as fast as the chat shows it, and returns how
// long after its end the whole of it was there.
func growing(t *testing.T, s *fake.Server, d *dispatch.Dispatcher, to chat.Inbound, turn string) time.Duration {
	t.Helper()
	const edits = 7 // more than a window holds
	words := []rune(threeThousand)
	for n := range edits {
		d.Event(chat.Event{
			V: chat.Version, Kind: chat.TurnDelta, At: time.Now(), Addr: to.Addr, Trace: to.Trace, Turn: turn, Text: string(words[:200+100*n]),
		})
		_, err := s.Wait(patiently(t), to.Addr.Chat, func(all []fake.Message) bool { return len(all) == 1 && all[0].Edits >= n })
		if err != nil {
			t.Error(err)
			return 0
		}
	}
	msg := chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: "out:" + turn, Trace: to.Trace, Addr: to.Addr}, Text: threeThousand, Turn: turn, Final: true,
	}
	ended := time.Now()
	if err := d.Deliver(patiently(t), msg); err != nil {
		t.Error(err)
	}
	return time.Since(ended)
}

// Answers of 3000 characters that are streamed side by side, one of them in the
// place of a slash command, never come faster than Discord's buckets allow, and
// are there whole and once when the model has ended.
func TestDiscordStreamingEarnsNo429(t *testing.T) {
	s, ch, heard := discordRated(t)
	channeltest.Eventually(t, "the connection", func() bool { return s.Opened("identify") > 0 })
	s.Use(dcPerson, dcGroup, "status")
	var used chat.Inbound
	for used.Trace == "" {
		used = <-heard
	}
	d := dispatch.New(ch, &dispatch.Options{Stream: true})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	late := make(chan time.Duration, 3)
	var answers sync.WaitGroup
	at := func(id string) chat.Address { return chat.Address{Channel: "discord", Chat: id} }
	for i, to := range []chat.Inbound{used, {Meta: chat.Meta{Addr: at(dcPrivate)}}, {Meta: chat.Meta{Addr: at(dcOther)}}} {
		answers.Go(func() { late <- growing(t, s, d, to, fmt.Sprint("turn", i)) })
	}
	answers.Wait()
	close(late)
	for _, channel := range []string{dcGroup, dcPrivate, dcOther} {
		var got strings.Builder
		for _, m := range s.Messages(channel) {
			got.WriteString(m.Text)
		}
		if got.String() != threeThousand {
			t.Errorf("%s shows %d of %d characters", channel, len([]rune(got.String())), len([]rune(threeThousand)))
		}
	}
	if n := s.Limited(); n != 0 {
		t.Errorf("%d calls were refused as too fast", n)
	}
	for took := range late {
		t.Logf("the whole text was there %v after the end", took.Round(time.Millisecond))
	}
}
