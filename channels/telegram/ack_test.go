package telegram

import (
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/telegram"
)

// What is meant for the bot gets the emoji that the operator wants, once it is
// stored; what is said among others gets none, and without the key nothing does.
func TestAckReaction(t *testing.T) {
	for _, emoji := range []string{"👀", "", "🪿"} {
		w := newWorld(t, nil)
		r := start(t, w.channel(t, channels.Deps{}, func(c *Config) { c.AckReaction = emoji }))
		said := func(s fake.Said) int {
			id := w.Say(s)
			r.Next(t)
			return id
		}
		among := said(fake.Said{From: ann, Chat: crowd, Text: "among us"})
		mention := said(fake.Said{From: ann, Chat: crowd, Text: "@magpie_test_bot hello"})
		private := said(fake.Said{From: bob, Text: "hello"})
		album := said(fake.Said{From: eve, Files: pictures(2)})
		if emoji == "👀" {
			channeltest.Eventually(t, "the emojis are there", func() bool {
				return w.Reaction(crowd, mention) == emoji && w.Reaction(bob, private) == emoji && w.Reaction(eve, album) == emoji
			})
		}
		if emoji == "🪿" { // which Telegram does not take
			channeltest.Eventually(t, "it was tried", func() bool { return w.Calls("setMessageReaction") > 0 })
		}
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"👀": 3, "🪿": 1}[emoji]
		if n := w.Calls("setMessageReaction"); n != want || w.Reaction(crowd, among) != "" {
			t.Errorf("%q: %d calls, want %d", emoji, n, want)
		}
	}
}
