package discord

import (
	"io"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
)

// A quote brings the files of the quoted message, which can be fetched long
// after, by a process that has not seen it.
func TestQuotedFiles(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	id := w.Say(fake.Said{From: ann, Channel: crowd, Files: []fake.File{
		{Name: "图.png", MIME: "image/png", Data: []byte("picture")}, {Name: "v.ogg", MIME: "audio/ogg", Data: []byte("voice"), Voice: true},
	}})
	r.Next(t)
	w.Say(fake.Said{From: bob, Channel: crowd, Text: "<@" + fake.BotID + "> what is this?", ReplyTo: id})
	in := r.Next(t)
	if q := in.ReplyTo; q == nil || q.ID != id || q.Mine || q.From != "Ann" || len(q.Attachments) != 2 ||
		q.Attachments[0].Kind != chat.Image || q.Attachments[1].Kind != chat.Voice || !in.Mentioned {
		t.Fatalf("got %+v, quote %+v", in, in.ReplyTo)
	}
	w.ExpireFiles()
	body, err := w.channel(t, channels.Deps{}).Fetch(channeltest.Bounded(t), in.ReplyTo.Attachments[0])
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(body)
	_ = body.Close()
	if err != nil || string(data) != "picture" {
		t.Errorf("%q, %v", data, err)
	}
}

// A picture in an embed is fetched from Discord's copy, also when its address
// has changed.
func TestQuotedEmbed(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	w.AddSticker("chart.png", fake.File{Name: "chart.png", MIME: "image/png", Data: []byte("chart")})
	embed := func(address string) map[string]any {
		return map[string]any{"embeds": []any{map[string]any{
			"type": "rich", "title": "Chart", "image": map[string]any{"url": "https://x.example/c.png", "proxy_url": address, "content_type": "image/png"},
		}}}
	}
	posted := embed(w.url + "/stickers/gone.png")
	id := w.Say(fake.Said{From: "666", Channel: crowd, Fields: posted})
	w.Say(fake.Said{From: bob, Channel: crowd, Text: "<@" + fake.BotID + "> ?", ReplyTo: id})
	in := r.Next(t)
	if q := in.ReplyTo; q == nil || q.Text != "Chart" || len(q.Attachments) != 1 || q.Attachments[0].Kind != chat.Image {
		t.Fatalf("quote %+v", in.ReplyTo)
	}
	posted["embeds"] = embed(w.url + "/stickers/chart.png")["embeds"]
	body, err := r.Fetch(channeltest.Bounded(t), in.ReplyTo.Attachments[0])
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(body)
	_ = body.Close()
	if err != nil || string(data) != "chart" {
		t.Errorf("%q, %v", data, err)
	}
}

// Where Discord has not looked for the quoted message the bot does; one that is
// gone, or that cannot be looked up, holds nothing up.
func TestQuoteIsLookedUp(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	id := w.Say(fake.Said{From: ann, Channel: crowd, Text: "earlier"})
	r.Next(t)
	ref, err := r.Send(channeltest.Bounded(t), out(at(crowd), "1", "our own words"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of, text, from string
		mine           bool
		fault          *fake.Fault
	}{
		{of: id, text: "earlier", from: "Ann"},
		{of: ref.ID, text: "our own words", from: "magpie-test", mine: true},
		{of: "5", text: deletedQuote},
		{of: id, fault: &fake.Fault{Route: "get message", Status: 403, Code: 50013, Text: "Missing Permissions"}},
	} {
		if c.fault != nil {
			w.Fail(*c.fault)
		}
		w.Push("MESSAGE_CREATE", map[string]any{
			"id": w.Say(fake.Said{From: "666", Channel: other, Text: "x"}), "channel_id": crowd, "guild_id": guild, "type": 19, "content": "and this?",
			"author": map[string]any{"id": ann, "username": "ann"}, "channel_type": 0,
			"message_reference": map[string]any{"type": 0, "message_id": c.of, "channel_id": crowd, "guild_id": guild},
		})
		in := r.Next(t)
		if q := in.ReplyTo; q == nil || q.ID != c.of || q.Text != c.text || q.From != c.from || q.Mine != c.mine || in.Mentioned != c.mine {
			t.Errorf("%s: %+v, quote %+v", c.of, in, in.ReplyTo)
		}
	}
}

// A mention without a word, also by role or by a reply, reaches the sink;
// everybody's mention is none.
func TestBareMention(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	for text, mentioned := range map[string]bool{
		"<@" + fake.BotID + ">": true, " <@!" + fake.BotID + ">  ": true, "<@&" + botRole + ">": true, "@everyone": false, "<@" + bob + ">": false,
	} {
		w.Say(fake.Said{From: ann, Channel: crowd, Text: text})
		if in := r.Next(t); in.Mentioned != mentioned || mentioned && in.Text != "" {
			t.Errorf("%q: %q, mentioned %v", text, in.Text, in.Mentioned)
		}
	}
}
