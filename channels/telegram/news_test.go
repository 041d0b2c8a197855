package telegram

import (
	"io"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
)

// A quoted file reaches the sink with what is needed to fetch it, though it came
// before the bot was asked, and so does one of the bot's own.
func TestQuotedFiles(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	picture := w.Say(fake.Said{From: ann, Chat: crowd, Text: "the roof", Files: pictures(1)})
	ref, err := tg.SendMedia(channeltest.Bounded(t), chat.Outbound{Meta: chat.Meta{ID: "o", Addr: at(crowd)}, Text: "a plan"}, []channels.Upload{up(chat.File, "plan.txt", "text/plain", []byte("walls"))})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, tg)
	r.Next(t) // the picture itself
	fetched := func(a chat.Attachment) string {
		t.Helper()
		body, err := tg.Fetch(channeltest.Bounded(t), a)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		data, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	w.Say(fake.Said{From: bob, Chat: crowd, ReplyTo: picture, Text: "@magpie_test_bot what is this?"})
	q := r.Next(t).ReplyTo
	if q == nil || len(q.Attachments) != 1 || q.Text != "the roof" || q.From != "Ann" || q.Mine || fetched(q.Attachments[0]) != "\x01" {
		t.Errorf("quote of a picture: %+v", q)
	}
	var own int
	for _, m := range w.Messages(crowd) {
		if m.File != nil {
			own = m.ID
		}
	}
	if len(ref) != 1 || own == 0 {
		t.Fatalf("sent %v", ref)
	}
	w.Say(fake.Said{From: bob, Chat: crowd, ReplyTo: own, Text: "and this?"})
	in := r.Next(t)
	if q := in.ReplyTo; !in.Mentioned || q == nil || !q.Mine || q.Text != "a plan" || len(q.Attachments) != 1 || fetched(q.Attachments[0]) != "walls" {
		t.Errorf("quote of the bot's file: %+v", in)
	}
}

// Who comes and who goes is told once, whichever way Telegram tells it, and so
// is who added the bot.
func TestHappenings(t *testing.T) {
	for _, admin := range []bool{false, true} {
		w := newWorld(t, &fake.Options{Ways: fake.Ways{Admin: admin}})
		r := start(t, w.channel(t, channels.Deps{}))
		w.Say(fake.Said{From: ann, Text: "first"}) // the bot has asked for its kinds of updates
		r.Next(t)
		w.Invite(crowd, ann)
		w.Join(crowd, bob)
		w.Leave(crowd, bob)
		w.Say(fake.Said{From: ann, Chat: crowd, Text: "who was that?"})
		seen := map[string]bool{}
		var got []string
		for {
			in := r.Next(t)
			if in.Happening == "" {
				break
			}
			if !seen[in.ID] { // the store knows ids that come again
				got = append(got, string(in.Happening)+" "+in.From.Name)
			}
			seen[in.ID] = true
			if in.Text != "" || in.Addr != at(crowd) || in.Direct || in.At.IsZero() {
				t.Errorf("happening %+v", in)
			}
		}
		if want := "added Ann, joined Bob, left Bob"; strings.Join(got, ", ") != want {
			t.Errorf("administrator %v: %q, want %q", admin, got, want)
		}
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}
